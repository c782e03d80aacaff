"""Lowering to the reference evaluator: the graph as it is, run op by op with NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.compiler.artifact import Array, Artifact, signature_of
from weft.compiler.ir.evaluate import run_region
from weft.compiler.ir.graph import Graph


def lower(graph: Graph) -> Artifact:
    """The graph on the reference evaluator."""

    def entry(arguments: Sequence[Array], sizes: dict[str, int]) -> list[Array]:
        with np.errstate(all="ignore"):
            return run_region(graph.region, arguments, sizes)

    return Artifact(graph.name, "reference", signature_of(graph), entry)
