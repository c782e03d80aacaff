"""Least squares of a sum of exponentials by Levenberg and Marquardt."""

import numpy as np


def model(t, p):
    return p[0] * np.exp(-p[1] * t) + p[2] * np.exp(-p[3] * t)


def jacobian(t, p):
    first, second = np.exp(-p[1] * t), np.exp(-p[3] * t)
    return np.stack([first, -p[0] * t * first, second, -p[2] * t * second], axis=1)


def levenberg_marquardt(t, y, start, tolerance):
    p, damping = start, 1e-3
    residual = y - model(t, p)
    error = residual @ residual
    for steps in range(200):
        j = jacobian(t, p)
        normal = j.T @ j
        gradient = j.T @ residual
        if np.max(np.abs(gradient)) < tolerance:
            break
        update = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), gradient)
        candidate = p + update
        new_residual = y - model(t, candidate)
        new_error = new_residual @ new_residual
        if new_error < error:
            p, residual, error = candidate, new_residual, new_error
            damping = max(damping / 3, 1e-12)
        else:
            damping = damping * 2
            if damping > 1e10:
                break
    return p, error, steps
