"""Gaussian processes with kernels that add and multiply."""

from .kernels import RBF, Constant, Kernel, Matern32, Periodic, White
from .regression import GPRegressor, fit_predict, log_marginal_likelihood, next_sample

__all__ = [
    "RBF",
    "Constant",
    "GPRegressor",
    "Kernel",
    "Matern32",
    "Periodic",
    "White",
    "fit_predict",
    "log_marginal_likelihood",
    "next_sample",
]
