"""Which elements of a region's results depend on which elements of its parameters.

Found from the graph alone, without running it on numbers. The pattern of a Jacobian is that of the
linear part of the region's derivative, so rules that users gave, `stop_gradient` and integers count
as they do in derivatives. Patterns may be too large, never too small.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from weft.compiler.ir.errors import BoundsError, ShapeError
from weft.compiler.ir.graph import Constant, Graph, Op, Region, Value
from weft.compiler.ir.walk import walk
from weft.compiler.record import record
from weft.compiler.transforms import derive, rows
from weft.compiler.transforms.dependence import (
    Fact,
    everything,
    in_windows,
    is_plain,
    numbered,
    rule_of,
    shape_of,
    size_of,
)
from weft.compiler.transforms.prune import prune_region
from weft.compiler.transforms.rows import Rows
from weft.compiler.transforms.support import fold, nonzero

MOST_UNROLLED: Final = 20_000
"""How many ops a loop may come to when each of its steps is analysed on its own."""
MOST_WORK: Final = 50_000_000
"""How large the sets may be, summed over these ops, before the steps are taken together."""
MOST_ROUNDS: Final = 64
"""After how many rounds the elements of a loop's carry are no longer told apart."""


@record
class JacobianPattern:
    """The pattern as a scipy.sparse.csr_array of bools [elements of all results, elements of the
    marked parameters], and whether only reverse mode can compute the Jacobian.
    """

    matrix: Any
    needs_reverse: bool


def jacobian_pattern(region: Region, marked: Sequence[bool]) -> JacobianPattern:
    """The pattern of the derivatives of a region's results by its marked parameters."""
    for value in (*region.parameters, *region.results):
        if not value.type.is_static:
            raise ShapeError(f"{value.type} has a symbolic size; a pattern needs numbers")
    region = prune_region(region)
    split = derive.TRANSFORMS.split(region, marked, [False] * len(region.results))
    sizes = [size_of(p) for p, mark in zip(region.parameters, marked, strict=True) if mark]
    n_inputs = sum(sizes)
    known = facts_of(split.known, [Fact() for _ in region.parameters], n_inputs)
    starts = np.cumsum([0, *sizes])
    tangents = [
        Fact(rows.inputs(int(start), size, n_inputs))
        for start, size in zip(starts, sizes, strict=False)
    ]
    residuals = known[len(region.results) :]
    linear_facts = iter(facts_of(split.linear, [*residuals, *tangents], n_inputs))
    parts = [
        _filled(next(linear_facts) if has else Fact(), result, n_inputs)
        for result, has in zip(region.results, split.has, strict=True)
    ]
    matrix = rows.stack([rows.none(0, n_inputs), *parts]).matrix
    matrix.sort_indices()
    needs_reverse = any(op.name == "reverse_rule" for op in walk(Graph("linear", split.linear)))
    return JacobianPattern(matrix, needs_reverse)


def facts_of(region: Region, facts: Sequence[Fact], n_inputs: int) -> list[Fact]:
    """What is known of a region's results, from what is known of its parameters."""
    known: dict[Value, Fact] = dict(zip(region.parameters, facts, strict=True))
    last = {operand: op for op in region.ops for operand in op.operands}
    kept = set(region.results)

    def read(value: Value) -> Fact:
        return Fact(value=value.array) if isinstance(value, Constant) else known[value]

    for op in region.ops:
        known.update(
            zip(op.results, _apply(op, list(map(read, op.operands)), n_inputs), strict=True)
        )
        for operand in op.operands:
            if last[operand] is op and operand not in kept:
                known.pop(operand, None)
    return [read(result) for result in region.results]


def _apply(op: Op, facts: Sequence[Fact], n_inputs: int) -> list[Fact]:
    """What is known of an op's results."""
    if op.name in _WITH_REGIONS:
        return _WITH_REGIONS[op.name](op, facts, n_inputs)
    if not is_plain(op):
        return [Fact(_rows(op, facts, result)) for result in op.results]
    values = fold(op, facts)
    if values is not None:
        return [Fact(value=value) for value in values]
    mask = nonzero(op, facts)
    choices = in_windows(op) if op.name == "window_argmax" and size_of(op.result) else None
    return [Fact(_rows(op, facts, r), nonzero=mask, choices=choices) for r in op.results]


def _rows(op: Op, facts: Sequence[Fact], result: Value) -> Rows | None:
    """The inputs of a result's elements, through all operands that have some."""
    if not size_of(result):
        return None
    rule, operand_rows = rule_of(op), []
    for number, fact in enumerate(facts):
        if fact.rows is None:
            continue
        try:
            operand_rows.append(rule(op, facts, number, result))
        except BoundsError:
            operand_rows.append(everything(op, facts, number, result))
    return _or_none(rows.union(operand_rows)) if operand_rows else None


def _or_none(made: Rows) -> Rows | None:
    return made if made.total else None


