"""Periodograms of unevenly sampled series."""

from .core import LombScargle, best_period, periodogram

__all__ = ["LombScargle", "best_period", "periodogram"]
