"""Patterns of dependence: never too small for any op, and exact where the graph tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.compiler.ir.making import ops, region
from tests.compiler.ops import (
    rows_arithmetic,
    rows_contraction,
    rows_conversion,
    rows_convolution,
    rows_cumulative,
    rows_fft,
    rows_indexing,
    rows_linalg,
    rows_logic,
    rows_ordering,
    rows_reduction,
    rows_shape,
    rows_special,
    rows_window,
)
from tests.compiler.ops.sample import Sample
from tests.compiler.transforms.checking import inexact, run, tame, trace
from tests.compiler.transforms.rows import differentiable
from tests.compiler.transforms.tables import rows_by_op
from weft.compiler.ir.build import constant
from weft.compiler.ir.dtypes import f64, i64
from weft.compiler.ir.errors import DTypeError, ShapeError, TraceError
from weft.compiler.ir.graph import Region, Value
from weft.compiler.ir.opdef import OpDef, Trait
from weft.compiler.ir.types import type_of
from weft.compiler.transforms import derive, rows, sparsity
from weft.compiler.transforms.dependence import Fact

Array = np.ndarray[Any, Any]

ROWS = rows_by_op(
    rows_arithmetic,
    rows_contraction,
    rows_conversion,
    rows_convolution,
    rows_cumulative,
    rows_fft,
    rows_indexing,
    rows_linalg,
    rows_logic,
    rows_ordering,
    rows_reduction,
    rows_shape,
    rows_special,
    rows_window,
)
MOST_ELEMENTS = 24
MOST_SAMPLES = 25


def pattern_of(made: Region, marked: Sequence[bool] | None = None) -> Array:
    """The pattern of the Jacobian by all floats, dense."""
    marks = inexact(made.parameter_types) if marked is None else marked
    return np.asarray(sparsity.jacobian_pattern(made, marks).matrix.toarray())


def dense_jacobian(made: Region, arrays: Sequence[Array]) -> Array:
    """All derivatives by floats, column by column in forward mode; rows of integers are zero."""
    marked, floats = inexact(made.parameter_types), inexact(made.result_types)
    derived = derive.jvp(made, marked)
    columns = []
    for number, mark in enumerate(marked):
        for place in range(arrays[number].size if mark else 0):
            units = [np.zeros_like(a) for a in arrays]
            units[number].flat[place] = 1
            results = run(derived, [*arrays, *[u for u, m in zip(units, marked, strict=True) if m]])
            tangents = iter(results[len(floats) :])
            parts = [
                next(tangents) if is_float else np.zeros(value.shape)
                for value, is_float in zip(results, floats, strict=False)
            ]
            columns.append(np.concatenate([part.reshape(-1) for part in parts]))
    return np.array(columns).T


# --- every op -----------------------------------------------------------------------------------


def small(samples: Sequence[Sample]) -> list[Sample]:
    """Samples of few elements, and no more than enough of them."""
    sized = [(s, sum(np.size(x) for x in s.operands)) for s in differentiable(samples)]
    found = [s for s, size in sized if 0 < size <= MOST_ELEMENTS and takes_double(s)]
    return found[:: len(found) // MOST_SAMPLES + 1]


def takes_double(sample: Sample) -> bool:
    """Whether the op, with the attributes of the sample, takes operands that were widened."""
    try:
        trace(sample.op, map(type_of, tame(sample.operands)), sample.attributes)
    except DTypeError:
        return False
    return True


def assert_holds_changes(sample: Sample, are_known: bool) -> None:
    """A result element that changes with an operand element depends on it by the op's rule."""
    # Copies in one memory order, since another order of summation changes results too.
    arrays = [np.array(array, order="C") for array in tame(sample.operands)]
    made = trace(sample.op, map(type_of, arrays), sample.attributes)
    floats = inexact(made.parameter_types)
    sizes = [a.size if is_float else 0 for a, is_float in zip(arrays, floats, strict=True)]
    starts, total = np.cumsum([0, *sizes]), sum(sizes)
    facts = [
        Fact(rows.inputs(int(start), a.size, total))
        if is_float
        else Fact(value=a if are_known else None)
        for a, is_float, start in zip(arrays, floats, starts, strict=False)
    ]
    found = sparsity.facts_of(made, facts, total)
    before = run(made, arrays)
    for number, (array, is_float) in enumerate(zip(arrays, floats, strict=True)):
        for place in range(array.size if is_float else 0):
            moved = [a.copy() for a in arrays]
            moved[number].flat[place] += 0.37 + 0.1 * np.abs(moved[number].flat[place])
            for fact, old, new in zip(found, before, run(made, moved), strict=True):
                changed = ~((old == new) | ((old != old) & (new != new))).reshape(-1)
                if fact.rows is None:
                    assert not changed.any()
                    continue
                depends = fact.rows.matrix.toarray()[:, starts[number] + place]
                assert not np.any(changed & ~depends), f"{sample}: operand {number} at {place}"


