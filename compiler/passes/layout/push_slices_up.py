"""Slices before the elementwise ops that they are taken of, where nothing else is: the gates of an
LSTM, cut out of one sum.

Each slice is then computed where it is read; the whole, which several kernels would read, is never
stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import TypeAlias

from weft.compiler.ir.dims import Size
from weft.compiler.ir.edit import Editor, with_region, without_dead_ops
from weft.compiler.ir.graph import Graph, Op, Parameter, Region, Result, Value
from weft.compiler.ir.infer import infer_types
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops.shape import broadcast, slice_
from weft.compiler.passes.scans.parts import holds, is_at_most

Cut: TypeAlias = tuple[tuple[Size, ...], tuple[Size, ...], tuple[int, ...]]
"""Starts, limits and strides."""


def push_slices_up(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph with slices of elementwise ops as elementwise ops of slices, where several slices
    are all that is used and no element is computed twice.
    """
    if not holds(graph, slice_):
        return graph
    counts = fired if fired is not None else Counter()
    # What was read whole may be read in slices now.
    while (changed := with_region(graph, _edit(graph.region, counts))) is not graph:
        graph = changed
    return graph


def _edit(region: Region, counts: Counter[str]) -> Region:
    planned = _plan(region)
    editor = Editor(region)
    slices: dict[Hashable, Value] = {}
    changed = False
    with editor.builder.active():
        for op in region.ops:
            current = editor.current(op, [_edit(inner, counts) for inner in op.regions])
            editor.builder.location = op.location
            source = op.operands[0] if op.definition is slice_ else None
            if isinstance(source, Result) and source.op in planned:
                counts[source.op.name] += 1
                editor.replace(op, [_sliced(source, _cut_of(op), planned, editor, slices)])
                changed = True
            else:
                editor.keep(op, current)
                changed |= current is not op
    if not changed:
        return region
    return without_dead_ops(editor.builder.region([editor.value(v) for v in region.results]))


def _cut_of(op: Op) -> Cut:
    return op.attributes["starts"], op.attributes["limits"], op.attributes["strides"]


def _plan(region: Region) -> set[Op]:
    """The elementwise ops of which only slices are used, two or more that share no element, each
    by elementwise ops.
    """
    if not any(op.definition is slice_ for op in region.ops):
        return set()
    used_whole: set[Value] = set(region.results)
    used_apart: set[Value] = set(region.results)
    cuts: dict[Value, dict[Cut, Value]] = {}
    planned: set[Op] = set()
    for op in reversed(region.ops):
        is_elementwise = op.definition.is_elementwise
        if not is_elementwise:
            used_apart.update(op.operands)
        if op.definition is slice_ and op.results[0] not in used_apart:
            cuts.setdefault(op.operands[0], {})[_cut_of(op)] = op.results[0]
        elif is_elementwise and op.results[0] not in used_whole and _is_cut(op, cuts):
            planned.add(op)
            for operand in op.operands:
                if operand.type.rank:
                    cuts.setdefault(operand, {}).update(cuts[op.results[0]])
        else:
            used_whole.update(op.operands)
    return planned


def _is_cut(op: Op, cuts: dict[Value, dict[Cut, Value]]) -> bool:
    """Whether an op's result is cut into several pieces that are not more than the whole."""
    pieces = cuts.get(op.results[0], {})
    total: Size = 0
    for piece in pieces.values():
        total = total + piece.type.size
    return len(pieces) > 1 and is_at_most(total, op.results[0].type.size)


def _sliced(
    value: Value, cut: Cut, planned: set[Op], editor: Editor, made: dict[Hashable, Value]
) -> Value:
    """A slice of an old value, through the ops that are planned."""
    if not value.type.rank:
        return editor.value(value)
    key = (value, cut)
    if key not in made:
        if isinstance(value, Result) and value.op in planned:
            operands = [_sliced(v, cut, planned, editor, made) for v in value.op.operands]
            made[key] = value.op.definition(*operands, **value.op.attributes)
        else:
            made[key] = _slice(editor.value(value), cut)
    return made[key]


def _slice(value: Value, cut: Cut) -> Value:
    """A slice of a new value; of one that is stretched, by slicing what is."""
    starts, limits, strides = cut
    if not isinstance(value, Result) or value.op.definition is not broadcast:
        return slice_(value, starts=starts, limits=limits, strides=strides)
    source, places = value.op.operands[0], value.op.attributes["dims"]
    bounds = [
        (starts[axis], limits[axis], strides[axis]) if size != 1 else (0, 1, 1)
        for size, axis in zip(source.type.shape, places, strict=True)
    ]
    if bounds != [(0, size, 1) for size in source.type.shape]:
        own = zip(("starts", "limits", "strides"), zip(*bounds, strict=True), strict=True)
        source = slice_(source, **dict(own))
    return broadcast(source, shape=_size(value.type, cut).shape, dims=places)


def _size(type: ArrayType, cut: Cut) -> ArrayType:
    starts, limits, strides = cut
    (sliced,) = infer_types(
        slice_, [Parameter(type)], {"starts": starts, "limits": limits, "strides": strides}, ()
    )
    return sliced
