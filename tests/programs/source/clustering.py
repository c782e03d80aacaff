"""k-means: Lloyd's steps until the centres stay where they are.

One line differs from what one would write for NumPy alone, since the number of members of a cluster
is not known: `points[labels == k].mean(axis=0)` is a mean with `where=`.
"""

import numpy as np


def kmeans(points, centers, most_steps):
    labels = np.zeros(len(points), int)
    for _ in range(most_steps):
        distances = np.sum((points[:, None, :] - centers[None, :, :]) ** 2, axis=2)
        labels = np.argmin(distances, axis=1)
        moved = centers.copy()
        for k in range(len(centers)):
            members = labels == k
            if members.any():
                moved[k] = np.mean(points, axis=0, where=members[:, None])
        if np.max(np.abs(moved - centers)) < 1e-9:
            break
        centers = moved
    return centers, labels
