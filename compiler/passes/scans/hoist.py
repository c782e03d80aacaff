"""Moving out of loops what does not change in them, and constants into them.

What is cheap to make where it is used (a stretched value, a counter, another view) stays inside
unless something dear needs it, and then it is made in both places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from weft.compiler.ir.ambient import active_builder
from weft.compiler.ir.build import Builder
from weft.compiler.ir.edit import Editor, Rewriter, edit, without_dead_ops
from weft.compiler.ir.graph import Constant, Graph, Op, Parameter, Region, Result, Value
from weft.compiler.ir.walk import has_effect
from weft.compiler.ops import control, conversion, helpers, shape
from weft.compiler.ops.counters import counter_of
from weft.compiler.ops.strided_updates import strided_update
from weft.compiler.passes.scans.parts import Scan, new_parameters

LOOPS: Final = (control.scan, control.while_)
CHEAP: Final = (shape.iota, shape.dim_value, conversion.cast, conversion.stop_gradient)
# A loop that never ends, or an error, must not happen when the loop around it runs no step.
NEVER_MOVED: Final = (control.while_, control.host_call, conversion.probe)


def hoist_invariants(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph with ops of loop bodies that depend on the loop's constants only before the loop.

    Operands of regions that are graph constants become constants of the region. A scan neither
    reads nor stacks what is the same in all steps.
    """
    counts = fired if fired is not None else Counter()

    def visit(op: Op) -> Sequence[Value] | None:
        if not op.regions:
            return None
        embedded = _with_constants_inside(op, counts)
        current = embedded or op
        hoisted: Sequence[Value] | None = None
        if op.definition in LOOPS:
            hoisted = _hoist(current, counts)
        if hoisted is None and op.definition is control.scan:
            hoisted = _read_once(current, counts) or _stretch_after(current, counts)
        if hoisted is not None:
            return hoisted
        return None if embedded is None else _emit_like(embedded)

    # A loop that leaves another one may meet constants there that it did not see inside.
    while (changed := edit(graph, visit)) is not graph:
        graph = changed
    return graph


def _emit_like(op: Op) -> tuple[Value, ...]:
    return op.definition.emit(*op.operands, regions=op.regions, **op.attributes)


# --- constants ----------------------------------------------------------------------------------


def _with_constants_inside(op: Op, counts: Counter[str]) -> Op | None:
    """The op with constants where its regions use operands that are such, or None."""
    offset = 1 if op.definition is control.switch else 0
    operands = op.operands[offset:]
    if op.definition in LOOPS:
        operands = operands[: op.attributes["n_consts"]]
    elif op.definition not in (control.switch, control.checkpoint):
        return None
    regions = []
    for region in op.regions:
        known = dict(zip(region.parameters, operands, strict=False))
        used = _used(region)
        chosen: dict[Value, Value] = {
            p: v for p, v in known.items() if isinstance(v, Constant) and p in used
        }
        if chosen:
            counts["constant"] += len(chosen)
        regions.append(_substituted(region, chosen))
    if all(new is old for new, old in zip(regions, op.regions, strict=True)):
        return None
    types = tuple([result.type for result in op.results])
    return Op(op.definition, op.operands, op.attributes, tuple(regions), types, op.location)


def _used(region: Region) -> set[Value]:
    return {*region.results, *(operand for op in region.ops for operand in op.operands)}


def _substituted(region: Region, values: dict[Value, Value]) -> Region:
    if not values:
        return region
    editor = Editor(region)
    editor.substitution.update(values)
    for op in region.ops:
        editor.keep(op, editor.current(op, op.regions))
    return editor.builder.region([editor.value(result) for result in region.results])


# --- invariants ---------------------------------------------------------------------------------


def _hoist(op: Op, counts: Counter[str]) -> tuple[Value, ...] | None:
    """The loop again, after what left it; None if nothing does."""
    n_consts = op.attributes["n_consts"]
    plans = [_plan(region, n_consts) for region in op.regions]
    if not any(plans):
        return None
    builder = active_builder()
    assert isinstance(builder, Builder)
    added: list[Value] = []
    inside: list[list[Value]] = []
    for region, plan in zip(op.regions, plans, strict=True):
        rewriter = Rewriter(
            builder, dict(zip(region.parameters[:n_consts], op.operands, strict=False))
        )
        for moved in _with_dependencies(region, plan):
            rewriter.copy(moved)
        results: list[Value] = [result for moved in plan for result in moved.results]
        counts.update(moved.name for moved in plan)
        added += [rewriter.value(result) for result in results]
        inside.append(results)
    regions = [
        _with_parameters(region, n_consts, inside, index) for index, region in enumerate(op.regions)
    ]
    attributes = {**op.attributes, "n_consts": n_consts + len(added)}
    operands = (*op.operands[:n_consts], *added, *op.operands[n_consts:])
    return op.definition.emit(*operands, regions=regions, **attributes)


def _plan(region: Region, n_consts: int) -> list[Op]:
    """The dear ops of a body that depend on the loop's constants only, in order. The mask of a
    write with gaps is not computed where the write is in place.
    """
    updates = [update for op in region.ops if (update := strided_update(op)) is not None]
    masks = {update.mask for update in updates}
    return [
        op
        for op in _invariant(region, n_consts)
        if not _is_cheap(op) and masks.isdisjoint(op.results)
    ]


