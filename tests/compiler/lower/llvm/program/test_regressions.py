"""Graphs, made small, that random search has shown to give wrong results once."""

from __future__ import annotations

from random import Random

import pytest

import weft as wf
from tests.compiler.lower.llvm.program.comparing import assert_native_is_right, random_arguments

GRAPHS = {
    "a kernel stores what it also reads behind a fence": """weft 1
graph @g(%x: f64[18]) {
  %0: f64[18] = abs(%x)
  %1: f64[18] = fence(%0)
  %2: bool[18] = ge(%1, %0)
  return %0, %2
}
""",
    "a short axis of an argument is reduced in a row": """weft 1
graph @g(%x: f64[40, n, 3]) {
  %0: f64[40, 3] = reduce_sum(%x) {axes=[1]}
  %1: f64[40, 3] = abs(%0)
  return %1
}
""",
    "a routine reads a view that is a result too, and made later": """weft 1
graph @g(%x: f32[7]) {
  %0: f32[7] = reverse(%x) {axes=[0]}
  %1: f32[7] = cumsum(%0) {axis=0}
  %2: f32[7] = neg(%0)
  return %1, %0, %2
}
""",
    "a routine reads a view of a view that another loop has as an array": """weft 1
graph @g(%x: f64[5, 8]) {
  %0: f64[8, 5] = transpose(%x) {permutation=[1, 0]}
  %1: f64[8, 5] = sort(%0) {axis=1}
  %2: f64[4, 5] = slice(%0) {starts=[0, 0], limits=[8, 5], strides=[2, 1]}
  %3: f64[4, 5] = cummax(%2) {axis=0}
  %4: f64[4, 5] = neg(%2)
  %5: f64[8, 5] = neg(%0)
  return %1, %3, %2, %0, %4, %5
}
""",
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graph(name: str) -> None:
    graph = wf.parse(GRAPHS[name])
    for seed in range(3):
        assert_native_is_right(graph, random_arguments(graph, Random(seed), 9, False), [])
