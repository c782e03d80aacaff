"""Checks and type rules that several families share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.types import ArrayType, Shape, format_shape

# Sets of dtype kinds, as `require_kind` takes them.
INTEGER: Final = ("int", "uint")
FLOAT: Final = ("float",)
INEXACT: Final = ("float", "complex")
BITS: Final = ("bool", "int", "uint")
REAL: Final = ("int", "uint", "float")
ORDERED: Final = ("bool", "int", "uint", "float")
NUMBER: Final = ("int", "uint", "float", "complex")
ANY: Final = ("bool", "int", "uint", "float", "complex")


def require_axis(axis: int, rank: int) -> None:
    """A primitive's axis counts from 0; frontends resolve negative ones."""
    if not 0 <= axis < rank:
        raise ShapeError(f"axis {axis} is out of range for rank {rank}")


def require_axes(axes: Sequence[int], rank: int) -> None:
    for axis in axes:
        require_axis(axis, rank)
    if len(set(axes)) != len(axes):
        raise ShapeError(f"axes {tuple(axes)} name an axis twice")


def require_per_axis(rank: int, **attributes: Sequence[object]) -> None:
    """Each of the attributes must have one entry per axis."""
    for name, values in attributes.items():
        if len(values) != rank:
            raise ShapeError(f"{name} has length {len(values)}, expected the operand's rank {rank}")


def require_rank(operand: ArrayType, least: int, what: str) -> None:
    if operand.rank < least:
        raise ShapeError(f"{what} needs rank {least} or more, got {operand}")


def require_kind(operand: ArrayType, kinds: Sequence[str], what: str = "operand") -> None:
    """The operand's dtype must be of one of the kinds bool, int, uint, float, complex."""
    if operand.dtype.kind not in kinds:
        raise DTypeError(f"{what} has dtype {operand.dtype}, expected {' or '.join(kinds)}")


def same_dtype(operands: Sequence[ArrayType]) -> DType:
    """The dtype that all operands share; primitives never promote, frontends do."""
    first = operands[0].dtype
    for operand in operands[1:]:
        if operand.dtype is not first:
            names = ", ".join(o.dtype.name for o in operands)
            raise DTypeError(f"operands have different dtypes: {names}")
    return first


def elementwise_shape(operands: Sequence[ArrayType]) -> Shape:
    """The shape that all operands of rank above 0 share; rank-0 operands stretch to it."""
    shape: Shape = ()
    for operand in operands:
        if not operand.shape or operand.shape == shape:
            continue
        if shape:
            raise ShapeError(
                f"operands have different shapes: {format_shape(shape)} and "
                f"{format_shape(operand.shape)}"
            )
        shape = operand.shape
    return shape


def drop_axes(shape: Shape, axes: Sequence[int]) -> Shape:
    """The shape without these axes."""
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def require_equal(left: Size, right: Size, what: str) -> None:
    if left != right:
        raise ShapeError(f"{what} differ: {left} and {right}")
