"""Arrays without elements are known, whatever they are made of."""

from __future__ import annotations

import numpy as np

from weft.compiler.ir.graph import Constant, Op
from weft.compiler.ir.types import ArrayType


def empty_results(op: Op) -> list[Constant] | None:
    """The results of an op if none has an element: then nothing is read for them, no index is
    looked at, and nothing can fail but a write of something to a place that there is not.
    """
    definition = op.definition
    if not op.results or op.regions or definition.has_effect or definition.is_marker:
        return None
    if not all(_is_empty(result.type) for result in op.results) or _writes_beside(op):
        return None
    return [Constant(_nothing(result.type), op.location) for result in op.results]


def _writes_beside(op: Op) -> bool:
    """Whether elements are written where there is no place for them, and not left out."""
    writes = op.definition.memory.writes
    if writes is None or writes.base is None or op.attributes.get("mode") == "fill":
        return False
    return any(not _is_empty(value.type) for value, _ in writes.pieces(op))


def _is_empty(type: ArrayType) -> bool:
    return 0 in type.shape and all(isinstance(size, int) for size in type.shape)


def _nothing(type: ArrayType) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    return np.empty([int(size) for size in type.shape], type.dtype.numpy)
