"""Samples of gather and scatter. The oracle loops over Python numbers, one element at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tests.compiler.ops.sample import Array, BadSample, Sample
from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ops.indexing import gather, scatter

KINDS = ("set", "add", "mul", "min", "max")
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)

# Operand shape, axes, batch_dims, index shape (batch axes included).
LAYOUTS: list[tuple[tuple[int, ...], tuple[int, ...], int, tuple[int, ...]]] = [
    ((5,), (0,), 0, (7,)),
    ((5,), (0,), 0, ()),
    ((4, 3), (0,), 0, (2, 3)),
    ((4, 3), (1,), 0, (5,)),
    ((4, 3), (0, 1), 0, (6,)),
    ((3, 4, 2), (0, 2), 0, (2, 3)),
    ((3, 4, 2), (2, 0), 0, (5,)),
    ((3, 4, 2), (1,), 0, ()),
    ((3, 4, 2), (0, 1, 2), 0, (2, 2)),
    ((2, 5, 3), (1,), 1, (2, 6)),
    ((2, 3, 4), (2,), 2, (2, 3, 5)),
    ((2, 3, 4), (1,), 1, (2,)),
    ((2, 3, 2, 4), (3, 1), 1, (2, 3, 2)),
    ((1, 2, 1, 3), (2,), 2, (1, 2, 2)),
    ((4, 3), (0,), 0, (0,)),
    ((4, 3), (0,), 0, (2, 0)),
    ((3, 0), (0,), 0, (4,)),
    ((0, 3), (1,), 0, (2,)),
    ((0, 3), (1,), 1, (0, 2)),
    ((0, 3), (0,), 0, (0,)),
]
EMPTY_AXIS = ((0, 2), (0,), 0, (3,))

Place = tuple[tuple[int, ...], tuple[int, ...]]


def resolve(index: int, size: int, mode: str) -> int | None:
    """The position that an index means, or None where it is dropped."""
    position = index + size if index < 0 else index
    if 0 <= position < size:
        return position
    assert mode != "raise", "rows of mode raise stay in range"
    return None if mode == "fill" else min(max(position, 0), size - 1)


def places(
    operand: Array, indices: Sequence[Array], axes: Sequence[int], batch_dims: int, mode: str
) -> Iterator[Place]:
    """Pairs of an operand index and the index it has in gather's result, in row-major order."""
    kept = [a for a in range(operand.ndim) if a >= batch_dims and a not in axes]
    for where in np.ndindex(*indices[0].shape):
        source: dict[int, int | None] = dict(enumerate(where[:batch_dims]))
        for index, axis in zip(indices, axes, strict=True):
            source[axis] = resolve(int(index[where]), operand.shape[axis], mode)
        for rest in np.ndindex(*(operand.shape[a] for a in kept)):
            source.update(zip(kept, rest, strict=True))
            position = [source[a] for a in range(operand.ndim)]
            if None not in position:
                yield tuple(p for p in position if p is not None), (*where, *rest)


def result_shape(operand: Array, index: Array, axes: Sequence[int], batch_dims: int) -> list[int]:
    return [
        *index.shape,
        *(n for a, n in enumerate(operand.shape) if a >= batch_dims and a not in axes),
    ]


def gather_row(
    operand: Array,
    indices: Sequence[Array],
    axes: tuple[int, ...],
    batch_dims: int = 0,
    mode: str = "raise",
    name: str = "",
) -> Sample:
    expected = np.zeros(result_shape(operand, indices[0], axes, batch_dims), operand.dtype)
    for source, target in places(operand, indices, axes, batch_dims, mode):
        expected[target] = operand[source]
    attributes = {"axes": axes, "batch_dims": batch_dims, "mode": mode}
    name = name or f"{axes}-batch{batch_dims}-{mode}"
    return Sample(gather, (operand, *indices), expected, attributes, name=name)


