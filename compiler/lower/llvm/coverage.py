"""Which ops this backend has code for."""

from __future__ import annotations

from weft.compiler.ir.graph import Op
from weft.compiler.loops import maps
from weft.compiler.lower.llvm import routines, scalar
from weft.compiler.lower.llvm.program import control
from weft.compiler.lower.scalar_form import scalar_region


def has_code(op: Op) -> bool:
    """Whether an op can be lowered, what its scalar form is made of included."""
    definition = op.definition
    if definition.index_map is not None or definition.combiner or definition.memory.writes:
        return True
    if definition.is_elementwise:
        return _has_scalar(op)
    if definition.is_call or maps.has_map(op):
        return True
    return op.name in control.CONTROL or routines.has_routine(op.name)


def _has_scalar(op: Op) -> bool:
    if scalar.has_rule(op):
        return True
    region = scalar_region(op)
    return region is not None and all(map(has_code, region.ops))
