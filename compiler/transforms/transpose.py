"""Turning linear ops around: from cotangents of results to cotangents of operands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weft.compiler.ir.build import Builder
from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.graph import Op, Region, Value
from weft.compiler.ir.rules import DerivedRegion, Maybe, Transforms
from weft.compiler.ops.helpers import accumulate
from weft.compiler.transforms.linearize import partition


def pull_back(
    ops: Sequence[Op],
    cotangents: dict[Value, Value],
    inputs: Iterable[Value],
    builder: Builder,
    transforms: Transforms,
) -> None:
    """Emit the transposes of linear ops, last first, adding up the cotangents of what they read."""
    linear: set[Value] = set(inputs)
    for op in ops:
        linear.update(op.results)
    with builder.active(), builder.at(builder.location):
        for op in reversed(ops):
            result_cotangents = [cotangents.pop(result, None) for result in op.results]
            if not any(result_cotangents):
                continue
            builder.location = op.location
            marks = [operand in linear for operand in op.operands]
            operand_cotangents = transpose_op(op, result_cotangents, marks, transforms)
            for operand, mark, cotangent in zip(
                op.operands, marks, operand_cotangents, strict=True
            ):
                if mark and cotangent is not None:
                    total = accumulate(cotangents.get(operand), cotangent)
                    assert total is not None
                    cotangents[operand] = total


def transpose_op(
    op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool], transforms: Transforms
) -> Sequence[Maybe]:
    """The cotangents of an op's operands."""
    if op.definition.region_rules is not None:
        return op.definition.region_rules.transpose(op, cotangents, linear, transforms)
    if op.definition.transpose is None:
        raise TraceError(
            f"{op.name} is not linear, so it cannot be transposed", location=op.location
        )
    return op.definition.transpose(op, cotangents, linear)


def transpose_region(
    region: Region, linear: Sequence[bool], marked: Sequence[bool], transforms: Transforms
) -> DerivedRegion:
    """(other parameters, cotangents of marked results) -> cotangents of the linear parameters."""
    builder = Builder()
    inputs = [p for p, mark in zip(region.parameters, linear, strict=True) if mark]
    builder.parameters = [p for p, mark in zip(region.parameters, linear, strict=True) if not mark]
    known, rest = partition(region.ops, inputs)
    builder.ops = list(known)
    cotangents: dict[Value, Value] = {}
    with builder.active():
        for result, mark in zip(region.results, marked, strict=True):
            if mark:
                parameter = builder.parameter(result.type)
                total = accumulate(cotangents.get(result), parameter)
                assert total is not None
                cotangents[result] = total
    pull_back(rest, cotangents, inputs, builder, transforms)
    input_cotangents = [cotangents.get(p) for p in inputs]
    results = [cotangent for cotangent in input_cotangents if cotangent is not None]
    return DerivedRegion(builder.region(results), tuple([c is not None for c in input_cotangents]))
