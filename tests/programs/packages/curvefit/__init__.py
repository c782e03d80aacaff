"""Nonlinear least squares with parameters that have names, bounds and standard errors."""

from .fitter import LevenbergMarquardt, fit_decay, fit_peak
from .parameters import Parameter, Parameters

__all__ = ["LevenbergMarquardt", "Parameter", "Parameters", "fit_decay", "fit_peak"]