def scatter_row(
    operand: Array,
    updates: Array,
    indices: Sequence[Array],
    axes: tuple[int, ...],
    batch_dims: int = 0,
    mode: str = "raise",
    kind: str = "add",
    name: str = "",
) -> Sample:
    total = widened(operand)
    for target, source in places(operand, indices, axes, batch_dims, mode):
        total[target] = COMBINE[kind](total[target], widened(updates[source])[()])
    attributes = {"axes": axes, "batch_dims": batch_dims, "mode": mode, "kind": kind}
    name = name or f"{kind}-{axes}-batch{batch_dims}-{mode}"
    expected = narrowed(total, dtypes.dtype(operand.dtype))
    return Sample(scatter, (operand, updates, *indices), expected, attributes, name=name)


def _smaller(a: Any, b: Any) -> Any:
    return a if a != a or a < b else b


def _larger(a: Any, b: Any) -> Any:
    return a if a != a or a > b else b


COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda a, b: b,
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "min": _smaller,
    "max": _larger,
}


def widened(values: Any) -> Array:
    """Python ints that do not overflow, or doubles; the samples are exact in both."""
    of = dtypes.dtype(values.dtype)
    wide = np.complex128 if of.is_complex else np.float64 if of.is_float else object
    return np.asarray(values).astype(wide)


def narrowed(values: Array, to: DType) -> Array:
    """Integers wrap around as two's complement does."""
    if not to.is_integer:
        return values.astype(to.numpy)
    offset = 2 ** (to.bits - 1) if to.is_signed else 0
    wrapped = [(v + offset) % 2**to.bits - offset for v in values.flat]
    return np.array(wrapped, to.numpy).reshape(values.shape)


# --- random samples over layouts, modes, kinds and dtypes ---------------------------------------


def values_of(rng: np.random.Generator, shape: Sequence[int], dtype: DType) -> Array:
    """Small multiples of a half (or integers), which every dtype adds and multiplies exactly."""
    whole = rng.integers(0 if dtype.kind in ("uint", "bool") else -3, 4, shape)
    if dtype.is_bool:
        return np.asarray(whole % 2 == 0)
    if dtype.is_complex:
        return (whole + 0.5j * rng.integers(-3, 4, shape)).astype(dtype.numpy)
    return (whole * 0.5 if dtype.is_float else whole).astype(dtype.numpy)


def random_indices(
    rng: np.random.Generator,
    layout: tuple[tuple[int, ...], tuple[int, ...], int, tuple[int, ...]],
    mode: str,
) -> list[Array]:
    """In range for raise, well beyond both ends otherwise; small ranges make duplicates."""
    shape, axes, _, index_shape = layout
    reach = 1 if mode == "raise" else 2
    sizes = [max(shape[axis], 1) for axis in axes]
    return [rng.integers(-reach * n, reach * n, index_shape) for n in sizes]


def random_rows() -> Iterator[Sample]:
    rng = np.random.default_rng(20240229)
    choices = [(layout, mode) for layout in LAYOUTS for mode in ("raise", "clip", "fill")]
    for layout, mode in [*choices, (EMPTY_AXIS, "fill")]:
        shape, axes, batch_dims, _ = layout
        indices = random_indices(rng, layout, mode)
        operand = values_of(rng, shape, dtypes.f32)
        yield gather_row(operand, indices, axes, batch_dims, mode)
        for kind in KINDS:
            updates = values_of(
                rng, result_shape(operand, indices[0], axes, batch_dims), dtypes.f32
            )
            yield scatter_row(operand, updates, indices, axes, batch_dims, mode, kind)


def accepts(kind: str, dtype: DType) -> bool:
    return kind == "set" or not (dtype.is_bool or (dtype.is_complex and kind in ("min", "max")))


def dtype_rows() -> Iterator[Sample]:
    rng = np.random.default_rng(20240301)
    for dtype in dtypes.ALL:
        operand = values_of(rng, (4, 2), dtype)
        updates = values_of(rng, (5, 2), dtype)
        index = rng.integers(-6, 6, (5,))
        yield gather_row(operand, [index], (0,), mode="fill", name="every dtype")
        for kind in filter(lambda kind: accepts(kind, dtype), KINDS):
            yield scatter_row(operand, updates, [index], (0,), mode="fill", kind=kind)
    for integer in INTEGERS:
        index = np.array([0, 3, 1, 3], integer)
        operand = np.arange(4.0)
        yield gather_row(operand, [index], (0,), name="every index dtype")
        yield scatter_row(operand, np.arange(4.0), [index], (0,), name="every index dtype")