@pytest.mark.parametrize("name", [name for name, samples in ROWS.items() if small(samples)])
def test_rule_of_op_holds_all_that_change_a_result(name: str) -> None:
    for sample in small(ROWS[name]):
        assert_holds_changes(sample, are_known=False)
        if any(np.asarray(x).dtype.kind not in "fc" for x in sample.operands):
            assert_holds_changes(sample, are_known=True)


@pytest.mark.parametrize("name", [name for name, samples in ROWS.items() if small(samples)])
def test_pattern_of_op_holds_its_derivatives(name: str) -> None:
    for sample in small(ROWS[name]):
        arrays = tame(sample.operands)
        made = trace(sample.op, map(type_of, arrays), sample.attributes)
        try:
            jacobian = dense_jacobian(made, arrays)
        except TraceError:
            continue
        # Beside an infinite derivative 0 times infinity makes NaN of those that are zero.
        is_nonzero = (jacobian != 0) & ~np.isnan(jacobian)
        assert not np.any(is_nonzero & ~pattern_of(made)), str(sample)


# --- exact patterns -----------------------------------------------------------------------------


def numbers(values: object, dtype: Any = f64) -> Value:
    return constant(values, dtype)


BAND = np.array([[1.0, 2.0, 0.0, 0.0], [0.0, 1.0, 2.0, 0.0], [0.0, 0.0, 1.0, 2.0]])

EXACT: dict[str, tuple[list[str], Callable[..., Any], Any]] = {
    "elementwise with a stretched scalar": (
        ["f64[2]", "f64[]"],
        lambda x, y: ops.mul(x, y),
        [[1, 0, 1], [0, 1, 1]],
    ),
    "a view of a view": (
        ["f64[2, 3]"],
        lambda x: ops.slice(
            ops.transpose(x, permutation=(1, 0)), starts=(1, 0), limits=(3, 1), strides=(1, 1)
        ),
        [[0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]],
    ),
    "padding": (
        ["f64[2]", "f64[]"],
        lambda x, y: ops.pad(x, y, low=(1,), high=(-1,), interior=(1,)),
        [[0, 0, 1], [1, 0, 0], [0, 0, 1]],
    ),
    "a sum along an axis": (
        ["f64[2, 2]"],
        lambda x: ops.reduce_sum(ops.sin(x), axes=(0,)),
        [[1, 0, 1, 0], [0, 1, 0, 1]],
    ),
    "a cumulative sum from the end": (
        ["f64[3]"],
        lambda x: ops.cumsum(x, axis=0, reverse=True),
        [[1, 1, 1], [0, 1, 1], [0, 0, 1]],
    ),
    "a product with a constant matrix that has zeros": (
        ["f64[4]"],
        lambda x: ops.dot_general(numbers(BAND), x, lhs_contract=(1,), rhs_contract=(0,)),
        BAND != 0,
    ),
    "a product of two operands": (
        ["f64[2]", "f64[2, 2]"],
        lambda x, y: ops.dot_general(x, y, lhs_contract=(0,), rhs_contract=(0,)),
        [[1, 1, 1, 0, 1, 0], [1, 1, 0, 1, 0, 1]],
    ),
    "a product with zeros on both sides of a free axis": (
        ["f64[2, 2]"],
        lambda x: ops.dot_general(
            x, numbers([[1.0, 1.0], [0.0, 1.0]]), lhs_contract=(1,), rhs_contract=(0,)
        ),
        [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]],
    ),
    "a convolution with a kernel that has a zero": (
        ["f64[1, 1, 4]"],
        lambda x: ops.convolution(
            x,
            numbers([[[1.0, 0.0, 1.0]]]),
            strides=(1,),
            padding=((1, 1),),
            lhs_dilation=(1,),
            rhs_dilation=(1,),
        ),
        [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]],
    ),
    "a convolution under a sliding operand": (
        ["f64[1, 1, 3]"],
        lambda x: ops.convolution(
            numbers([[[1.0, 2.0]]]),
            x,
            strides=(1,),
            padding=((2, 2),),
            lhs_dilation=(1,),
            rhs_dilation=(1,),
        ),
        [[0, 0, 1], [0, 1, 1], [1, 1, 0], [1, 0, 0]],
    ),
    "windows": (
        ["f64[4]"],
        lambda x: ops.reduce_window(
            x,
            kind="max",
            window=(2,),
            strides=(2,),
            padding=((0, 0),),
            base_dilation=(1,),
            window_dilation=(1,),
        ),
        [[1, 1, 0, 0], [0, 0, 1, 1]],
    ),
    "indices that are known": (
        ["f64[3]"],
        lambda x: ops.gather(x, numbers([-1, 0, 7], i64), axes=(0,), mode="fill"),
        [[0, 0, 1], [1, 0, 0], [0, 0, 0]],
    ),
    "indices that are computed from known numbers": (
        ["f64[3]"],
        lambda x: ops.gather(
            x,
            ops.sub(numbers(2, i64), ops.iota(dtype=i64, shape=(3,), axis=0)),
            axes=(0,),
        ),
        [[0, 0, 1], [0, 1, 0], [1, 0, 0]],
    ),
    "updates at known places, the last of which wins": (
        ["f64[3]", "f64[2]"],
        lambda x, y: ops.scatter(x, y, numbers([1, 1], i64), axes=(0,), kind="set"),
        [[1, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 1, 0, 0]],
    ),
    "updates that add up": (
        ["f64[2]", "f64[2]"],
        lambda x, y: ops.scatter(x, y, numbers([1, 1], i64), axes=(0,), kind="add"),
        [[1, 0, 0, 0], [0, 1, 1, 1]],
    ),
    "a known choice": (
        ["f64[2]", "f64[2]"],
        lambda x, y: ops.select(constant(np.array([True, False])), x, y),
        [[1, 0, 0, 0], [0, 0, 0, 1]],
    ),
    "a factor that is zero somewhere, made from one that is not known": (
        ["f64[2]"],
        lambda x: ops.mul(x, ops.mul(ops.exp(x), numbers([0.0, 3.0]))),
        [[0, 0], [0, 1]],
    ),
    "a derivative that is zero": (
        ["f64[2]"],
        lambda x: ops.add(ops.floor(x), ops.stop_gradient(x)),
        [[0, 0], [0, 0]],
    ),
    "a triangular solve": (
        ["f64[3, 1]"],
        lambda x: ops.triangular_solve(numbers(np.eye(3) + 1), x, lower=True),
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
    ),
    "batches of matrices": (
        ["f64[2, 1, 1]"],
        lambda x: ops.cholesky(x),
        [[1, 0], [0, 1]],
    ),
    "a sort of rows": (
        ["f64[2, 2]"],
        lambda x: ops.sort(x, axis=1),
        [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]],
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_pattern_is_exact_for(name: str) -> None:
    types, write, expected = EXACT[name]
    np.testing.assert_array_equal(pattern_of(region(types, write)), np.array(expected, np.bool_))


