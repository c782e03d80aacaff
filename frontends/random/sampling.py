"""Random numbers as pure functions of a key: the same key gives the same bits on every backend.

A key is a uint32 array of 2 words. Bits are the Threefry-2x32 cipher of the position, so every
element is computed on its own. Never use a key twice: split it.

>>> import weft as wf
>>> key = wf.random.key(0)
>>> first, second = wf.random.split(key)
>>> wf.random.uniform(first, (2,), dtype="f32").shape
(2,)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.dtypes import dtype as as_dtype
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ir.types import ArrayType, Shape
from weft.compiler.ops import conversion, ordering, shape
from weft.compiler.ops.arithmetic import add, maximum, mul, neg, remainder, sub
from weft.compiler.ops.logic import and_, lt, or_, shift_right, xor
from weft.compiler.ops.random import threefry2x32
from weft.compiler.ops.reduction import argmax
from weft.compiler.ops.special import erfinv, log
from weft.frontends.numpy.functions import selection
from weft.frontends.random.drawing import draws
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = [
    "bernoulli",
    "bits",
    "categorical",
    "fold_in",
    "gumbel",
    "key",
    "normal",
    "permutation",
    "randint",
    "split",
    "uniform",
]

_KEY = ArrayType(dtypes.u32, (2,))


def _words(key: ArrayLike) -> tuple[Value, Value]:
    """The two words of a key."""
    value = core.lift(key)
    if value.type != _KEY:
        raise core.trace_error(
            "a random key is u32[2], as wf.random.key and wf.random.split make them; got "
            f"{value.type}"
        )
    first = shape.slice_(value, starts=(0,), limits=(1,), strides=(1,))
    second = shape.slice_(value, starts=(1,), limits=(2,), strides=(1,))
    return core.reshape(first, ()), core.reshape(second, ())


def _keys_of(block: Value) -> Value:
    """64-bit blocks as pairs of words, the high one first."""
    high = core.cast(shift_right(block, constant(32, dtypes.u64)), dtypes.u32)
    low = core.cast(block, dtypes.u32)
    spread = (*block.type.shape, 1)
    return shape.concatenate(
        core.reshape(high, spread), core.reshape(low, spread), axis=block.type.rank
    )


def _blocks(key: ArrayLike, target: Shape) -> Value:
    """Random 64-bit blocks of a shape: the cipher of each element's row-major position."""
    first, second = _words(key)
    count = dims.product(target)
    counter = shape.iota(dtype=dtypes.u64, shape=(count,), axis=0)
    return core.reshape(threefry2x32(first, second, counter), target)


def _bits(key: ArrayLike, target: Shape, dtype: DType) -> Value:
    block = _blocks(key, target)
    if dtype is dtypes.u64:
        return block
    folded = xor(shift_right(block, constant(32, dtypes.u64)), block)
    return core.cast(core.cast(folded, dtypes.u32), dtype)


def _uniform(key: ArrayLike, target: Shape, dtype: DType, low: Value, high: Value) -> Value:
    """Floats from mantissa bits: exact multiples of the spacing in [1, 2), shifted and scaled."""
    if not dtype.is_float:
        raise core.trace_error(f"random floats have a floating-point dtype, got {dtype}")
    mantissa = {dtypes.f64: 52, dtypes.f32: 23, dtypes.f16: 10, dtypes.bf16: 7}[dtype]
    unsigned = dtypes.BY_NAME[f"u{dtype.bits}"]
    raw = shift_right(_bits(key, target, unsigned), constant(dtype.bits - mantissa, unsigned))
    exponent = np.ones((), dtype.numpy).view(unsigned.numpy)
    one_to_two = conversion.bitcast(or_(raw, constant(exponent, unsigned)), dtype=dtype)
    unit = sub(one_to_two, constant(1, dtype))
    width = _stretch(_difference(high, low), target)
    low = _stretch(low, target)
    return maximum(low, add(mul(unit, width), low))


def _difference(high: Value, low: Value) -> Value:
    """high - low, now if both are known: products with powers of two are exact, and stay plain."""
    if isinstance(high, Constant) and isinstance(low, Constant):
        return constant(high.array - low.array, high.type.dtype)
    common = core.broadcast_shapes(high.type.shape, low.type.shape)
    return sub(_stretch(high, common), _stretch(low, common))