# --- samples that say what they stand for -------------------------------------------------------


def array(values: Any, dtype: Any = np.float32) -> Array:
    return np.array(values, dtype)


def literal_row(
    operand: Array, updates: Array, index: Array, kind: str, expected: Any, name: str
) -> Sample:
    attributes = {"axes": (0,), "kind": kind}
    return Sample(
        scatter, (operand, updates, index), array(expected, operand.dtype), attributes, name=name
    )


def edge_rows() -> Iterator[Sample]:
    extremes = array([2**64 - 1, 2**63, 0], np.uint64), array([-(2**63), 2**63 - 1, -1], np.int64)
    for index in extremes:
        for mode in ("clip", "fill"):
            yield gather_row(array([1, 2, 3]), [index], (0,), mode=mode, name="index extremes")
    narrow = array([-1, 127, -128], np.int8)
    yield gather_row(np.arange(300.0), [narrow], (0,), name="narrow index, long axis")
    mixed = [array([0, -1], np.int32), array([1, 0], np.uint64)]
    yield gather_row(np.arange(600.0).reshape(300, 2), mixed, (0, 1), name="mixed index dtypes")
    special = array([np.nan, np.inf, -np.inf, -0.0])
    yield gather_row(
        special, [array([3, 2, 1, 0, 9], np.int64)], (0,), mode="fill", name="edge values"
    )

    i = array([0, 0, 1, 1], np.int64)
    two = array([1, 2])
    yield literal_row(
        two, array([5, -0.0, np.inf, np.nan]), i, "set", [-0.0, np.nan], "last one wins"
    )
    yield literal_row(
        two, array([np.inf, -np.inf, np.inf, 1]), i, "add", [np.nan, np.inf], "edge values"
    )
    yield literal_row(
        two, array([np.inf, 0, -np.inf, 2]), i, "mul", [np.nan, -np.inf], "edge values"
    )
    yield literal_row(
        two, array([np.nan, 0, -np.inf, 3]), i, "min", [np.nan, -np.inf], "NaN spreads"
    )
    yield literal_row(two, array([0, np.nan, np.inf, 3]), i, "max", [np.nan, np.inf], "NaN spreads")
    wrap = array([100, 27, -128, -1], np.int8)
    yield literal_row(array([1, 0], np.int8), wrap, i, "add", [-128, 127], "integers wrap")
    yield literal_row(
        array([0, 255], np.uint8),
        array([3, 253, 1, 1], np.uint8),
        i,
        "add",
        [0, 1],
        "integers wrap",
    )
    yield literal_row(
        array([2, 1], np.int32),
        array([2**30, 1, 65536, 65536], np.int32),
        i,
        "mul",
        [-(2**31), 0],
        "integers wrap",
    )
    ones = np.zeros(4, np.int64)
    yield literal_row(
        array([2048], np.float16), array([1] * 4, np.float16), ones, "add", [2052], "sums in f32"
    )
    bf16 = dtypes.bf16.numpy
    yield literal_row(array([256], bf16), array([1] * 4, bf16), ones, "add", [260], "sums in f32")


