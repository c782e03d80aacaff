"""Minimisers in the manner of scipy.optimize."""

from .bfgs import bfgs
from .result import OptimizeResult
from .simplex import nelder_mead

METHODS = {"bfgs": bfgs, "nelder-mead": nelder_mead}


def minimize(fun, x0, args=(), method="bfgs", callback=None, options=None):
    try:
        solver = METHODS[method.lower()]
    except KeyError:
        raise ValueError(f"Unknown solver {method}") from None
    return solver(fun, x0, args=args, callback=callback, **(options or {}))


def rosenbrock(x, a=1.0, b=100.0):
    return sum(b * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2)


def minimise_rosenbrock(x0, method="bfgs", **options):
    seen = []
    result = minimize(
        rosenbrock, x0, (1.0, 10.0), method, callback=lambda x: seen.append(1), options=options
    )
    return result.x, result["fun"], result.nit, result.success


__all__ = ["OptimizeResult", "bfgs", "minimise_rosenbrock", "minimize", "nelder_mead"]
