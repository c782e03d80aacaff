"""Updates of parts of an array: written where the array is, without a copy of it, whichever other
parts of it they are made of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft as wf
from weft.compiler.ir.index.affine import Loop, Place, are_apart, constant, counter
from weft.compiler.loops.memory import RegionPlan
from weft.compiler.loops.pipeline import lower_to_loops
from weft.compiler.passes.pipeline import optimise

ROWS, COLUMNS = 40, 6


def recursive_rows(y: Any, x: Any, i: Any) -> None:
    y[i] = x[i] + 0.5 * y[i - 1]


def recursive_columns(y: Any, x: Any, i: Any) -> None:
    y[:, i % COLUMNS] = x[:, i % COLUMNS] + 0.5 * y[:, i % COLUMNS - 1]


def turned_row(y: Any, x: Any, i: Any) -> None:
    y[i] = y[i - 1][::-1] - x[i]


def swapped_rows(y: Any, x: Any, i: Any) -> None:
    row = y[i].copy()
    y[i] = y[i - 1]
    y[i - 1] = row


def swapped_by_places(y: Any, x: Any, i: Any) -> None:
    y[[i - 1, i]] = y[[i, i - 1]]


def part_of_a_row(y: Any, x: Any, i: Any) -> None:
    y[i, 1:] = y[i - 1, :-1] + x[i, 1:]


def middle_of_a_row(y: Any, x: Any, i: Any) -> None:
    y[i, 1:-1] = y[i - 1, 1:-1] + y[i, :-2] + y[i, 2:]


def element(y: Any, x: Any, i: Any) -> None:
    y[i, 0] = y[i - 1, -1] + x[i, 0]


def mean_of_a_row(y: Any, x: Any, i: Any) -> None:
    y[i] -= y[i - 1].mean()


def two_updates(y: Any, x: Any, i: Any) -> None:
    y[i, 2:] = y[i - 1, 1:-1]
    y[i] += y[i - 1] * x[i]


def every_other_element(y: Any, x: Any, i: Any) -> None:
    y[i, ::2] = y[i - 1, 1::2]


def every_third_column(y: Any, x: Any, i: Any) -> None:
    y[i, 1::3] += y[i, 2::3] - x[i, ::3]


def backwards_with_gaps(y: Any, x: Any, i: Any) -> None:
    y[i, ::-2] = y[i - 1, ::2]


def added_in_place(y: Any, x: Any, i: Any) -> None:
    np.add.at(y, i, y[i - 1])


STEPS = [
    *(recursive_rows, recursive_columns, turned_row, swapped_rows, swapped_by_places),
    *(part_of_a_row, middle_of_a_row, element, mean_of_a_row, two_updates, added_in_place),
    *(every_other_element, backwards_with_gaps),
]


def loop_of(step: Callable[[Any, Any, Any], None]) -> Callable[[Any], Any]:
    """The steps one after the other, as a loop of the program."""

    def looped(x: Any) -> Any:
        def body(i: Any, y: Any) -> Any:
            made = y.copy()
            step(made, x, i)
            return made

        return wf.fori_loop(1, ROWS, body, x * 1.0)

    return looped


def in_numpy(step: Callable[[Any, Any, Any], None], x: Any) -> Any:
    y = x.copy()
    for i in range(1, ROWS):
        step(y, x, i)
    return y


def body_of(function: Callable[[Any], Any], *specs: str) -> RegionPlan:
    """The plan of the body of a program's only loop."""
    graph = wf.trace(function)(*[wf.spec(text) for text in specs])
    plan = lower_to_loops(optimise(graph)[0], 32, verify=True)[0].plan
    (control,) = plan.controls.values()
    return control.bodies[-1]


