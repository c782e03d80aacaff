"""Bonds: prices, yields, durations, curves."""

from .bond import Bond, portfolio, yield_to_maturity
from .curve import DiscountCurve, bootstrap, nelson_siegel

__all__ = [
    "Bond",
    "DiscountCurve",
    "bootstrap",
    "nelson_siegel",
    "portfolio",
    "yield_to_maturity",
]
