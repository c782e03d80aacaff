import numpy as np


def gaussian_kernel(size, sigma=1.0):
    if size % 2 == 0:
        raise ValueError("size must be odd")
    size = int(size) // 2
    x, y = np.mgrid[-size : size + 1, -size : size + 1]
    normal = 1 / (2.0 * np.pi * sigma**2)
    return np.exp(-((x**2 + y**2) / (2.0 * sigma**2))) * normal


def convolve(image, kernel):
    Hi, Wi = image.shape
    Hk, Wk = kernel.shape
    out = np.zeros((Hi, Wi))
    padded = np.pad(image, ((Hk // 2, Hk // 2), (Wk // 2, Wk // 2)), mode="edge")
    kernel = np.flip(kernel)
    for m in range(Hi):
        for n in range(Wi):
            out[m, n] = np.sum(kernel * padded[m : m + Hk, n : n + Wk])
    return out


def sobel(image):
    Kx = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], np.float64)
    Ky = np.array([[1, 2, 1], [0, 0, 0], [-1, -2, -1]], np.float64)
    Gx, Gy = convolve(image, Kx), convolve(image, Ky)
    G = np.sqrt(Gx**2 + Gy**2)
    theta = np.rad2deg(np.arctan2(Gy, Gx)) % 360
    return G, theta