def idiom_rows() -> Iterator[Sample]:
    """What frontends build from the two ops, against the NumPy function of that name."""
    rng = np.random.default_rng(20240302)
    x = rng.standard_normal((3, 4, 5))
    i, j = rng.integers(-3, 3, (2, 2)), rng.integers(-5, 5, (2, 2))
    advanced = x[i, :, j]
    yield Sample(gather, (x, i, j), advanced, {"axes": (0, 2)}, name="advanced indexing")
    assigned = x.copy()
    assigned[i, :, j] = -advanced
    attributes: dict[str, Any] = {"axes": (0, 2), "kind": "set"}
    yield Sample(scatter, (x, -advanced, i, j), assigned, attributes, name="indexed assignment")
    along = rng.integers(0, 5, (3, 4, 2))
    attributes = {"axes": (2,), "batch_dims": 2}
    yield Sample(gather, (x, along), np.take_along_axis(x, along, 2), attributes, name="take_along")
    table, words = rng.standard_normal((6, 3)).astype(np.float32), rng.integers(0, 6, (2, 4))
    yield Sample(gather, (table, words), np.take(table, words, 0), {"axes": (0,)}, name="embedding")
    segments = np.array([0, 2, 2, 1, 2])
    weights = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    attributes = {"axes": (0,), "kind": "add"}
    yield Sample(
        scatter,
        (np.zeros(3), weights, segments),
        np.bincount(segments, weights),
        attributes,
        name="segment sum",
    )
    mirrored = x[::-1, :, ::2].T
    where = rng.integers(0, 3, (4, 3)).T[::-1]
    yield gather_row(mirrored, [where], (0,), name="strided")
    updates = rng.integers(-4, 4, (3, 4, 4, 3)).astype(np.float64).transpose(3, 2, 1, 0)[::-1]
    yield scatter_row(np.zeros_like(mirrored), updates, [where], (0,), kind="set", name="strided")


ROWS: list[Sample] = [*random_rows(), *dtype_rows(), *edge_rows(), *idiom_rows()]


# --- what the type rules refuse -----------------------------------------------------------------


def bad(
    types: tuple[str, ...], match: str, error: Any = ShapeError, **attributes: Any
) -> BadSample:
    return BadSample(gather, types, error, match, {"axes": (0,), **attributes})


def bad_scatter(
    types: tuple[str, ...], match: str, error: Any = ShapeError, **attributes: Any
) -> BadSample:
    return BadSample(scatter, types, error, match, {"axes": (0,), "kind": "add", **attributes})


BAD: list[BadSample] = [
    bad(("f32[3]",), "axes is .0,., but there are 0 index arrays"),
    bad(("f32[3]", "i32[2]", "i32[2]"), "axes is .0,., but there are 2 index arrays"),
    bad(("f32[3]",), "at least one", axes=()),
    bad(("f32[3]", "f32[2]"), "index 0 has dtype f32", DTypeError),
    bad(("f32[3]", "bool[3]"), "index 0 has dtype bool", DTypeError),
    bad(("f32[3]", "i32[2]"), "axis 1 is out of range", axes=(1,)),
    bad(("f32[3, 3]", "i32[2]"), "axis -1 is out of range", axes=(-1,)),
    bad(("f32[3, 3]", "i32[2]", "i32[2]"), "an axis twice", axes=(0, 0)),
    bad(("f32[3, 3]", "i32[2]", "i32[3]"), "index arrays have different shapes", axes=(0, 1)),
    bad(("f32[3, 3]", "i32[]"), "batch_dims is 1, expected 0 to 0", axes=(1,), batch_dims=1),
    bad(("f32[3, 3]", "i32[3, 2]"), "none of the axes .0,.", axes=(0,), batch_dims=1),
    bad(("f32[3, 3]", "i32[3, 2]"), "batch_dims is -1", axes=(1,), batch_dims=-1),
    bad(("f32[3, 3]", "i32[2, 2]"), "batch axes differ: .3,. .* .2,.", axes=(1,), batch_dims=1),
    bad_scatter(("f32[3]", "f64[2]", "i32[2]"), "different dtypes", DTypeError),
    bad_scatter(("f32[3]", "f32[3]", "i32[2]"), "updates have shape .3,., expected .2,."),
    bad_scatter(("f32[3]", "f32[]", "i32[2]"), "updates have shape"),
    bad_scatter(("f32[3]", "f32[2]"), "there are 0 index arrays"),
    *(
        bad_scatter(("bool[3]", "bool[2]", "i32[2]"), "no meaning for bool", DTypeError, kind=kind)
        for kind in KINDS[1:]
    ),
    bad_scatter(("c64[3]", "c64[2]", "i32[2]"), "needs an order", DTypeError, kind="min"),
    bad_scatter(("c128[3]", "c128[2]", "i32[2]"), "needs an order", DTypeError, kind="max"),
]