def _stretch(value: Value, target: Shape) -> Value:
    return core.broadcast_value(value, target) if value.type.shape else value


def _unit_normal(key: ArrayLike, target: Shape, dtype: DType) -> Value:
    low = constant(np.nextafter(np.array(-1, dtype.numpy), np.array(0, dtype.numpy)), dtype)
    inside = _uniform(key, target, dtype, low, constant(1, dtype))
    return mul(constant(math.sqrt(2), dtype), erfinv(inside))


@draws
def key(seed: ArrayLike) -> Tracer:
    """A key from an integer seed of at most 64 bits."""
    if isinstance(seed, int) and 2**63 <= seed < 2**64:
        seed = np.uint64(seed)
    value = core.lift(seed)
    if not value.type.dtype.is_integer or value.type.shape:
        raise core.trace_error(f"a seed is an integer, got {value.type}")
    return core.wrap(_keys_of(core.cast(value, dtypes.u64)))


@draws
def split(key: ArrayLike, n: Size = 2) -> Tracer:
    """`n` independent keys, as the rows of an array."""
    return core.wrap(_keys_of(_blocks(key, (n,))))


@draws
def fold_in(key: ArrayLike, data: ArrayLike) -> Tracer:
    """A key that depends on an integer as well, such as a step number; its low 32 bits count."""
    first, second = _words(key)
    number = _integer(data, "the data of fold_in")
    counter = and_(core.cast(number, dtypes.u64), constant(0xFFFFFFFF, dtypes.u64))
    return core.wrap(_keys_of(threefry2x32(first, second, counter)))


@draws
def bits(key: ArrayLike, shape: Any = (), dtype: Any = "u32") -> Tracer:
    """Uniform random unsigned integers of all bits."""
    element = as_dtype(dtype)
    if element.kind != "uint":
        raise core.trace_error(f"random bits have an unsigned dtype, got {element}")
    return core.wrap(_bits(key, core.as_shape(shape), element))


@draws
def uniform(
    key: ArrayLike, shape: Any = (), dtype: Any = "f64", low: ArrayLike = 0.0, high: ArrayLike = 1.0
) -> Tracer:
    """Floats uniform in [low, high); where the dtype has few numbers in between, rounding can give
    `high`.
    """
    element = as_dtype(dtype)
    limits = core.lift(low, element), core.lift(high, element)
    return core.wrap(_uniform(key, core.as_shape(shape), element, *limits))


@draws
def normal(
    key: ArrayLike, shape: Any = (), dtype: Any = "f64", mean: ArrayLike = 0.0, std: ArrayLike = 1.0
) -> Tracer:
    """Normal floats; gradients flow to `mean` and `std`."""
    element, target = as_dtype(dtype), core.as_shape(shape)
    unit = _unit_normal(key, target, element)
    if _is_number(std, 1.0) and _is_number(mean, 0.0):
        return core.wrap(unit)
    scaled = mul(unit, _stretch(core.lift(std, element), target))
    return core.wrap(add(scaled, _stretch(core.lift(mean, element), target)))


def _is_number(given: ArrayLike, number: float) -> bool:
    return isinstance(given, int | float) and given == number


@draws
def bernoulli(key: ArrayLike, p: ArrayLike = 0.5, shape: Any = None) -> Tracer:
    """Bools that are true with probability `p`."""
    probability = core.lift(p)
    element = core.inexact_dtype(probability.type.dtype)
    target = probability.type.shape if shape is None else core.as_shape(shape)
    drawn = _uniform(key, target, element, constant(0, element), constant(1, element))
    return core.wrap(lt(drawn, _stretch(core.cast(probability, element), target)))


@draws
def gumbel(
    key: ArrayLike,
    shape: Any = (),
    dtype: Any = "f64",
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
) -> Tracer:
    """Gumbel floats; gradients flow to `loc` and `scale`."""
    element, target = as_dtype(dtype), core.as_shape(shape)
    unit = _gumbel(key, target, element)
    if _is_number(scale, 1.0) and _is_number(loc, 0.0):
        return core.wrap(unit)
    scaled = mul(unit, _stretch(core.lift(scale, element), target))
    return core.wrap(add(scaled, _stretch(core.lift(loc, element), target)))


