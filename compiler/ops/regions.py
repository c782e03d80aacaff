"""What ops with regions share: checks of region signatures, and choosing by marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from weft.compiler.ir.ambient import active_builder
from weft.compiler.ir.build import Builder
from weft.compiler.ir.edit import inline
from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.graph import Region, Value
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import ArrayType

T = TypeVar("T")


def require_parameters(region: Region, types: Sequence[ArrayType], what: str) -> None:
    """The region must take exactly these types."""
    if region.parameter_types != tuple(types):
        raise VerifyError(f"{what} takes {show(region.parameter_types)} but is given {show(types)}")


def require_results(region: Region, types: Sequence[ArrayType], what: str) -> None:
    """The region must return exactly these types."""
    if region.result_types != tuple(types):
        raise VerifyError(f"{what} returns {show(region.result_types)} instead of {show(types)}")


def show(types: Sequence[ArrayType]) -> str:
    """Types as messages list them."""
    return "(" + ", ".join(map(str, types)) + ")"


def pick(items: Sequence[T], marks: Sequence[bool]) -> list[T]:
    """The marked items."""
    return [item for item, mark in zip(items, marks, strict=True) if mark]


def spread(values: Sequence[Value], has: Sequence[bool]) -> list[Maybe]:
    """The values in the marked places, None in the others: the reverse of `pick`."""
    remaining = iter(values)
    return [next(remaining) if present else None for present in has]


def present(values: Sequence[Maybe]) -> list[Value]:
    """The values that are not None."""
    return [value for value in values if value is not None]


def marks(values: Sequence[Maybe]) -> list[bool]:
    """Which values are not None."""
    return [value is not None for value in values]


def inline_here(region: Region, operands: Sequence[Value]) -> list[Value]:
    """Emit a region's ops into the builder in force; returns its results."""
    builder = active_builder()
    assert isinstance(builder, Builder)
    return inline(region, operands, builder)


def used_parameters(region: Region) -> list[bool]:
    """Which parameters of a region something in it reads."""
    read: set[Value] = {operand for op in region.ops for operand in op.operands}
    read.update(region.results)
    return [parameter in read for parameter in region.parameters]
