"""One form of each thing: constants on the right, views of views as one view, nothing stretched
that stretches by itself.
"""

from __future__ import annotations

from collections import Counter

from weft.compiler.ir.graph import Graph
from weft.compiler.rewrite.driver import apply_rules
from weft.compiler.rewrite.rules import CANONICAL


def canonicalize(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph after the rules of `rewrite.rules_shape` and `rules_product`."""
    return apply_rules(graph, CANONICAL, fired)
