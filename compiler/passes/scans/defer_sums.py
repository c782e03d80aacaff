"""Sums of products over the steps of a loop, as one product after it: gradients of weights.

A carry to which every step adds `a @ b` and which nothing else reads is the sum of these products,
so it is one product of all a and all b, contracted over the steps too. The loop keeps a and b of
every step, unless they are scanned or kept already, and is rid of the carry. The terms are added in
another order than step by step, which may change the last places of the sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from weft.compiler.ir.ambient import active_builder
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dtypes import bool_
from weft.compiler.ir.edit import Editor, Rewriter, edit, without_dead_ops
from weft.compiler.ir.graph import Graph, Op, Region, Result, Value
from weft.compiler.ir.walk import users
from weft.compiler.ops import control, helpers
from weft.compiler.ops.arithmetic import add, neg, sub
from weft.compiler.ops.contraction import dot_general
from weft.compiler.ops.reduction import reduce_sum
from weft.compiler.ops.shape import broadcast, pad, reshape, slice_, transpose
from weft.compiler.passes.scans.parts import (
    LIMITS,
    Kept,
    Scan,
    as_scan,
    bytes_of,
    for_all_steps,
    holds,
    is_at_most,
    stays_in_cache,
    total_bytes,
    uses,
)

# A sum of these of something is the same of the sum.
LINEAR: Final = (transpose, reshape, broadcast, slice_, pad, neg)


def defer_scan_sums(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph with sums of products over steps as products over steps, where memory allows it."""
    if not holds(graph, control.scan):
        return graph
    counts = fired if fired is not None else Counter()

    def visit(op: Op) -> Sequence[Value] | None:
        scan = as_scan(op)
        if scan is None or not any(inner.definition is dot_general for inner in scan.body.ops):
            return None
        plan = _Plan(scan, _sums(scan))
        if not plan.accepted:
            return None
        counts.update(term.core.name for term in plan.accepted if term.core is not None)
        return _emit(plan)

    # What one product keeps may let another one leave.
    while (changed := edit(graph, visit)) is not graph:
        graph = changed
    return graph


# --- what is summed -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Term:
    """Something that each step adds to a carry, or subtracts: a product or a sum, `core`, and the
    linear ops that make `value` of it, last first. Without a core it stays in the loop.
    """

    value: Value
    is_negative: bool
    core: Op | None
    linear: tuple[Op, ...]


def _sums(scan: Scan) -> dict[int, list[_Term]]:
    """The carries that are mere sums, by place, and what each step adds to them."""
    used = uses(scan.body)
    user = {v: ops[0] for v, ops in users(scan.body).items() if used[v] == 1}
    sums: dict[int, list[_Term]] = {}
    for index, parameter in enumerate(scan.carry):
        if used.get(parameter) != 1 or used[scan.next[index]] != 1:
            continue
        added = _added(parameter, scan.next[index], user)
        if added is not None:
            leaves = [leaf for value, sign in added for leaf in _leaves(value, sign, used)]
            sums[index] = [_term(value, sign, used) for value, sign in leaves]
    return sums


def _added(start: Value, end: Value, user: Mapping[Value, Op]) -> list[tuple[Value, bool]] | None:
    """What is added on the way from a carry to its next value, with marks for what is subtracted;
    None if something else happens to it.
    """
    terms: list[tuple[Value, bool]] = []
    while start is not end:
        op = user.get(start)
        if op is None or op.definition not in (add, sub):
            return None
        left, right = op.operands
        if right is start and op.definition is sub:
            return None
        terms.append((left if right is start else right, op.definition is sub))
        start = op.results[0]
    return terms


def _leaves(
    value: Value, is_negative: bool, used: Mapping[Value, int]
) -> Iterator[tuple[Value, bool]]:
    """The terms of a sum that nothing else reads, signs included."""
    stack = [(value, is_negative)]
    while stack:
        term, sign = stack.pop()
        if isinstance(term, Result) and term.op.definition in (add, sub) and used[term] == 1:
            left, right = term.op.operands
            stack += [(right, sign ^ (term.op.definition is sub)), (left, sign)]
        else:
            yield term, sign


def _term(value: Value, is_negative: bool, used: Mapping[Value, int]) -> _Term:
    linear: list[Op] = []
    core = value
    while isinstance(core, Result) and used[core] == 1:
        op = core.op
        if op.definition in (dot_general, reduce_sum):
            return _Term(value, is_negative, op, tuple(linear))
        if op.definition not in LINEAR or not all(map(helpers.is_zero, op.operands[1:])):
            break
        linear.append(op)
        core = op.operands[0]
    return _Term(value, is_negative, None, ())


# --- which of them leave --------------------------------------------------------------------------


