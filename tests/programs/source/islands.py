"""Connected parts of a grid, filled one after the other from a stack."""

import numpy as np


def islands(land):
    height, width = land.shape
    labels = np.zeros_like(land)
    stack = np.zeros((4 * land.size + 4, 2), dtype=int)
    count = 0
    for i in range(height):
        for j in range(width):
            if land[i, j] == 0 or labels[i, j] > 0:
                continue
            count += 1
            stack[0] = i, j
            top = 1
            while top > 0:
                top -= 1
                y, x = stack[top]
                if 0 <= y < height and 0 <= x < width and land[y, x] and labels[y, x] == 0:
                    labels[y, x] = count
                    for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                        stack[top] = y + dy, x + dx
                        top += 1
    return labels, count
