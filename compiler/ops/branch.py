"""Branches: `switch`, which runs one of its regions, with its derivatives and batching."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Size
from weft.compiler.ir.edit import inline
from weft.compiler.ir.errors import DTypeError, VerifyError
from weft.compiler.ir.evaluate import BoundRegion
from weft.compiler.ir.graph import Op, Region, Value
from weft.compiler.ir.lowering import Memory
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.rules import DerivedRegion, Maybe, Narrowed, Prune, RegionRules, Transforms
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import logic, shape
from weft.compiler.ops.failing import inline_masked, is_masked, masked
from weft.compiler.ops.helpers import add_leading_axis, number, zeros
from weft.compiler.ops.regions import (
    inline_here,
    marks,
    pick,
    present,
    require_parameters,
    require_results,
    spread,
    used_parameters,
)

Array = np.ndarray[Any, Any]


def _infer(
    index: ArrayType, *operands: ArrayType, regions: tuple[Region, ...]
) -> tuple[ArrayType, ...]:
    if index.shape or not (index.dtype.is_integer or index.dtype.is_bool):
        raise DTypeError(f"index must be a rank-0 integer or bool, got {index}")
    if not regions:
        raise VerifyError("switch needs at least one branch")
    if index.dtype.is_bool and len(regions) != 2:
        raise VerifyError(f"a bool index chooses between 2 branches, got {len(regions)}")
    for position, region in enumerate(regions):
        require_parameters(region, operands, f"branch {position}")
        require_results(region, regions[0].result_types, f"branch {position}")
    return regions[0].result_types


def _run(index: Array, *operands: Array, regions: tuple[BoundRegion, ...]) -> list[Array]:
    return regions[min(max(int(index), 0), len(regions) - 1)](*operands)


# --- derivatives --------------------------------------------------------------------------------


def _with_all(
    region: Region, has: Sequence[bool], wanted: Sequence[bool], types: Sequence[ArrayType]
) -> Region:
    """A region whose last results stand where `has` says, with zeros where others have one."""
    count = len(region.results) - sum(has)
    remaining = iter(region.results[count:])
    builder = Builder()
    builder.parameters, builder.ops = list(region.parameters), list(region.ops)
    with builder.active():
        completed = [
            next(remaining) if present else zeros(type)
            for present, want, type in zip(has, wanted, types, strict=True)
            if present or want
        ]
    return builder.region([*region.results[:count], *completed])


def _any(columns: Sequence[Sequence[bool]]) -> list[bool]:
    return [any(column) for column in zip(*columns, strict=True)]


def _jvp(
    op: Op, tangents: Sequence[Maybe], transforms: Transforms
) -> tuple[Sequence[Value], Sequence[Maybe]]:
    marked = marks(tangents[1:])
    derived = [transforms.jvp(region, marked) for region in op.regions]
    wanted = _any([branch.has for branch in derived])
    types = [result.type for result in op.results]
    regions = [_with_all(d.region, d.has, wanted, types) for d in derived]
    present_tangents = present(tangents[1:])
    results = switch.emit(*op.operands, *present_tangents, regions=regions)
    return results[: len(op.results)], spread(results[len(op.results) :], wanted)


def _linearize(
    op: Op, tangents: Sequence[Maybe], transforms: Transforms
) -> tuple[Sequence[Value], Sequence[Maybe]]:
    """Both forms choose by the same index; residuals of equal type share a place."""
    marked = marks(tangents[1:])
    none = [False] * len(op.results)
    splits = [transforms.split(region, marked, none) for region in op.regions]
    wanted = _any([branch.has for branch in splits])
    types = [result.type for result in op.results]
    slots, places = _share_slots([[r.type for r in branch.residuals] for branch in splits])
    count = len(op.results)
    known, linear = [], []
    tangent_types = [tangent.type for tangent in tangents[1:] if tangent is not None]
    for branch, mine in zip(splits, places, strict=True):
        by_slot = dict(zip(mine, branch.known.results[count:], strict=True))
        builder = Builder()
        builder.parameters, builder.ops = list(branch.known.parameters), list(branch.known.ops)
        with builder.active():
            kept = [by_slot.get(slot) or zeros(type) for slot, type in enumerate(slots)]
        known.append(builder.region([*branch.known.results[:count], *kept]))
        complete = _with_all(branch.linear, branch.has, wanted, types)
        linear.append(_reading_slots(complete, slots, mine, tangent_types))
    results = switch.emit(*op.operands, regions=known)
    residuals = results[count:]
    present_tangents = present(tangents[1:])
    outputs = switch.emit(op.operands[0], *residuals, *present_tangents, regions=linear)
    return results[:count], spread(outputs, wanted)


def _share_slots(types: Sequence[Sequence[ArrayType]]) -> tuple[list[ArrayType], list[list[int]]]:
    """Slots such that each branch finds one of the right type for each of its residuals."""
    slots: list[ArrayType] = []
    of_type: dict[ArrayType, list[int]] = {}
    places: list[list[int]] = []
    for branch in types:
        used: Counter[ArrayType] = Counter()
        taken: list[int] = []
        for type in branch:
            known = of_type.setdefault(type, [])
            if used[type] == len(known):
                known.append(len(slots))
                slots.append(type)
            taken.append(known[used[type]])
            used[type] += 1
        places.append(taken)
    return slots, places


def _reading_slots(
    region: Region, slots: Sequence[ArrayType], mine: Sequence[int], tangents: Sequence[ArrayType]
) -> Region:
    builder = Builder()
    parameters = [builder.parameter(type) for type in slots]
    tangent_parameters = [builder.parameter(type) for type in tangents]
    results = inline(region, [*[parameters[i] for i in mine], *tangent_parameters], builder)
    return builder.region(results)


def _transpose(
    op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool], transforms: Transforms
) -> Sequence[Maybe]:
    present_cotangents = present(cotangents)
    derived = [transforms.transpose(region, linear[1:], marks(cotangents)) for region in op.regions]
    wanted = _any([branch.has for branch in derived])
    types = [operand.type for operand in pick(op.operands[1:], linear[1:])]
    regions = [_with_all(d.region, d.has, wanted, types) for d in derived]
    known = pick(op.operands[1:], [not mark for mark in linear[1:]])
    operand_cotangents = spread(
        switch.emit(op.operands[0], *known, *present_cotangents, regions=regions), wanted
    )
    remaining = iter(operand_cotangents)
    return [None, *[next(remaining) if mark else None for mark in linear[1:]]]


# --- batching -----------------------------------------------------------------------------------


def _batch(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size, transforms: Transforms
) -> tuple[Sequence[Value], Sequence[bool]]:
    if batched[0]:
        return _batch_index(op, operands, batched, size, transforms)
    none = [False] * len(op.results)
    derived = [transforms.batch(region, batched[1:], size, none) for region in op.regions]
    wanted = _any([branch.has for branch in derived])
    regions = [_with_axes(branch, wanted, size) for branch in derived]
    return switch.emit(*operands, regions=regions), wanted


def _with_axes(branch: DerivedRegion, wanted: Sequence[bool], size: Size) -> Region:
    """A batched region whose results all have the axis that those of another branch have."""
    builder = Builder()
    builder.parameters, builder.ops = list(branch.region.parameters), list(branch.region.ops)
    with builder.active():
        results = [
            add_leading_axis(result, size) if want and not has else result
            for result, has, want in zip(branch.region.results, branch.has, wanted, strict=True)
        ]
    return builder.region(results)


def _batch_index(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size, transforms: Transforms
) -> tuple[Sequence[Value], Sequence[bool]]:
    """Each element chooses for itself: all branches run, and a select picks."""
    everything = [True] * len(op.results)
    branches = [
        _batch_branch(op, position, operands, batched, size, transforms)
        for position in range(len(op.regions))
    ]
    index = operands[0]
    chosen = branches[0]
    for position, branch in enumerate(branches[1:], start=1):
        if index.type.dtype.is_bool:
            take = index
        else:
            take = logic.ge(index, number(position, index))
        chosen = [_select(take, new, old) for new, old in zip(branch, chosen, strict=True)]
    return chosen, everything


def _batch_branch(
    op: Op,
    position: int,
    operands: Sequence[Value],
    batched: Sequence[bool],
    size: Size,
    transforms: Transforms,
) -> list[Value]:
    """The results of a branch for all elements; it fails only for those that choose it."""
    region, everything = op.regions[position], [True] * len(op.results)
    if not is_masked(region):
        made = transforms.batch(region, batched[1:], size, everything)
        return inline_here(made.region, operands[1:])
    made = transforms.batch(masked(region), [*batched[1:], True], size, everything)
    takes = _takes(operands[0], position, len(op.regions))
    return inline_masked(made, operands[1:], takes, has_results=bool(op.results))


def _takes(index: Value, position: int, count: int) -> Value:
    """Which elements choose a branch."""
    if index.type.dtype.is_bool:
        return index if position else logic.not_(index)
    if position == 0:
        return logic.le(index, number(0, index))
    if position == count - 1:
        return logic.ge(index, number(position, index))
    return logic.eq(index, number(position, index))


def _select(take: Value, on_true: Value, on_false: Value) -> Value:
    target = on_true.type.shape
    return logic.select(shape.broadcast(take, shape=target, dims=(0,)), on_true, on_false)


def _narrow(op: Op, used: Sequence[bool], prune: Prune) -> Narrowed | None:
    """Keep the used results, and the operands that some branch then reads."""
    pruned = [prune(region, used) for region in op.regions]
    kept = _any([used_parameters(region) for region in pruned])
    if (
        all(used)
        and all(kept)
        and all(new is old for new, old in zip(pruned, op.regions, strict=True))
    ):
        return None
    regions = [Region(tuple(pick(r.parameters, kept)), r.ops, r.results) for r in pruned]
    return Narrowed([True, *kept], used, tuple(regions), {})


switch = OpDef(
    name="switch",
    doc="Runs the region chosen by an index (clamped to the range; false is 0) on the operands.",
    operands=("index", "*operands"),
    regions=("*branch",),
    infer=_infer,
    reference=_run,
    memory=Memory(has_branches=True),
    region_rules=RegionRules(_jvp, _linearize, _transpose, _batch, _narrow),
)

OPS: Final = (switch,)
