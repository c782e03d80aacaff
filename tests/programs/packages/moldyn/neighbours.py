import numpy as np


class NeighbourList:
    """Verlet list: pairs closer than cutoff + skin, rebuilt when a particle has moved too far."""

    def __init__(self, cutoff, skin=0.3, capacity=64):
        self.cutoff = cutoff
        self.skin = skin
        self.capacity = capacity
        self.reference = None
        self.builds = 0

    def update(self, system):
        if self.reference is not None:
            moved = system.positions - self.reference
            moved -= system.box * np.round(moved / system.box)
            if np.max(np.sum(moved**2, axis=1)) < (0.5 * self.skin) ** 2:
                return False
        self.build(system)
        return True

    def build(self, system):
        n = len(system)
        self.count = np.zeros(n, dtype=int)
        self.neighbours = np.full((n, self.capacity), -1, dtype=int)
        reach = (self.cutoff + self.skin) ** 2
        for i in range(n - 1):
            d = system.positions[i] - system.positions[i + 1 :]
            d -= system.box * np.round(d / system.box)
            close = np.nonzero(np.sum(d**2, axis=1) < reach)[0]
            if len(close) > self.capacity:
                raise RuntimeError("neighbour list is full")
            self.count[i] = len(close)
            self.neighbours[i, : len(close)] = close + i + 1
        self.reference = system.positions.copy()
        self.builds += 1
