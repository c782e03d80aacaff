"""What a compile returns: code or an entry, and the signature under which it may be called. Plain
data for `runtime`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.compiler.ir import dims, errors, solving
from weft.compiler.ir.attributes import HostFunction
from weft.compiler.ir.dims import Size, Symbol
from weft.compiler.ir.errors import (
    ArgumentError,
    DTypeError,
    OutOfMemoryError,
    ShapeError,
    WeftError,
)
from weft.compiler.ir.location import Location
from weft.compiler.ir.raising import form_of, raise_at
from weft.compiler.ir.types import ArrayType, format_shape
from weft.compiler.record import record

if TYPE_CHECKING:
    from weft.compiler.ir.graph import Graph

Array = np.ndarray[Any, Any]
Entry = Callable[[Sequence[Array], dict[str, int]], list[Array]]


@record
class Signature:
    """Names and types of the parameters and types of the results."""

    names: tuple[str, ...]
    parameters: tuple[ArrayType, ...]
    results: tuple[ArrayType, ...]

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbolic sizes of the parameters, in order of first use."""
        found: dict[Symbol, None] = {}
        for type in self.parameters:
            for size in type.shape:
                found.update(dict.fromkeys(sorted(dims.symbols(size), key=str)))
        return tuple(found)

    def bind(self, arguments: Sequence[Array]) -> dict[str, int]:
        """Check the arguments and return the values of the symbolic sizes; raises with the
        argument's name.
        """
        if len(arguments) != len(self.parameters):
            raise ArgumentError(f"{len(arguments)} arrays given, {len(self.parameters)} expected")
        sizes: dict[str, int] = {}
        for name, type, array in zip(self.names, self.parameters, arguments, strict=True):
            if array.dtype != type.dtype.numpy:
                raise DTypeError(
                    f"{name} has dtype {array.dtype}, expected {type.dtype.numpy} ({type})"
                )
            if array.ndim != type.rank:
                raise ShapeError(f"{name} has shape {format_shape(array.shape)}, expected {type}")
        for name, type, array in zip(self.names, self.parameters, arguments, strict=True):
            try:
                sizes = solving.solve(zip(type.shape, array.shape, strict=True), sizes)
            except ShapeError as error:
                shown = format_shape(array.shape)
                raise ShapeError(
                    f"{name} has shape {shown}, expected {type}: {error.message}"
                ) from None
        return sizes


@record
class Site:
    """A place where native code can fail: the exception's name in `ir.errors`, its message with
    {0}, {1} and {2} for the details, the op and its location.
    """

    error: str
    message: str
    op: str
    location: Location | None

    def exception(self, details: Sequence[int]) -> WeftError:
        """What to raise."""
        kind: type[WeftError] = getattr(errors, self.error)
        return kind(self.message.format(*details)).at(self.location, self.op)


@record
class Failure:
    """What raises an exception of the user's program: see the op `fail` for its parts."""

    error: str
    form: str
    made_by: HostFunction
    function: str
    location: Location | None

    @property
    def is_data(self) -> bool:
        """Whether text says all of it."""
        return self.made_by.function is None

    def __call__(self, *values: Array) -> Sequence[Array]:
        made = self.made_by.function
        make = form_of(self.error, self.form) if made is None else made
        raise_at(make(values), self.location, self.function)


@record
class HostCall:
    """A call from native code to Python: what the function takes and gives, and how to run it."""

    operands: tuple[ArrayType, ...]
    results: tuple[ArrayType, ...]
    function: Callable[..., Sequence[Array]]


@record
class Native:
    """Machine code, in objects that are linked together, and what it needs: see
    `lower.llvm.program` for its entry.

    `symbols` names the numbers it is given and `defined` those it gives back; `strides` says which
    of the symbols are strides: parameter and axis. `late` marks results whose size only the run
    tells. `in_place` gives the results that are written over the memory of a donated parameter.
    `measured` names the sizes of memory that routines find out at run time.
    """

    code: tuple[bytes, ...]
    constants: tuple[Array, ...]
    symbols: tuple[str, ...]
    strides: tuple[tuple[str, int, int], ...]
    defined: tuple[str, ...]
    late: tuple[bool, ...]
    imports: tuple[str, ...]
    sites: tuple[Site, ...]
    hosts: tuple[HostCall, ...]
    in_place: dict[int, int]
    is_parallel: bool
    is_long: bool
    measured: tuple[str, ...] = ()


@record
class Artifact:
    """A compiled graph: how to call it and what it accepts."""

    name: str
    backend: str
    signature: Signature
    entry: Entry | None
    native: Native | None = None


def no_arena(bytes: int) -> WeftError:
    """What to raise where a program found no memory to run in."""
    text = f"there is no memory for {bytes:,} bytes of intermediate values and to work in"
    return OutOfMemoryError(text)


def no_workspace(bytes: int) -> WeftError:
    """What to raise where an op found no memory to work in."""
    return OutOfMemoryError(f"there is no memory for {bytes:,} bytes that an op works in")


def concrete(shape: Sequence[Size], sizes: dict[str, int]) -> tuple[int, ...]:
    """A shape with the values of its symbols."""
    return tuple([dims.evaluate(size, sizes) for size in shape])


def signature_of(graph: Graph) -> Signature:
    """The signature of a graph."""
    names = tuple(p.name or f"argument {i}" for i, p in enumerate(graph.parameters))
    results = tuple(result.type for result in graph.results)
    return Signature(names, tuple(p.type for p in graph.parameters), results)