def test_unknown_index_leaves_other_axes_apart() -> None:
    made = region(
        ["f64[2, 2]", "i64[2]"],
        lambda x, i: ops.gather(x, ops.iota(dtype=i64, shape=(2,), axis=0), i, axes=(0, 1)),
    )
    np.testing.assert_array_equal(pattern_of(made), [[1, 1, 0, 0], [0, 0, 1, 1]])


def test_window_at_unknown_place_leaves_other_axes_apart() -> None:
    zero = constant(0, i64)
    read = region(["f64[2, 2]", "i64[]"], lambda x, i: ops.dynamic_slice(x, zero, i, sizes=(2, 1)))
    np.testing.assert_array_equal(pattern_of(read), [[1, 1, 0, 0], [0, 0, 1, 1]])
    write = region(
        ["f64[2, 2]", "f64[2, 1]", "i64[]"],
        lambda x, y, i: ops.dynamic_update_slice(x, y, zero, i),
    )
    updates = pattern_of(write)[:, 4:]
    np.testing.assert_array_equal(updates, [[1, 0], [1, 0], [0, 1], [0, 1]])


# --- ops without an entry -----------------------------------------------------------------------


def new_op(traits: Trait = Trait.NONE, **attributes: Any) -> OpDef:
    return OpDef(
        "new",
        "An op that the table of rules does not know.",
        infer=lambda x: x,
        reference=lambda x: x,
        operands=("x",),
        traits=traits,
        linear=(),
        **attributes,
    )


@pytest.mark.parametrize(
    ("traits", "expected"),
    [
        (Trait.NONE, np.ones((2, 2))),
        (Trait.ELEMENTWISE, np.eye(2)),
        (Trait.VIEW, np.eye(2)),
        (Trait.REDUCTION, np.ones((2, 2))),
    ],
    ids=str,
)
def test_new_op_depends_on_what_its_traits_say(traits: Trait, expected: Array) -> None:
    op = new_op(traits)
    np.testing.assert_array_equal(pattern_of(region(["f64[2]"], lambda x: op(x))), expected)


# --- ops with regions ---------------------------------------------------------------------------


