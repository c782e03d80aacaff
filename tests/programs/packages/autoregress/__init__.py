"""Autoregressive models of time series."""

from .estimate import arburg, aryule, levinson
from .model import ARModel, fit_forecast, garch_filter

__all__ = ["ARModel", "arburg", "aryule", "fit_forecast", "garch_filter", "levinson"]