def _all_together(facts: Sequence[Fact], result: Value) -> Fact:
    """The result of an op of which nothing is known but its operands."""
    operand_rows = [fact.rows.together() for fact in facts if fact.rows is not None]
    return Fact(rows.union(operand_rows).repeat(size_of(result)) if operand_rows else None)


def _filled(fact: Fact, value: Value, n_inputs: int) -> Rows:
    return rows.none(size_of(value), n_inputs) if fact.rows is None else fact.rows


# --- ops with regions ---------------------------------------------------------------------------


def _called(op: Op, facts: Sequence[Fact], n_inputs: int) -> list[Fact]:
    return facts_of(op.regions[0], facts, n_inputs)


def _switched(op: Op, facts: Sequence[Fact], n_inputs: int) -> list[Fact]:
    """The branch that is taken, if that is known, else what any branch may give."""
    index, *operands = facts
    regions: Sequence[Region] = op.regions
    if index.value is not None:
        regions = [regions[min(max(int(index.value), 0), len(regions) - 1)]]
    branches = [facts_of(region, operands, n_inputs) for region in regions]
    if len(branches) == 1:
        return branches[0]
    chosen = [_either(column) for column in zip(*branches, strict=True)]
    return [_with_all(fact, index, r) for fact, r in zip(chosen, op.results, strict=True)]


def _either(facts: Sequence[Fact]) -> Fact:
    """What holds of a value that is one of several."""
    known_rows = [fact.rows for fact in facts if fact.rows is not None]
    masks = [fact.support for fact in facts]
    known = [mask for mask in masks if mask is not None]
    mask = np.logical_or.reduce(known) if len(known) == len(masks) else None
    return Fact(rows.union(known_rows) if known_rows else None, nonzero=mask)


def _with_all(fact: Fact, decider: Fact, value: Value) -> Fact:
    """A value that also depends on everything that decides how it is computed."""
    if decider.rows is None:
        return fact
    spread = decider.rows.repeat(size_of(value))
    return Fact(
        spread if fact.rows is None else rows.union([fact.rows, spread]), None, fact.nonzero
    )


def _reversed_rule(op: Op, facts: Sequence[Fact], n_inputs: int) -> list[Fact]:
    """The linear part of a custom_vjp: its backward rule, turned around."""
    (backward,) = op.regions
    n_residuals = len(backward.parameters) - len(op.results)
    sizes = [size_of(result) for result in op.results]
    tangents, operands = facts[n_residuals:], op.operands[n_residuals:]
    starts, total = np.cumsum([0, *sizes]), sum(sizes)
    cotangents = [
        Fact(rows.inputs(int(start), size, total))
        for start, size in zip(starts, sizes, strict=False)
    ]
    gradients = facts_of(backward, [*facts[:n_residuals], *cotangents], total)
    back = rows.stack(
        [_filled(fact, value, total) for fact, value in zip(gradients, operands, strict=True)]
    )
    of_tangents = rows.stack(
        [_filled(fact, value, n_inputs) for fact, value in zip(tangents, operands, strict=True)]
    )
    forward = back.turned().along(of_tangents)
    return [
        Fact(_or_none(forward.take(np.arange(start, start + size))))
        for start, size in zip(starts, sizes, strict=False)
    ]


# --- loops --------------------------------------------------------------------------------------


def _scanned(op: Op, facts: Sequence[Fact], n_inputs: int) -> list[Fact]:
    """Step by step if that is not too much, else what holds of all steps together."""
    (body,) = op.regions
    unrolled = _unrolled(op, facts, n_inputs)
    if unrolled is not None:
        return unrolled
    first = op.attributes["n_consts"] + op.attributes["n_carry"]
    consts, carry = facts[: op.attributes["n_consts"]], facts[op.attributes["n_consts"] : first]
    steps = [
        _any_step(fact, sequence, parameter)
        for fact, sequence, parameter in zip(
            facts[first:], op.operands[first:], body.parameters[first:], strict=True
        )
    ]
    results = _repeated(
        carry,
        op.results,
        lambda current: facts_of(body, [*consts, *current, *steps], n_inputs),
    )
    count = len(carry)
    outs = zip(results[count:], op.results[count:], body.results[count:], strict=True)
    return [*results[:count], *[_every_step(fact, stacked, step) for fact, stacked, step in outs]]


def _cost(region: Region) -> int:
    """How many ops the analysis of a region looks at."""
    total = 1
    for op in region.ops:
        inner = sum(_cost(region) for region in op.regions)
        length = op.attributes.get("length", 1) if op.name == "scan" else 1
        total += 1 + inner * (length if isinstance(length, int) else 1)
    return total


