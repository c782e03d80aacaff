"""Prices of options: trees, simulation, implied volatility."""

from .contracts import AmericanPut, EuropeanCall, Option
from .implied import bs_price, implied_volatility
from .simulation import longstaff_schwartz
from .trees import binomial

__all__ = [
    "AmericanPut",
    "EuropeanCall",
    "Option",
    "binomial",
    "bs_price",
    "implied_volatility",
    "longstaff_schwartz",
]
