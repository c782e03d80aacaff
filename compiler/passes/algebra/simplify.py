"""Algebra: rules that keep every bit, and rules that keep more digits."""

from __future__ import annotations

from collections import Counter

from weft.compiler.ir.graph import Graph
from weft.compiler.rewrite.driver import apply_rules
from weft.compiler.rewrite.rules import EXACT, STABLE, UPDATE


def simplify(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph after rules that give the same bits with less work."""
    return apply_rules(graph, EXACT, fired)


def stabilise(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph after rules that change rounding for the better: log1p, softplus, log-sum-exp."""
    return apply_rules(graph, STABLE, fired)


def add_in_place(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph with sums of an array and of zeros that were added to as updates of the array."""
    return apply_rules(graph, UPDATE, fired)
