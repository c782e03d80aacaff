"""Samples of the window ops. The oracle walks over the windows and lists the elements in each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np

from tests.compiler.ops.rows_contraction import ANY_ZERO, normal, small
from tests.compiler.ops.rows_convolution import G46_Z, G47_X, size_by_walking
from tests.compiler.ops.sample import Array, BadSample, Sample
from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ops.window import reduce_window, window_argmax


def attributes_of(window: tuple[int, ...], **given: Any) -> dict[str, Any]:
    """Stride 1, no padding, no dilation, unless given."""
    ones = (1,) * len(window)
    plain = {
        "window": window,
        "strides": ones,
        "padding": ((0, 0),) * len(window),
        "base_dilation": ones,
        "window_dilation": ones,
    }
    return {**plain, **given}


def positions(x: Array, attributes: dict[str, Any]) -> tuple[int, ...]:
    """The shape of the result, found by walking."""
    names = ("window", "strides", "padding", "base_dilation", "window_dilation")
    axes = zip(x.shape, *[attributes[name] for name in names], strict=True)
    return tuple(size_by_walking(*axis) for axis in axes)


def elements(x: Array, position: tuple[int, ...], attributes: dict[str, Any]) -> Iterator[Any]:
    """The indices into x that the window at `position` covers, in row-major order."""
    for tap in np.ndindex(*attributes["window"]):
        places = [
            p * s + t * d - low
            for p, s, t, d, (low, _) in zip(
                position,
                attributes["strides"],
                tap,
                attributes["window_dilation"],
                attributes["padding"],
                strict=True,
            )
        ]
        steps = attributes["base_dilation"]
        index = tuple(place // step for place, step in zip(places, steps, strict=True))
        real = all(place % step == 0 for place, step in zip(places, steps, strict=True))
        if real and all(0 <= i < n for i, n in zip(index, x.shape, strict=True)):
            yield index


def combined(kind: str, numbers: list[Any], dtype: DType) -> Any:
    """The reduction of a list of Python numbers."""
    if kind in ("sum", "prod"):
        return sum(numbers) if kind == "sum" else math.prod(numbers)
    if any(number != number for number in numbers):
        return math.nan
    if numbers:
        return max(numbers) if kind == "max" else min(numbers)
    if dtype.is_bool:
        return kind == "min"
    if dtype.is_float:
        return -math.inf if kind == "max" else math.inf
    return np.iinfo(dtype.numpy).min if kind == "max" else np.iinfo(dtype.numpy).max


def rounded(numbers: Array, dtype: np.dtype[Any]) -> Array:
    """An array of Python numbers in a dtype; integers wrap."""
    if dtype.kind not in "iu":
        return numbers.astype(dtype)
    return (numbers % 2**64).astype(np.uint64).astype(dtype)


def pool(
    kind: str,
    x: Array,
    window: tuple[int, ...],
    name: str = "",
    tolerance: float = ANY_ZERO,
    **given: Any,
) -> Sample:
    attributes = attributes_of(window, **given)
    expected = np.empty(positions(x, attributes), object)
    for position in np.ndindex(*expected.shape):
        numbers = [x[index].item() for index in elements(x, position, attributes)]
        expected[position] = combined(kind, numbers, dtypes.dtype(x.dtype))
    return Sample(
        reduce_window,
        (x,),
        rounded(expected, x.dtype),
        {"kind": kind, **attributes},
        rtol=tolerance,
        atol=tolerance,
        name=name or kind,
    )


def argmax(x: Array, window: tuple[int, ...], name: str = "", **given: Any) -> Sample:
    attributes = attributes_of(window, **given)
    expected = np.full(positions(x, attributes), x.size, np.int64)
    for position in np.ndindex(*expected.shape):
        best: Any = None
        for index in elements(x, position, attributes):
            number = x[index].item()
            if best is None or number > best or (number != number and best == best):
                best = number
                expected[position] = int(np.ravel_multi_index(index, x.shape)) if index else 0
    return Sample(window_argmax, (x,), expected, attributes, name=name)


def literal(
    kind: str, x: Array, expected: Any, name: str, window: int = 2, stride: int = 2
) -> Sample:
    attributes = attributes_of((window,) * x.ndim, strides=(stride,) * x.ndim)
    return Sample(
        reduce_window, (x,), np.asarray(expected, x.dtype), {"kind": kind, **attributes}, name=name
    )


def literal_argmax(
    x: Array, expected: Any, window: tuple[int, ...], name: str, **given: Any
) -> Sample:
    attributes = attributes_of(window, **given)
    return Sample(window_argmax, (x,), np.asarray(expected, np.int64), attributes, name=name)


G46_Y = np.maximum(G46_Z, 0)
COUNTED = G47_X.astype(np.float64)

GOLDEN = [
    literal("max", G46_Y, [[10, 8], [4, 11]], "G46 max pool"),
    literal("sum", G46_Y, [[21, 14], [5, 27]], "G46 average pool, times 4"),
    literal("max", COUNTED, [[7, 9], [17, 19]], "G47 max pool"),
    literal("sum", COUNTED, [[16, 24], [56, 64]], "G47 average pool, times 4"),
    literal_argmax(G46_Y, [[5, 2], [8, 11]], (2, 2), "G46, tie to the first", strides=(2, 2)),
    literal_argmax(COUNTED, [[6, 8], [16, 18]], (2, 2), "G47", strides=(2, 2)),
    pool("max", np.arange(98, dtype=np.float32), (2,), "G47 98 to 49", strides=(2,)),
]

NUMBERS = [d for d in dtypes.ALL if not d.is_bool]
ORDERED = [d for d in dtypes.ALL if not d.is_complex]

EVERY_DTYPE = [
    *[
        pool(kind, small((4, 5), d.numpy), (2, 3), padding=((1, 0), (0, 1)))
        for kind in ("sum", "prod")
        for d in NUMBERS
    ],
    *[
        pool(kind, small((4, 5), d.numpy), (2, 3), padding=((2, 0), (0, 1)), strides=(1, 2))
        for kind in ("max", "min")
        for d in ORDERED
    ],
    *[argmax(small((4, 5), d.numpy), (2, 3), padding=((2, 0), (0, 1))) for d in ORDERED],
]

COMBINATIONS = [
    make(
        small((7,), np.int32, shift=3),
        (3,),
        name=f"stride {s} padding {p} dilation {a} {b}",
        strides=(s,),
        padding=(p,),
        base_dilation=(a,),
        window_dilation=(b,),
    )
    for s, p, a, b in product((1, 3), ((0, 0), (2, 1), (-1, 0), (1, -2)), (1, 2), (1, 2))
    for make in (lambda x, w, **given: pool("sum", x, w, **given), argmax)
]

ALL_ATTRIBUTES: dict[str, Any] = {
    "strides": (1, 2, 1),
    "padding": ((0, 1), (2, -1), (-1, 3)),
    "base_dilation": (1, 2, 1),
    "window_dilation": (1, 1, 2),
}
SHAPES = [
    *[
        pool(kind, small((3, 4, 5)), (2, 3, 2), **ALL_ATTRIBUTES)
        for kind in ("sum", "prod", "max", "min")
    ],
    argmax(small((3, 4, 5)), (2, 3, 2), "three axes", **ALL_ATTRIBUTES),
    *[pool(kind, small(()), (), "rank 0") for kind in ("sum", "prod", "max", "min")],
    argmax(small(()), (), "rank 0"),
    *[pool(kind, small((3,)), (5,), "window longer than x") for kind in ("sum", "max")],
    argmax(small((3,)), (5,), "window longer than x"),
    *[
        pool(kind, small((0,)), (2,), "padding only", padding=((2, 1),))
        for kind in ("sum", "prod", "max", "min")
    ],
    argmax(small((0,)), (2,), "padding only", padding=((2, 1),)),
    argmax(small((3,)), (2,), "padding only at the ends", padding=((3, 2),)),
    pool("max", small((0, 4)), (1, 2), "zero size"),
    argmax(small((0, 4)), (1, 2), "zero size"),
    pool("sum", small((4, 6))[::-1, ::-2], (2, 2), "negative strides"),
    argmax(small((4, 6))[::-1, ::-2], (2, 2), "negative strides"),
]

RANDOM = [
    pool(kind, normal((9, 8), d, 5), (3, 4), "random", tolerance, strides=(2, 1))
    for kind in ("sum", "prod", "max")
    for d, tolerance in (
        (np.float32, 1e-5),
        (np.float64, 1e-13),
        (np.float16, 2e-2),
        (ml_dtypes.bfloat16, 1e-1),
    )
]

SPECIAL = np.array([1, np.nan, 2, -np.inf, -np.inf, 0.0, -0.0, np.inf, np.nan, np.nan], np.float32)
EDGE_VALUES = [
    *[pool(kind, SPECIAL, (2,), "special values") for kind in ("sum", "prod", "max", "min")],
    argmax(SPECIAL, (2,), "special values"),
    literal_argmax(
        np.full(2, -np.inf), [2, 0, 0, 1, 2], (2,), "-inf beats padding", padding=((2, 2),)
    ),
    literal_argmax(
        np.full(2, -128, np.int8), [0, 0, 1], (2,), "least integer beats padding", padding=((1, 1),)
    ),
    literal_argmax(np.array([3.0, np.nan, np.nan, 9.0]), [1], (4,), "first NaN"),
    literal_argmax(np.array([-0.0, 0.0]), [0], (2,), "zeros are equal"),
    literal("sum", np.array([100, 100], np.int8), [-56], "wraps"),
    literal("prod", np.array([2**31, 2**33], np.uint64), [0], "wraps"),
    literal("sum", np.full(512, 1, ml_dtypes.bfloat16), [512], "f32 sums of bf16", 512, 1),
    literal("sum", np.array([3e38, 3e38], np.float32), [np.inf], "overflow"),
]

ROWS = GOLDEN + EVERY_DTYPE + COMBINATIONS + SHAPES + RANDOM + EDGE_VALUES


def bad(kind: str, type: str, error: Any, match: str, **given: Any) -> BadSample:
    attributes = {"kind": kind, **attributes_of((2, 2)), **given}
    return BadSample(reduce_window, (type,), error, match, attributes)


BAD = [
    bad("sum", "bool[3, 3]", DTypeError, "x has dtype bool"),
    bad("max", "c64[3, 3]", DTypeError, "x has dtype c64"),
    bad("sum", "f32[3]", ShapeError, "has 2 entries, expected one per axis: 1"),
    bad("sum", "f32[3, 3]", ShapeError, "window has 1 entries", window=(2,)),
    bad("sum", "f32[3, 3]", ShapeError, "window must be 1 or more", window=(2, 0)),
    bad("sum", "f32[3, 3]", ShapeError, "strides must be 1 or more", strides=(0, 1)),
    bad("sum", "f32[3, 3]", ShapeError, "base_dilation must be 1 or more", base_dilation=(1, 0)),
    bad(
        "sum", "f32[3, 3]", ShapeError, "window_dilation must be 1 or more", window_dilation=(1, 0)
    ),
    bad("sum", "f32[3, 3]", ShapeError, r"a pair \(low, high\)", padding=((0, 0), (1, 2, 3))),
    BadSample(window_argmax, ("c64[3]",), DTypeError, "x has dtype c64", attributes_of((2,))),
    BadSample(
        window_argmax, ("f32[3, 3]",), ShapeError, "expected one per axis: 2", attributes_of((2,))
    ),
]
