"""The table of primitives: the families in order, nothing declared by side effect."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops import (
    arithmetic,
    contraction,
    control,
    conversion,
    convolution,
    cumulative,
    fft,
    indexing,
    linalg,
    logic,
    ordering,
    random,
    reduction,
    shape,
    sparse,
    special,
    window,
)
from weft.compiler.ops.primitives import ops

FAMILIES: Final = (
    arithmetic,
    logic,
    conversion,
    special,
    reduction,
    cumulative,
    ordering,
    shape,
    indexing,
    contraction,
    sparse,
    convolution,
    window,
    linalg,
    fft,
    random,
    control,
)

TABLE: Final[Mapping[str, OpDef]] = MappingProxyType(
    {op.name: op for family in FAMILIES for op in family.OPS}
)
ops.bind(TABLE)
