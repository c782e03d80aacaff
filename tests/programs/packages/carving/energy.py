import numpy as np


def dual_gradient(image):
    """Squared differences of the neighbours on either side, around the border."""
    dx = np.roll(image, -1, axis=1) - np.roll(image, 1, axis=1)
    dy = np.roll(image, -1, axis=0) - np.roll(image, 1, axis=0)
    squared = dx**2 + dy**2
    if squared.ndim == 3:
        squared = squared.sum(axis=2)
    return np.sqrt(squared)
