"""Regions without their gathers: the two parts make the same, and say what was gathered."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.transforms.checking import run
from weft.compiler.parsing import parse
from weft.compiler.transforms.selection import split_gathers

SHARED = """weft 1
graph @shared(%x: f64[6], %y: f64[2]) {
  %0: f64[3, 2] = reshape(%x) {shape=[3, 2]}
  %1: f64[4, 2] = gather(%0, [2, 0, -1, 1]: i64[4]) {axes=[0]}
  %2: f64[4, 2] = broadcast(%y) {shape=[4, 2], dims=[1]}
  %3: f64[4, 2] = mul(%1, %2)
  %4: f64[2] = slice(%x) {starts=[1], limits=[3], strides=[1]}
  return %3, %4
}
"""


def test_region_is_split_after_its_gathers() -> None:
    region = parse(SHARED).region
    split = split_gathers(region, [True, True])
    assert split is not None
    assert [op.name for op in split.gathered.ops] == ["reshape", "gather"]
    assert [op.name for op in split.rest.ops] == ["broadcast", "mul", "slice"]
    ((number, elements),) = split.sources
    assert number == 0
    np.testing.assert_array_equal(elements, [4, 5, 0, 1, 4, 5, 2, 3])
    given = [np.arange(6.0) + 1, np.array([2.0, 3.0])]
    gathered = run(split.gathered, given)
    np.testing.assert_array_equal(gathered[0].reshape(-1), given[0][elements])
    for made, expected in zip(
        run(split.rest, [*gathered, *given]), run(region, given), strict=True
    ):
        np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize(
    "places",
    ["[2, 0, -1, 7]: i64[4]) {axes=[0]", "[2, 0, 1, 7]: i64[4]) {axes=[0], mode=fill"],
)
def test_gather_at_places_that_are_not_there_is_left(places: str) -> None:
    changed = SHARED.replace("[2, 0, -1, 1]: i64[4]) {axes=[0]", places)
    assert changed != SHARED
    assert split_gathers(parse(changed).region, [True, True]) is None


def test_gather_from_what_is_not_marked_is_left() -> None:
    assert split_gathers(parse(SHARED).region, [False, True]) is None


def test_gather_from_what_was_computed_is_left() -> None:
    computed = SHARED.replace("reshape(%x) {shape=[3, 2]}", "reshape(%9) {shape=[3, 2]}").replace(
        "  %0:", "  %9: f64[6] = sin(%x)\n  %0:"
    )
    assert split_gathers(parse(computed).region, [True, True]) is None
