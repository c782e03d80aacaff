"""Prices of options by the formula of Black and Scholes."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Function, Workload

HALF = 0.7071067811865476


def black_scholes(xp: Any, size: Any) -> Function:
    """The price of calls and puts."""

    def price(spot: Any, strike: Any, years: Any, rate: Any, volatility: Any) -> Any:
        root = volatility * xp.sqrt(years)
        up = (xp.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / root
        down = up - root
        share = 0.5 * (1.0 + xp.erf(up * HALF))
        chance = 0.5 * (1.0 + xp.erf(down * HALF))
        discounted = strike * xp.exp(-rate * years)
        call = spot * share - discounted * chance
        return call, call - spot + discounted

    return price


def numba_black_scholes(xp: Any, size: Any) -> Function:
    import math

    import numba

    @numba.njit(parallel=True)
    def price(spot: Any, strike: Any, years: Any, rate: Any, volatility: Any) -> Any:
        calls, puts = np.empty_like(spot), np.empty_like(spot)
        for i in numba.prange(spot.size):
            root = volatility[i] * math.sqrt(years[i])
            growth = (rate + 0.5 * volatility[i] * volatility[i]) * years[i]
            up = (math.log(spot[i] / strike[i]) + growth) / root
            share = 0.5 * (1.0 + math.erf(up * HALF))
            chance = 0.5 * (1.0 + math.erf((up - root) * HALF))
            discounted = strike[i] * math.exp(-rate * years[i])
            calls[i] = spot[i] * share - discounted * chance
            puts[i] = calls[i] - spot[i] + discounted
        return calls, puts

    return price


def prices(size: Any) -> tuple[Any, ...]:
    dtype, count = size
    r = np.random.default_rng(0)
    spot, strike = r.uniform(50, 150, (2, count)).astype(dtype)
    years = r.uniform(0.1, 2, count).astype(dtype)
    volatility = r.uniform(0.1, 0.5, count).astype(dtype)
    return spot, strike, years, np.dtype(dtype).type(0.03), volatility


WORKLOADS = (
    Workload(
        "black-scholes",
        "elementwise",
        "prices of calls and puts",
        black_scholes,
        prices,
        {"f32 2^21": ("f4", 1 << 21), "f64 2^21": ("f8", 1 << 21)},
        ("f8", 1000),
        own={"numba": numba_black_scholes},
        bytes=lambda size: 6 * size[1] * np.dtype(size[0]).itemsize,
        flops=lambda size: 20 * size[1],
    ),
)
