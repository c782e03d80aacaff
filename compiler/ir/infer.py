"""The types of an op's results, by its type rule, and how messages name an op."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.graph import Parameter, Region, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import ArrayType


@functools.lru_cache(maxsize=4096)
def known_types(
    definition: OpDef, types: tuple[ArrayType, ...], attributes: tuple[Any, ...]
) -> tuple[ArrayType, ...]:
    """The result types of an op without regions. Layers repeat, and a type rule takes longer than
    the rest of making an op.
    """
    operands = [Parameter(type) for type in types]
    return infer_types(
        definition, operands, dict(zip(definition.attributes, attributes, strict=True)), ()
    )


def infer_types(
    definition: OpDef,
    operands: Sequence[Value],
    attributes: Mapping[str, Any],
    regions: Sequence[Region],
) -> tuple[ArrayType, ...]:
    """The result types by the op's type rule."""
    names = definition.operands
    is_open = bool(names) and names[-1].startswith("*")
    if len(operands) < len(names) - is_open or (len(operands) > len(names) and not is_open):
        raise VerifyError(
            f"{definition.name} takes {', '.join(names) or 'no operands'}; got {len(operands)} "
            "operands"
        )
    if definition.regions:
        _check_region_count(definition, len(regions))
        inferred = definition.infer(
            *[v.type for v in operands], regions=tuple(regions), **attributes
        )
    elif regions:
        raise VerifyError(f"{definition.name} takes no regions")
    else:
        inferred = definition.infer(*[v.type for v in operands], **attributes)
    return (inferred,) if isinstance(inferred, ArrayType) else tuple(inferred)


def _check_region_count(definition: OpDef, count: int) -> None:
    names = definition.regions
    is_open = names[-1].startswith("*")
    if count < len(names) - is_open or (count > len(names) and not is_open):
        raise VerifyError(
            f"{definition.name} has the regions {', '.join(names)}; got {count} regions"
        )


def describe(definition: OpDef, operands: Sequence[Value]) -> str:
    """An op as error messages name it: `dot_general(lhs: f32[2, 3], rhs: f32[4, 5])`."""
    parts = [f"{definition.operand_name(i)}: {v.type}" for i, v in enumerate(operands)]
    return f"{definition.name}({', '.join(parts)})"
