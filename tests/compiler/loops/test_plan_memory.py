"""Memory plans: arrays alive at once never overlap, and memory is used again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft as wf
from tests.compiler.loops.test_fuse import planned
from weft.compiler.ir.alignment import aligned
from weft.compiler.ir.graph import Parameter
from weft.compiler.ir.reader import parse_type
from weft.compiler.loops.arena import Buffer, assign_offsets, largest_live_set
from weft.frontends.tracing import tree

VALUE = Parameter(parse_type("f64[1]"))
LIVES = st.tuples(st.integers(1, 5000), st.integers(0, 20), st.integers(0, 20))


@given(st.lists(LIVES, max_size=40))
def test_buffers_alive_at_once_do_not_overlap(lives: list[tuple[int, int, int]]) -> None:
    buffers = [Buffer("temporary", -1, n, min(a, b), max(a, b), VALUE) for n, a, b in lives]
    bytes = assign_offsets(buffers)
    for number, one in enumerate(buffers):
        assert one.offset % 64 == 0
        assert one.offset + one.bytes <= bytes
        for other in buffers[:number]:
            apart = one.last < other.first or other.last < one.first
            below = one.offset + one.bytes <= other.offset
            above = other.offset + other.bytes <= one.offset
            assert apart or below or above
    assert bytes >= sum(int(aligned(buffer.bytes)) for buffer in largest_live_set(buffers))


@given(st.lists(LIVES, max_size=40))
def test_the_largest_live_set_is_the_largest(lives: list[tuple[int, int, int]]) -> None:
    buffers = [Buffer("temporary", -1, n, min(a, b), max(a, b), VALUE) for n, a, b in lives]
    most = max(
        sum(int(aligned(b.bytes)) for b in buffers if b.first <= moment <= b.last)
        for moment in range(21)
    )
    assert sum(int(aligned(buffer.bytes)) for buffer in largest_live_set(buffers)) == most


def test_a_chain_of_products_needs_two_arrays() -> None:
    def chain(x: Any) -> Any:
        for _ in range(10):
            x = np.tanh(x @ x)
        return x

    made = planned(chain, "f32[64, 64]")
    assert made.bytes == 2 * 64 * 64 * 4


def test_a_result_is_written_over_an_operand_that_dies() -> None:
    def function(x: Any) -> Any:
        y = np.exp(x) @ x
        return wf.fence(np.tanh(y)) @ x

    made = planned(function, "f32[64, 64]")
    assert made.bytes == 2 * 64 * 64 * 4


def test_a_table_that_a_loop_changes_stays_in_place() -> None:
    def fill(table: Any) -> Any:
        return wf.fori_loop(0, 10, lambda i, t: t.at[i].set(t[i] * 2.0 + 1.0), table)

    made = planned(fill, "f64[1000]")
    (control,) = made.controls.values()
    assert not control.spare
    assert 1 in control.bodies[-1].in_place or 0 in control.bodies[-1].in_place


def test_sizes_that_the_run_tells_give_a_symbolic_plan() -> None:
    def function(x: Any) -> Any:
        return np.tanh(np.exp(x) @ x) @ x

    made = planned(function, "f64[n, n]")
    assert str(made.bytes)
    assert not isinstance(made.bytes, int)


def test_an_order_that_needs_less_memory_is_taken() -> None:
    """In the program's order eight products are alive before the first is summed up."""

    def function(x: Any) -> Any:
        products = [wf.fence(np.tanh(x * i) @ x) for i in range(1, 9)]
        sums = [wf.fence(np.sum(product, axis=1)) for product in products]
        return sum(sums)

    made = planned(function, "f32[200, 200]")
    assert made.bytes <= 3 * 200 * 200 * 4 + 20 * 1024


# --- branches -----------------------------------------------------------------------------------


def conditional_writes(x: Any) -> Any:
    """A loop whose body writes to an array under conditions, one inside the other."""

    def step(carry: Any, i: Any) -> Any:
        def write(a: Any) -> Any:
            b = a.at[i].set(0.5)
            return wf.cond(i > 3, lambda c: c.at[i - 1].add(1.0), lambda c: c, b)

        return wf.cond(carry[i] > 0, write, lambda a: a, carry), ()

    return wf.scan(step, x * 2.0, np.arange(10))[0]


def test_branches_write_in_place() -> None:
    made = planned(conditional_writes, "f64[1000]")
    (plan,) = [plan for op, plan in made.controls.items() if op.name == "scan"]
    assert not plan.spare
    assert plan.bytes < 1000


def loops_in_branches(x: Any) -> Any:
    """A loop that now and then has another one change its array."""

    def step(carry: Any, i: Any) -> Any:
        def write(a: Any) -> Any:
            return wf.while_loop(
                lambda k: k[0] > 0, lambda k: (k[0] - 1, k[1].at[k[0]].add(a[0] + i)), (i, a)
            )[1]

        def written(a: Any) -> Any:
            return wf.fori_loop(0, i, lambda k, b: b.at[k].add(1.0), a)

        return wf.cond(carry[i] > 0, written, write, carry), ()

    return wf.scan(step, x * 2.0, np.arange(10))[0]


