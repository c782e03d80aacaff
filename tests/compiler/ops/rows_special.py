"""Samples of the functions of analysis; the oracle is mpmath with forty digits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

from tests.compiler.ops.sample import BadSample, Sample
from tests.compiler.ops.scalar_oracle import COMPLEXES, EPSILON, FLOATS, array, precise, random
from weft.compiler.ir.dtypes import DType, c64, c128, f16, f32, f64
from weft.compiler.ir.errors import DTypeError, ShapeError, VerifyError
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops import special as ops

INF, NAN, PI = math.inf, math.nan, math.pi


@dataclass(frozen=True)
class Function:
    """What an op computes, where to sample it, and how many epsilons of f64 it may be off.

    `absolute` allows the same as an absolute error too, for functions that are sampled near a root.
    """

    op: OpDef
    compute: Any
    low: float
    high: float
    epsilons: float = 4.0
    absolute: bool = False
    takes_complex: bool = True


FUNCTIONS = (
    Function(ops.sqrt, mpmath.sqrt, 0.0, 10.0),
    Function(ops.rsqrt, lambda x: 1 / mpmath.sqrt(x), 0.01, 10.0),
    Function(
        ops.cbrt, lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), -10, 10, takes_complex=False
    ),
    Function(ops.exp, mpmath.exp, -10.0, 10.0),
    Function(ops.exp2, lambda x: mpmath.power(2, x), -10.0, 10.0),
    Function(ops.expm1, mpmath.expm1, -3.0, 3.0),
    Function(ops.log, mpmath.log, 0.01, 10.0),
    Function(ops.log2, lambda x: mpmath.log(x) / mpmath.log(2), 0.01, 10.0),
    Function(ops.log10, mpmath.log10, 0.01, 10.0),
    Function(ops.log1p, mpmath.log1p, -0.99, 10.0),
    Function(ops.sin, mpmath.sin, -10.0, 10.0),
    Function(ops.cos, mpmath.cos, -10.0, 10.0),
    Function(ops.tan, mpmath.tan, -10.0, 10.0),
    Function(ops.asin, mpmath.asin, -1.0, 1.0),
    Function(ops.acos, mpmath.acos, -1.0, 1.0),
    Function(ops.atan, mpmath.atan, -10.0, 10.0),
    Function(ops.sinh, mpmath.sinh, -10.0, 10.0),
    Function(ops.cosh, mpmath.cosh, -10.0, 10.0),
    Function(ops.tanh, mpmath.tanh, -5.0, 5.0),
    Function(ops.asinh, mpmath.asinh, -10.0, 10.0),
    Function(ops.acosh, mpmath.acosh, 1.0, 10.0),
    Function(ops.atanh, mpmath.atanh, -0.99, 0.99),
    Function(ops.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x)), -10, 10, takes_complex=False),
    Function(ops.softplus, lambda x: mpmath.log1p(mpmath.exp(x)), -10, 10, takes_complex=False),
    Function(ops.erf, mpmath.erf, -3.0, 3.0, takes_complex=False),
    Function(ops.erfc, mpmath.erfc, -3.0, 6.0, epsilons=16, takes_complex=False),
    Function(ops.erfinv, mpmath.erfinv, -0.99, 0.99, epsilons=16, takes_complex=False),
    Function(
        ops.lgamma,
        lambda x: mpmath.log(abs(mpmath.gamma(x))),
        -4.9,
        20.0,
        epsilons=32,
        absolute=True,
        takes_complex=False,
    ),
    Function(
        ops.digamma,
        lambda x: mpmath.psi(0, x),
        0.1,
        20.0,
        epsilons=16,
        absolute=True,
        takes_complex=False,
    ),
    Function(
        ops.i0e,
        lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x),
        -20.0,
        20.0,
        epsilons=8,
        takes_complex=False,
    ),
    Function(
        ops.i1e,
        lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x),
        -20.0,
        20.0,
        epsilons=8,
        takes_complex=False,
    ),
)

# Values that hold in every float dtype.
EDGES: dict[OpDef, dict[float, float]] = {
    ops.sqrt: {0.0: 0.0, 4.0: 2.0, INF: INF, -1.0: NAN, -INF: NAN},
    ops.rsqrt: {0.25: 2.0, 0.0: INF, INF: 0.0, -1.0: NAN},
    ops.cbrt: {-8.0: -2.0, 27.0: 3.0, 0.0: 0.0, INF: INF, -INF: -INF},
    ops.exp: {0.0: 1.0, INF: INF, -INF: 0.0, 1000.0: INF, -1000.0: 0.0},
    ops.exp2: {0.0: 1.0, 3.0: 8.0, -2.0: 0.25, INF: INF, -INF: 0.0, 2000.0: INF},
    ops.expm1: {0.0: 0.0, INF: INF, -INF: -1.0, -1000.0: -1.0, 1000.0: INF},
    ops.log: {1.0: 0.0, 0.0: -INF, INF: INF, -1.0: NAN, -INF: NAN},
    ops.log2: {1.0: 0.0, 8.0: 3.0, 0.0: -INF, INF: INF, -1.0: NAN},
    ops.log10: {1.0: 0.0, 100.0: 2.0, 0.0: -INF, INF: INF, -1.0: NAN},
    ops.log1p: {0.0: 0.0, -1.0: -INF, INF: INF, -2.0: NAN},
    ops.sin: {0.0: 0.0, INF: NAN, -INF: NAN},
    ops.cos: {0.0: 1.0, INF: NAN, -INF: NAN},
    ops.tan: {0.0: 0.0, INF: NAN, -INF: NAN},
    ops.asin: {0.0: 0.0, 1.0: PI / 2, -1.0: -PI / 2, 1.5: NAN, INF: NAN},
    ops.acos: {1.0: 0.0, -1.0: PI, 0.0: PI / 2, 1.5: NAN, -INF: NAN},
    ops.atan: {0.0: 0.0, INF: PI / 2, -INF: -PI / 2, 1.0: PI / 4},
    ops.sinh: {0.0: 0.0, INF: INF, -INF: -INF, 1000.0: INF},
    ops.cosh: {0.0: 1.0, INF: INF, -INF: INF, -1000.0: INF},
    ops.tanh: {0.0: 0.0, INF: 1.0, -INF: -1.0, 1000.0: 1.0, -1000.0: -1.0},
    ops.asinh: {0.0: 0.0, INF: INF, -INF: -INF},
    ops.acosh: {1.0: 0.0, INF: INF, 0.5: NAN, -INF: NAN},
    ops.atanh: {0.0: 0.0, 1.0: INF, -1.0: -INF, 1.5: NAN, INF: NAN},
    ops.sigmoid: {0.0: 0.5, -1000.0: 0.0, 1000.0: 1.0, INF: 1.0, -INF: 0.0},
    ops.softplus: {0.0: math.log(2), -1000.0: 0.0, 1000.0: 1000.0, INF: INF, -INF: 0.0},
    ops.erf: {0.0: 0.0, INF: 1.0, -INF: -1.0, 100.0: 1.0},
    ops.erfc: {0.0: 1.0, INF: 0.0, -INF: 2.0, 100.0: 0.0},
    ops.erfinv: {0.0: 0.0, 1.0: INF, -1.0: -INF, 1.5: NAN, -INF: NAN},
    ops.lgamma: {1.0: 0.0, 2.0: 0.0, 0.0: INF, -1.0: INF, -2.0: INF, INF: INF, -INF: INF},
    ops.digamma: {0.0: -INF, -1.0: NAN, -2.0: NAN, INF: INF, -INF: NAN},
    ops.i0e: {0.0: 1.0, INF: 0.0, -INF: 0.0},
    ops.i1e: {0.0: 0.0, INF: 0.0, -INF: -0.0},
}

# The odd functions and those that pass through 0 keep the sign of zero.
SIGNED_AT_ZERO = (
    ops.sqrt,
    ops.cbrt,
    ops.expm1,
    ops.log1p,
    ops.sin,
    ops.tan,
    ops.asin,
    ops.atan,
    ops.sinh,
    ops.tanh,
    ops.asinh,
    ops.atanh,
    ops.erf,
    ops.erfinv,
    ops.i1e,
)

# Far from where the formulas are easy: near 0, near the end of the range, deep in a tail.
HARD_POINTS: dict[OpDef, tuple[float, ...]] = {
    ops.sqrt: (5e-324, 1e-310, 1.7e308),
    ops.rsqrt: (5e-324, 1e-310, 1.7e308),
    ops.cbrt: (5e-324, -1e-310, 1.7e308),
    ops.exp: (709.7, -708.0, 1e-300),
    ops.exp2: (1023.5, -1021.5, 1e-17),
    ops.expm1: (1e-10, -1e-10, 1e-300, -40.0, 709.0),
    ops.log: (5e-324, 1 + 2.0**-52, 1 - 2.0**-53, 1.7e308),
    ops.log2: (5e-324, 1 + 2.0**-52, 1.7e308),
    ops.log10: (5e-324, 1 + 2.0**-52, 1.7e308),
    ops.log1p: (1e-10, -1e-10, 1e-300, 1e300),
    ops.sin: (1e22, 3.141592653589793, 1e-300, 1e6),
    ops.cos: (1e22, 1.5707963267948966, 1e6),
    ops.tan: (1e22, 1.5707963267948966, 1e-300),
    ops.asin: (1e-10, 0.9999999999),
    ops.acos: (1e-10, 0.9999999999, -0.9999999999),
    ops.atan: (1e-300, 1e300, -1e10),
    ops.sinh: (1e-10, 709.0, 1e-300),
    ops.cosh: (1e-10, 709.0, -709.0),
    ops.tanh: (1e-10, 20.0, 1e-300),
    ops.asinh: (1e-10, 1e300, -1e300),
    ops.acosh: (1 + 2.0**-50, 1e300),
    ops.atanh: (1e-10, 1 - 2.0**-53),
    ops.sigmoid: (-700.0, -40.0, 40.0, 1e-10),
    ops.softplus: (-700.0, -40.0, 40.0, 1e-10, 700.0),
    ops.erf: (1e-300, 1e-10, 5.9),
    ops.erfc: (26.0, 10.0, -5.0, 1e-10),
    ops.erfinv: (1e-300, 1e-10, 1 - 2.0**-52, -1 + 2.0**-40),
    ops.lgamma: (1e-10, 1e10, 1e300, 0.5),
    ops.digamma: (1e-10, 1e10, -0.5, -20.3),
    ops.i0e: (1e-10, 700.0, -1e6),
    ops.i1e: (1e-10, 1e-300, 700.0, -1e6),
}


def tolerance(function: Function, dtype: DType) -> dict[str, Any]:
    """References round once from double; what they are off in double shows in f64 only."""
    bound = (function.epsilons if dtype in (f64, c128) else 1.0) * EPSILON[dtype]
    return {"rtol": bound, "atol": bound if function.absolute else 0.0}


def sampled_rows(function: Function) -> list[Sample]:
    op, rows = function.op, []
    for dtype in FLOATS:
        x = random(dtype, 3, 4, low=function.low, high=function.high)
        within = tolerance(function, dtype)
        rows.append(Sample(op, (x,), precise(function.compute, x), **within, name="random"))
    flipped, single, none = x.T[::-1], x[1, 1:2].reshape(()), x[:0]
    for name, operand in (("strided", flipped), ("scalar", single), ("empty", none)):
        rows.append(Sample(op, (operand,), precise(function.compute, operand), **within, name=name))
    x = array(HARD_POINTS[op], f64)
    rows.append(Sample(op, (x,), precise(function.compute, x), **within, name="hard"))
    return rows


def complex_rows(function: Function) -> list[Sample]:
    rows = []
    for dtype in COMPLEXES if function.takes_complex else ():
        z = random(dtype, 2, 5, low=-2.0, high=2.0)
        within = tolerance(function, dtype)
        rows.append(Sample(function.op, (z,), precise(function.compute, z), **within))
        small = z[0] * array(1e-5, dtype)
        expected = precise(function.compute, small)
        rows.append(Sample(function.op, (small,), expected, **within, name="small"))
        rows.append(Sample(function.op, (z[0, 0],), precise(function.compute, z[0, 0]), **within))
    return rows


def edge_rows(op: OpDef) -> list[Sample]:
    rows = []
    for dtype in FLOATS:
        inputs, outputs = [*EDGES[op], NAN], [*EDGES[op].values(), NAN]
        # An irrational edge such as pi/2 may be rounded either way in f64.
        rtol = EPSILON[dtype] if any(output % 0.5 for output in EDGES[op].values()) else 0.0
        rows.append(
            Sample(op, (array(inputs, dtype),), array(outputs, dtype), rtol=rtol, name="edge")
        )
        if op in SIGNED_AT_ZERO:
            zero = array(-0.0, dtype)
            rows.append(Sample(op, (zero,), zero, name="signed-zero"))
    return rows


def atan2_rows() -> list[Sample]:
    rows = []
    edges_y = [0.0, -0.0, 0.0, -0.0, 1.0, 0.0, 0.0, INF, -INF, 1.0, -1.0, NAN]
    edges_x = [1.0, 1.0, -1.0, -1.0, 0.0, 0.0, -0.0, INF, -INF, INF, -INF, 1.0]
    angles = [0.0, -0.0, PI, -PI, PI / 2, 0.0, PI, PI / 4, -3 * PI / 4, 0.0, -PI, NAN]
    for dtype in FLOATS:
        y, x, expected = array(edges_y, dtype), array(edges_x, dtype), array(angles, dtype)
        rows.append(Sample(ops.atan2, (y, x), expected, rtol=EPSILON[dtype], name="edge"))
        y, x = random(dtype, 8), random(dtype, 8, low=-1.0, high=2.0)
        expected = precise(mpmath.atan2, y, x)
        rows.append(Sample(ops.atan2, (y, x), expected, rtol=2 * EPSILON[dtype], name="random"))
    one, three = array(1, f32), array([1, -1, 0], f32)
    expected = array([PI / 4, 3 * PI / 4, PI / 2], f32)
    rows.append(Sample(ops.atan2, (one, three), expected, rtol=EPSILON[f32], name="scalar-y"))
    rows.append(Sample(ops.atan2, (one, one), array(PI / 4, f32), rtol=EPSILON[f32], name="scalar"))
    rows.append(Sample(ops.atan2, (three[:0], one), three[:0], name="empty"))
    return rows


def polygamma_rows() -> list[Sample]:
    rows = []
    for order in (1, 2, 3):

        def compute(x: Any, order: int = order) -> Any:
            return mpmath.psi(order, x)

        attributes = {"order": order}
        for dtype in FLOATS:
            x = random(dtype, 3, 4, low=0.5, high=20.0)
            rtol = (32 if dtype is f64 else 1) * EPSILON[dtype]
            rows.append(Sample(ops.polygamma, (x,), precise(compute, x), attributes, rtol=rtol))
            # Which infinity a pole of even order has depends on the side that it is seen from.
            poles = array([0.0, -1.0, -3.0], dtype) if order % 2 else array([0.0], dtype)
            expected = array(np.full(len(poles), INF if order % 2 else -INF), dtype)
            rows.append(Sample(ops.polygamma, (poles,), expected, attributes, name="pole"))
            edges, limits = array([NAN, -INF], dtype), array([NAN, NAN], dtype)
            rows.append(Sample(ops.polygamma, (edges,), limits, attributes, name="edge"))
        far, none = array(INF, f64), array(0.0, f64)
        rows.append(Sample(ops.polygamma, (far,), none, attributes, atol=1e-300, name="far"))
        for name, operand in (("strided", x.T[::-1]), ("scalar", x[0, 0]), ("empty", x[:0])):
            expected = precise(compute, np.asarray(operand))
            rows.append(
                Sample(ops.polygamma, (operand,), expected, attributes, rtol=rtol, name=name)
            )
        hard = array([1e-10, 1e10, -0.5, -3.9, -20.3], f64)
        expected = precise(compute, hard)
        rows.append(
            Sample(ops.polygamma, (hard,), expected, attributes, rtol=4 * rtol, name="hard")
        )
    return rows


def overflow_rows() -> list[Sample]:
    """Where narrow dtypes overflow or underflow though the function does not."""
    return [
        Sample(ops.exp, (array([12, -20], f16),), array([INF, 0], f16), name="overflow"),
        Sample(ops.exp, (array([89, -104], f32),), array([INF, 0], f32), name="overflow"),
        Sample(
            ops.cosh, (array([90, 12], f32),), precise(mpmath.cosh, array([90, 12], f32)), rtol=2e-7
        ),
        Sample(
            ops.sqrt, (array([-4, complex(-4, -0.0)], c128),), array([2j, -2j], c128), name="cut"
        ),
        Sample(ops.log, (array([-1, 1j], c64),), array([PI * 1j, PI / 2 * 1j], c64), rtol=2e-7),
        Sample(
            ops.exp, (array([complex(0, PI)], c128),), array([-1], c128), atol=3e-16, name="euler"
        ),
        Sample(ops.digamma, (array(-0.0, f64),), array(INF, f64), name="signed-zero"),
    ]


ROWS: list[Sample] = [
    *[row for function in FUNCTIONS for row in sampled_rows(function)],
    *[row for function in FUNCTIONS for row in complex_rows(function)],
    *[row for op in EDGES for row in edge_rows(op)],
    *atan2_rows(),
    *polygamma_rows(),
    *overflow_rows(),
]

BAD: list[BadSample] = [
    *[
        BadSample(f.op, (f"{dtype}[2]",), DTypeError, f"x has dtype {dtype}, expected float")
        for f in FUNCTIONS
        for dtype in ("bool", "i32", "u8", *(() if f.takes_complex else ("c64",)))
    ],
    BadSample(ops.atan2, ("c64[2]", "c64[2]"), DTypeError, "y has dtype c64, expected float"),
    BadSample(ops.atan2, ("f32[2]", "f64[2]"), DTypeError, "operands have different dtypes"),
    BadSample(ops.atan2, ("f32[2]", "f32[3]"), ShapeError, "operands have different shapes"),
    BadSample(ops.polygamma, ("c64[2]",), DTypeError, "x has dtype c64, expected", {"order": 1}),
    BadSample(ops.polygamma, ("f32[2]",), VerifyError, "order is 0, expected 1", {"order": 0}),
    BadSample(ops.polygamma, ("f32[2]",), VerifyError, "needs the attribute order"),
]
