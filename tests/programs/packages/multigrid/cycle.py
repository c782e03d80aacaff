import numpy as np

from .grids import prolong, residual, restrict, smooth


class Multigrid:
    def __init__(self, f, pre=2, post=2, gamma=1):
        n = f.shape[0]
        if f.shape != (n, n):
            raise ValueError("the grid must be square")
        if n < 3 or (n - 1) & (n - 2):
            raise ValueError(f"the grid must have 2**k + 1 points a side, not {n}")
        self.f = f
        self.h = 1.0 / (n - 1)
        self.pre, self.post, self.gamma = pre, post, gamma

    def cycle(self, u, f, h):
        if u.shape[0] == 3:
            u[1, 1] = h**2 * f[1, 1] / 4
            return u
        smooth(u, f, h, self.pre)
        r = restrict(residual(u, f, h))
        e = np.zeros_like(r)
        for _ in range(self.gamma):
            e = self.cycle(e, r, 2 * h)
        u += prolong(e)
        smooth(u, f, h, self.post)
        return u

    def solve(self, tol=1e-8, max_cycles=30, callback=None):
        u = np.zeros_like(self.f, dtype=float)
        scale = np.linalg.norm(self.f[1:-1, 1:-1])
        if scale == 0:
            return u, 0
        for n in range(1, max_cycles + 1):
            u = self.cycle(u, self.f, self.h)
            norm = np.linalg.norm(residual(u, self.f, self.h)) / scale
            if callback:
                callback(n, norm)
            if norm < tol:
                return u, n
        raise ArithmeticError(f"residual above {tol} after {max_cycles} cycles")


def solve(f, **options):
    return Multigrid(np.asarray(f), **{k: v for k, v in options.items() if k != "tol"}).solve(
        options.get("tol", 1e-8)
    )
