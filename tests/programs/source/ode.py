"""An ordinary differential equation by the Runge-Kutta pair of Dormand and Prince, with steps of
adapted length.
"""

import numpy as np

C = np.array([0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
A = [
    [],
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
]
HIGH = [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0]
LOW = [5179 / 57600, 0.0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40]


def van_der_pol(t, y, stiffness):
    return np.array([y[1], stiffness * (1 - y[0] ** 2) * y[1] - y[0]])


def rk45_step(t, y, h, stiffness):
    slopes = []
    for c, row in zip(C, A):
        inner = y
        for weight, slope in zip(row, slopes):
            inner = inner + h * weight * slope
        slopes.append(van_der_pol(t + c * h, inner, stiffness))
    high = y + h * sum(w * k for w, k in zip(HIGH, slopes))
    low = y + h * sum(w * k for w, k in zip(LOW, slopes))
    return high, high - low


def rk45(y, end, stiffness, tolerance):
    t, h = 0.0, 0.01
    accepted = rejected = 0
    while t < end:
        h = min(h, end - t)
        new, difference = rk45_step(t, y, h, stiffness)
        error = np.sqrt(np.mean((difference / (tolerance + tolerance * np.abs(new))) ** 2))
        if error <= 1.0:
            t = t + h
            y = new
            accepted += 1
        else:
            rejected += 1
        h = h * min(5.0, max(0.2, 0.9 * (error + 1e-16) ** -0.2))
    return y, accepted, rejected
