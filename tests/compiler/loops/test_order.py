"""The order of nodes: sources first, effects in order, and the least memory of the candidates."""

from __future__ import annotations

from random import Random

import pytest

from tests.compiler.lower.llvm.program.random_graphs import random_graph
from tests.compiler.lower.llvm.program.random_steps import ALL
from weft.compiler.ir.graph import Value
from weft.compiler.loops.fuse import fuse
from weft.compiler.loops.fusion import Fusion
from weft.compiler.loops.group import Node
from weft.compiler.loops.order import _Waits, order
from weft.compiler.parsing import parse


def greedy(waits: _Waits) -> list[Node]:
    """Of the nodes that can run, always the one that frees the most and makes the least, found by
    looking at all of them; of equal ones the first of the program, then the first that could run.
    """
    ready: dict[Node, None] = {node: None for node in waits.nodes if not waits.sources[node]}
    done: dict[Node, None] = {}
    while ready:
        left: dict[Value, int] = {}
        for node in waits.nodes:
            for value in dict.fromkeys(waits.read[node]):
                left[value] = left.get(value, 0) + (node not in done)

        def growth(node: Node, left: dict[Value, int] = left) -> tuple[int, int]:
            freed = sum(waits.sizes.get(v, 0) for v in waits.read[node] if left[v] == 1)
            return waits.written[node] - freed, waits.first[node]

        chosen = min(ready, key=growth)
        del ready[chosen]
        done[chosen] = None
        for reader in waits.readers[chosen]:
            if all(source in done for source in waits.sources[reader]):
                ready[reader] = None
    return list(done)


def fusions(seed: int) -> list[Fusion]:
    random = Random(seed)
    graph = random_graph(random, random.randint(5, 40), ALL, random.choice([None, 7]))
    return [fuse(region) for region in graph.regions()]


@pytest.mark.parametrize("seed", range(40))
def test_order_by_memory_is_the_greedy_one(seed: int) -> None:
    for fusion in fusions(seed):
        waits = _Waits(fusion)
        assert waits.by_memory() == greedy(waits)


@pytest.mark.parametrize("seed", range(20))
def test_order_has_no_higher_peak_than_that_of_the_program(seed: int) -> None:
    for fusion in fusions(seed):
        waits = _Waits(fusion)
        chosen = order(fusion)
        if not chosen.consumers:  # consumers are moved behind their producers
            assert waits.peak(chosen.nodes) <= waits.peak(waits.by_program())


def test_effects_stay_in_order() -> None:
    graph = parse(
        """weft 1
        graph @prints(%x: f32[4], %y: f32[4]) {
          host_call(%y) {function=@first}
          host_call(%x) {function=@second}
          host_call(%y) {function=@third}
          return %x
        }"""
    )
    names = [node.op.attributes["function"].name for node in order(fuse(graph.region)).nodes]  # type: ignore[union-attr]
    assert names == ["first", "second", "third"]
