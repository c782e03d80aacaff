import numpy as np


def residual(u, f, h):
    r = np.zeros_like(u)
    r[1:-1, 1:-1] = (
        f[1:-1, 1:-1]
        - (4 * u[1:-1, 1:-1] - u[:-2, 1:-1] - u[2:, 1:-1] - u[1:-1, :-2] - u[1:-1, 2:]) / h**2
    )
    return r


def restrict(fine):
    """Full weighting."""
    n = (fine.shape[0] - 1) // 2 + 1
    coarse = np.zeros((n, n))
    coarse[1:-1, 1:-1] = 0.25 * fine[2:-2:2, 2:-2:2]
    coarse[1:-1, 1:-1] += 0.125 * (
        fine[1:-3:2, 2:-2:2] + fine[3:-1:2, 2:-2:2] + fine[2:-2:2, 1:-3:2] + fine[2:-2:2, 3:-1:2]
    )
    coarse[1:-1, 1:-1] += 0.0625 * (
        fine[1:-3:2, 1:-3:2] + fine[3:-1:2, 1:-3:2] + fine[1:-3:2, 3:-1:2] + fine[3:-1:2, 3:-1:2]
    )
    return coarse


def prolong(coarse):
    n = 2 * (coarse.shape[0] - 1) + 1
    fine = np.zeros((n, n))
    fine[::2, ::2] = coarse
    fine[1::2, ::2] = 0.5 * (coarse[1:] + coarse[:-1])
    fine[:, 1::2] = 0.5 * (fine[:, 2::2] + fine[:, :-2:2])
    return fine


def smooth(u, f, h, sweeps):
    """Gauss-Seidel, red points and then black ones, in place."""
    for _ in range(sweeps):
        for colour in (0, 1):
            for i in range(1, u.shape[0] - 1):
                start = 1 + (i + colour) % 2
                u[i, start:-1:2] = 0.25 * (
                    u[i - 1, start:-1:2]
                    + u[i + 1, start:-1:2]
                    + u[i, start - 1 : -2 : 2]
                    + u[i, start + 1 :: 2]
                    + h**2 * f[i, start:-1:2]
                )
