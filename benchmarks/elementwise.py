"""Elementwise chains, fused with reductions along rows, against JAX and NumPy.

Bars: Black-Scholes and gelu(layer norm) + softmax at least as fast as JAX (goal 1.5 x); chains of
exp, log, sin and erf in f64 3 x JAX; a chain bound by memory at 80 % of the bandwidth of a copy.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import special

from benchmarks.common import agree, compare, contenders, measure, peer, show, start, wanted

Function = Callable[..., Any]
BANDWIDTH = "bandwidth: x * 2 + y, 2^24 f64"


def erf_of(xp: Any) -> Function:
    """The error function of a namespace; a traced array brings its own."""
    if xp is not np:
        erf: Function = peer("jax").scipy.special.erf
        return erf
    result: Function = special.erf
    return result


def black_scholes(xp: Any) -> Function:
    """The price of calls and puts."""
    erf = erf_of(xp)

    def price(spot: Any, strike: Any, years: Any, rate: Any, volatility: Any) -> Any:
        root = volatility * xp.sqrt(years)
        up = (xp.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / root
        down = up - root
        share = 0.5 * (1.0 + erf(up * 0.7071067811865476))
        chance = 0.5 * (1.0 + erf(down * 0.7071067811865476))
        discounted = strike * xp.exp(-rate * years)
        call = spot * share - discounted * chance
        return call, call - spot + discounted

    return price


def rows(xp: Any) -> Function:
    """gelu of a layer norm, then softmax, along the rows of a matrix."""

    def apply(x: Any, scale: Any, shift: Any) -> Any:
        centred = x - xp.mean(x, axis=1, keepdims=True)
        variance = xp.mean(centred * centred, axis=1, keepdims=True)
        h = centred / xp.sqrt(variance + 1e-5) * scale + shift
        h = 0.5 * h * (1.0 + xp.tanh(0.7978845608028654 * (h + 0.044715 * h * h * h)))
        e = xp.exp(h - xp.max(h, axis=1, keepdims=True))
        return e / xp.sum(e, axis=1, keepdims=True)

    return apply


def chain(xp: Any) -> Function:
    """exp, log, sin and erf."""
    erf = erf_of(xp)

    def apply(x: Any) -> Any:
        return erf(xp.sin(x * 3.0) + xp.log(x * x + 1.0)) * xp.exp(-x)

    return apply


def alone(name: str) -> Callable[[Any], Function]:
    """One transcendental function."""

    def make(xp: Any) -> Function:
        function: Function = erf_of(xp) if name == "erf" else getattr(xp, name)
        return lambda x: function(x)

    return make


def bandwidth(options: argparse.Namespace) -> None:
    """x * 2 + y moves three arrays; a copy two, in as many threads, into memory that is there."""
    count = 1 << 24
    x, y, target = np.ones(count), np.full(count, 3.0), np.empty(count)
    runs = contenders(lambda xp: lambda x, y: x * 2.0 + y, (x, y))
    bounds = [count * i // options.threads for i in range(options.threads + 1)]
    parts = [slice(low, high) for low, high in itertools.pairwise(bounds)]
    with ThreadPoolExecutor(options.threads) as pool:

        def copy() -> Any:
            return list(pool.map(lambda part: np.copyto(target[part], x[part]), parts))

        agree(runs, 1e-12)
        times = measure({**runs, "copy": copy}, options)
    show(BANDWIDTH, times)
    copied = 2 * x.nbytes / times["copy"].best
    chained = 3 * x.nbytes / times["weft"].best
    print(f"  {chained / 1e9:.1f} GB/s, {chained / copied:.0%} of a copy's {copied / 1e9:.1f}")


def prices(dtype: Any, count: int = 1 << 21) -> tuple[Any, ...]:
    r = np.random.default_rng(0)
    spot, strike = r.uniform(50, 150, (2, count)).astype(dtype)
    years = r.uniform(0.1, 2, count).astype(dtype)
    volatility = r.uniform(0.1, 0.5, count).astype(dtype)
    return spot, strike, years, dtype(0.03), volatility


def main() -> None:
    options = start(__doc__ or "")
    r = np.random.default_rng(0)
    for dtype, tolerance in ((np.float32, 1e-5), (np.float64, 1e-12)):
        runs = contenders(black_scholes, prices(dtype))
        compare(f"black-scholes {dtype.__name__}, 2^21", runs, options, tolerance)
    x = r.normal(size=(4096, 1024)).astype(np.float32)
    scale, shift = r.normal(size=(2, 1024)).astype(np.float32)
    compare("rows: gelu(layer norm) + softmax", contenders(rows, (x, scale, shift)), options)
    values = r.uniform(0.1, 5, 1 << 20)
    compare("chain of exp, log, sin, erf f64, 2^20", contenders(chain, (values,)), options, 1e-12)
    for name in ("exp", "log", "sin", "tanh", "erf"):
        for dtype in (np.float32, np.float64):
            runs = contenders(alone(name), (values.astype(dtype),))
            compare(f"alone: {name} {dtype.__name__}, 2^20", runs, options)
    if wanted(BANDWIDTH, options):
        bandwidth(options)


if __name__ == "__main__":
    main()
