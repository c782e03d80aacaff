"""Filters of images: a kernel by shifted sums, Sobel's edges, a median, and dithering."""

import numpy as np


def filter_image(image, kernel):
    height, width = kernel.shape
    padded = np.pad(image, ((height // 2, height // 2), (width // 2, width // 2)), mode="edge")
    result = np.zeros_like(image)
    for dy in range(height):
        for dx in range(width):
            rows, columns = image.shape
            result += kernel[dy, dx] * padded[dy : dy + rows, dx : dx + columns]
    return result


def edges(image):
    across = np.array([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
    gx, gy = filter_image(image, across), filter_image(image, across.T)
    strength = np.hypot(gx, gy)
    threshold = strength.mean() + strength.std()
    if threshold > 0:
        strength = strength / threshold
    return np.where(strength > 1, 1.0, 0.0)


def median_filter(image):
    padded = np.pad(image, 1, mode="reflect")
    rows, columns = image.shape
    shifted = [padded[dy : dy + rows, dx : dx + columns] for dy in range(3) for dx in range(3)]
    return np.median(np.stack(shifted), axis=0)


def dither(image):
    work = image.copy()
    rows, columns = image.shape
    for i in range(rows):
        for j in range(columns):
            old = work[i, j]
            new = 1.0 if old > 0.5 else 0.0
            work[i, j] = new
            error = old - new
            if j + 1 < columns:
                work[i, j + 1] += error * 7 / 16
            if i + 1 < rows:
                if j > 0:
                    work[i + 1, j - 1] += error * 3 / 16
                work[i + 1, j] += error * 5 / 16
                if j + 1 < columns:
                    work[i + 1, j + 1] += error / 16
    return work
