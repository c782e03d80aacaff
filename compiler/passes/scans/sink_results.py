"""Work of a loop that no next step needs, after it: `h @ w_out` of an RNN, for all steps at once.

A product that goes into stacked outs only is one product over all steps of what the loop keeps,
and what follows it is computed there too. Outs that only scanned inputs go into have no place in a
loop at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from weft.compiler.ir.edit import edit, without_dead_ops
from weft.compiler.ir.graph import Constant, Graph, Op, Region, Result, Value
from weft.compiler.ir.walk import has_effect, users
from weft.compiler.ops import control
from weft.compiler.passes.scans.batch_products import PRODUCTS, can_batch, gains
from weft.compiler.passes.scans.parts import (
    Kept,
    Scan,
    as_scan,
    for_all_steps,
    holds,
    is_at_most,
    stays_in_cache,
    total_bytes,
)


def sink_from_scan(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph with products that only outs of loops need after them, where memory allows it."""
    if not holds(graph, control.scan):
        return graph
    counts = fired if fired is not None else Counter()

    def visit(op: Op) -> Sequence[Value] | None:
        scan = as_scan(op)
        if scan is None or not scan.outs:
            return None
        plan = _Plan(scan)
        if not plan.outs:
            return None
        counts.update(+plan.reasons)
        return _emit(plan)

    # What is left over once an out is gone may have no other reader then.
    while (changed := edit(graph, visit)) is not graph:
        graph = changed
    return graph


class _Plan:
    """The ops that are computed after a loop, and what it keeps for them."""

    def __init__(self, scan: Scan) -> None:
        self.scan: Final = scan
        self.kept: Final = Kept(scan)
        self.reasons: Final[Counter[str]] = Counter()
        self.moved: Final[set[Op]] = set()
        late = _late(scan.body, scan.next)
        if any(op.definition in PRODUCTS for op in late):
            self._move_products(late)
        if late:
            self._move_maps(late)
        self.reasons["out"] += sum(out in scan.scanned for out in scan.outs)

    @property
    def outs(self) -> list[Value]:
        """The outs that the loop does not stack any more."""
        return [
            out
            for out in self.scan.outs
            if out in self.scan.scanned or (isinstance(out, Result) and out.op in self.moved)
        ]

    def _move_products(self, late: Sequence[Op]) -> None:
        """Move all products that gain, and what they go into."""
        moved: dict[Op, None] = {}
        moved_results: set[Value] = set()
        for op in late:
            varies = [v in moved_results or self.kept.source(v) is not None for v in op.operands]
            is_product = op.definition in PRODUCTS and any(varies)
            is_gain = is_product and gains(op, varies, self.scan.length)
            if is_gain or moved_results.intersection(op.operands):
                if op.regions or not can_batch(op, varies):
                    return
                moved[op] = None
                moved_results.update(op.results)
        products = [op for op in moved if op.definition in PRODUCTS]
        operands = dict.fromkeys([v for op in moved for v in op.operands if v not in moved_results])
        added = dict.fromkeys([v for operand in operands for v in self.kept.source(operand) or ()])
        if products and self._pays(products, list(added)):
            self.moved.update(moved)
            self.kept.add(added)
            self.reasons.update(op.name for op in products)

    def _pays(self, products: Sequence[Op], added: Sequence[Value]) -> bool:
        """Whether products may make the loop keep these values, and memory their results."""
        types, results = [v.type for v in added], [op.results[0].type for op in products]
        kept = total_bytes(types)
        is_small = is_at_most(kept, total_bytes(results))
        is_cached = stays_in_cache(kept, self.scan.length)
        return self.kept.is_affordable([*types, *results]) and (is_small or is_cached)

    def _move_maps(self, late: Sequence[Op]) -> None:
        """Move the outs that scanned inputs alone go into, if the loop has no other use of what
        they are made of, or makes it with little work.
        """
        free = self._free(late)
        readers = users(self.scan.body) if free else {}
        alone = set(self.moved)
        for op in reversed(late):
            read = [reader for result in op.results for reader in readers.get(result, ())]
            if op in free and all(reader in alone for reader in read):
                alone.add(op)
        for out in dict.fromkeys(self.scan.outs):
            if isinstance(out, Result) and out.op in alone and out.op not in self.moved:
                needed = self._needed(out, alone)
                if needed is not None:
                    self.moved.update(needed)
                    self.reasons["out"] += 1

    def _free(self, late: Sequence[Op]) -> set[Op]:
        """The late ops that no carry goes into, and that can be computed for all steps."""
        known: set[Value] = {*self.scan.invariant, *self.scan.steps}
        chosen, free = set(late), set()
        for op in self.scan.body.ops:
            if op.regions or not all(isinstance(v, Constant) or v in known for v in op.operands):
                continue
            if can_batch(op, [v in self.scan.scanned for v in op.operands]):
                known.update(op.results)
                if op in chosen:
                    free.add(op)
        return free

    def _needed(self, out: Value, alone: set[Op]) -> set[Op] | None:
        """The ops to move for an out; None if one of their operands costs the loop work, too."""
        needed: set[Op] = set()
        stack = [out]
        while stack:
            value = stack.pop()
            if isinstance(value, Result) and value.op in alone:
                if value.op not in needed:
                    needed.add(value.op)
                    stack.extend(value.op.operands)
            elif self.kept.source(value):
                return None
        return needed


def _late(body: Region, next: Sequence[Value]) -> list[Op]:
    """The ops that no next step needs, in order."""
    needed: set[Value] = set(next)
    late: list[Op] = []
    for op in reversed(body.ops):
        if any(result in needed for result in op.results) or has_effect(op):
            needed.update(op.operands)
        else:
            late.append(op)
    return late[::-1]


def _emit(plan: _Plan) -> list[Value]:
    scan, gone = plan.scan, dict.fromkeys(plan.outs)
    staying = dict.fromkeys([*[out for out in scan.outs if out not in gone], *plan.kept.values])
    body = Region(scan.body.parameters, scan.body.ops, (*scan.next, *staying))
    results = scan.emit(without_dead_ops(body))
    stacks = dict(zip(staying, results[len(scan.next) :], strict=True))
    stacks.update(zip(gone, for_all_steps(scan, list(gone), stacks), strict=True))
    return [*results[: len(scan.next)], *[stacks[out] for out in scan.outs]]