def whole(plan: RegionPlan, elements: int) -> list[object]:
    """What a plan copies or makes that is as large as the array."""
    copied = [copy for copy in plan.copies.values() if copy.value.type.size >= elements // 2]
    return [*copied, *[b for b in plan.temporaries if int(b.bytes) >= 8 * elements // 2]]


@pytest.mark.parametrize("step", STEPS)
def test_update_is_in_place(step: Callable[[Any, Any, Any], None]) -> None:
    plan = body_of(loop_of(step), f"f64[{ROWS}, {COLUMNS}]")
    assert not whole(plan, ROWS * COLUMNS)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("step", [*STEPS, every_third_column])
def test_update_gives_what_numpy_gives(step: Callable[[Any, Any, Any], None], threads: int) -> None:
    x = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    made = wf.jit(loop_of(step), threads=threads)(x)
    np.testing.assert_allclose(made, in_numpy(step, x), rtol=1e-10)


GAPS = (every_other_element, backwards_with_gaps)
DIFFERENTIABLE = [step for step in STEPS if step is not added_in_place and step not in GAPS]


@pytest.mark.parametrize("step", DIFFERENTIABLE)
def test_gradient_of_updates_is_in_place(step: Callable[[Any, Any, Any], None]) -> None:
    function = loop_of(step)
    graph = wf.trace(wf.grad(lambda x: (function(x) ** 2).sum()))(wf.spec("f64[40, 6]"))
    plan = lower_to_loops(optimise(graph)[0], 32, verify=True)[0].plan
    for control in plan.controls.values():
        assert not whole(control.bodies[-1], ROWS * COLUMNS)


@pytest.mark.parametrize("step", [*STEPS, every_third_column])
def test_gradient_of_updates_is_right(step: Callable[[Any, Any, Any], None]) -> None:
    random = np.random.default_rng(0)
    x, v = random.normal(size=(2, ROWS, COLUMNS))
    function = loop_of(step)
    slope = wf.jit(wf.grad(lambda x: np.sin(function(x)).sum()))(x)
    imaginary = in_numpy(step, x + 1e-30j * v)
    wanted = np.sin(imaginary).imag.sum() / 1e-30
    np.testing.assert_allclose((slope * v).sum(), wanted, rtol=1e-8)


def test_long_rows_are_updated_in_place_by_several_threads() -> None:
    def step(i: Any, y: Any) -> Any:
        y = y.copy()
        y[i] = np.sin(y[i - 1]) + y[i]
        y[i, 1:] = y[i, :-1] * 0.5 + y[i - 1, 1:]
        return y

    x = np.random.default_rng(0).normal(size=(5, 200_000))
    expected = x.copy()
    for i in range(1, 5):
        expected = step(i, expected)
    made = wf.jit(lambda x: wf.fori_loop(1, 5, step, x), threads=3)(x)
    np.testing.assert_allclose(made, expected, rtol=1e-10, atol=1e-12)


def test_array_that_is_read_afterwards_is_copied() -> None:
    def body(i: Any, carry: Any) -> Any:
        y, total = carry
        made = y.copy()
        made[i] = y[i - 1]
        return made, total + (y * made).sum()

    def looped(x: Any) -> Any:
        return wf.fori_loop(1, ROWS, body, (x * 1.0, x[0, 0]))

    x = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    y, total = x, x[0, 0]
    for i in range(1, ROWS):
        y, total = body(i, (y, total))
    made = wf.jit(looped)(x)
    np.testing.assert_allclose(made[0], y)
    np.testing.assert_allclose(made[1], total)


def test_symbolic_rows_are_updated_in_place() -> None:
    def looped(x: Any) -> Any:
        def body(i: Any, y: Any) -> Any:
            made = y.copy()
            made[i, 1:] = made[i - 1, :-1]
            return made

        return wf.fori_loop(1, 8, body, x * 1.0)

    plan = body_of(looped, "f64[n, 6]")
    assert not [copy for copy in plan.copies.values() if not copy.value.type.is_static]
    assert not plan.temporaries or all(isinstance(b.bytes, int) for b in plan.temporaries)


PARTS = st.sampled_from(
    [
        "[{}]",
        "[:, {}]",
        "[{}, 1:]",
        "[{}, :-1]",
        "[{}, ::-1]",
        "[1:, {}]",
        "[:-1, {}]",
        "[{}, 1:-1]",
        "[{}, ::2]",
        "[1::2, {}]",
        "[{}, 1::4]",
        "[{}, ::-2]",
    ]
)
PLACES = st.sampled_from(["i", "i - 1", "n - i", "0", "i // 2"])


@given(
    parts=st.lists(st.tuples(PARTS, PLACES, PLACES, PLACES), min_size=1, max_size=3),
    elements=st.booleans(),
)
def test_random_updates_give_what_numpy_gives(
    parts: list[tuple[str, str, str, str]], elements: bool
) -> None:
    lines = []
    for part, *places in parts:
        target, first, second = ["y" + part.format(place) for place in places]
        lines.append(f"    {target} = 0.5 * {first} - {second}")
    if elements:
        lines.append("    y[i, 0] = y[0, i] + y[-1, -1]")
    names: dict[str, Any] = {}
    exec("def step(y, i, n):\n" + "\n".join(lines), names)
    step = names["step"]
    n = 6
    x = np.random.default_rng(0).normal(size=(n, n))

    def body(i: Any, y: Any) -> Any:
        made = y.copy()
        step(made, i, n)
        return made

    expected = x
    for i in range(1, n):
        expected = body(i, expected)
    made = wf.jit(lambda x: wf.fori_loop(1, n, body, x))(x)
    np.testing.assert_allclose(made, expected, rtol=1e-10, atol=1e-12)


def test_places_are_apart_where_both_follow_each_loop_along_one_axis() -> None:
    i, j = Loop(4), Loop(5)
    row, same = Place((constant(2), counter(j))), Place((constant(3), counter(j)))
    shifted = Place((constant(2), counter(j) + 1))
    assert are_apart(row, same, [j])
    assert not are_apart(row, shifted, [j])
    assert not are_apart(row, same, [i, j])
    assert are_apart(Place((counter(i), counter(j))), Place((counter(i), counter(j))), [i, j])
    assert not are_apart(Place((counter(i) + counter(j),)), Place((counter(i) + counter(j),)), [i])


def test_masks_that_are_known_are_updates_too() -> None:
    """Of small arrays the mask of a write with gaps is folded to a constant."""

    def body(i: Any, y: Any) -> Any:
        made = y.copy()
        made[::3] = made[1::3] * 0.5
        return made

    def looped(x: Any) -> Any:
        return wf.fori_loop(0, ROWS, body, x * 1.0)

    x = np.random.default_rng(0).normal(size=(12, 2))
    expected = x
    for i in range(ROWS):
        expected = body(i, expected)
    np.testing.assert_allclose(wf.jit(looped)(x), expected)
    assert not whole(body_of(looped, "f64[12, 2]"), 24)


def test_other_choices_are_no_updates() -> None:
    """A mask of the caller, and one that lies elsewhere than the values."""
    moved = np.zeros(12, bool)
    moved[1::3] = True

    def chosen(x: Any, mask: Any) -> Any:
        spread = np.zeros(12)
        spread[::3] = x[:4]
        return np.where(mask, spread, x) + np.where(moved, spread, x)

    x = np.arange(12.0) + 1
    mask = x > 5
    np.testing.assert_allclose(wf.jit(chosen)(x, mask), chosen(x, mask))
