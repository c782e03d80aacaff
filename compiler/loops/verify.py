"""Checks that a loop program keeps the rules of its form, step by step; run after every step in
tests, and on request.

A fault is a VerifyError that names the step and shows the part of the program's text that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.graph import Constant, Op, Parameter, Value
from weft.compiler.ir.index.affine import Loop, Place
from weft.compiler.ir.index.expression import Ref
from weft.compiler.ir.index.references import references
from weft.compiler.ir.walk import has_effect
from weft.compiler.loops.fault import Fault, marked
from weft.compiler.loops.fusion import Fusion
from weft.compiler.loops.group import FusionGroup, Node, OpaqueNode, targets_of
from weft.compiler.loops.naming import groups_of, loops_of_group
from weft.compiler.loops.order import Order
from weft.compiler.loops.verify_kernels import verify_kernels
from weft.compiler.loops.verify_memory import verify_memory
from weft.compiler.loops.verify_schedule import verify_schedule

if TYPE_CHECKING:
    from weft.compiler.loops.program import LoopProgram


def verify(program: LoopProgram, step: str | None = None) -> None:
    """Check what the steps so far have decided, or what one step has; raises VerifyError."""
    for name, is_done, check in CHECKS:
        if step in (None, name) and is_done(program):
            try:
                check(program)
            except Fault as fault:
                raise VerifyError(f"after {name}: {marked(program, fault)}") from None


def _verify_graph(program: LoopProgram) -> None:
    program.graph.verify()
    regions = list(program.graph.regions())
    if program.fusions and len(set(regions)) < len(regions):
        raise Fault("two ops share a region")


# --- fuse ---------------------------------------------------------------------------------------


def _verify_fusions(program: LoopProgram) -> None:
    for region in program.graph.regions():
        if region not in program.fusions:
            raise Fault("a region is not fused")
    for fusion in program.fusions.values():
        _verify_homes(fusion)
        for node in fusion.nodes:
            for group in groups_of(node):
                _verify_group(group)
        _verify_acyclic(fusion)


def _verify_homes(fusion: Fusion) -> None:
    """Everything that is read as an array has one node that writes it."""
    writers: dict[Value, Node] = {}
    for node in fusion.nodes:
        for target in targets_of(node):
            if target in writers or target in fusion.aliases:
                raise Fault(f"{target!r} has two homes", node)
            writers[target] = node
            if fusion.homes.get(target) is not node:
                raise Fault(f"{target!r} is written here and has another home", node)
    for value in fusion.aliases:
        _resolve(fusion, value)
    for node in fusion.nodes:
        for value in fusion.reads(node):
            if not _has_home(fusion, value):
                raise Fault(f"reads {value!r}, which no node writes", node)
    for result in fusion.region.results:
        if not _has_home(fusion, result):
            raise Fault(f"no node writes the result {result!r}")
    own = {node.op for node in fusion.nodes if isinstance(node, OpaqueNode)}
    for op in fusion.region.ops:
        if has_effect(op) and op not in own:
            raise Fault(f"{op!r} has an effect and no node")


def _resolve(fusion: Fusion, value: Value) -> Value:
    seen = {value}
    while value in fusion.aliases:
        value = fusion.aliases[value]
        if value in seen:
            raise Fault(f"{value!r} is an alias of itself")
        seen.add(value)
    return value


def _has_home(fusion: Fusion, value: Value) -> bool:
    held = _resolve(fusion, value)
    if isinstance(held, Parameter):
        return held in fusion.region.parameters
    return isinstance(held, Constant) or held in fusion.homes


def _verify_group(group: FusionGroup) -> None:
    loops = set(loops_of_group(group))
    if not set(group.outer or ()) <= set(group.loops):
        raise Fault("has outer loops that are not among its loops", group)
    for ref, computed in group.entries.items():
        _verify_place(group, ref.value, ref.place, loops)
        for read in references(computed):
            _verify_place(group, read.value, read.place, loops)
    for store in group.stores:
        _verify_place(group, store.source.value, store.source.place, loops)
        _verify_place(group, store.target, store.place, loops)
    if not group.stores:
        raise Fault("stores nothing", group)
    _verify_entries(group)


def _verify_place(group: FusionGroup, value: Value, place: Place, loops: set[Loop]) -> None:
    if len(place.indices) != value.type.rank:
        raise Fault(f"has {len(place.indices)} indices for {value!r}", group)
    if not place.loops <= loops:
        raise Fault(f"reads or writes {value!r} by a loop that is not its own", group)


def _verify_entries(group: FusionGroup) -> None:
    """No entry is computed from itself."""
    reads: dict[Ref, list[Ref]] = {
        ref: [read for read in references(computed) if read in group.entries]
        for ref, computed in group.entries.items()
    }
    if not _is_acyclic(reads):
        raise Fault("computes a value from itself", group)


def _verify_acyclic(fusion: Fusion) -> None:
    sources: dict[Node, list[Node]] = {
        node: [source for source in fusion.sources(node) if source is not node]
        for node in fusion.nodes
    }
    if not _is_acyclic(sources):
        raise Fault("nodes wait for each other")


def _is_acyclic(edges: dict[Ref, list[Ref]] | dict[Node, list[Node]]) -> bool:
    """Whether everything can come after what it needs, found by taking away what needs nothing."""
    waiting: dict[object, int] = {}
    users: dict[object, list[object]] = {}
    for item, needed in edges.items():
        waiting[item] = len(needed)
        for other in needed:
            users.setdefault(other, []).append(item)
    ready = [item for item, count in waiting.items() if not count]
    done = 0
    while ready:
        done += 1
        for user in users.get(ready.pop(), ()):
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    return done == len(waiting)


# --- order --------------------------------------------------------------------------------------


def _verify_orders(program: LoopProgram) -> None:
    for region, fusion in program.fusions.items():
        if region not in program.orders:
            raise Fault("the nodes of a region have no order")
        _verify_order(fusion, program.orders[region])


def _verify_order(fusion: Fusion, order: Order) -> None:
    position = {node: number for number, node in enumerate(order.nodes)}
    if set(position) != set(fusion.nodes) or len(position) != len(order.nodes):
        raise Fault("the order does not have each node once")
    for node, number in position.items():
        for source in fusion.sources(node):
            if source is not node and position[source] > number:
                raise Fault("runs before a node that it reads from", node)
    effects = [fusion.position[op] for op in _effects(order.nodes)]
    if effects != sorted(effects):
        raise Fault("effects are in another order than in the graph")
    consuming: set[Node] = set()
    for producer, chain in order.consumers.items():
        for number, node in enumerate(chain.nodes, position[producer] + 1):
            if position.get(node) != number:
                raise Fault("does not come right behind what it consumes", node)
            if node in consuming:
                raise Fault("consumes the rows of two producers", node)
            consuming.add(node)


def _effects(nodes: Iterable[Node]) -> Iterator[Op]:
    for node in nodes:
        if isinstance(node, OpaqueNode) and has_effect(node.op):
            yield node.op


CHECKS: Final[
    tuple[tuple[str, Callable[[LoopProgram], bool], Callable[[LoopProgram], None]], ...]
] = (
    ("specialise", lambda program: True, _verify_graph),
    ("fuse", lambda program: bool(program.fusions), _verify_fusions),
    ("order", lambda program: bool(program.orders), _verify_orders),
    ("plan_memory", lambda program: program.memory is not None, verify_memory),
    ("build_kernels", lambda program: program.kernels is not None, verify_kernels),
    ("schedule", lambda program: program.schedule is not None, verify_schedule),
)
