"""What every function of the NumPy surface needs: lifting, NumPy 2 promotion, broadcasting, axes.

Functions in this package take anything array-like, work inside a trace, and return tracers. They
carry NumPy's names and signatures, which is all it takes for `numpy.name` and `weft.numpy.name` to
reach them.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.build import constant, origins
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import DTypeError, ShapeError, TraceError
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ir.types import Shape, format_shape
from weft.compiler.ops import conversion, shape
from weft.frontends.tracing.scalars import Scalar, scalar_dtype
from weft.frontends.tracing.trace import ArrayLike, Tracer, current_trace

WEAK_TYPES: Final = {dtypes.i64: int, dtypes.f64: float, dtypes.c128: complex}
PYTHON_TYPES: Final[dict[DType, type]] = {dtypes.bool_: bool, **WEAK_TYPES}
NUMBER_DTYPES: Final = {kind: dtype for dtype, kind in PYTHON_TYPES.items()}


def lift(operand: ArrayLike, dtype: DType | None = None) -> Value:
    """The value of anything array-like, cast to `dtype` if given."""
    value = current_trace().lift(operand, dtype)
    return value if dtype is None else cast(value, dtype)


def wrap(value: Value, *, weak: bool = False) -> Tracer:
    """The tracer of a value."""
    return current_trace().wrap(value, weak=weak)


def cast(value: Value, dtype: DType) -> Value:
    """The value in another dtype; constants are converted now."""
    if value.type.dtype is dtype:
        return value
    if isinstance(value, Constant) and value.array.size <= 16:
        with np.errstate(all="ignore"):
            return Constant(_cast_array(value.array, dtype), value.location)
    return conversion.cast(value, dtype=dtype)


def _cast_array(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    real = array.real if np.iscomplexobj(array) and not dtype.is_complex else array
    return (real != 0) if dtype.is_bool else real.astype(dtype.numpy)


# --- promotion ------------------------------------------------------------------------------------


def promotion_key(operand: ArrayLike) -> Any:
    """What NumPy 2 promotes by: a NumPy dtype, or a Python scalar type for weak operands."""
    if isinstance(operand, Tracer):
        dtype = operand.type.dtype
        return WEAK_TYPES[dtype] if operand.weak and dtype in WEAK_TYPES else dtype.numpy
    if isinstance(operand, bool):
        return dtypes.bool_.numpy
    if isinstance(operand, int | Dim):
        return int
    if isinstance(operand, np.ndarray | np.generic):
        return operand.dtype.newbyteorder("=")
    if isinstance(operand, float | complex):
        return type(operand) if type(operand) in (float, complex) else scalar_dtype(operand).numpy
    return lift(operand).type.dtype.numpy


def result_dtype(*operands: ArrayLike) -> DType:
    """The dtype that NumPy 2 would give operands joined together (`np.result_type`)."""
    keys = [promotion_key(operand) for operand in operands]
    strong = [dtypes.dtype(key) for key in keys if not isinstance(key, type)]
    weak = [key for key in keys if isinstance(key, type)]
    if not strong:
        return dtypes.promote(*(dtypes.dtype(key) for key in weak))
    common = dtypes.promote(*strong)
    for key in weak:
        common = _promote_weak(common, key)
    return common


def _promote_weak(common: DType, kind: type) -> DType:
    if common is dtypes.bf16 and kind in (int, float):
        return common
    stand_in = dtypes.f32 if common is dtypes.bf16 else common
    return dtypes.dtype(np.result_type(np.empty(0, stand_in.numpy), kind(0)))


def is_weak(*operands: ArrayLike) -> bool:
    """Whether all operands are Python numbers, or arrays that promote as these do."""
    return all(
        operand.weak if isinstance(operand, Tracer) else python_type(operand) is not None
        for operand in operands
    )


def python_type(operand: Any) -> type | None:
    """`bool`, `int`, `float` or `complex` for a Python number, traced or not; None for all else."""
    if isinstance(operand, Tracer):
        is_number = operand.weak and not operand.type.shape
        return PYTHON_TYPES.get(operand.type.dtype) if is_number else None
    if type(operand) in NUMBER_DTYPES:
        return type(operand)
    if isinstance(operand, Dim):
        return int
    if isinstance(operand, np.generic):
        return None
    return next((kind for kind in NUMBER_DTYPES if isinstance(operand, kind)), None)


def promote(*operands: ArrayLike) -> list[Value]:
    """The operands as values of their common dtype."""
    common = result_dtype(*operands)
    return [lift(operand, common) for operand in operands]


def inexact_dtype(dtype: DType) -> DType:
    """The dtype in which means of this one are computed: float64 for integers and bools."""
    return dtype if dtype.is_inexact else dtypes.f64


def number_types(operand: Any) -> frozenset[type]:
    """The Python types that a number may have: several, where values decide which of two numbers
    it is; none if it is no Python number.
    """
    kind = python_type(operand)
    if kind is None:
        return frozenset()
    known = None
    if isinstance(operand, Tracer):
        known = operand.region_trace.number_types.get(operand._value)
    return known or frozenset((kind,))


def with_types(tracer: Tracer, types: frozenset[type]) -> Tracer:
    """A new number, of which is noted that it may have one of several types."""
    if len(types) > 1 and python_type(tracer) is not None:
        tracer.region_trace.number_types[tracer._value] = types
    return tracer


# --- broadcasting ---------------------------------------------------------------------------------


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The common shape by NumPy's rules, symbolic sizes included."""
    rank = max(map(len, shapes), default=0)
    result: list[Size] = []
    for axis in range(-rank, 0):
        size: Size = 1
        for candidate in shapes:
            if len(candidate) < -axis or candidate[axis] == 1:
                continue
            if size == 1:
                size = candidate[axis]
            elif candidate[axis] != size:
                listed = " and ".join(format_shape(s) for s in shapes)
                raise ShapeError(f"shapes {listed} do not broadcast together")
        result.append(size)
    return tuple(result)


