"""The graph as the loop program begins with it: without calls, every region in one place."""

from __future__ import annotations

import numpy as np

from tests.compiler.lower.llvm.program.comparing import run_native
from weft.compiler.ir.build import Builder
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Graph
from weft.compiler.loops.specialise import specialise
from weft.compiler.parsing import parse

SCAN = """weft 1
graph @steps(%c: f32[4], %x: f32[6, 4]) {
  %0: f32[4], %1: f32[6, 4] = scan(%c, %x) {n_consts=0, n_carry=1, length=6}
    ^body(%2: f32[4], %3: f32[4]) {
    %4: f32[4] = tanh(%3)
    %5: f32[4] = add(%2, %4)
    return %5, %4
  }
  return %0, %1
}
"""


def shared_region() -> Graph:
    """Two loops with one and the same region."""
    graph = parse(SCAN)
    (scan,) = graph.ops
    builder = Builder()
    carry, steps = [builder.parameter(p.type, p.name) for p in graph.parameters]
    first = builder.emit(scan.definition, [carry, steps], scan.attributes, scan.regions, None)
    second = builder.emit(scan.definition, [first[0], steps], scan.attributes, scan.regions, None)
    return Graph("twice", builder.region([first[0], *second]))


def test_a_region_that_two_ops_share_is_copied() -> None:
    graph = shared_region()
    assert len(set(graph.regions())) == 2
    assert len(set(specialise(graph).regions())) == 3


def test_ops_that_share_a_region_run() -> None:
    graph = shared_region()
    arguments = [np.ones(4, np.float32), np.linspace(0, 1, 24, dtype=np.float32).reshape(6, 4)]
    expected = evaluate(graph, arguments)
    for result, wanted in zip(run_native(graph, arguments), expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-6)


def test_a_graph_in_which_nothing_changes_is_the_same_object() -> None:
    graph = parse(SCAN)
    assert specialise(graph) is graph
