"""Iterations for linear problems: conjugate gradients and the power method."""

import numpy as np


def conjugate_gradient(a, b, tolerance):
    x = np.zeros_like(b)
    residual = b - a @ x
    direction = residual.copy()
    square = residual @ residual
    steps = 0
    while square > tolerance**2 and steps < 10 * len(b):
        image = a @ direction
        step = square / (direction @ image)
        x = x + step * direction
        residual = residual - step * image
        new_square = residual @ residual
        direction = residual + (new_square / square) * direction
        square = new_square
        steps += 1
    return x, steps


def power_iteration(a, tolerance):
    v = np.ones(a.shape[0]) / np.sqrt(a.shape[0])
    value = 0.0
    for _ in range(1000):
        w = a @ v
        new_value = v @ w
        v = w / np.linalg.norm(w)
        if abs(new_value - value) < tolerance * abs(new_value):
            return new_value, v
        value = new_value
    return value, v
