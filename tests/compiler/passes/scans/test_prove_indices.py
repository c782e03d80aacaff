"""Indices that are known to be inside of their axes: which are, which are not, and why it matters
that the proof is right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.compiler.ir.making import graph, number, ops, region
from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Graph, Value
from weft.compiler.passes.pipeline import optimise
from weft.compiler.passes.scans.intervals import UNKNOWN, Interval, within
from weft.compiler.passes.scans.prove_indices import prove_indices

X = np.arange(1.0, 9.0)


def modes(function: Callable[..., Any], *arguments: Any) -> list[str]:
    """How each gather and scatter of a program reads or writes, in order."""
    made = wf.trace(function, control_flow=True)(*arguments)
    proved = prove_indices(made).verify()
    given = [np.asarray(argument) for argument in arguments]
    for one, other in zip(evaluate(proved, given), evaluate(made, given), strict=True):
        np.testing.assert_array_equal(one, other)
    return modes_of(proved)


def modes_of(made: Graph) -> list[str]:
    return [
        op.attributes["mode"]
        for each in made.regions()
        for op in each.ops
        if op.name in ("gather", "scatter")
    ]


def test_counters_of_ranges() -> None:
    def upwards(x: Any) -> Any:
        y = x.copy()
        for i in wf.rolled(range(1, 8)):
            y[i] = y[i - 1] + x[i]
        return y

    def downwards(x: Any) -> Any:
        y = x.copy()
        for i in wf.rolled(range(6, -1, -1)):
            y[i] = y[i + 1] + x[i]
        return y

    assert set(modes(upwards, X)) == {"inside"}
    assert set(modes(downwards, X)) == {"inside"}


def test_one_step_too_far_is_checked() -> None:
    def beyond(x: Any) -> Any:
        total = 0.0
        for i in wf.rolled(range(8)):
            total = total + x[i + 1 - (i == 7)]
        return total

    def from_the_end(x: Any) -> Any:
        total = 0.0
        for i in wf.rolled(range(8)):
            total = total + x[i - 1]
        return total

    assert modes(beyond, X) == ["raise"]
    assert modes(from_the_end, X) == ["raise"]


def test_ranges_with_ends_that_are_known_at_run_time() -> None:
    def triangle(x: Any) -> Any:
        total = 0.0
        for i in wf.rolled(range(8)):
            for j in range(i):
                total = total + x[j] * x[i]
        return total

    def given(x: Any, n: Any) -> Any:
        total = 0.0
        for j in range(n):
            total = total + x[j]
        return total

    assert set(modes(triangle, X)) == {"inside"}
    assert modes(given, X, 5) == ["raise"]


def test_what_branches_compared() -> None:
    def guarded(x: Any, k: Any) -> Any:
        if 0 <= k and k < 8:
            return x[k]
        return 0.0

    def other_side(x: Any, k: Any) -> Any:
        if k < 8:
            return 0.0
        return x[k - 8]

    assert modes(guarded, X, 3) == ["inside"]
    assert modes(other_side, X, 3) == ["raise"]


def test_remainders_minima_and_masks() -> None:
    def looked_up(x: Any, k: Any) -> Any:
        return x[k % 8] + x[k & 7] + x[np.maximum(np.minimum(k, 7), 0)] + x[k % 9]

    assert sorted(modes(looked_up, X, 3)) == ["inside", "inside", "inside", "raise"]


def test_counter_that_a_loop_carries() -> None:
    def carried(x: Any) -> Any:
        k, total = 0, 0.0
        for _ in wf.rolled(range(8)):
            total = total + x[k]
            k += 1
        return total + x[k - 1]

    assert modes(carried, X) == ["inside", "inside"]


def test_numbers_that_wrap_around_are_not_known() -> None:
    body = region(["f32[9]", "i8[]", "i8[]"], lambda x, k, _: [ops.add(k, number(1, "i8"))])

    def write(x: Value, flags: Value) -> list[Value]:
        options = {"n_consts": 1, "n_carry": 1, "length": 300}
        (last,) = ops.scan.emit(x, number(0, "i8"), flags, **options, regions=[body])
        small = ops.minimum(last, number(8, "i8"))
        return [
            ops.gather(x, ops.maximum(small, number(0, "i8")), axes=(0,)),
            ops.gather(x, small, axes=(0,)),
        ]

    made = prove_indices(graph({"x": "f32[9]", "flags": "i8[300]"}, write))
    assert modes_of(made) == ["inside", "raise"]
    assert within(Interval(0, 128), dtypes.i8) == UNKNOWN
    assert within(Interval(0, 127), dtypes.i8) == Interval(0, 127)


def test_what_leaves_a_loop_that_may_run_no_step_is_checked() -> None:
    """`n - 1` is inside wherever the loop runs. Outside of it, where it would go, it may be -1."""

    def last(x: Any, n: Any) -> Any:
        k, total = 0, 0.0
        while k < n:
            total = total + x[np.minimum(n - 1, 7)]
            k += 1
        return total

    assert modes(last, X, 5) == ["raise"]
    assert wf.jit(last, control_flow=True)(X, 0) == 0.0


def test_symbolic_sizes() -> None:
    n = dims.symbol("n")

    def step(x: Value, total: Value, i: Value) -> list[Value]:
        here = ops.add(total, ops.gather(x, i, axes=(0,)))
        return [ops.add(here, ops.gather(x, ops.add(i, number(1, "i64")), axes=(0,)))]

    body = region(["f32[n]", "f32[]", "i64[]"], step, {"n": n})

    def write(x: Value) -> Value:
        counted = ops.iota(dtype="i64", shape=(n,), axis=0)
        options = {"n_consts": 1, "n_carry": 1, "length": n}
        return ops.scan.emit(x, number(0.0), counted, **options, regions=[body])[0]

    made = graph({"x": "f32[n]"}, write, symbols={"n": n})
    assert modes_of(prove_indices(made)) == ["inside", "raise"]


def test_checks_that_are_left_still_fail() -> None:
    def sums(x: Any, k: Any) -> Any:
        total = 0.0
        for i in wf.rolled(range(8)):
            total = total + x[i + k]
        return total

    moved = wf.jit(sums, control_flow=True)
    np.testing.assert_allclose(moved(X, 0), X.sum())
    np.testing.assert_allclose(moved(X, -8), X.sum())
    for k in (1, -9):
        with pytest.raises(IndexError):
            moved(X, k)


def test_hoisted_reads_leave_loops() -> None:
    def scaled(x: Any, w: Any) -> Any:
        y = x.copy()
        for i in wf.rolled(range(8)):
            for j in wf.rolled(range(1, 8)):
                y[j] = y[j - 1] + w[i]
        return y

    made, _ = optimise(wf.trace(scaled, control_flow=True)(X, X))
    inner = [op for each in made.regions() for op in each.ops if op.name == "scan"][-1]
    reads = [op for op in inner.regions[0].ops if op.name == "gather"]
    assert len(reads) == 1
