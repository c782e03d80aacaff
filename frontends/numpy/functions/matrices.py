"""What the linalg functions share: operands in a dtype that LAPACK knows, stacks, products."""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.ir import dtypes
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import Shape, format_shape
from weft.compiler.ops.arithmetic import abs_, mul, sign
from weft.compiler.ops.contraction import dot_general
from weft.compiler.ops.indexing import gather
from weft.compiler.ops.linalg import eigh, solve, svd
from weft.compiler.ops.logic import eq
from weft.compiler.ops.ordering import sort
from weft.frontends.numpy.functions.axis_access import stretch, swap_last
from weft.frontends.numpy.functions.axis_ops import iota
from weft.frontends.numpy.functions.magnitude import conjugate
from weft.frontends.tracing.core import broadcast_shapes, broadcast_value, cast, lift, promote, wrap
from weft.frontends.tracing.trace import ArrayLike


def operands(name: str, *arrays: ArrayLike) -> list[Value]:
    """The arrays in their common floating-point dtype: float64 for integers."""
    values = promote(*[wrap(lift(array)) for array in arrays])
    dtype = values[0].type.dtype
    if not dtype.is_inexact:
        return [cast(value, dtypes.f64) for value in values]
    if dtype.bits < 32:
        raise DTypeError(f"numpy.linalg.{name} does not take {dtype}; cast to float32 first")
    return values


def matrices(name: str, a: ArrayLike) -> Value:
    """One stack of matrices, in a floating-point dtype."""
    (value,) = operands(name, a)
    if value.type.rank < 2:
        raise ShapeError(f"{name} takes matrices in the last two axes, got {value.type}")
    return value


def square_matrices(name: str, a: ArrayLike) -> Value:
    """As `matrices`, of as many rows as columns."""
    value = matrices(name, a)
    rows, columns = value.type.shape[-2:]
    if rows != columns:
        raise ShapeError(f"{name} takes square matrices, got {format_shape(value.type.shape)}")
    return value


def decompose(value: Value, *, full: bool = False, hermitian: bool = False) -> tuple[Value, ...]:
    """(u, s, vh) of matrices; of Hermitian ones by the eigenvalues of one triangle."""
    if not hermitian:
        return svd.emit(value, full=full)
    values, vectors = eigh.emit(value)
    last = values.type.rank - 1
    places = iota(values.type.shape, last)
    _, order = sort.emit(abs_(values), places, axis=last, descending=True)
    chosen = gather(values, order, axes=(last,), batch_dims=last)
    u = swap_last(gather(swap_last(vectors), order, axes=(last,), batch_dims=last))
    signs = cast(sign(chosen), u.type.dtype)
    turned = mul(u, stretch(signs, (*range(last), last + 1), u.type.shape))
    return u, abs_(chosen), conjugate(swap_last(turned))


def stretch_stacks(values: Sequence[Value], core: int = 2) -> list[Value]:
    """The values with all but their last axes stretched to a common shape."""
    stack = broadcast_shapes(*[value.type.shape[:-core] for value in values])
    return [broadcast_value(value, (*stack, *value.type.shape[-core:])) for value in values]


def identity(size: Size, dtype: DType, stack: Shape = ()) -> Value:
    """Identity matrices."""
    shape = (*stack, size, size)
    is_diagonal = eq(*[iota(shape, axis) for axis in (len(stack), len(stack) + 1)])
    return cast(is_diagonal, dtype)


def multiply(x: Value, y: Value, *, turn_x: bool = False, turn_y: bool = False) -> Value:
    """The products of two stacks of matrices of one stack shape, with either transposed first."""
    rank = x.type.rank
    stack = tuple(range(rank - 2))
    return dot_general(
        x,
        y,
        lhs_contract=(rank - 2 if turn_x else rank - 1,),
        rhs_contract=(rank - 1 if turn_y else rank - 2,),
        lhs_batch=stack,
        rhs_batch=stack,
    )


def inverse(value: Value) -> Value:
    """The inverses of square matrices."""
    shape = value.type.shape
    return solve(value, identity(shape[-1], value.type.dtype, shape[:-2]))