def shift(length: int, steps: int) -> Region:
    """A scan that moves its carry by one place per step and takes in an element of a sequence."""
    body = region(
        [f"f64[{length}]", "f64[]"],
        lambda carry, step: ops.concatenate(
            ops.broadcast(step, shape=(1,), dims=()),
            ops.slice(carry, starts=(0,), limits=(length - 1,), strides=(1,)),
            axis=0,
        ),
    )
    return region(
        [f"f64[{length}]", f"f64[{steps}]"],
        lambda carry, sequence: ops.scan.emit(
            carry, sequence, n_carry=1, length=steps, regions=[body]
        ),
    )


def test_scan_is_followed_step_by_step() -> None:
    expected = np.zeros((4, 6))
    expected[[0, 1, 2, 3], [5, 4, 0, 1]] = 1
    np.testing.assert_array_equal(pattern_of(shift(4, 2)), expected)


@pytest.mark.parametrize("limit", ["MOST_UNROLLED", "MOST_WORK"])
def test_long_scan_holds_all_numbers_of_steps(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparsity, limit, 0)
    own = np.tril(np.ones((4, 4)))
    np.testing.assert_array_equal(pattern_of(shift(4, 9))[:, :4], own)
    np.testing.assert_array_equal(pattern_of(shift(4, 9))[:, 4:], np.ones((4, 9)))


def test_carry_that_settles_late_is_no_longer_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparsity, "MOST_UNROLLED", 0)
    monkeypatch.setattr(sparsity, "MOST_ROUNDS", 2)
    np.testing.assert_array_equal(pattern_of(shift(6, 9)), np.ones((6, 15)))


def test_unknown_branch_gives_the_union_and_a_known_one_itself() -> None:
    branches = [
        region(["f64[2]"], lambda x: ops.mul(x, x)),
        region(["f64[2]"], lambda x: ops.reverse(x, axes=(0,))),
    ]
    unknown = region(["bool[]", "f64[2]"], lambda b, x: ops.switch.emit(b, x, regions=branches))
    np.testing.assert_array_equal(pattern_of(unknown), np.ones((2, 2)))
    known = region(
        ["f64[2]"], lambda x: ops.switch.emit(constant(np.array(True)), x, regions=branches)
    )
    np.testing.assert_array_equal(pattern_of(known), [[0, 1], [1, 0]])


def test_loop_of_unknown_length_keeps_elements_apart() -> None:
    condition = region(["f64[3]"], lambda x: ops.lt(ops.reduce_max(x, axes=(0,)), numbers(9.0)))
    body = region(["f64[3]"], lambda x: ops.mul(x, x))
    made = region(["f64[3]"], lambda x: ops.while_.emit(x, regions=[condition, body]))
    np.testing.assert_array_equal(pattern_of(made), np.eye(3))
    # As values, not as derivatives, all elements depend on what ends the loop.
    (fact,) = sparsity.facts_of(made, [Fact(rows.inputs(0, 3, 3))], 3)
    assert fact.rows is not None
    np.testing.assert_array_equal(fact.rows.matrix.toarray(), np.ones((3, 3)))


def test_records_of_unknown_number_keep_elements_apart() -> None:
    """The second derivative of a loop: its records have tangents, and a size that is not known."""
    condition = region(["f64[3]"], lambda x: ops.lt(ops.reduce_max(x, axes=(0,)), numbers(9.0)))
    body = region(["f64[3]"], lambda x: ops.mul(x, x))
    made = region(["f64[3]"], lambda x: ops.while_.emit(x, regions=[condition, body]))
    gradient = derive.vjp(made, [True], [True])
    np.testing.assert_array_equal(pattern_of(gradient, [True, False])[3:], np.eye(3))


def test_own_reverse_rule_is_turned_around() -> None:
    primal = region(["f64[3]"], lambda x: ops.sin(x))
    forward = region(["f64[3]"], lambda x: [ops.sin(x), x])
    backward = region(["f64[3]", "f64[3]"], lambda x, given: ops.cumsum(given, axis=0))
    made = region(["f64[3]"], lambda x: ops.custom_vjp.emit(x, regions=[primal, forward, backward]))
    found = sparsity.jacobian_pattern(made, [True])
    np.testing.assert_array_equal(found.matrix.toarray(), np.triu(np.ones((3, 3))))
    assert found.needs_reverse


def test_unmarked_parameters_have_no_columns() -> None:
    made = region(["f64[2]", "f64[3]"], lambda x, y: [ops.neg(x), ops.neg(y)])
    np.testing.assert_array_equal(pattern_of(made, [False, True]), np.eye(5)[:, 2:])


def test_symbolic_size_is_refused() -> None:
    from weft.compiler.ir import dims

    made = region(["f64[n]"], lambda x: ops.neg(x), {"n": dims.symbol("n")})
    with pytest.raises(ShapeError, match="symbolic size"):
        sparsity.jacobian_pattern(made, [True])
