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
from weft.compiler.ir.graph import Constant, Graph, Op, Parameter, Region, Result, Value
from weft.compiler.ir.opdef import Trait
from weft.compiler.ir.walk import Rewriter, has_effect
from weft.compiler.ops import control, conversion, shape
from weft.compiler.rewrite.edit import Editor, edit, without_dead_ops

LOOPS: Final = (control.scan, control.while_)
CHEAP: Final = (shape.iota, shape.dim_value, conversion.cast, conversion.stop_gradient)
# A loop that never ends, or an error, must not happen when the loop around it runs no step.
NEVER_MOVED: Final = (control.while_, control.host_call, conversion.probe)


def hoist_invariants(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph with ops of loop bodies that depend on the loop's constants only before the loop.

    Operands of regions that are graph constants become constants of the region.
    """
    counts = fired if fired is not None else Counter()

    def visit(op: Op) -> Sequence[Value] | None:
        if not op.regions:
            return None
        embedded = _with_constants_inside(op, counts)
        hoisted = _hoist(embedded or op, counts) if op.definition in LOOPS else None
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
        _with_parameters(region, n_consts, inside, place) for place, region in enumerate(op.regions)
    ]
    attributes = {**op.attributes, "n_consts": n_consts + len(added)}
    operands = (*op.operands[:n_consts], *added, *op.operands[n_consts:])
    return op.definition.emit(*operands, regions=regions, **attributes)


def _plan(region: Region, n_consts: int) -> list[Op]:
    """The dear ops of a body that depend on the loop's constants only, in order."""
    invariant: set[Value] = set(region.parameters[:n_consts])
    plan = []
    for op in region.ops:
        if all(isinstance(v, Constant) or v in invariant for v in op.operands) and _may_move(op):
            invariant.update(op.results)
            if not _is_cheap(op):
                plan.append(op)
    return plan


def _may_move(op: Op) -> bool:
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
    return Trait.VIEW in op.definition.traits or op.definition in CHEAP


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
