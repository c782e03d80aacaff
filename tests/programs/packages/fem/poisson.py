import numpy as np

from .mesh import Mesh, unit_square


class PoissonProblem:
    """-div(k grad u) = f, u given on the boundary."""

    def __init__(self, mesh, conductivity, source):
        self.mesh = mesh
        self.k = np.asarray(conductivity)
        self.f = source
        n = len(mesh.nodes)
        self.K = np.zeros((n, n))
        self.F = np.zeros(n)

    def element(self, e):
        nodes = self.mesh.nodes[self.mesh.triangles[e]]
        M = np.column_stack([np.ones(3), nodes])
        area = 0.5 * np.linalg.det(M)
        if area <= 0:
            raise ValueError(f"element {e} is inside out")
        grad = np.linalg.inv(M)[1:]
        ke = self.k[e] * area * grad.T @ grad
        fe = np.full(3, self.f(*nodes.mean(axis=0)) * area / 3)
        return ke, fe

    def assemble(self):
        for e, tri in enumerate(self.mesh.triangles):
            ke, fe = self.element(e)
            for a in range(3):
                self.F[tri[a]] += fe[a]
                for b in range(3):
                    self.K[tri[a], tri[b]] += ke[a, b]
        return self

    def solve(self, fixed, values=0.0):
        n = len(self.F)
        free = np.setdiff1d(np.arange(n), fixed)
        u = np.zeros(n)
        u[fixed] = values
        rhs = self.F[free] - self.K[np.ix_(free, fixed)] @ u[fixed]
        u[free] = np.linalg.solve(self.K[np.ix_(free, free)], rhs)
        return u

    def energy(self, u):
        return 0.5 * u @ self.K @ u - self.F @ u


def solve_poisson(conductivity, n=6, strength=1.0):
    mesh = unit_square(n)
    source = lambda x, y: strength * np.sin(np.pi * x) * y  # noqa: E731
    problem = PoissonProblem(mesh, conductivity, source).assemble()
    u = problem.solve(mesh.boundary())
    return u, problem.energy(u)


def bar_displacements(nodes, elements, youngs, areas, loads, fixed):
    """A plane truss: displacements and the force in each bar."""
    n = len(nodes)
    K = np.zeros((2 * n, 2 * n))
    lengths, directions = [], []
    for (i, j), E, A in zip(elements, youngs, areas):
        d = nodes[j] - nodes[i]
        L = np.hypot(*d)
        if L == 0:
            raise ValueError("bar of length zero")
        c, s = d / L
        T = np.array([-c, -s, c, s])
        dofs = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
        K[np.ix_(dofs, dofs)] += E * A / L * np.outer(T, T)
        lengths.append(L)
        directions.append(T)
    free = [k for k in range(2 * n) if k not in fixed]
    u = np.zeros(2 * n)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], np.ravel(loads)[free])
    forces = np.zeros(len(elements))
    for e, (i, j) in enumerate(elements):
        ue = np.concatenate([u[2 * i : 2 * i + 2], u[2 * j : 2 * j + 2]])
        forces[e] = youngs[e] * areas[e] / lengths[e] * (directions[e] @ ue)
    return u.reshape(n, 2), forces


__all__ = ["Mesh", "PoissonProblem", "bar_displacements", "solve_poisson"]
