"""Structural time series, with state in slots."""

from .model import LocalLinearTrend, decompose, log_likelihood

__all__ = ["LocalLinearTrend", "decompose", "log_likelihood"]
