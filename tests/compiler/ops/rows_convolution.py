"""Samples of convolution: golden numbers of the literature, and an oracle that sums term by term.

The numbers are small integers, so that every sum is exact in every dtype and order; rows with
random numbers say their tolerance.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import scipy.signal

from tests.compiler.ops.rows_contraction import ANY_ZERO, normal, small
from tests.compiler.ops.sample import Array, BadSample, Sample
from weft.compiler.ir import dtypes
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ops.convolution import convolution

Pairs = tuple[tuple[int, int], ...]


def attributes_of(rank: int, **given: Any) -> dict[str, Any]:
    """Stride 1, no padding, no dilation over `rank` spatial axes, unless given."""
    ones = (1,) * rank
    plain = {
        "strides": ones,
        "padding": ((0, 0),) * rank,
        "lhs_dilation": ones,
        "rhs_dilation": ones,
    }
    return {**plain, **given}


def by_terms(
    lhs: Array,
    rhs: Array,
    *,
    strides: tuple[int, ...],
    padding: Pairs,
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    groups: int = 1,
) -> Array:
    """Every product of the sum, found from the definition, in Python numbers."""
    spatial = [
        size_by_walking(n, k, *axis)
        for n, k, *axis in zip(
            lhs.shape[2:], rhs.shape[2:], strides, padding, lhs_dilation, rhs_dilation, strict=True
        )
    ]
    result = np.zeros((lhs.shape[0], rhs.shape[0], *spatial), object)
    outputs_per_group = max(rhs.shape[0] // groups, 1)
    for n, o, *position in np.ndindex(*result.shape):
        first_channel = o // outputs_per_group * rhs.shape[1]
        total: Any = 0
        for c, *tap in np.ndindex(*rhs.shape[1:]):
            axes = zip(position, tap, strides, padding, lhs_dilation, rhs_dilation, strict=True)
            places = [p * s + k * d - low for p, k, s, (low, _), _, d in axes]
            steps = zip(places, lhs_dilation, lhs.shape[2:], strict=True)
            if all(place % step == 0 and 0 <= place // step < n for place, step, n in steps):
                source = [place // step for place, step in zip(places, lhs_dilation, strict=True)]
                total += lhs[n, first_channel + c, *source].item() * rhs[o, c, *tap].item()
        result[n, o, *position] = total
    return result.astype(lhs.dtype)


def size_by_walking(
    n: int, k: int, stride: int, padding: tuple[int, int], lhs_dilation: int, rhs_dilation: int
) -> int:
    """How often a window fits when it walks from the left end."""
    length = ((n - 1) * lhs_dilation + 1 if n else 0) + sum(padding)
    extent = (k - 1) * rhs_dilation + 1 if k else 0
    start = count = 0
    while start + extent <= length:
        start, count = start + stride, count + 1
    return count


def row(lhs: Array, rhs: Array, name: str = "", **given: Any) -> Sample:
    attributes = attributes_of(lhs.ndim - 2, **given)
    return Sample(
        convolution,
        (lhs, rhs),
        by_terms(lhs, rhs, **attributes),
        attributes,
        atol=ANY_ZERO,
        name=name,
    )


def single(
    x: Any, w: Any, expected: Any, name: str, dtype: Any = np.float32, **given: Any
) -> Sample:
    """One image, one channel, one filter, and the numbers that must come out."""
    lhs, rhs, result = (np.asarray(array, dtype)[None, None] for array in (x, w, expected))
    return Sample(
        convolution,
        (lhs, rhs),
        result,
        attributes_of(lhs.ndim - 2, **given),
        atol=ANY_ZERO,
        name=name,
    )


# --- golden numbers -----------------------------------------------------------------------------

SIGNAL = [1, 2, 4, 8, 4, 2, 1]

G45 = [
    single(SIGNAL, [1, 0, -1], [-2, -3, -6, 0, 6, 3, 2], "G45 same", padding=((1, 1),)),
    single(SIGNAL, [-1, 0, 1], [2, 3, 6, 0, -6, -3, -2], "G45 flipped", padding=((1, 1),)),
    single([1, 2, 4, 7, 11], [1, 2, -1], [1, 3, 7], "G45 valid"),
    single([1, 2, 4, 7, 11], [1, 0, -1], [-3, -5, -7], "G45 valid", np.float64),
    single([1, 2, 4, 7, 11], [1, 1, 1], [7, 13, 22], "G45 gradient of the kernel", np.int64),
    single(
        [1, 1, 1], [-1, 2, 1], [1, 3, 2, 1, -1], "G45 gradient of the signal", padding=((2, 2),)
    ),
]

G46_X = np.array(
    [
        [[2, 1, 0, 0], [0, 0, 2, 1], [0, 2, 0, 1], [2, 1, 0, 1]],
        [[2, 2, 0, 0], [0, 0, 2, 1], [0, 0, 2, 0], [0, 1, 0, 1]],
        [[2, 1, 0, 0], [0, 0, 2, 1], [2, 0, 0, 0], [0, 1, 0, 1]],
    ],
    np.float32,
)
G46_W = np.array(
    [
        [[1, 0, 0], [0, -2, 0], [0, 0, -1]],
        [[1, 2, 0], [2, 0, -1], [0, -1, 1]],
        [[0, 0, -2], [0, 1, 2], [-2, 2, 0]],
    ],
    np.float32,
)
G46_MAPS = np.array(
    [
        [[-4, -4, -1, 0], [-2, 2, -4, -2], [-1, -4, -1, 0], [-4, -2, 2, -2]],
        [[-2, 6, 3, -1], [4, 6, -1, 4], [1, -3, 5, 7], [-1, 0, 5, 2]],
        [[4, 1, 4, -2], [2, 0, 4, 1], [2, -2, -4, 2], [2, 1, 2, 1]],
    ],
    np.float32,
)
G46_Z = np.array([[0, 5, 8, -1], [6, 10, 1, 5], [4, -7, 2, 11], [-1, 1, 11, 3]], np.float32)
G46_BIAS = 2
G46_KERNEL_GRADIENT = np.array(
    [
        [[4, 2, 0], [1, 1, 4], [0, 7, 2]],
        [[4, 3, 0], [4, 0, 2], [0, 3, 4]],
        [[4, 2, 0], [1, 2, 2], [2, 3, 2]],
    ],
    np.float32,
)
G46_IMAGE_GRADIENT = np.array(
    [
        [[1, 0, -2, 0], [0, -2, 1, -1], [-2, 0, -1, -2], [0, -1, 0, 0]],
        [[1, 4, 0, -1], [4, 0, -1, 3], [0, -2, 3, 0], [-1, 1, 0, -1]],
        [[0, 0, -1, 2], [0, -3, 4, 0], [-1, 4, 0, 1], [2, 0, -2, 2]],
    ],
    np.float32,
)
# The cotangent of Z for a loss that sums the 2x2 max-pooled ReLU: one at each window's maximum.
G46_COTANGENT = np.zeros((4, 4), np.float32)
G46_COTANGENT[[1, 0, 2, 2], [1, 2, 0, 3]] = 1
SAME = attributes_of(2, padding=((1, 1), (1, 1)))

G46 = [
    Sample(
        convolution,
        (G46_X[None], G46_W[:, None]),
        G46_MAPS[None],
        {**SAME, "groups": 3},
        atol=ANY_ZERO,
        name="G46 channel maps",
    ),
    Sample(
        convolution,
        (G46_X[None], G46_W[None]),
        (G46_Z - G46_BIAS)[None, None],
        SAME,
        atol=ANY_ZERO,
        name="G46 pre-activation without bias",
    ),
    Sample(
        convolution,
        (G46_X[:, None], G46_COTANGENT[None, None]),
        G46_KERNEL_GRADIENT[:, None],
        SAME,
        atol=ANY_ZERO,
        name="G46 gradient of the kernel",
    ),
    Sample(
        convolution,
        (G46_COTANGENT[None, None], G46_W[:, None, ::-1, ::-1]),
        G46_IMAGE_GRADIENT[None],
        SAME,
        atol=ANY_ZERO,
        name="G46 gradient of the image",
    ),
]

G47_X = np.arange(1, 26).reshape(5, 5)
G47_W = [[1, 2], [3, 4]]


def g47(stride: int, pad: int, dilation: int, expected: Any) -> Sample:
    return single(
        G47_X,
        G47_W,
        expected,
        f"G47 stride {stride} padding {pad} dilation {dilation}",
        strides=(stride,) * 2,
        padding=((pad, pad),) * 2,
        rhs_dilation=(dilation,) * 2,
    )


def sized(n: int, k: int, s: int, p: int, d: int, size: int) -> Sample:
    """A row about the output size: windows of ones over ones count the elements they cover."""
    covered = [sum(0 <= start * s + tap * d - p < n for tap in range(k)) for start in range(size)]
    ones, window = np.ones(n), np.ones(k)
    name = f"G47 size {n} {k} {s} {p} {d}"
    return single(ones, window, covered, name, strides=(s,), padding=((p, p),), rhs_dilation=(d,))


G47 = [
    g47(
        1,
        0,
        1,
        [[51, 61, 71, 81], [101, 111, 121, 131], [151, 161, 171, 181], [201, 211, 221, 231]],
    ),
    g47(2, 0, 1, [[51, 71], [151, 171]]),
    g47(1, 0, 2, [[92, 102, 112], [142, 152, 162], [192, 202, 212]]),
    g47(2, 1, 1, [[4, 18, 32], [56, 111, 131], [116, 211, 231]]),
    g47(2, 1, 3, [[52, 96], [108, 193]]),
    single(
        G47_X,
        np.ones((2, 2)),
        [[7, 18], [34, 76]],
        "G47 gradient of the kernel, stride 2 padding 1 dilation 3",
        strides=(3, 3),
        padding=((1, 0), (1, 0)),
        rhs_dilation=(2, 2),
    ),
    single(
        np.ones((2, 2)),
        [[4, 3], [2, 1]],
        [[1, 2, 1, 2, 0], [3, 4, 3, 4, 0], [1, 2, 1, 2, 0], [3, 4, 3, 4, 0], [0, 0, 0, 0, 0]],
        "G47 gradient of the image, stride 2",
        padding=((1, 2), (1, 2)),
        lhs_dilation=(2, 2),
    ),
    single(
        np.ones((3, 3)),
        [[4, 3], [2, 1]],
        [[4, 3, 4, 3, 4], [2, 1, 2, 1, 2], [4, 3, 4, 3, 4], [2, 1, 2, 1, 2], [4, 3, 4, 3, 4]],
        "G47 gradient of the image, stride 2 padding 1",
        padding=((0, 1), (0, 1)),
        lhs_dilation=(2, 2),
    ),
    sized(13, 2, 2, 0, 1, 6),
    sized(13, 3, 2, 0, 1, 6),
    sized(32, 3, 1, 1, 1, 32),
    sized(7, 3, 1, 0, 2, 3),
    sized(227, 11, 4, 0, 1, 55),
    sized(224, 7, 2, 3, 1, 112),
    sized(10, 3, 2, 1, 2, 4),
    sized(100, 3, 1, 0, 1, 98),
]

G49 = [
    single([1, 2, 3], [-1, 0, 1], [1, 2, 2, -2, -3], "G49 transposed", padding=((2, 2),)),
    single(
        [1, 2, 3],
        [-1, 0, 1],
        [1, 0, 1, 0, 1, 0, -3],
        "G49 transposed, stride 2",
        padding=((2, 2),),
        lhs_dilation=(2,),
    ),
    single(
        [[1, 2], [3, 4]],
        [[4, 3], [2, 1]],
        [[1, 4, 4], [6, 20, 16], [9, 24, 16]],
        "G49 transposed",
        padding=((1, 1), (1, 1)),
    ),
    single(
        [[1, 2], [3, 4]],
        [[4, 3], [2, 1]],
        [[1, 2, 2, 4], [3, 4, 6, 8], [3, 6, 4, 8], [9, 12, 12, 16]],
        "G49 transposed, stride 2",
        padding=((1, 1), (1, 1)),
        lhs_dilation=(2, 2),
    ),
]

# --- every attribute, every dtype ---------------------------------------------------------------

NUMBERS = [d for d in dtypes.ALL if not d.is_bool]

EVERY_DTYPE = [
    row(
        small((2, 2, 6), d.numpy),
        small((2, 2, 3), d.numpy, shift=3),
        strides=(2,),
        padding=((1, 1),),
    )
    for d in NUMBERS
]

ONE_AXIS = [
    row(
        small((1, 1, 6)),
        small((1, 1, 2)),
        name,
        strides=(s,),
        padding=(p,),
        lhs_dilation=(a,),
        rhs_dilation=(b,),
    )
    for s, p, a, b in product((1, 3), ((0, 0), (2, 1), (-1, 0), (1, -2)), (1, 2), (1, 3))
    for name in [f"stride {s} padding {p} dilation {a} {b}"]
]

SEVERAL_AXES = [
    row(
        small((2, 3, 5, 6)),
        small((4, 3, 3, 2)),
        "asymmetric",
        strides=(2, 1),
        padding=((1, 2), (-1, 3)),
        lhs_dilation=(1, 2),
        rhs_dilation=(2, 1),
    ),
    row(small((2, 4, 5, 5)), small((6, 2, 3, 3)), "two groups", groups=2),
    row(
        small((1, 3, 5, 4)),
        small((6, 1, 2, 2)),
        "depthwise with multiplier 2",
        groups=3,
        strides=(1, 2),
        padding=((0, 1), (1, 0)),
    ),
    row(small((2, 4, 3, 3)), small((2, 4, 1, 1)), "1x1"),
    row(
        small((2, 2, 3, 4, 3)),
        small((3, 2, 2, 2, 2)),
        "three axes",
        padding=((1, 0), (0, 1), (0, 0)),
    ),
    row(
        small((1, 4, 4, 5, 4)),
        small((2, 2, 2, 1, 2)),
        "three axes, all attributes",
        strides=(2, 1, 1),
        padding=((1, 1), (-1, 0), (0, -2)),
        lhs_dilation=(1, 1, 3),
        rhs_dilation=(2, 1, 2),
        groups=2,
    ),
    row(small((2, 1, 2, 2, 3, 2)), small((1, 1, 2, 1, 2, 1)), "four axes"),
    row(small((2, 3)), small((4, 3)), "no spatial axis"),
    row(small((2, 3, 6))[..., ::-1], small((4, 3, 2))[::-1, :, ::-1], "negative strides"),
]

SIZES = [
    row(small((1, 1, 3)), small((1, 1, 5)), "kernel longer than the signal"),
    row(small((1, 1, 3)), small((1, 1, 2)), "all cropped", padding=((-2, -2),)),
    row(small((1, 1, 3)), small((1, 1, 2)), "cropped and padded", padding=((-5, 9),)),
    row(small((1, 1, 3)), small((1, 1, 2)), "padded and cropped", padding=((9, -5),)),
    row(
        small((1, 1, 4)),
        small((1, 1, 2)),
        "cropped between",
        padding=((-1, -2),),
        lhs_dilation=(3,),
    ),
    row(small((0, 2, 4)), small((3, 2, 2)), "empty batch"),
    row(small((2, 0, 4)), small((3, 0, 2)), "no channels"),
    row(small((2, 2, 4)), small((0, 2, 2)), "no outputs"),
    row(small((2, 2, 0)), small((1, 2, 2)), "empty signal", padding=((2, 1),)),
    row(
        small((2, 2, 0)),
        small((1, 2, 2)),
        "empty signal, dilated",
        padding=((2, 1),),
        lhs_dilation=(2,),
    ),
    row(small((2, 2, 3)), small((1, 2, 0)), "empty kernel"),
]


def flipped(lhs: Array, rhs: Array, dtype: Any, tolerance: float) -> Sample:
    """Random numbers against SciPy, which convolves where this op correlates."""
    image, kernel = lhs[0, 0].astype(np.complex128), rhs[0, 0, ::-1, ::-1].astype(np.complex128)
    full = scipy.signal.convolve(image, kernel, mode="full", method="direct")
    expected = full if np.dtype(dtype).kind == "c" else full.real
    padding = tuple((k - 1, k - 1) for k in rhs.shape[2:])
    return Sample(
        convolution,
        (lhs, rhs),
        expected[None, None].astype(dtype),
        attributes_of(2, padding=padding),
        rtol=tolerance,
        atol=tolerance,
        name="random",
    )


RANDOM = [
    flipped(normal((1, 1, 9, 11), d, 3), normal((1, 1, 4, 3), d, 4), d, tolerance)
    for d, tolerance in (
        (np.float32, 1e-5),
        (np.float64, 1e-13),
        (np.complex64, 2e-5),
        (np.complex128, 2e-13),
        (np.float16, 4e-3),
        (ml_dtypes.bfloat16, 3e-2),
    )
]

EDGE_VALUES = [
    single([1, np.nan, 2, 3], [1, 1], [np.nan, np.nan, 5], "NaN stays in its windows"),
    single([1, np.inf, 2, 3], [1, 1], [np.inf, np.inf, 5], "infinity"),
    single([np.inf, 1], [0, 1], [np.nan], "zero times infinity"),
    single([100, 100, -128], [1, 1], [-56, -28], "wraps", np.int8),
    single([2**32 - 1, 2], [2, 1], [0], "wraps", np.uint32),
    single([-(2**63), 0], [-1, 1], [-(2**63)], "least integer", np.int64),
    single([1.0] * 512, [1.0] * 512, [512.0], "f32 sums of bf16", ml_dtypes.bfloat16),
    single([1.0] * 4096, [1.0] * 4096, [4096.0], "f32 sums of f16", np.float16),
]

ROWS = G45 + G46 + G47 + G49 + EVERY_DTYPE + ONE_AXIS + SEVERAL_AXES + SIZES + RANDOM + EDGE_VALUES


def bad(lhs: str, rhs: str, error: Any, match: str, rank: int = 1, **given: Any) -> BadSample:
    return BadSample(convolution, (lhs, rhs), error, match, attributes_of(rank, **given))


BAD = [
    bad("f32[1, 2, 5]", "f64[1, 2, 3]", DTypeError, "different dtypes"),
    bad("bool[1, 2, 5]", "bool[1, 2, 3]", DTypeError, "lhs has dtype bool"),
    bad("f32[5]", "f32[3]", ShapeError, "needs rank 2 or more"),
    bad("f32[1, 2, 5]", "f32[1, 2, 3, 3]", ShapeError, "lhs has rank 3 and rhs 4"),
    bad(
        "f32[1, 2, 5]",
        "f32[1, 3, 3]",
        ShapeError,
        "channels of lhs and of rhs times groups differ: 2 and 3",
    ),
    bad(
        "f32[1, 4, 5]",
        "f32[3, 2, 3]",
        ShapeError,
        "3 outputs of rhs do not divide into 2",
        groups=2,
    ),
    bad("f32[1, 4, 5]", "f32[2, 4, 3]", ShapeError, "differ: 4 and 8", groups=2),
    bad("f32[1, 2, 5]", "f32[1, 2, 3]", ShapeError, "groups must be 1 or more", groups=0),
    bad("f32[1, 2, 5]", "f32[1, 2, 3]", ShapeError, "strides has 2 entries", strides=(1, 1)),
    bad("f32[1, 2, 5]", "f32[1, 2, 3]", ShapeError, "strides must be 1 or more", strides=(0,)),
    bad(
        "f32[1, 2, 5]",
        "f32[1, 2, 3]",
        ShapeError,
        "lhs_dilation must be 1 or more",
        lhs_dilation=(0,),
    ),
    bad(
        "f32[1, 2, 5]",
        "f32[1, 2, 3]",
        ShapeError,
        "rhs_dilation must be 1 or more",
        rhs_dilation=(-1,),
    ),
    bad("f32[1, 2, 5]", "f32[1, 2, 3]", ShapeError, "padding has 0 entries", padding=()),
    bad("f32[1, 2, 5]", "f32[1, 2, 3]", ShapeError, r"a pair \(low, high\)", padding=((1,),)),
]
