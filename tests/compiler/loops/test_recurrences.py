"""Sums that the next step waits for are not contracted; the others are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import weft as wf
from weft.compiler.ir.graph import Value
from weft.compiler.loops.recurrences import serial_sums
from weft.compiler.passes.pipeline import optimise


def serial(function: Callable[..., Any], *arguments: Any) -> list[str]:
    """The sums of a program's loops that are serial, by the number of each among all sums."""
    graph, _ = optimise(wf.trace(function, control_flow=True)(*arguments))
    loops = [op for r in graph.regions() for op in r.ops if op.name in ("scan", "while")]
    sums: list[Value] = [
        op.result
        for loop in loops
        for op in loop.regions[-1].ops
        if op.name in ("add", "sub") and op.result.type.dtype.is_float
    ]
    found = {value for loop in loops for value in serial_sums(loop)}
    return ["serial" if value in found else "free" for value in sums]


X = np.random.default_rng(0).normal(size=(2, 200))


def test_sum_of_products() -> None:
    def dot(x: Any) -> Any:
        total = 0.0
        for i in range(200):
            total += x[0, i] * x[1, i]
        return total

    assert serial(dot, X) == ["serial"]
    assert wf.jit(dot, control_flow=True)(X) == dot(X)  # to the last bit


def test_product_that_is_waited_for_is_contracted() -> None:
    def horner(x: Any) -> Any:
        y = 0.0
        for i in range(200):
            y = y * 0.5 + x[0, i]
        return y

    assert serial(horner, X) == ["free"]


def test_filter_of_second_order() -> None:
    def biquad(x: Any) -> Any:
        y = np.zeros(200)
        x1 = y1 = y2 = 0.0
        for i in range(200):
            new = 0.3 * x[0, i] + 0.2 * x1 - 0.5 * y1 - 0.1 * y2
            y2, y1, x1 = y1, new, x[0, i]
            y[i] = new
        return y

    assert serial(biquad, X) == ["free", "free", "serial"]
    np.testing.assert_allclose(wf.jit(biquad, control_flow=True)(X), biquad(X), rtol=1e-12)


def test_nothing_waits_where_nothing_is_carried() -> None:
    def independent(x: Any) -> Any:
        return wf.scan(lambda c, row: (row[0], c + row[0] * row[1]), 0.0, x.T)[1]

    assert serial(independent, X) == ["free"]
