"""Batching: doing for all elements of a leading axis what a region does for one."""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Size
from weft.compiler.ir.edit import Rewriter
from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.graph import Op, Region, Value
from weft.compiler.ir.rules import DerivedRegion, Transforms
from weft.compiler.ops import shape
from weft.compiler.ops.helpers import add_leading_axis


def batch_region(
    region: Region,
    batched: Sequence[bool],
    size: Size,
    keep: Sequence[bool],
    transforms: Transforms,
) -> DerivedRegion:
    """The region on parameters of which the marked ones have a leading axis of this size."""
    builder = Builder()
    rewriter = Rewriter(builder)
    has_axis: set[Value] = set()
    for parameter, mark in zip(region.parameters, batched, strict=True):
        type = parameter.type
        if mark:
            type = type.with_shape((size, *type.shape))
        new_parameter = builder.parameter(type, parameter.name)
        rewriter.substitution[parameter] = new_parameter
        if mark:
            has_axis.add(new_parameter)
    with builder.active():
        for op in region.ops:
            with builder.at(op.location):
                _batch_op(op, rewriter, has_axis, size, transforms)
        results = rewriter.results(region)
        marks = [result in has_axis for result in results]
        results = [
            add_leading_axis(result, size) if kept and not mark else result
            for result, mark, kept in zip(results, marks, keep, strict=True)
        ]
    has = tuple([mark or kept for mark, kept in zip(marks, keep, strict=True)])
    return DerivedRegion(builder.region(results), has)


def _batch_op(
    op: Op, rewriter: Rewriter, has_axis: set[Value], size: Size, transforms: Transforms
) -> None:
    operands = [rewriter.value(operand) for operand in op.operands]
    marks = [operand in has_axis for operand in operands]
    if not any(marks):
        rewriter.copy(op)
        return
    if op.definition.region_rules is not None:
        results, batched = op.definition.region_rules.batch(op, operands, marks, size, transforms)
        rewriter.replace(op, results)
        has_axis.update(r for r, mark in zip(results, batched, strict=True) if mark)
        return
    outputs = _batch_plain(op, operands, marks, size)
    rewriter.replace(op, outputs)
    has_axis.update(outputs)


def _batch_plain(
    op: Op, operands: Sequence[Value], marks: Sequence[bool], size: Size
) -> Sequence[Value]:
    if op.definition.batch is not None:
        result = op.definition.batch(op, operands, marks, size)
        return [result] if isinstance(result, Value) else result
    if op.definition.is_elementwise:
        return op.definition.emit(*align(operands, marks, size), **op.attributes)
    raise TraceError(f"{op.name} has no batching rule", location=op.location)


def align(operands: Sequence[Value], marks: Sequence[bool], size: Size) -> list[Value]:
    """Elementwise operands brought to one shape with the leading axis; rank-0 ones stay."""
    ranks = [v.type.rank - mark for v, mark in zip(operands, marks, strict=True)]
    rank = max(ranks)
    if rank == 0:
        return list(operands)
    wide = next(v.type.shape[mark:] for v, mark, r in zip(operands, marks, ranks, strict=True) if r)
    target = (size, *wide)
    aligned = []
    for value, mark, own in zip(operands, marks, ranks, strict=True):
        if own == 0 and not mark:
            aligned.append(value)
        elif own == rank and mark:
            aligned.append(value)
        else:
            kept = (*([0] if mark else []), *(range(1, rank + 1) if own else ()))
            aligned.append(shape.broadcast(value, shape=target, dims=kept))
    return aligned
