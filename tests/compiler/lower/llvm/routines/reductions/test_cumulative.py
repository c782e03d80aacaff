"""Native cumulative ops: every dtype, axis and stride, and the limits of their numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.compiler.lower.llvm.routines.running import (
    Array,
    assert_same_bits,
    compiled,
    edged,
    reference,
    run,
)
from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.ops import cumulative as cumulative_ops

SHAPES = ((0, 3, 2), (3, 0, 2), (2, 3, 0), (1, 1, 1), (5, 9, 3), (2, 4, 300), (17, 2, 20))
FOLDS = ("cumsum", "cumprod", "cummax", "cummin")


def accepted(name: str) -> list[DType]:
    found = []
    for of in dtypes.ALL:
        is_right = of.is_inexact if name == "linear_recurrence" else not of.is_bool
        if name in ("cummax", "cummin"):
            is_right = not of.is_complex
        if name == "cumlogsumexp":
            is_right = of.is_float
        if is_right:
            found.append(of)
    return found


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_cumulative_op_of_integers_and_doubles_is_exact(name: str, axis: int) -> None:
    """In order and in double precision, as the reference computes it, so to the last bit."""
    definition = getattr(cumulative_ops, name)
    rng = np.random.default_rng(15)
    for of in (dtypes.f32 if axis else dtypes.f64, (dtypes.i8, dtypes.u64, dtypes.i32)[axis]):
        step = compiled(definition, ((of, 3),), axis=axis, reverse=bool(axis % 2))
        for shape in SHAPES:
            x = edged(rng, shape, of)
            expected = reference(definition, [x], step.attributes)
            np.testing.assert_array_equal(step(x)[0], expected[0])


def test_cumulative_sum_keeps_the_sign_of_zeros() -> None:
    for name in ("cumsum", "cumprod"):
        step = compiled(getattr(cumulative_ops, name), ((dtypes.f64, 2),), axis=1, reverse=False)
        for count in (1, 20):
            x = np.array([[-0.0, -0.0, 0.0, -0.0]] * count)
            assert_same_bits(step(x), reference(step.definition, [x], step.attributes))


def gentle(rng: np.random.Generator, shape: Sequence[int], of: DType) -> Any:
    """Numbers whose products neither grow nor vanish fast, some of them infinite."""
    if not of.is_inexact:
        return edged(rng, shape, of)
    made = rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape)
    if of.is_complex:
        made = made + 0.5j * rng.standard_normal(shape)
    return made.astype(of.numpy)


def assert_close(made: Array, expected: Array, of: DType, steps: int) -> None:
    """Within some roundings per step of what is summed up, relative to the largest result."""
    wide = np.complex128 if of.is_complex else np.float64
    if not of.is_inexact:
        np.testing.assert_array_equal(made, expected)
        return
    digits = {16: 2.0**-7 if of is dtypes.bf16 else 2.0**-10, 32: 2.0**-23}
    unit = digits.get(of.real.bits, 2.0**-52)
    x, y = made.astype(wide), expected.astype(wide)
    finite = np.abs(y[np.isfinite(y)])
    largest = float(finite.max()) if finite.size else 0.0
    np.testing.assert_allclose(x, y, rtol=4 * unit, atol=4 * unit * max(steps, 1) * largest)


@pytest.mark.parametrize("name", [*FOLDS[:3], "cumlogsumexp", "linear_recurrence"])
def test_cumulative_op_of_every_dtype(name: str) -> None:
    definition = getattr(cumulative_ops, name)
    rng = np.random.default_rng(16)
    count = 2 if name == "linear_recurrence" else 1
    for number, of in enumerate(accepted(name)):
        attributes = {"axis": 1, "reverse": bool(number % 2)}
        arrays = [gentle(rng, (2, 6, 11), of) for _ in range(count)]
        expected = reference(definition, arrays, attributes)
        made = run(definition, arrays, attributes, dynamic=number % 3 == 0)
        assert_close(made[0], expected[0], of, 6)


@pytest.mark.parametrize("name", [*FOLDS, "cumlogsumexp", "linear_recurrence"])
@pytest.mark.parametrize("shape,axis", [((5, 300), 0), ((3, 4, 21), 1), ((20, 7), 1), ((9,), 0)])
def test_cumulative_op_of_known_sizes(name: str, shape: tuple[int, ...], axis: int) -> None:
    definition = getattr(cumulative_ops, name)
    rng = np.random.default_rng(17)
    arrays = [gentle(rng, shape, dtypes.f64) for _ in range(1 + (name == "linear_recurrence"))]
    attributes = {"axis": axis, "reverse": axis == 0}
    expected = reference(definition, arrays, attributes)
    assert_close(run(definition, arrays, attributes)[0], expected[0], dtypes.f64, shape[axis])


def test_cumulative_op_of_arrays_with_odd_strides() -> None:
    rng = np.random.default_rng(18)
    x = rng.standard_normal((6, 5, 9))[::-2, :, ::-1]
    factor = np.broadcast_to(rng.standard_normal((5, 1)), x.shape)
    for axis in range(3):
        attributes = {"axis": axis, "reverse": True}
        definition = cumulative_ops.linear_recurrence
        expected = reference(definition, [factor, x], attributes)
        made = run(definition, [factor, x], attributes, dynamic=axis == 1)
        assert_close(made[0], expected[0], dtypes.f64, 9)


@pytest.mark.parametrize("of", [dtypes.f64, dtypes.f32, dtypes.f16], ids=str)
def test_cumlogsumexp_at_the_limits(of: DType) -> None:
    inf, nan = math.inf, math.nan
    rows = [
        [-inf, -inf, 1.0, -inf, 2.0],
        [1.0, inf, inf, -inf, 3.0],
        [-inf, inf, 0.0, nan, 1.0],
        [0.0, -0.0, 1000.0, -1000.0, 1001.0],
    ]
    step = compiled(cumulative_ops.cumlogsumexp, ((of, 2),), axis=1, reverse=False)
    x = np.array(rows, of.numpy)
    for y in (x, np.repeat(x, 5, axis=0)):
        (expected,) = reference(cumulative_ops.cumlogsumexp, [y], step.attributes)
        np.testing.assert_allclose(step(y)[0], expected, rtol=4 * np.finfo(of.numpy).eps)


def test_long_cumlogsumexp_does_not_lose_digits() -> None:
    x = np.full((1, 20_000), 700.0)
    (made,) = run(cumulative_ops.cumlogsumexp, [x], {"axis": 1, "reverse": False})
    np.testing.assert_allclose(made[0], 700 + np.log(np.arange(1, 20_001)), rtol=4e-16)
