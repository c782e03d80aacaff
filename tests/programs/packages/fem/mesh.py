from dataclasses import dataclass

import numpy as np


@dataclass
class Mesh:
    nodes: np.ndarray
    triangles: np.ndarray

    def __post_init__(self):
        if self.nodes.ndim != 2 or self.nodes.shape[1] != 2:
            raise ValueError("nodes must be points of the plane")
        if self.triangles.min() < 0 or self.triangles.max() >= len(self.nodes):
            raise IndexError("a triangle has a corner that is not there")

    @property
    def areas(self):
        a, b, c = (self.nodes[self.triangles[:, k]] for k in range(3))
        u, v = b - a, c - a
        return 0.5 * (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])

    def boundary(self):
        edges = set()
        for t in self.triangles:
            for a, b in ((t[0], t[1]), (t[1], t[2]), (t[2], t[0])):
                edge = (min(a, b), max(a, b))
                if edge in edges:
                    edges.remove(edge)
                else:
                    edges.add(edge)
        return np.unique(np.array(sorted(edges)))


def unit_square(n):
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    nodes = np.column_stack([x.ravel(), y.ravel()])
    triangles = []
    for i in range(n - 1):
        for j in range(n - 1):
            k = i * n + j
            triangles.append([k, k + 1, k + n])
            triangles.append([k + 1, k + n + 1, k + n])
    return Mesh(nodes, np.array(triangles))
