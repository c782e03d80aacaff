"""Geometry: the convex hull by gift wrapping."""

import numpy as np


def gift_wrapping(points):
    n = len(points)
    start = np.argmin(points[:, 0])
    hull = np.full(n, -1)
    corner, count = start, 0
    while True:
        hull[count] = corner
        candidate = (corner + 1) % n
        for i in range(n):
            a, b = points[candidate] - points[corner], points[i] - points[corner]
            if a[0] * b[1] - a[1] * b[0] < 0:
                candidate = i
        corner = candidate
        count += 1
        if corner == start:
            break
    return hull, count
