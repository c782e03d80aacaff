"""The rules of elementwise ops: all rows of their tables against differences, and what is chosen
where there is no derivative.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import pytest

from tests.compiler.ops import (
    rows_arithmetic,
    rows_conversion,
    rows_logic,
    rows_random,
    rows_special,
)
from tests.compiler.ops.sample import Sample
from tests.compiler.transforms.checking import (
    check_rules,
    gradient,
    inexact,
    jvp,
    nth_derivative,
    trace,
    vjp_region,
)
from tests.compiler.transforms.tables import check_rows, rows_by_op
from weft.compiler.ir.build import constant
from weft.compiler.ir.dtypes import bf16, c64, dtype, f16, f32, f64
from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import type_of
from weft.compiler.ops import arithmetic, conversion, helpers, logic, special

INF, NAN = math.inf, math.nan

ROWS = rows_by_op(rows_arithmetic, rows_logic, rows_conversion, rows_random, rows_special)

# A difference of two functions that are close together far out.
ABSOLUTE = {"i0e": 1e-12, "i1e": 1e-12}
# Their result does not show that the tangent is kept back, or what it is.
WITHOUT_DIFFERENCES = ("stop_gradient", "bitcast")


def has_tangents(row: Sample) -> bool:
    return any(dtype(np.asarray(x).dtype).is_inexact for x in row.operands)


def is_smooth(row: Sample) -> bool:
    """Not where a difference along a line converges though there is no derivative."""
    if row.op is arithmetic.copysign:
        return all(np.all(np.asarray(x) != 0) for x in row.operands)
    if row.op is conversion.cast:
        return row.attributes["dtype"].real is f64 or not row.attributes["dtype"].is_inexact
    return not (row.op is arithmetic.pow_ and row.name == "zero")


@pytest.mark.parametrize("name", [name for name in ROWS if name not in WITHOUT_DIFFERENCES])
def test_rules_agree_with_differences(name: str) -> None:
    rows = [row for row in ROWS[name] if is_smooth(row)]
    compared = check_rows(rows, atol=ABSOLUTE.get(name, 0.0))
    results = {dtype(np.asarray(row.expected).dtype) for row in rows if has_tangents(row)}
    assert compared or not any(result.is_inexact for result in results)


@pytest.mark.parametrize("op", [op for op in arithmetic.OPS if len(op.operands) == 2], ids=repr)
def test_an_operand_may_be_both(op: OpDef) -> None:
    x = np.array([0.5, 1.25, 2.0])
    check_rules(lambda value: op(value, value), [x])


def test_atan2_of_a_value_and_itself_is_constant() -> None:
    (of_x,) = gradient(lambda x: special.atan2(x, x), [np.array([1.0, -2.0])])
    np.testing.assert_allclose(of_x, [0.0, 0.0], atol=1e-16)


# --- kinks, poles and corners -------------------------------------------------------------------


def gradient_at(function: Any, *operands: Any) -> list[Any]:
    """The gradient of the sum of results at points given as lists or numbers."""
    return [g.tolist() for g in gradient(function, [np.array(x, np.float64) for x in operands])]


@pytest.mark.parametrize(
    ("op", "points", "expected"),
    [
        (arithmetic.abs_, [0.0, -0.0, -2.0], [0.0, 0.0, -1.0]),
        (arithmetic.sign, [0.0, 3.0], [0.0, 0.0]),
        (arithmetic.floor, [1.0, 1.5], [0.0, 0.0]),
        (arithmetic.round_, [0.5, 1.5], [0.0, 0.0]),
        (special.sqrt, [0.0, 4.0, INF], [INF, 0.25, 0.0]),
        (special.rsqrt, [0.0, INF], [-INF, 0.0]),
        (special.cbrt, [0.0, INF], [INF, 0.0]),
        (special.exp, [-INF, 1000.0], [0.0, INF]),
        (special.log, [0.0, INF], [INF, 0.0]),
        (special.log10, [INF], [0.0]),
        (special.asin, [-1.0, 1.0], [INF, INF]),
        (special.acos, [1.0], [-INF]),
        (special.atan, [INF, -INF], [0.0, 0.0]),
        (special.acosh, [1.0], [INF]),
        (special.asinh, [INF, -INF], [0.0, 0.0]),
        (special.atanh, [1.0, -1.0], [INF, INF]),
        (special.tanh, [INF, 1000.0, -INF], [0.0, 0.0, 0.0]),
        (special.sigmoid, [INF, 1000.0, -INF, 0.0], [0.0, 0.0, 0.0, 0.25]),
        (special.softplus, [INF, 1000.0, -INF, 0.0], [1.0, 1.0, 0.0, 0.5]),
        (special.erf, [INF, -INF, 100.0], [0.0, 0.0, 0.0]),
        (special.erfc, [INF, -INF, 100.0], [0.0, 0.0, 0.0]),
        (special.erfinv, [-1.0, 1.0], [INF, INF]),
        (special.lgamma, [0.0], [-INF]),
        (special.digamma, [0.0, -1.0], [INF, INF]),
        (special.i0e, [0.0], [0.0]),
        (special.i1e, [0.0], [0.5]),
    ],
    ids=lambda x: x.name if isinstance(x, OpDef) else "",
)
def test_unary_op_at_its_edges(op: OpDef, points: list[float], expected: list[float]) -> None:
    (actual,) = gradient_at(op, points)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("op", [arithmetic.maximum, arithmetic.minimum], ids=repr)
def test_ties_of_two_operands_share_equally(op: OpDef) -> None:
    of_x, of_y = gradient_at(op, [1.0, 2.0, 3.0], 2.0)
    first, last = (0.0, 1.0) if op is arithmetic.maximum else (1.0, 0.0)
    assert (of_x, of_y) == ([first, 0.5, last], 1.5)


def test_infinite_slope_behind_a_maximum_stays_there() -> None:
    def root(x: Value) -> Value:
        return special.sqrt(arithmetic.maximum(x, helpers.number(0, x)))

    assert gradient_at(root, [-1.0, 4.0]) == [[0.0, 0.25]]


def test_maximum_with_a_constant_is_flat_at_its_kink() -> None:
    def relu(x: Value) -> Value:
        return arithmetic.maximum(helpers.number(0, x), x)

    assert gradient_at(relu, [-1.0, 0.0, 2.0]) == [[0.0, 0.0, 1.0]]


def test_relu_of_select_is_flat_at_its_kink() -> None:
    def relu(x: Value) -> Value:
        zero = helpers.number(0, x)
        return logic.select(logic.gt(x, zero), x, zero)

    assert gradient_at(relu, [-1.0, 0.0, 2.0]) == [[0.0, 0.0, 1.0]]


def test_clamp_gives_each_tangent_to_one_operand() -> None:
    x = [-1.0, 0.0, 0.5, 1.0, 2.0]
    of_low, of_x, of_high = gradient_at(arithmetic.clamp, 0.0, x, 1.0)
    assert (of_low, of_x, of_high) == (2.0, [0.0, 0.0, 1.0, 0.0, 0.0], 2.0)
    of_low, of_x, of_high = gradient_at(arithmetic.clamp, 1.0, x, 0.0)
    assert (of_low, of_x, of_high) == (0.0, [0.0] * 5, 5.0)


def test_select_keeps_out_the_tangent_of_the_other_side() -> None:
    def log_or_zero(x: Value) -> Value:
        zero = helpers.number(0, x)
        return logic.select(logic.gt(x, zero), special.log(x), zero)

    x = np.array([-1.0, 0.0, 2.0])
    (tangent,) = jvp(log_or_zero, [x], [np.ones(3)])
    np.testing.assert_array_equal(tangent, [0.0, 0.0, 0.5])


@pytest.mark.parametrize(
    ("x", "y", "by_x", "by_y"),
    [
        (0.0, 2.0, 0.0, 0.0),
        (0.0, 1.0, 1.0, 0.0),
        (0.0, 0.5, INF, 0.0),
        (0.0, 0.0, 0.0, 0.0),
        (0.0, -1.0, -INF, NAN),
        (2.0, 0.0, 0.0, math.log(2)),
        (-2.0, 3.0, 12.0, NAN),
        (INF, 0.0, 0.0, INF),
        (1.0, INF, INF, 0.0),
    ],
)
def test_power_at_edges(x: float, y: float, by_x: float, by_y: float) -> None:
    of_x, of_y = gradient_at(arithmetic.pow_, x, y)
    np.testing.assert_allclose([of_x, of_y], [by_x, by_y], rtol=1e-15)
    (of_x,) = gradient_at(lambda value: arithmetic.pow_(value, constant(y)), x)
    np.testing.assert_array_equal(of_x, by_x)
    (of_y,) = gradient_at(lambda value: arithmetic.pow_(constant(x), value), y)
    np.testing.assert_allclose(of_y, by_y, rtol=1e-15)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 3.0, 4.0])
@pytest.mark.parametrize("is_constant", [True, False])
def test_all_derivatives_of_whole_powers_at_zero(exponent: float, is_constant: bool) -> None:
    def power(x: Value, y: Value) -> Value:
        return arithmetic.pow_(x, constant(exponent) if is_constant else y)

    for order in range(1, 6):
        expected = math.factorial(order) if order == exponent else 0.0
        assert nth_derivative(power, order, 0.0, exponent) == expected


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_derivatives_of_lgamma(order: int) -> None:
    for x in (0.3, 2.5, 17.0, -1.7):
        expected = float(mpmath.psi(order - 1, x))
        np.testing.assert_allclose(nth_derivative(special.lgamma, order, x), expected, rtol=1e-12)


@pytest.mark.parametrize(("op", "order_of_bessel"), [(special.i0e, 0), (special.i1e, 1)])
def test_third_derivative_of_bessel_functions(op: OpDef, order_of_bessel: int) -> None:
    for x in (0.5, -2.0, 6.0):

        def exact(t: Any) -> Any:
            return mpmath.exp(-abs(t)) * mpmath.besseli(order_of_bessel, t)

        with mpmath.workdps(40):
            expected = float(mpmath.diff(exact, x, 3))
        np.testing.assert_allclose(nth_derivative(op, 3, x), expected, rtol=1e-9)


def test_points_without_direction_are_flat() -> None:
    assert gradient_at(arithmetic.hypot, [0.0, 3.0], [0.0, 4.0]) == [[0.0, 0.6], [0.0, 0.8]]
    assert gradient_at(special.atan2, [0.0, 1.0], [0.0, 0.0]) == [[0.0, 0.0], [0.0, -1.0]]
    origin = np.array(0j)
    (tangent,) = jvp(arithmetic.abs_, [origin], [np.array(1 + 2j)])
    assert tangent == 0.0
    (tangent,) = jvp(arithmetic.sign, [origin], [np.array(1 + 2j)])
    assert tangent == 0.0


def test_angle_of_tiny_and_huge_points() -> None:
    of_y, of_x = gradient_at(special.atan2, [3e-170, 3e170], [4e-170, 4e170])
    np.testing.assert_allclose(of_y, [0.16e170, 0.16e-170], rtol=1e-14)
    np.testing.assert_allclose(of_x, [-0.12e170, -0.12e-170], rtol=1e-14)


def test_copysign_passes_the_magnitude_on() -> None:
    of_x, of_y = gradient_at(arithmetic.copysign, [2.0, -2.0, 0.0, 2.0], [-0.0, -1.0, -1.0, 0.0])
    assert (of_x, of_y) == ([-1.0, 1.0, 0.0, 1.0], [0.0] * 4)


def test_nextafter_is_the_identity_of_its_first_operand() -> None:
    assert gradient_at(arithmetic.nextafter, [1.0, 2.0], [3.0, 2.0]) == [[1.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("op", [arithmetic.remainder, arithmetic.fmod], ids=repr)
def test_remainder_counts_the_periods_that_it_took_away(op: OpDef) -> None:
    # 0.3 / 0.1 rounds to 3, but 0.1 as a double goes only twice into 0.3, which the result shows.
    of_x, of_y = gradient_at(op, [0.3, 7.0], [0.1, 2.0])
    assert (of_x, of_y) == ([1.0, 1.0], [-2.0, -3.0])


# --- conversions --------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [f16, bf16, f32, f64])
@pytest.mark.parametrize("source", [f16, bf16, f32, f64])
def test_cast_between_floats_casts_cotangents_back(source: Any, target: Any) -> None:
    x = np.array([0.1, -2.5]).astype(source.numpy)
    cotangent = np.array([0.75, 3.0]).astype(target.numpy)
    (actual,) = gradient(conversion.cast, [x], {"dtype": target}, [cotangent])
    assert actual.dtype == source.numpy
    np.testing.assert_array_equal(actual.astype(np.float64), [0.75, 3.0])


def test_cast_between_reals_and_complex_numbers_keeps_the_pairing() -> None:
    (to_complex,) = gradient(
        conversion.cast,
        [np.array([2.0], np.float32)],
        {"dtype": c64},
        [np.array([3 + 4j], np.complex64)],
    )
    (to_real,) = gradient(
        conversion.cast,
        [np.array([1 + 2j], np.complex64)],
        {"dtype": f32},
        [np.array([5.0], np.float32)],
    )
    assert (to_complex.dtype, to_complex.tolist()) == (np.float32, [3.0])
    assert (to_real.dtype, to_real.tolist()) == (np.complex64, [5 + 0j])


def test_cotangents_of_complex_parts() -> None:
    z, real = np.array([1 + 2j]), np.array([3.0])
    assert gradient(conversion.real, [z], None, [real])[0] == 3 + 0j
    assert gradient(conversion.imag, [z], None, [real])[0] == -3j
    assert gradient(conversion.conj, [z], None, [z])[0] == 1 - 2j
    of_real, of_imag = gradient(conversion.complex_, [real, real], None, [z])
    assert (of_real.item(), of_imag.item()) == (1.0, -2.0)
    # <w, |z|> moves with Re(conj(z) dz) / |z|, and the pairing is Re(cotangent * dz).
    (of_abs,) = gradient(arithmetic.abs_, [np.array([3 + 4j])], None, [np.array([5.0])])
    np.testing.assert_allclose(of_abs, [3 - 4j], rtol=1e-15)


def test_stop_gradient_stops_both_modes() -> None:
    x = np.array([1.0, 2.0])
    assert gradient_at(conversion.stop_gradient, x) == [[0.0, 0.0]]
    (tangent,) = jvp(conversion.stop_gradient, [x], [x])
    assert tangent.tolist() == [0.0, 0.0]


def test_probe_is_not_copied_into_the_derivative() -> None:
    def probed(x: Value) -> Value:
        return special.sin(conversion.probe(x, name="middle"))

    region = trace(probed, [type_of(np.ones(2))], None)
    derived = vjp_region(region, [True], [True])
    assert [op.name for op in derived.ops].count("probe") == 1
    check_rules(probed, [np.array([0.5, 1.0])])


def test_bitcast_between_floats_has_no_derivative() -> None:
    with pytest.raises(TraceError, match="bitcast has no derivative"):
        gradient(conversion.bitcast, [np.array([1.0], np.float16)], {"dtype": bf16})


def test_bits_cut_the_tangent() -> None:
    def through_bits(x: Value) -> Value:
        return conversion.bitcast(conversion.bitcast(x, dtype="i32"), dtype="f32")

    (of_x,) = gradient(through_bits, [np.array([1.0], np.float32)])
    assert of_x.tolist() == [0.0]


# --- size of the derived graphs -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (special.exp, ["exp", "mul"]),
        (special.log, ["log", "div"]),
        (special.tanh, ["tanh", "mul", "sub", "mul"]),
        (special.sqrt, ["sqrt", "div", "mul"]),
        (arithmetic.floor, ["floor", "broadcast"]),
        (lambda x: arithmetic.mul(x, x), ["mul", "mul", "mul"]),
        (lambda x: arithmetic.pow_(x, constant(3.0)), ["pow", "pow", "mul", "mul"]),
        (lambda x: arithmetic.pow_(x, constant(2.0)), ["pow", "mul", "mul"]),
        (lambda x: arithmetic.sub(constant(1.0), x), ["sub", "neg"]),
        (lambda x: arithmetic.remainder(x, constant(1.0)), ["remainder"]),
    ],
)
def test_reverse_mode_is_as_short_as_by_hand(function: Any, expected: list[str]) -> None:
    region = trace(function, [type_of(np.ones(2))], None)
    derived = vjp_region(region, [True], inexact(region.result_types))
    assert [op.name for op in derived.ops] == expected


@pytest.mark.parametrize("narrow", [np.float16, ml_dtypes.bfloat16, np.float32, np.complex64])
@pytest.mark.parametrize("op", [special.sqrt, special.log2, special.tan, arithmetic.sign], ids=repr)
def test_constants_of_rules_take_the_dtype(op: OpDef, narrow: Any) -> None:
    (of_x,) = gradient(op, [np.array([0.5, 2.0]).astype(narrow)])
    (precise,) = gradient(op, [np.array([0.5, 2.0])])
    assert of_x.dtype == narrow
    np.testing.assert_allclose(of_x.astype(np.complex128), precise, rtol=2e-2)