def broadcast_value(value: Value, target: Shape) -> Value:
    """The value stretched to a shape that it broadcasts to."""
    if value.type.shape == target:
        return value
    offset = len(target) - value.type.rank
    if offset < 0:
        raise ShapeError(
            f"{format_shape(value.type.shape)} does not broadcast to {format_shape(target)}"
        )
    if isinstance(value, Constant) and not value.type.shape and not target:
        return value
    return shape.broadcast(value, shape=target, dims=tuple(range(offset, len(target))))


def broadcast_together(values: Sequence[Value]) -> list[Value]:
    """The values stretched to their common shape; rank-0 ones are left, elementwise ops stretch
    them.
    """
    shapes = [value.type.shape for value in values if value.type.shape]
    if len(set(shapes)) <= 1:
        return list(values)
    try:
        target = broadcast_shapes(*shapes)
    except ShapeError as error:
        raise with_origins(error, values) from None
    return [broadcast_value(v, target) if v.type.shape else v for v in values]


def with_origins(error: ShapeError, values: Sequence[Value]) -> ShapeError:
    """The error at the user's line, with what each operand is and where it comes from."""
    message = f"{error.message}:{origins(values)}"
    return ShapeError(message, location=trace_error("").location)


# --- shapes and axes ------------------------------------------------------------------------------


def as_shape(shape_like: Any) -> Shape:
    """A shape from an int, a size or a sequence of them."""
    items = (shape_like,) if isinstance(shape_like, int | np.integer | Dim) else shape_like
    if isinstance(items, Tracer) and items.known is not None:
        items = items.known
    if isinstance(items, Tracer):
        raise _data_dependent(items)
    return tuple([as_size(item) for item in items])


def as_size(size_like: Any) -> Size:
    """A size from an int or symbolic size; a traced value is refused, as shapes must be known."""
    if isinstance(size_like, Dim):
        return size_like
    if isinstance(size_like, Tracer):
        raise _data_dependent(size_like)
    return operator.index(size_like)


def _data_dependent(tracer: Tracer) -> TraceError:
    return tracer.region_trace.error(
        f"a shape depends on the traced value {tracer.type}, which is only known when the program "
        "runs; "
        "make it a static argument (static_argnames=...), or pad to a fixed size"
    )


def normalize_axis(axis: Any, rank: int) -> int:
    """A non-negative axis."""
    if isinstance(axis, Tracer):
        raise axis.region_trace.error("an axis must be a Python int, not a traced value")
    number = operator.index(axis)
    if not -rank <= number < rank:
        raise ShapeError(f"axis {number} is out of bounds for an array of rank {rank}")
    return number % rank


def normalize_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """Axes from None (all), an int or a tuple, non-negative and distinct."""
    if axis is None:
        return tuple(range(rank))
    if isinstance(axis, Tracer) or not isinstance(axis, Iterable):
        return (normalize_axis(axis, rank),)
    axes = tuple(normalize_axis(a, rank) for a in axis)
    if len(set(axes)) != len(axes):
        raise ShapeError(f"axis {axis} names an axis twice")
    return axes


def expand(value: Value, axes: Iterable[int], full: Shape) -> Value:
    """The value reshaped with size-1 axes put back: `full` is the shape before the axes were
    dropped.
    """
    kept = tuple([1 if axis in set(axes) else size for axis, size in enumerate(full)])
    return reshape(value, kept)


def reshape(value: Value, target: Shape) -> Value:
    """The value in another shape of the same number of elements."""
    return value if value.type.shape == target else shape.reshape(value, shape=target)


def transpose(value: Value, permutation: Sequence[int]) -> Value:
    """The value with its axes permuted."""
    if list(permutation) == list(range(value.type.rank)):
        return value
    return shape.transpose(value, permutation=tuple(permutation))


def full(target: Shape, fill: Scalar, dtype: DType) -> Value:
    """A constant of one number, stretched."""
    return broadcast_value(constant(fill, dtype), target)


def size_value(size: Size, dtype: DType) -> Value:
    """A size as a rank-0 value."""
    return (
        constant(size, dtype) if isinstance(size, int) else cast(shape.dim_value(dim=size), dtype)
    )


def check_no(function: str, **unsupported: Any) -> None:
    """Refuse arguments that NumPy has and we do not, when they are given."""
    for name, value in unsupported.items():
        if value is not None and value is not np._NoValue:
            raise TraceError(f"{function}: the argument {name}= is not supported in traced code")


def product(sizes: Iterable[Size]) -> Size:
    """The product of sizes."""
    return dims.product(sizes)


def require_inexact(dtype: DType, function: str) -> None:
    if not dtype.is_inexact:
        raise DTypeError(f"{function} needs floating-point input, got {dtype}")


def trace_error(message: str) -> TraceError:
    """A TraceError at the user's line."""
    return current_trace().error(message)