def _gumbel(key: ArrayLike, target: Shape, dtype: DType) -> Value:
    tiny = np.finfo(dtype.numpy).tiny if dtype is not dtypes.bf16 else np.finfo(np.float32).tiny
    drawn = _uniform(key, target, dtype, constant(tiny, dtype), constant(1, dtype))
    return neg(log(neg(log(drawn))))


@draws
def categorical(key: ArrayLike, logits: ArrayLike, axis: int = -1, shape: Any = None) -> Tracer:
    """Indices drawn with probabilities softmax(logits) along an axis.

    `shape` is that of the result; it ends with the shape of `logits` without the axis, which is the
    default.
    """
    value = core.lift(logits)
    element = core.inexact_dtype(value.type.dtype)
    last = core.normalize_axis(axis, value.type.rank)
    order = [a for a in range(value.type.rank) if a != last] + [last]
    scores = core.transpose(core.cast(value, element), order)
    batch = scores.type.shape[:-1]
    target = batch if shape is None else core.as_shape(shape)
    full = (*target, scores.type.shape[-1])
    noise = _gumbel(key, full, element)
    return core.wrap(argmax(add(noise, core.broadcast_value(scores, full)), axis=len(target)))


@draws
def permutation(key: ArrayLike, x: ArrayLike, axis: int = 0) -> Any:
    """A random order of 0..x-1 for an integer `x`, or of the slices of an array along an axis."""
    if isinstance(x, int | np.integer | Dim):
        return core.wrap(_random_order(key, x if isinstance(x, Dim) else int(x)))
    value = core.lift(x)
    if not value.type.shape:
        raise core.trace_error(
            f"permutation takes a Python integer or an array of rank 1 or more, got {value.type}"
        )
    place = core.normalize_axis(axis, value.type.rank)
    return selection.take(x, core.wrap(_random_order(key, value.type.shape[place])), axis=place)


def _random_order(key: ArrayLike, count: Size) -> Value:
    drawn = _blocks(key, (count,))
    positions = shape.iota(dtype=dtypes.i64, shape=(count,), axis=0)
    return ordering.sort.emit(drawn, positions, axis=0)[1]


@draws
def randint(
    key: ArrayLike, shape: Any = (), low: ArrayLike = 0, high: ArrayLike = 2, dtype: Any = "i64"
) -> Tracer:
    """Integers uniform in [low, high); `low` where a traced `high` is not above it."""
    element, target = as_dtype(dtype), core.as_shape(shape)
    if not element.is_integer:
        raise core.trace_error(f"random integers have an integer dtype, got {element}")
    start, span = _range(low, high, element)
    drawn = remainder(_blocks(key, target), _stretch(span, target))
    return core.wrap(core.cast(add(drawn, _stretch(start, target)), element))


def _range(low: ArrayLike, high: ArrayLike, dtype: DType) -> tuple[Value, Value]:
    """The start and width of a range of integers, both modulo 2**64."""
    if isinstance(low, int) and isinstance(high, int):
        _check_range(low, high, dtype)
        return constant(low % 2**64, dtypes.u64), constant(high - low, dtypes.u64)
    start = core.cast(_integer(low, "a bound of randint"), dtypes.i64)
    width = sub(core.cast(_integer(high, "a bound of randint"), dtypes.i64), start)
    span = maximum(width, constant(1, dtypes.i64))
    return core.cast(start, dtypes.u64), core.cast(span, dtypes.u64)


def _check_range(low: int, high: int, dtype: DType) -> None:
    if low >= high:
        raise core.trace_error(f"randint needs low < high, got low={low}, high={high}")
    limits = np.iinfo(dtype.numpy)
    if low < limits.min or high > limits.max + 1 or high - low == 2**64:
        raise core.trace_error(f"randint: [{low}, {high}) does not fit into {dtype}")


def _integer(given: ArrayLike, what: str) -> Value:
    value = core.lift(given)
    if not value.type.dtype.is_integer:
        raise core.trace_error(f"{what} is an integer, got {value.type}")
    return value