def loops_in_a_row(x: Any) -> Any:
    y = wf.fori_loop(0, 5, lambda i, a: a.at[i].add(a[i + 1]), np.sin(x))
    return wf.fori_loop(0, 6, lambda i, a: a.at[i].multiply(a[i + 1]), y)


def test_loops_go_on_in_the_memory_of_what_they_begin_with() -> None:
    assert planned(loops_in_a_row, "f64[1000]").bytes < 9000

    def quiet(x: Any) -> Any:
        def step(carry: Any, i: Any) -> Any:
            def write(a: Any) -> Any:
                return wf.fori_loop(0, i, lambda k, b: b.at[k].add(1.0), a)

            return wf.cond(carry[i] > 0, write, lambda a: a, carry), ()

        return wf.scan(step, x * 2.0, np.arange(10))[0]

    (plan,) = planned(quiet, "f64[1000]").controls.values()
    assert not plan.spare
    assert plan.bytes < 1000


def begun_and_read_in_the_loop(x: Any) -> Any:
    y = np.sin(x)
    return wf.fori_loop(0, 5, lambda i, a: a.at[i].set(a[i + 1] + y[i] * y[i + 1]), y)


def begun_twice(x: Any) -> Any:
    y = np.sin(x)
    step: Any = lambda i, c: (c[0].at[i].add(1.0), c[1].at[i].multiply(c[0][i]))  # noqa: E731
    return wf.fori_loop(0, 5, step, (y, y))


def begun_and_read_afterwards(x: Any) -> Any:
    y = np.sin(x)
    z = wf.fori_loop(0, 5, lambda i, a: a.at[i].set(0.0), y)
    return y - z, z


def exchanged_in_the_loop(x: Any) -> Any:
    return wf.fori_loop(0, 5, lambda i, c: (c[1], c[0] + c[1]), (np.sin(x), np.cos(x)))


def swapped(x: Any) -> Any:
    y, z = x * 2.0, x + 1.0
    return wf.cond(x[0] > 0, lambda a, b: (b, a), lambda a, b: (a, b), y, z)


def one_array_twice(x: Any) -> Any:
    y = np.sin(x)
    return wf.cond(x[0] > 0, lambda a: (a.at[0].set(1.0), a), lambda a: (a, a.at[1].set(2.0)), y)


def passed_twice(x: Any) -> Any:
    y = np.sin(x)
    return wf.cond(x[0] > 0, lambda a, b: a.at[0].set(b[1]), lambda a, b: b, y, y)


def read_afterwards(x: Any) -> Any:
    y = np.sin(x)
    z = wf.cond(x[0] > 0, lambda a: a.at[0].set(9.0), lambda a: a, y)
    return z + y, z


def one_branch_makes_a_new_one(x: Any) -> Any:
    y = np.cumsum(x)
    return wf.cond(x[0] > 0, lambda a: a.at[0].set(a[3]), lambda a: a[::-1] * 1.0, y) + 1.0


def read_before_and_after_the_write(x: Any) -> Any:
    def step(carry: Any, i: Any) -> Any:
        def write(a: Any) -> Any:
            old = a[i]
            b = a.at[i].set(a[i + 1] * 2.0)
            return b.at[i + 1].set(old + b[i])

        before = carry[i]
        new = wf.cond(carry[0] + i > 0, write, lambda a: a, carry)
        return new, before + new[i]

    return wf.scan(step, np.sin(x), np.arange(5))


def a_chain_in_a_loop(x: Any) -> Any:
    def step(carry: Any, i: Any) -> Any:
        a, b = carry
        for k in range(3):
            a, b = wf.cond(
                a[k] > b[i],
                lambda a, b, k=k: (a.at[i].add(b[k]), b),
                lambda a, b, k=k: (b, a.at[k].set(0.25)),
                a,
                b,
            )
        return (a, b), a[i]

    return wf.scan(step, (np.sin(x), np.cos(x)), np.arange(6))


BRANCHES = (
    conditional_writes,
    loops_in_branches,
    loops_in_a_row,
    begun_and_read_in_the_loop,
    begun_twice,
    begun_and_read_afterwards,
    exchanged_in_the_loop,
    swapped,
    one_array_twice,
    passed_twice,
    read_afterwards,
    one_branch_makes_a_new_one,
    read_before_and_after_the_write,
    a_chain_in_a_loop,
)


@pytest.mark.parametrize("function", BRANCHES, ids=lambda function: function.__name__)
def test_branches_compute_what_the_reference_does(function: Any) -> None:
    native, reference = wf.jit(function), wf.jit(function, backend="reference")
    for sign in (1.0, -1.0):
        x = sign * np.linspace(0.1, 3.0, 12)
        results = zip(tree.flatten(native(x))[0], tree.flatten(reference(x))[0], strict=True)
        for one, other in results:
            np.testing.assert_allclose(one, other, rtol=1e-13)
