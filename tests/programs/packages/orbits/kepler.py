import numpy as np


class ConvergenceFailure(Exception):
    def __init__(self, iterations):
        super().__init__(f"Kepler's equation: no solution after {iterations} steps")
        self.iterations = iterations


def _newton(start, function, slope, tol, maxiter):
    x = start
    for i in range(maxiter):
        new = x - function(x) / slope(x)
        if abs(new - x) < tol:
            return new
        x = new
    raise ConvergenceFailure(maxiter)


def solve_kepler(M, e, tol=1e-13, maxiter=50):
    """The eccentric (or hyperbolic) anomaly."""
    if e < 0:
        raise ValueError("eccentricity must not be negative")
    if e < 1:
        M = (M + np.pi) % (2 * np.pi) - np.pi
        start = M + e if M > 0 else M - e
        return _newton(
            start, lambda E: E - e * np.sin(E) - M, lambda E: 1 - e * np.cos(E), tol, maxiter
        )
    start = np.arcsinh(M / e)
    return _newton(
        start, lambda F: e * np.sinh(F) - F - M, lambda F: e * np.cosh(F) - 1, tol, maxiter
    )
