"""Products of scanned inputs, for all steps in one product before the loop: `x @ w` of an RNN.

What a product of the body needs of scanned sequences and constants of the loop alone is computed
for all steps at once, by batching; the loop then scans the result. Sums and elementwise work stay:
they fuse with what else the step does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from weft.compiler.ir.dims import Size
from weft.compiler.ir.edit import Editor, edit, without_dead_ops
from weft.compiler.ir.graph import Constant, Graph, Op, Region, Value
from weft.compiler.ir.types import ArrayType
from weft.compiler.ir.walk import has_effect
from weft.compiler.ops import control, convolution
from weft.compiler.ops.contraction import dot_general
from weft.compiler.ops.indexing import gather
from weft.compiler.passes.scans.hoist import may_move
from weft.compiler.passes.scans.parts import (
    LIMITS,
    Scan,
    as_scan,
    bytes_of,
    for_all_steps,
    holds,
    is_affordable,
    is_at_most,
    new_parameters,
    stays_in_cache,
)

PRODUCTS: Final = (dot_general, convolution.convolution)


def batch_scan_products(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph with products of scanned inputs before their loops, where memory allows it."""
    if not holds(graph, control.scan):
        return graph
    counts = fired if fired is not None else Counter()

    def visit(op: Op) -> Sequence[Value] | None:
        scan = as_scan(op)
        products = _plan(scan) if scan is not None else []
        if scan is None or not products:
            return None
        counts.update(product.name for product in products)
        used = _used(scan.body, products)
        stacked = for_all_steps(scan, used, {})
        body = _body(scan.body, used)
        return scan.emit(body, sequences=(*scan.sequences, *stacked))

    return edit(graph, visit)


def _plan(scan: Scan) -> list[Op]:
    """The products to move, in order."""
    if not any(op.definition in PRODUCTS for op in scan.body.ops):
        return []
    known: set[Value] = {*scan.invariant, *scan.steps}
    scanned: set[Value] = set(scan.steps)
    plan: list[Op] = []
    kept: list[ArrayType] = []
    for op in scan.body.ops:
        if not all(isinstance(v, Constant) or v in known for v in op.operands):
            continue
        marks = [operand in scanned for operand in op.operands]
        if op.definition in PRODUCTS and any(marks):
            added = [op.results[0].type, *_computed(op, scanned, scan, plan)]
            if not gains(op, marks, scan.length) or not is_affordable(scan, [*kept, *added]):
                continue
            kept += added
            plan.append(op)
        elif op.regions or not can_batch(op, marks):
            continue
        known.update(op.results)
        if any(marks):
            scanned.update(op.results)
    return plan


def can_batch(op: Op, scanned: Sequence[bool]) -> bool:
    """Whether an op that takes these operands from scanned ones can be computed for all steps."""
    has_rule = op.definition.batch is not None or op.definition.is_elementwise
    # A lookup fails for all steps at once if and only if it fails in a step.
    looks_up = op.definition is gather and all(scanned[1:])
    return has_rule and op.definition.defines is None and (looks_up or may_move(op))


def _computed(op: Op, scanned: set[Value], scan: Scan, plan: Sequence[Op]) -> list[ArrayType]:
    """The types of operands that exist for all steps only because the product needs them."""
    there = {*scan.steps, *(product.results[0] for product in plan)}
    return [v.type for v in op.operands if v in scanned and v not in there]


def gains(op: Op, varies: Sequence[bool], length: Size) -> bool:
    """Whether one product for all steps is better than one in each, given which operands change
    with the step.

    A step reads the operand that stays the same from the cache, and makes its result there. All
    steps at once read it once, but write their results to memory and read them again, unless these
    stay in the cache, too.
    """
    result = bytes_of(op.results[0].type)
    sizes = [bytes_of(operand.type) for operand in op.operands]
    is_cached = stays_in_cache(result, length)
    if all(varies):
        return is_cached and is_at_most(result, sizes[0] + sizes[1])
    return is_cached or is_at_most(result * LIMITS.least_reuse, sizes[varies.index(False)])


def _used(body: Region, products: Sequence[Op]) -> list[Value]:
    """The products that the rest of the body uses, not only each other."""
    moved = set(products)
    needed: set[Value] = set(body.results)
    for op in reversed(body.ops):
        if op not in moved and (any(r in needed for r in op.results) or has_effect(op)):
            needed.update(op.operands)
    return [op.results[0] for op in products if op.results[0] in needed]


def _body(body: Region, used: Sequence[Value]) -> Region:
    """The body with these values as further steps."""
    editor = Editor(body)
    parameters = new_parameters(used)
    editor.builder.parameters += parameters
    editor.substitution.update(zip(used, parameters, strict=True))
    replaced = set(used)
    for op in body.ops:
        if not replaced.intersection(op.results):
            editor.keep(op, editor.current(op, op.regions))
    return without_dead_ops(editor.builder.region([editor.value(v) for v in body.results]))
