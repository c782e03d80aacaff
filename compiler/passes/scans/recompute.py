"""Simple arithmetic again in the loop that reads it, in place of a stack that another loop writes.

The gradient of a loop scans what its forward loop stacked, among it values such as `1 - y*y` or
`e + 1` next to y and e. What follows by simple arithmetic from sequences that a loop scans anyway,
or from no more bytes than the sequence itself has, is computed in each step; whoever stacked it
before need not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple, TypeAlias

from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Size
from weft.compiler.ir.edit import Editor, edit_region, with_region, without_dead_ops
from weft.compiler.ir.graph import Constant, Graph, Op, Parameter, Region, Result, Value
from weft.compiler.ops import control
from weft.compiler.ops.shape import broadcast
from weft.compiler.passes.scans.parts import (
    LIMITS,
    SIMPLE,
    Scan,
    bytes_of,
    holds,
    is_at_most,
    is_simple,
    uses,
)


class Outside(Enum):
    """What a value outside of loops is to a loop that reads it."""

    SEQUENCE = "a value per step"
    INVARIANT = "one for all steps"


Node: TypeAlias = tuple["Scan | Outside", Value]
"""A value outside, or one in the body of the scan that stacks it."""

Known: TypeAlias = dict[tuple[Outside, Value], Value]
"""What stands in a body for values outside, some of them both scanned and used whole."""


def recompute_scanned(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph with loops that compute what follows simply from what they scan."""
    if not holds(graph, control.scan):
        return graph
    counts = fired if fired is not None else Counter()
    # A loop whose operands changed is looked at again, when it is known who else uses them.
    while (changed := with_region(graph, _edit(graph.region, counts))) is not graph:
        graph = changed
    return graph


def _edit(region: Region, counts: Counter[str]) -> Region:
    used: dict[Value, int] = {}
    scans: dict[Op, Scan] = {}

    def visit(op: Op) -> Sequence[Value] | None:
        if op.definition is not control.scan:
            return None
        scan = Scan(op)
        if not used:
            used.update(uses(region))
        if len(set(scan.outs)) < len(scan.outs):
            counts["stacked twice"] += 1
            return _without_repeats(scan)
        reader = _Reader(scan, used, scans)
        repeated = len(scan.sequences) - len(set(scan.sequences))
        if not reader.computed and not repeated:
            return None
        counts.update({"scanned twice": repeated} if repeated else {})
        counts.update({"recomputed": len(reader.computed)} if reader.computed else {})
        return reader.emit()

    return edit_region(region, visit, lambda inner: _edit(inner, counts))


def _without_repeats(scan: Scan) -> list[Value]:
    """The results of a scan that stacks each value once."""
    outs = list(dict.fromkeys(scan.outs))
    body = Region(scan.body.parameters, scan.body.ops, (*scan.next, *outs))
    results = scan.emit(body)
    stacked = dict(zip(outs, results[len(scan.next) :], strict=True))
    return [*results[: len(scan.next)], *[stacked[out] for out in scan.outs]]


class _Made(NamedTuple):
    """How a node is made in a step."""

    op: Op
    number: int
    attributes: Mapping[str, Any]
    operands: Sequence[Node]


