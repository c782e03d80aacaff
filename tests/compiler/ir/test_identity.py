"""Structural identity: what does not matter to it, what does, and that it is stable."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings

from tests.compiler.ir.making import graph, number, ops, region
from tests.compiler.ir.random_graphs import graphs
from tests.compiler.ir.samples import SAMPLES, halve, log
from weft.compiler.ir import dims
from weft.compiler.ir.build import Builder
from weft.compiler.ir.edit import clone
from weft.compiler.ir.graph import Constant, Graph, Value
from weft.compiler.ir.identity import RegionHashes, structurally_equal
from weft.compiler.ir.location import Location
from weft.compiler.ir.reader import parse_type
from weft.compiler.parsing import parse


def assert_same(left: Graph, right: Graph) -> None:
    assert structurally_equal(left, right)
    assert left.content_hash() == right.content_hash()
    assert RegionHashes().hash(left.region) == RegionHashes().hash(right.region)


def assert_different(left: Graph, right: Graph) -> None:
    assert not structurally_equal(left, right)
    assert left.content_hash() != right.content_hash()
    assert RegionHashes().hash(left.region) != RegionHashes().hash(right.region)


# --- what does not matter -----------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_a_graph_made_again_is_the_same(name: str) -> None:
    assert_same(SAMPLES[name](), SAMPLES[name]())
    assert_same(SAMPLES[name](), clone(SAMPLES[name]()))


def test_names_do_not_matter() -> None:
    left = graph({"x": "f32[2]"}, ops.neg, name="f")
    right = graph({"weights": "f32[2]"}, ops.neg, name="g")
    assert_same(left, right)


def test_locations_do_not_matter() -> None:
    def made(location: Location | None) -> Graph:
        builder = Builder()
        x = builder.parameter(parse_type("f32[2]"), "x")
        with builder.active(), builder.at(location):
            return builder.graph("g", [ops.neg(x)])

    assert_same(made(None), made(Location("model.py", 3, "-x")))


def test_layout_and_identity_of_constants_do_not_matter() -> None:
    array = np.arange(6.0).reshape(2, 3)
    left = graph({}, lambda: Constant(array))
    right = graph({}, lambda: Constant(np.asfortranarray(array).astype(">f8")))
    assert_same(left, right)
    shared = number(1.0)
    once = graph({"x": "f32[]"}, lambda x: ops.add(ops.mul(x, shared), shared))
    twice = graph({"x": "f32[]"}, lambda x: ops.add(ops.mul(x, number(1.0)), number(1.0)))
    assert_same(once, twice)


def test_names_of_sizes_that_ops_define_do_not_matter() -> None:
    def loop(trips: str) -> Graph:
        text = str(SAMPLES["while_that_records"]())
        return parse(
            text.replace("<t ", f"<{trips} ")
            .replace("=t}", f"={trips}}}")
            .replace("[t]", f"[{trips}]")
        )

    assert_same(loop("t"), loop("trips17"))


@settings(deadline=None, max_examples=30)
@given(graphs())
def test_text_keeps_the_hash(random: Graph) -> None:
    assert_same(random, parse(str(random)))


# --- what matters -------------------------------------------------------------------------------


def one(type: str, write: Callable[..., object]) -> Graph:
    return graph({"x": type}, write)  # type: ignore[arg-type]


def calling(function: str, body: Callable[..., Value]) -> Graph:
    inner = region(["f32[2]"], body)
    return one("f32[2]", lambda x: ops.call.emit(x, function=function, regions=[inner]))


DIFFERENT: dict[str, tuple[Graph, Graph]] = {
    "op": (one("f32[2]", lambda x: ops.neg(x)), one("f32[2]", lambda x: ops.exp(x))),
    "dtype": (one("f32[2]", lambda x: x), one("f64[2]", lambda x: x)),
    "shape": (one("f32[2]", lambda x: x), one("f32[3]", lambda x: x)),
    "rank": (one("f32[6]", lambda x: ()), one("f32[2, 3]", lambda x: ())),
    "symbol or number": (one("f32[n]", lambda x: x), one("f32[3]", lambda x: x)),
    "lower bound": (one("f32[n]", lambda x: x), one("f32[n>=2]", lambda x: x)),
    "upper bound": (one("f32[n]", lambda x: x), one("f32[n<=2]", lambda x: x)),
    "bound inside a quotient": (one("f32[n//2]", lambda x: x), one("f32[(n>=2)//2]", lambda x: x)),
    "which sizes are equal": (
        graph({"x": "f32[n]", "y": "f32[n]"}, lambda x, y: x),
        graph({"x": "f32[n]", "y": "f32[m]"}, lambda x, y: x),
    ),
    "attribute": (
        one("f32[2, 2]", lambda x: ops.reduce_sum(x, axes=(0,))),
        one("f32[2, 2]", lambda x: ops.reduce_sum(x, axes=(1,))),
    ),
    "attribute that has a default": (
        one("f32[2]", lambda x: ops.argmax(x, axis=0)),
        one("f32[2]", lambda x: ops.argmax(x, axis=0, dtype=np.int32)),
    ),
    "size in an attribute": (
        one("f32[n]", lambda x: ops.dim_value(dim=dims.symbol("n"))),
        one("f32[n]", lambda x: ops.dim_value(dim=dims.symbol("n") + 1)),
    ),
    "order of operands": (
        graph({"x": "f32[]", "y": "f32[]"}, ops.sub),
        graph({"x": "f32[]", "y": "f32[]"}, lambda x, y: ops.sub(y, x)),
    ),
    "which value": (
        graph({"x": "f32[]", "y": "f32[]"}, lambda x, y: ops.neg(x)),
        graph({"x": "f32[]", "y": "f32[]"}, lambda x, y: ops.neg(y)),
    ),
    "which result": (
        one("f32[]", lambda x: (ops.neg(x), ops.neg(ops.neg(x)))),
        one("f32[]", lambda x: (ops.neg(x), ops.neg(x))),
    ),
    "order of results": (
        one("f32[]", lambda x: (x, ops.neg(x))),
        one("f32[]", lambda x: tuple(reversed((x, ops.neg(x))))),
    ),
    "number of results": (one("f32[]", lambda x: (x, x)), one("f32[]", lambda x: x)),
    "unused parameter": (
        graph({"x": "f32[]"}, lambda x: x),
        graph({"x": "f32[]", "y": "f32[]"}, lambda x, y: x),
    ),
    "dead op": (one("f32[]", lambda x: x), one("f32[]", lambda x: [x, ops.neg(x)][:1])),
    "order of ops": (
        one("f32[]", lambda x: (ops.neg(x), ops.exp(x))),
        one("f32[]", lambda x: tuple(reversed((ops.exp(x), ops.neg(x))))),
    ),
    "constant": (
        one("f32[]", lambda x: ops.add(x, number(1.0))),
        one("f32[]", lambda x: ops.add(x, number(2.0))),
    ),
    "sign of a zero": (
        one("f32[]", lambda x: number(0.0)),
        one("f32[]", lambda x: number(-0.0)),
    ),
    "constant or parameter": (one("f32[]", lambda x: x), one("f32[]", lambda x: number(0.0))),
    "dtype of a constant of the same bytes": (
        graph({}, lambda: number(0, "i32")),
        graph({}, lambda: number(0, "f32")),
    ),
    "shape of a constant of the same bytes": (
        graph({}, lambda: number([0, 0])),
        graph({}, lambda: number([[0, 0]])),
    ),
    "op in a region": (calling("f", lambda x: ops.neg(x)), calling("f", lambda x: ops.exp(x))),
    "text attribute": (calling("f", lambda x: x), calling("g", lambda x: x)),
    "name of a host function": (
        one("f32[]", lambda x: ops.host_call.emit(x, function=log)),
        one("f32[]", lambda x: ops.host_call.emit(x, function=halve)),
    ),
    "in or behind a region": (
        calling("f", lambda x: ops.neg(ops.exp(x))),
        one(
            "f32[2]",
            lambda x: ops.neg(
                *ops.call.emit(x, function="f", regions=[region(["f32[2]"], lambda x: ops.exp(x))])
            ),
        ),
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_it_matters(name: str) -> None:
    assert_different(*DIFFERENT[name])


def test_samples_are_all_different() -> None:
    hashes = {make().content_hash() for make in SAMPLES.values()}
    assert len(hashes) == len(SAMPLES)


# --- stability ----------------------------------------------------------------------------------

PRINT_HASHES = """
import sys
sys.path[:0] = sys.argv[1:]
from tests.compiler.ir.samples import SAMPLES
for name, make in SAMPLES.items():
    print(name, make().content_hash())
"""


def hashes_in_another_process(seed: str) -> dict[str, str]:
    run = subprocess.run(
        [sys.executable, "-c", PRINT_HASHES, *sys.path],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
        text=True,
    )
    pairs = (line.split() for line in run.stdout.splitlines())
    return {name: digest for name, digest in pairs}


def test_hashes_are_the_same_in_every_process() -> None:
    here = {name: make().content_hash() for name, make in SAMPLES.items()}
    assert hashes_in_another_process("0") == here
    assert hashes_in_another_process("12345") == here