def _invariant(region: Region, n_consts: int) -> list[Op]:
    """The ops of a body that depend on the loop's constants only and can leave it, in order."""
    known: set[Value] = set(region.parameters[:n_consts])
    invariant = []
    for op in region.ops:
        if all(isinstance(v, Constant) or v in known for v in op.operands) and may_move(op):
            known.update(op.results)
            invariant.append(op)
    return invariant


def may_move(op: Op) -> bool:
    """Whether the op can be computed where the loop's body may not be: it has no effect, ends, and
    does not fail.
    """
    return not any(
        inner.definition in NEVER_MOVED or inner.attributes.get("mode") == "raise"
        for inner in _itself_and_inner(op)
    ) and not has_effect(op)


def _itself_and_inner(op: Op) -> Iterator[Op]:
    stack = [op]
    while stack:
        item = stack.pop()
        yield item
        stack.extend(inner for region in item.regions for inner in region.ops)


def _is_cheap(op: Op) -> bool:
    if op.definition.is_view or op.definition in CHEAP:
        return True
    return len(op.results) == 1 and counter_of(op.results[0]) is not None


def _with_dependencies(region: Region, plan: Sequence[Op]) -> list[Op]:
    """The planned ops and all that they need of the body, in order."""
    needed: set[Op] = set()
    stack = list(plan)
    while stack:
        op = stack.pop()
        if op not in needed:
            needed.add(op)
            stack.extend(v.op for v in op.operands if isinstance(v, Result))
    return [op for op in region.ops if op in needed]


def _with_parameters(
    region: Region, n_consts: int, inside: Sequence[Sequence[Value]], place: int
) -> Region:
    """A region that takes what left any of the loop's regions, and uses what left itself."""
    editor = Editor(region)
    groups = [[Parameter(value.type) for value in values] for values in inside]
    new = [parameter for group in groups for parameter in group]
    editor.builder.parameters[n_consts:n_consts] = new
    editor.substitution.update(zip(inside[place], groups[place], strict=True))
    gone = {value.op for value in inside[place] if isinstance(value, Result)}
    for op in region.ops:
        if op not in gone:
            editor.keep(op, editor.current(op, op.regions))
    return without_dead_ops(editor.builder.region([editor.value(v) for v in region.results]))


# --- what is the same in all steps ----------------------------------------------------------------


def _read_once(op: Op, counts: Counter[str]) -> tuple[Value, ...] | None:
    """The scan with sequences that are one value, stretched, as constants."""
    scan = Scan(op)
    sources = [_stretched(sequence) for sequence in scan.sequences]
    added = [source for source in sources if source is not None]
    if not added:
        return None
    counts["read once"] += len(added)
    editor = Editor(scan.body)
    new = new_parameters(added)
    remaining = iter(new)
    with editor.builder.active():
        for step, sequence, source in zip(scan.steps, scan.sequences, sources, strict=True):
            if source is not None:
                editor.substitution[step] = _in_a_step(sequence, next(remaining))
    steps = [s for s in scan.steps if s not in editor.substitution]
    consts = scan.body.parameters[: len(scan.consts)]
    editor.builder.parameters = [*consts, *new, *scan.carry, *steps]
    for inner in scan.body.ops:
        editor.keep(inner, editor.current(inner, inner.regions))
    body = editor.builder.region([editor.value(value) for value in scan.body.results])
    sequences = [v for v, source in zip(scan.sequences, sources, strict=True) if source is None]
    return scan.emit(body, consts=(*scan.consts, *added), sequences=sequences)


def _stretched(sequence: Value) -> Value | None:
    """What is stretched along all steps to make a sequence."""
    if not isinstance(sequence, Result) or sequence.op.definition is not shape.broadcast:
        return None
    return None if 0 in sequence.op.attributes["dims"] else sequence.op.operands[0]


def _in_a_step(sequence: Value, source: Value) -> Value:
    assert isinstance(sequence, Result)
    places = [axis - 1 for axis in sequence.op.attributes["dims"]]
    target = sequence.type.shape[1:]
    if source.type.shape == target:
        return source
    return shape.broadcast(source, shape=target, dims=places)


def _stretch_after(op: Op, counts: Counter[str]) -> list[Value] | None:
    """The results of a scan of which those that hold the same in all steps are made after it."""
    scan = Scan(op)
    known: set[Value] = set(scan.invariant)
    for inner in _invariant(scan.body, len(scan.consts)):
        known.update(inner.results)
    same = {out for out in scan.outs if isinstance(out, Constant) or out in known}
    if not same:
        return None
    counts["stacked"] += len(same)
    outs = [out for out in scan.outs if out not in same]
    body = Region(scan.body.parameters, scan.body.ops, (*scan.next, *outs))
    results = iter(scan.emit(without_dead_ops(body)))
    carry = [next(results) for _ in scan.next]
    builder = active_builder()
    assert isinstance(builder, Builder)
    rewriter = Rewriter(builder, scan.invariant)
    needed = [out.op for out in same if isinstance(out, Result)]
    for moved in _with_dependencies(scan.body, needed):
        rewriter.copy(moved)
    stacked = [
        helpers.add_leading_axis(rewriter.value(out), scan.length) if out in same else next(results)
        for out in scan.outs
    ]
    return [*carry, *stacked]