class _Reader:
    """A loop, and which of its sequences it can do without."""

    def __init__(self, scan: Scan, used: Mapping[Value, int], scans: dict[Op, Scan]) -> None:
        self.scan: Final = scan
        self.kept: Final[dict[Value, None]] = dict.fromkeys(scan.sequences)
        self.computed: Final[list[Value]] = []
        self._scans: Final = scans
        for sequence in list(self.kept):
            added = self._needs(sequence)
            if added is not None and _pays(sequence, added, used):
                del self.kept[sequence]
                self.kept.update(added)
                self.computed.append(sequence)

    def _needs(self, sequence: Value) -> dict[Value, None] | None:
        """What else must be scanned to compute a sequence; None if simple arithmetic cannot."""
        first = self._made((Outside.SEQUENCE, sequence))
        if first is None:
            return None
        added: dict[Value, None] = {}
        stack, count = list(first.operands), 1
        while stack:
            node = stack.pop()
            where, outer = _outside(node)
            if where is Outside.INVARIANT or (outer in self.kept and outer is not sequence):
                continue
            maker = self._made(node) if count < LIMITS.most_ops else None
            if maker is not None:
                count += 1
                stack += maker.operands
            elif outer is None or outer is sequence:
                return None
            else:
                added[outer] = None
        return added

    def _made(self, node: Node) -> _Made | None:
        """How simple arithmetic makes a node, None if it does not."""
        scope, value = node
        if not isinstance(value, Result) or scope is Outside.INVARIANT:
            return None
        op = value.op
        if isinstance(scope, Scan):
            if not is_simple(op):
                return None
            return _Made(op, value.index, op.attributes, [(scope, v) for v in op.operands])
        if op.definition is not control.scan:
            return _in_a_step(op)
        scan = self._scans.get(op)
        if scan is None:
            scan = self._scans[op] = Scan(op)
        index = value.index - len(scan.start)
        return self._made((scan, scan.outs[index])) if index >= 0 else None

    # --- the loop that does without -----------------------------------------------------------

    def emit(self) -> tuple[Value, ...]:
        """The results of the loop, which computes what it does not scan any more."""
        scan = self.scan
        known: Known = {
            (Outside.INVARIANT, value): held
            for value, held in zip(scan.consts, scan.invariant, strict=True)
        }
        consts = [*scan.consts]
        editor = Editor(scan.body)
        builder = editor.builder
        builder.parameters = list(scan.body.parameters[: len(scan.consts)])
        steps = [Parameter(value.type.with_shape(value.type.shape[1:])) for value in self.kept]
        kept = [(Outside.SEQUENCE, sequence) for sequence in self.kept]
        known.update(zip(kept, steps, strict=True))
        with builder.active():
            # What was decided later needs nothing that was decided before.
            for sequence in reversed(self.computed):
                node = (Outside.SEQUENCE, sequence)
                known[node] = self._value(node, known, consts, builder)
        builder.parameters += [*scan.carry, *steps]
        editor.substitution.update(
            (step, known[Outside.SEQUENCE, v])
            for step, v in zip(scan.steps, scan.sequences, strict=True)
        )
        for op in scan.body.ops:
            editor.keep(op, editor.current(op, op.regions))
        body = builder.region([editor.value(value) for value in scan.body.results])
        return scan.emit(without_dead_ops(body), consts=consts, sequences=list(self.kept))

    def _value(self, node: Node, known: Known, consts: list[Value], builder: Builder) -> Value:
        """A node in the body of this loop."""
        where, outer = _outside(node)
        if outer is not None and (where, outer) in known:
            return known[where, outer]
        if where is Outside.INVARIANT:
            assert outer is not None
            if isinstance(outer, Constant):
                return outer
            consts.append(outer)
            known[where, outer] = builder.parameter(outer.type)
            return known[where, outer]
        maker = self._made(node)
        assert maker is not None
        operands = [self._value(operand, known, consts, builder) for operand in maker.operands]
        with builder.at(maker.op.location):
            value = maker.op.definition.emit(*operands, **maker.attributes)[maker.number]
        if outer is not None:
            known[where, outer] = value
        return value


def _outside(node: Node) -> tuple[Outside, Value | None]:
    """What a node is outside of loops, None if it is nothing there."""
    scope, value = node
    if isinstance(scope, Outside):
        return scope, value
    if isinstance(value, Constant):
        return Outside.INVARIANT, value
    if value in scope.invariant:
        return Outside.INVARIANT, scope.invariant[value]
    return Outside.SEQUENCE, scope.varying.get(value)


def _in_a_step(op: Op) -> _Made | None:
    """What an op outside of loops does for one step, if it does the same for each."""
    if op.definition in SIMPLE:
        operands = [
            (Outside.SEQUENCE if operand.type.rank else Outside.INVARIANT, operand)
            for operand in op.operands
        ]
        # An op on numbers alone has no steps.
        return _Made(op, 0, op.attributes, operands) if op.results[0].type.rank else None
    if op.definition is not broadcast:
        return None
    shape, places = op.attributes["shape"], op.attributes["dims"]
    is_stepwise = 0 in places
    if is_stepwise and op.operands[0].type.shape[0] != shape[0]:
        return None
    kept = [axis - 1 for axis in places if axis > 0]
    scope = Outside.SEQUENCE if is_stepwise else Outside.INVARIANT
    return _Made(op, 0, {"shape": shape[1:], "dims": kept}, [(scope, op.operands[0])])


def _pays(sequence: Value, added: Mapping[Value, None], used: Mapping[Value, int]) -> bool:
    """Whether a sequence is computed from what is scanned anyway, or is rid of for no more."""
    if not added:
        return True
    total: Size = 0
    for value in added:
        total = total + bytes_of(value.type)
    return used.get(sequence) == 1 and is_at_most(total, bytes_of(sequence.type))