class _Plan:
    """The terms that leave the loop, and what it keeps of every step for them."""

    def __init__(self, scan: Scan, sums: Mapping[int, list[_Term]]) -> None:
        self.scan: Final = scan
        self.sums: Final = sums
        self.accepted: Final[set[_Term]] = set()
        self.kept: Final = Kept(scan)
        terms = [term for terms in sums.values() for term in terms]
        for term in sorted(_products(terms), key=_size, reverse=True):
            # The largest first: what they keep is there for the others.
            self._consider_product(term)
        for term in terms:
            self._consider_sum(term)

    def _consider_product(self, term: _Term) -> None:
        assert term.core is not None
        sources = [self.kept.source(operand) for operand in term.core.operands]
        if all(source is None for source in sources):
            return
        if None in sources and term.core.operands[0].type.dtype is bool_:
            return  # a sum of bools is a number
        added = dict.fromkeys([v for source in sources for v in source or ()])
        if not added or self._pays(term.core, list(added)):
            self.kept.add(added)
            self.accepted.add(term)

    def _pays(self, product: Op, added: Sequence[Value]) -> bool:
        """Whether a product may make the loop keep these values."""
        types = [value.type for value in added]
        kept = total_bytes(types)
        is_small = is_at_most(kept * LIMITS.least_reuse, bytes_of(product.results[0].type))
        is_cached = stays_in_cache(kept, self.scan.length)
        return self.kept.is_affordable(types) and (is_small or is_cached)

    def _consider_sum(self, term: _Term) -> None:
        """A sum leaves only if what it adds up is kept anyway."""
        if term.core is not None and term.core.definition is reduce_sum:
            if self.kept.source(term.core.operands[0]) == ():
                self.accepted.add(term)


def _products(terms: Sequence[_Term]) -> list[_Term]:
    return [term for term in terms if term.core and term.core.definition is dot_general]


def _size(term: _Term) -> int:
    assert term.core is not None
    size = term.core.results[0].type.size
    return size if isinstance(size, int) else 0


# --- the loop without them, and the products ------------------------------------------------------


def _emit(plan: _Plan) -> list[Value]:
    scan, sums = plan.scan, plan.sums
    staying = {
        index: [term for term in terms if term not in plan.accepted]
        for index, terms in sums.items()
        if not plan.accepted.isdisjoint(terms)
    }
    gone = {index for index, terms in staying.items() if not terms}
    body = _body(plan, staying, gone)
    start = [value for index, value in enumerate(scan.start) if index not in gone]
    results = iter(scan.emit(body, start=start))
    ends = [None if index in gone else next(results) for index in range(len(scan.start))]
    stacks = dict(zip((*scan.outs, *plan.kept.values), results, strict=True))
    carry: list[Value] = []
    for index, end in enumerate(ends):
        total = scan.start[index] if end is None else end
        leaving = [term for term in sums.get(index, ()) if term in plan.accepted]
        carry.append(_with_terms(total, leaving, plan, stacks))
    return [*carry, *[stacks[out] for out in scan.outs]]


def _body(plan: _Plan, staying: Mapping[int, list[_Term]], gone: set[int]) -> Region:
    """The body without the carries that are gone and the terms that left the others."""
    scan = plan.scan
    editor = Editor(scan.body)
    removed = {scan.carry[index] for index in gone}
    editor.builder.parameters = [p for p in scan.body.parameters if p not in removed]
    editor.builder.ops += scan.body.ops
    carry: list[Value] = []
    with editor.builder.active():
        for index, value in enumerate(scan.next):
            if index in staying:
                value = scan.carry[index]
                for term in staying[index]:
                    value = (sub if term.is_negative else add)(value, term.value)
            if index not in gone:
                carry.append(value)
    return without_dead_ops(editor.builder.region([*carry, *scan.outs, *plan.kept.values]))


def _with_terms(
    total: Value, terms: Sequence[_Term], plan: _Plan, stacks: Mapping[Value, Value]
) -> Value:
    """A sum with the terms of all steps added."""
    for term in terms:
        added = _of_all_steps(term, plan, stacks)
        if helpers.is_zero(total):
            signed = neg(added) if term.is_negative else added
            total = helpers.stretch(signed, total.type.shape)
        else:
            total = (sub if term.is_negative else add)(total, added)
    return total


def _of_all_steps(term: _Term, plan: _Plan, stacks: Mapping[Value, Value]) -> Value:
    """The sum of a term over all steps."""
    core = term.core
    assert core is not None
    if core.definition is reduce_sum:
        (value,) = for_all_steps(plan.scan, core.operands, stacks)
        total = reduce_sum(value, axes=(0, *helpers.shifted(core.attributes["axes"])))
    else:
        total = _product(core, plan, stacks)
    builder = active_builder()
    assert isinstance(builder, Builder)
    rewriter = Rewriter(builder)
    rewriter.replace(core, (total,))
    for op in reversed(term.linear):
        rewriter.copy(op)
    return rewriter.value(term.value)


def _product(core: Op, plan: _Plan, stacks: Mapping[Value, Value]) -> Value:
    """The sum of a product over all steps: the steps are contracted too, or, where one operand is
    the same in all steps, the other one is added up before.
    """
    operands = for_all_steps(plan.scan, core.operands, stacks, stretch=False)
    varies = [
        new.type.rank > old.type.rank for new, old in zip(operands, core.operands, strict=True)
    ]
    if not all(varies):
        added = [
            reduce_sum(v, axes=(0,)) if m else v for v, m in zip(operands, varies, strict=True)
        ]
        return dot_general(*added, **core.attributes)
    attributes = dict(core.attributes)
    for side in ("lhs", "rhs"):
        batch, contract = f"{side}_batch", f"{side}_contract"
        attributes[batch] = helpers.shifted(attributes[batch])
        attributes[contract] = (0, *helpers.shifted(attributes[contract]))
    return dot_general(*operands, **attributes)