def _unrolled(op: Op, facts: Sequence[Fact], n_inputs: int) -> list[Fact] | None:
    """What is known of a scan's results, found step by step; None if that takes too long."""
    (body,) = op.regions
    n_consts, n_carry = op.attributes["n_consts"], op.attributes["n_carry"]
    first, length, cost = n_consts + n_carry, op.attributes["length"], _cost(body)
    if not isinstance(length, int) or length * cost > MOST_UNROLLED:
        return None
    consts, carry = facts[:n_consts], list(facts[n_consts:first])
    outs: list[list[Fact]] = [[] for _ in range(length)]
    work = 0
    for i in reversed(range(length)) if op.attributes["reverse"] else range(length):
        steps = [
            _step(fact, i, size_of(parameter))
            for fact, parameter in zip(facts[first:], body.parameters[first:], strict=True)
        ]
        results = facts_of(body, [*consts, *carry, *steps], n_inputs)
        carry, outs[i] = results[:n_carry], results[n_carry:]
        work += cost * sum(map(_total, carry))
        if work > MOST_WORK:
            return None
    columns = zip(*outs, strict=True) if length else [()] * (len(op.results) - n_carry)
    stacks = zip(columns, body.results[n_carry:], strict=True)
    return [*carry, *[_stacked(column, step, n_inputs) for column, step in stacks]]


def _step(fact: Fact, i: int, size: int) -> Fact:
    """One step, of this size, of a sequence."""
    own = np.arange(i * size, (i + 1) * size)
    return Fact(
        None if fact.rows is None else _or_none(fact.rows.take(own)),
        None if fact.value is None else fact.value[i],
        None if fact.nonzero is None else fact.nonzero[i],
    )


def _stacked(steps: Sequence[Fact], step: Value, n_inputs: int) -> Fact:
    """The steps one after the other."""
    stacked_rows = None
    if any(fact.rows is not None for fact in steps):
        stacked_rows = rows.stack([_filled(fact, step, n_inputs) for fact in steps])
    values = [fact.value for fact in steps if fact.value is not None]
    if steps and len(values) == len(steps):
        return Fact(stacked_rows, np.stack(values))
    masks = [fact.support for fact in steps]
    known = [mask for mask in masks if mask is not None]
    if not known:
        return Fact(stacked_rows)
    sizes = shape_of(step)
    full = [np.ones(sizes, np.bool_) if mask is None else mask for mask in masks]
    return Fact(stacked_rows, nonzero=np.stack(full))


def _any_step(fact: Fact, sequence: Value, step: Value) -> Fact:
    """What holds of every step of a sequence."""
    mask = fact.support
    mask = None if mask is None else np.any(mask, axis=0)
    if fact.rows is None:
        return Fact(nonzero=mask)
    elements = np.broadcast_to(numbered(shape_of(step)), shape_of(sequence)).reshape(-1)
    merged = fact.rows.merge(elements, np.arange(fact.rows.count), size_of(step))
    return Fact(_or_none(merged), nonzero=mask)


def _every_step(fact: Fact, stacked: Value, step: Value) -> Fact:
    """A stack of steps of each of which the same holds."""
    if fact.rows is None or not size_of(stacked):
        return Fact()
    elements = np.broadcast_to(numbered(shape_of(step)), shape_of(stacked))
    return Fact(fact.rows.take(elements))


def _repeated(
    start: Sequence[Fact], carry: Sequence[Value], step: Callable[[list[Fact]], list[Fact]]
) -> list[Fact]:
    """What a step makes of a carry of which the same holds before and after it."""
    current = [Fact(fact.rows) for fact in start]
    for number in itertools.count():
        after = step(current)
        grown = [_either([old, Fact(new.rows)]) for old, new in zip(current, after, strict=False)]
        if number >= MOST_ROUNDS:
            grown = [_all_together([f], v) for f, v in zip(grown, carry, strict=False)]
        if list(map(_total, grown)) == list(map(_total, current)):
            return [*current, *after[len(current) :]]
        current = grown
    raise AssertionError("sets that only grow come to an end")


def _total(fact: Fact) -> int:
    return 0 if fact.rows is None else fact.rows.total


def _looped(op: Op, facts: Sequence[Fact], n_inputs: int) -> list[Fact]:
    """A while loop, in which the condition decides over everything."""
    condition, body = op.regions
    n_consts = op.attributes["n_consts"]
    consts = facts[:n_consts]
    carried = op.results[: len(facts) - n_consts]

    def step(current: list[Fact]) -> list[Fact]:
        (test,) = facts_of(condition, [*consts, *current], n_inputs)
        after = facts_of(body, [*consts, *current], n_inputs)
        return [_with_all(f, test, value) for f, value in zip(after, body.results, strict=True)]

    results = _repeated(facts[n_consts:], carried, step)
    count = len(carried)
    records = zip(results[count:], op.results[count:], body.results[count:], strict=True)
    return [*results[:count], *[_every_step(fact, stack, step) for fact, stack, step in records]]


_WITH_REGIONS: Final[Mapping[str, Callable[[Op, Sequence[Fact], int], list[Fact]]]] = (
    MappingProxyType(
        {
            "call": _called,
            "checkpoint": _called,
            "custom_jvp": _called,
            "custom_vjp": _called,
            "reverse_rule": _reversed_rule,
            "switch": _switched,
            "scan": _scanned,
            "while": _looped,
        }
    )
)
