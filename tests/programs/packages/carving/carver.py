import numpy as np

from .energy import dual_gradient


class SeamCarver:
    def __init__(self, image, energy=dual_gradient):
        image = np.asarray(image, dtype=float)
        if image.ndim not in (2, 3):
            raise ValueError("not an image")
        self.image = image
        self.energy = energy
        self.removed = []

    @property
    def width(self):
        return self.image.shape[1]

    def find_seam(self):
        e = self.energy(self.image)
        rows, cols = e.shape
        cost = e.copy()
        back = np.zeros((rows, cols), dtype=int)
        for i in range(1, rows):
            for j in range(cols):
                if j == 0:
                    idx = np.argmin(cost[i - 1, j : j + 2])
                    back[i, j] = idx + j
                else:
                    idx = np.argmin(cost[i - 1, j - 1 : j + 2])
                    back[i, j] = idx + j - 1
                cost[i, j] += cost[i - 1, back[i, j]]
        seam = np.zeros(rows, dtype=int)
        seam[-1] = np.argmin(cost[-1])
        for i in range(rows - 2, -1, -1):
            seam[i] = back[i + 1, seam[i + 1]]
        return seam, cost[-1].min()

    def remove(self, seam):
        rows, cols = self.image.shape[:2]
        mask = np.ones((rows, cols), dtype=bool)
        mask[np.arange(rows), seam] = False
        self.image = self.image[mask].reshape(rows, cols - 1, *self.image.shape[2:])
        self.removed.append(seam)

    def shrink(self, n):
        if not 0 <= n < self.width:
            raise ValueError(f"cannot remove {n} of {self.width} columns")
        total = 0.0
        for _ in range(n):
            seam, cost = self.find_seam()
            total += cost
            self.remove(seam)
        return total


def carve(image, n=2):
    carver = SeamCarver(image)
    total = carver.shrink(n)
    return carver.image, np.array(carver.removed), total
