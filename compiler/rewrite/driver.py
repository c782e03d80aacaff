"""Applying rules to a graph until none fires."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.graph import Graph, Op, Result, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.rewrite.edit import edit
from weft.compiler.rewrite.rule import Rule

MOST_SWEEPS: Final = 100
MOST_AT_ONE_PLACE: Final = 100


def apply_rules(graph: Graph, rules: Sequence[Rule], fired: Counter[str] | None = None) -> Graph:
    """The graph after the rules, each op tried with those of its kind in the order given; the same
    object if none fired. `fired` counts by name.
    """
    counts = fired if fired is not None else Counter()
    by_root = _by_root(rules)
    # A rule sees an op and what it is made of: where no rule fired, none will until that changes,
    # and then the op is another one.
    settled: set[Op] = set()

    def visit(op: Op) -> Sequence[Value] | None:
        if op.definition not in by_root or op in settled:
            return None
        made = _visit(op, by_root, counts)
        if made is None:
            settled.add(op)
        return made

    for _ in range(MOST_SWEEPS):
        changed = edit(graph, visit)
        if changed is graph:
            return graph
        graph = changed
    names = ", ".join(name for name, _ in counts.most_common(5))
    raise VerifyError(f"rules still fire after {MOST_SWEEPS} sweeps, most of all {names}")


def _by_root(rules: Sequence[Rule]) -> dict[OpDef, list[Rule]]:
    by_root: dict[OpDef, list[Rule]] = {}
    for rule in rules:
        for root in rule.roots:
            by_root.setdefault(root, []).append(rule)
    return by_root


def _visit(
    op: Op, by_root: dict[OpDef, list[Rule]], counts: Counter[str]
) -> Sequence[Value] | None:
    """The op replaced by the first rule that fires, then what it gave by the next, and so on."""
    made: Value | None = None
    for _ in range(MOST_AT_ONE_PLACE):
        found = _first(op, by_root.get(op.definition, ()), counts)
        if found is None:
            break
        made = found
        if not isinstance(found, Result) or len(found.op.results) != 1:
            break
        op = found.op
    return None if made is None else (made,)


def _first(op: Op, rules: Sequence[Rule], counts: Counter[str]) -> Value | None:
    for rule in rules:
        made = rule(op)
        if made is not None:
            counts[rule.name] += 1
            return made
    return None
