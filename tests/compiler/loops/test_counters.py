"""Loops that count: which sequences are not in memory, and whose length is known beforehand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.ir.graph import Op
from weft.compiler.loops.counters import array_operands, counted_up, most_steps
from weft.compiler.loops.pipeline import lower_to_loops
from weft.compiler.passes.pipeline import optimise


def loops_of(function: Callable[..., Any], *arguments: Any) -> list[Op]:
    graph, _ = optimise(wf.trace(function, control_flow=True)(*arguments))
    return [op for r in graph.regions() for op in r.ops if op.name in ("scan", "while")]


def test_ranges_are_not_in_memory() -> None:
    def summed(x: Any) -> Any:
        y = x.copy()
        for i in wf.rolled(range(16, 0, -2)):
            for j in wf.rolled(range(1, 17)):
                y[i] = y[i - 1] + x[j]
        return y

    x = np.arange(17.0)
    graph, _ = optimise(wf.trace(summed, control_flow=True)(x))
    for op in [op for r in graph.regions() for op in r.ops if op.name == "scan"]:
        assert not any(v.type.rank and v.type.dtype.is_integer for v in array_operands(op))
    program = lower_to_loops(graph, 32, verify=True)[0]
    assert not program.plan.temporaries
    np.testing.assert_array_equal(wf.jit(summed, control_flow=True)(x), summed(x))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
@pytest.mark.parametrize("reverse", [False, True])
def test_counters_of_each_dtype_count_as_arrays_do(dtype: Any, reverse: bool) -> None:
    import weft.numpy as wnp

    def scanned(x: Any) -> Any:
        return wf.scan(
            lambda c, i: (c + i, i * c), x, 7 - wnp.arange(8, dtype=dtype), reverse=reverse
        )

    given = dtype(3)
    last, products = wf.jit(scanned)(given)
    wanted_last, wanted = wf.jit(scanned, backend="reference")(given)
    assert last == wanted_last
    np.testing.assert_array_equal(products, wanted)


def test_loops_up_to_a_number_have_a_length() -> None:
    def summed(x: Any, n: Any) -> Any:
        total = 0.0
        for i in range(n):
            total = total + x[i] * x[i]
        return total

    x = np.arange(9.0)
    (loop,) = loops_of(summed, x, 5)
    assert counted_up(loop) is not None
    compiled = wf.jit(summed, control_flow=True)
    for n in (-3, 0, 1, 9):
        assert compiled(x, n) == summed(x, n)


def test_other_loops_on_conditions_have_none() -> None:
    def doubled(x: Any, n: Any) -> Any:
        i = 1
        while i < n:
            x, i = x + i, i * 2
        return x

    def descending(x: Any, n: Any) -> Any:
        i = 9
        while n < i:
            x, i = x + i, i - 1
        return x

    def moving(x: Any, n: Any) -> Any:
        i = 0
        while i < n:
            x, i, n = x + i, i + 1, n - 1
        return x

    for function in (doubled, descending, moving):
        (loop,) = loops_of(function, 1.0, 5)
        assert counted_up(loop) is None
        assert wf.jit(function, control_flow=True)(1.0, 5) == function(1.0, 5)


def test_records_of_counted_loops_are_kept() -> None:
    """The gradient of a loop whose length the caller decides goes back over as many steps."""

    def decayed(x: Any, n: Any) -> Any:
        for i in range(n):
            x = np.sin(x) + 0.01 * i
        return x

    slope = wf.jit(wf.grad(decayed, control_flow=True), control_flow=True)
    for n in (0, 1, 7, 40):
        step = 1e-6
        wanted = (decayed(0.3 + step, n) - decayed(0.3 - step, n)) / (2 * step)
        np.testing.assert_allclose(slope(0.3, n), wanted, rtol=1e-3, atol=1e-6)


def bits_set(x: Any) -> Any:
    count = 0
    while x != 0:
        x = x & (x - 1)
        count += 1
    return count


def digits(x: Any) -> Any:
    count = 0
    while x > 0:
        x = x // 10
        count += 1
    return count


def halvings(x: Any) -> Any:
    count = 0
    while x > 0:
        x = x >> 1
        count += 1
    return count


@pytest.mark.parametrize("function", [bits_set, digits, halvings])
def test_loops_that_run_out_of_bits_are_short(function: Callable[..., Any]) -> None:
    (loop,) = loops_of(function, 5)
    assert most_steps(loop) == 64
    compiled = wf.jit(function, control_flow=True)
    for x in (0, 1, 10, 2**62 + 5, -7):
        if x >= 0 or function is not bits_set:
            assert compiled(x) == function(x)


def test_loops_that_may_go_on_are_not_short() -> None:
    def shifted_down(x: Any) -> Any:
        while x != 0:  # of -1 it never ends
            x = x >> 1
        return x

    def divided_by(x: Any, by: Any) -> Any:
        while x > 0:
            x = x // by
        return x

    def collatz(x: Any) -> Any:
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
        return x

    for function, arguments in ((shifted_down, (5,)), (divided_by, (5, 2)), (collatz, (5,))):
        (loop,) = loops_of(function, *arguments)
        assert most_steps(loop) is None
        assert wf.jit(function, control_flow=True)(*arguments) == function(*arguments)
