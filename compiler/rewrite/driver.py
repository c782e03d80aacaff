"""Applying rules to a graph until none fires."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from typing import Final

from weft.compiler.ir.edit import edit
from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.graph import Constant, Graph, Number, Op, Region, Result, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.rewrite.pattern import Known, Maker, literals, maker_of
from weft.compiler.rewrite.rule import Rule

MOST_SWEEPS: Final = 100
MOST_AT_ONE_PLACE: Final = 100


def apply_rules(graph: Graph, rules: Sequence[Rule], fired: Counter[str] | None = None) -> Graph:
    """The graph after the rules, each op tried with those of its kind in the order given; the same
    object if none fired. `fired` counts by name.
    """
    counts = fired if fired is not None else Counter()
    index = _index(tuple(rules))
    # A rule sees an op and what it is made of: where no rule fired, none will until that changes,
    # and then the op is another one.
    settled: set[Op] = set()

    def visit(op: Op) -> Sequence[Value] | None:
        if op in settled:
            return None
        rules = index.rules(op)
        if not rules:
            settled.add(op)
            return None
        return _visit(op, rules, index, counts, settled)

    for _ in range(MOST_SWEEPS):
        changed = edit(graph, visit, index.by_root)
        if changed is graph:
            return graph
        graph = changed
        # What is left was tried on its final operands, but for what rules emitted on the way.
        if all(_is_settled(region, index, settled) for region in graph.regions()):
            return graph
    names = ", ".join(name for name, _ in counts.most_common(5))
    raise VerifyError(f"rules still fire after {MOST_SWEEPS} sweeps, most of all {names}")


def _is_settled(region: Region, index: _Index, settled: set[Op]) -> bool:
    """Whether no rule fires on any op of a region."""
    return all([op in settled or op.definition not in index.by_root for op in region.ops])


class _Index:
    """Rules by the ops they are about, and by the ops that make the operands of these: of the
    patterns for an op, few fit what its operands are at first sight.
    """

    __slots__ = ("by_root", "_literals", "_fitting")

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.by_root: dict[OpDef, list[Rule]] = {}
        self._literals: set[Number] = set()
        self._fitting: dict[tuple[Maker, ...], list[Rule]] = {}  # by the op and the makers
        for rule in rules:
            if rule.pattern is not None:
                self._literals |= literals(rule.pattern)
            for root in rule.roots:
                self.by_root.setdefault(root, []).append(rule)

    def rules(self, op: Op) -> list[Rule]:
        """Those that may fire, in order."""
        key = (op.definition, *map(self._maker, op.operands))
        fitting = self._fitting.get(key)
        if fitting is None:
            known = self.by_root.get(op.definition, ())
            fitting = [rule for rule in known if rule.may_fire(key[1:])]
            self._fitting[key] = fitting
        return fitting

    def _maker(self, value: Value) -> Maker:
        """What makes a value; most numbers are none that a pattern names."""
        if isinstance(value, Constant) and not value.type.rank:
            number = value.uniform
            if number == number and number not in self._literals:  # NaN is compared by the pattern
                return Known.NUMBER
        return maker_of(value)


@functools.lru_cache(maxsize=64)
def _index(rules: tuple[Rule, ...]) -> _Index:
    return _Index(rules)


def _visit(
    op: Op, rules: Sequence[Rule], index: _Index, counts: Counter[str], settled: set[Op]
) -> Sequence[Value] | None:
    """The op replaced by the first rule that fires, then what it gave by the next, and so on."""
    latest: Value | None = None
    for _ in range(MOST_AT_ONE_PLACE):
        replacement = _first(op, rules, counts)
        if replacement is None:
            settled.add(op)
            break
        latest = replacement
        if not isinstance(replacement, Result) or len(replacement.op.results) != 1:
            break
        op = replacement.op
        rules = index.rules(op)
    return None if latest is None else (latest,)


def _first(op: Op, rules: Sequence[Rule], counts: Counter[str]) -> Value | None:
    for rule in rules:
        replacement = rule(op)
        if replacement is not None:
            counts[rule.name] += 1
            return replacement
    return None
