"""The Mandelbrot set, by whole arrays and pixel by pixel."""

import numpy as np


def mandelbrot(c, steps):
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, dtype=int)
    for _ in range(steps):
        inside = z.real**2 + z.imag**2 <= 4.0
        z = np.where(inside, z * z + c, z)
        counts += inside
    return counts


def mandelbrot_by_pixels(xs, ys, steps):
    counts = np.zeros((len(ys), len(xs)), dtype=int)
    for i in range(len(ys)):
        for j in range(len(xs)):
            a = b = 0.0
            n = 0
            while a * a + b * b <= 4.0 and n < steps:
                a, b = a * a - b * b + xs[j], 2 * a * b + ys[i]
                n += 1
            counts[i, j] = n
    return counts
