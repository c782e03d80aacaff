"""Applying rules to a graph until none fires."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from typing import Final

from weft.compiler.ir.edit import edit
from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.graph import Graph, Op, Result, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.walk import walk
from weft.compiler.rewrite.pattern import Maker, maker_of, may_match
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
        return None if op in settled else _visit(op, index, counts, settled)

    for _ in range(MOST_SWEEPS):
        changed = edit(graph, visit, index.by_root)
        if changed is graph:
            return graph
        graph = changed
        # What is left was tried on its final operands, but for what rules emitted on the way.
        if all(op in settled for op in walk(graph) if op.definition in index.by_root):
            return graph
    names = ", ".join(name for name, _ in counts.most_common(5))
    raise VerifyError(f"rules still fire after {MOST_SWEEPS} sweeps, most of all {names}")


class _Index:
    """Rules by the ops they are about, and by the ops that make the operands of these: of the
    patterns for an op, few fit what its operands are at first sight.
    """

    __slots__ = ("by_root", "_fitting")

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.by_root: dict[OpDef, list[Rule]] = {}
        self._fitting: dict[tuple[Maker, ...], list[Rule]] = {}
        for rule in rules:
            for root in rule.roots:
                self.by_root.setdefault(root, []).append(rule)

    def rules(self, op: Op) -> list[Rule]:
        """Those that may fire, in order."""
        makers = tuple([maker_of(operand) for operand in op.operands])
        key = (op.definition, *makers)
        fitting = self._fitting.get(key)
        if fitting is None:
            known = self.by_root.get(op.definition, ())
            fitting = [r for r in known if r.pattern is None or may_match(r.pattern, makers)]
            self._fitting[key] = fitting
        return fitting


@functools.lru_cache(maxsize=64)
def _index(rules: tuple[Rule, ...]) -> _Index:
    return _Index(rules)


def _visit(op: Op, index: _Index, counts: Counter[str], settled: set[Op]) -> Sequence[Value] | None:
    """The op replaced by the first rule that fires, then what it gave by the next, and so on."""
    latest: Value | None = None
    for _ in range(MOST_AT_ONE_PLACE):
        replacement = _first(op, index.rules(op), counts)
        if replacement is None:
            settled.add(op)
            break
        latest = replacement
        if not isinstance(replacement, Result) or len(replacement.op.results) != 1:
            break
        op = replacement.op
    return None if latest is None else (latest,)


def _first(op: Op, rules: Sequence[Rule], counts: Counter[str]) -> Value | None:
    for rule in rules:
        replacement = rule(op)
        if replacement is not None:
            counts[rule.name] += 1
            return replacement
    return None
