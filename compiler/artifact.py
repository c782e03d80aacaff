"""What a compile returns: an entry, and the signature under which it may be called. Plain data for
`runtime`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.compiler.ir import solving
from weft.compiler.ir.errors import ArgumentError, DTypeError, ShapeError
from weft.compiler.ir.graph import Graph
from weft.compiler.ir.types import ArrayType, format_shape

Array = np.ndarray[Any, Any]
Entry = Callable[[Sequence[Array], dict[str, int]], list[Array]]


@dataclass(frozen=True, slots=True)
class Signature:
    """Names and types of the parameters and types of the results."""

    names: tuple[str, ...]
    parameters: tuple[ArrayType, ...]
    results: tuple[ArrayType, ...]

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


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled graph: how to call it and what it accepts."""

    name: str
    backend: str
    signature: Signature
    entry: Entry


def signature_of(graph: Graph) -> Signature:
    """The signature of a graph."""
    names = tuple(p.name or f"argument {i}" for i, p in enumerate(graph.parameters))
    results = tuple(result.type for result in graph.results)
    return Signature(names, tuple(p.type for p in graph.parameters), results)
