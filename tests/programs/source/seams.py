"""The seam of least energy through an image, from top to bottom (dynamic programming)."""

import numpy as np


def seam(energy):
    height, width = energy.shape
    total = energy.copy()
    origin = np.zeros_like(total, dtype=int)
    for i in range(1, height):
        for j in range(width):
            if j == 0:
                k = np.argmin(total[i - 1, :2])
            elif j == width - 1:
                k = np.argmin(total[i - 1, -2:]) + width - 2
            else:
                k = np.argmin(total[i - 1, j - 1 : j + 2]) + j - 1
            origin[i, j] = k
            total[i, j] += total[i - 1, k]
    path = np.zeros(height, dtype=int)
    path[-1] = np.argmin(total[-1])
    for i in range(height - 2, -1, -1):
        path[i] = origin[i + 1, path[i + 1]]
    return path, total[-1].min()
