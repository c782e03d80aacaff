"""Reading graphs: the order of a walk, users, dependencies, live ops, topological order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings

from tests.compiler.ir.making import Array, graph, number, ops, region
from tests.compiler.ir.random_graphs import graphs
from tests.compiler.ir.samples import SAMPLES
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Graph, Op, Result, Value
from weft.compiler.ir.walk import (
    dependencies,
    live_ops,
    topological_order,
    users,
    walk,
)

X = np.array([0.5, -1.0], np.float32)


def run(made: Graph, *arguments: Array) -> list[list[float]]:
    return [np.asarray(result).tolist() for result in evaluate(made.verify(), arguments)]


def diamond() -> Graph:
    """(exp(x) + sin(x)) * exp(x), and a cos(x) that nobody needs."""

    def write(x: Value) -> Value:
        left, right = ops.exp(x), ops.sin(x)
        ops.cos(x)
        return ops.mul(ops.add(left, right), left)

    return graph({"x": "f32[2]"}, write)


# --- walking ------------------------------------------------------------------------------------


def test_walk_visits_an_op_before_the_ops_in_its_regions() -> None:
    assert [op.name for op in walk(SAMPLES["nested_regions"]())] == [
        "scan",
        "call",
        "switch",
        "neg",
        "exp",
    ]
    assert [op.name for op in walk(SAMPLES["custom_vjp"]())] == [
        "custom_vjp",
        "sin",
        "sin",
        "cos",
        "mul",
    ]


def test_walk_goes_on_behind_an_op_with_regions() -> None:
    body = region(["f32[2]"], lambda x: ops.neg(ops.exp(x)))
    made = graph(
        {"x": "f32[2]"},
        lambda x: ops.sin(*ops.call.emit(ops.cos(x), function="f", regions=[body])),
    )
    assert [op.name for op in walk(made)] == ["cos", "call", "exp", "neg", "sin"]


def test_walk_of_a_deep_nest_does_not_recurse() -> None:
    inner = region(["f32[2]"], lambda x: x)
    for _ in range(400):
        types = inner.parameter_types
        inner = region(types, lambda x, i=inner: ops.call.emit(x, function="f", regions=[i]))
    assert len(list(walk(Graph("deep", inner)))) == 400
    assert len(list(Graph("deep", inner).regions())) == 401


def test_users_names_each_op_once_per_value() -> None:
    made = diamond()
    exp, sin, cos, add, mul = made.ops
    assert users(made.region) == {
        made.parameters[0]: [exp, sin, cos],
        exp.result: [add, mul],
        sin.result: [add],
        add.result: [mul],
    }
    square = graph({"x": "f32[]"}, lambda x: ops.mul(x, x))
    assert users(square.region)[square.parameters[0]] == [square.ops[0]]


def test_users_does_not_look_into_nested_regions() -> None:
    made = SAMPLES["nested_regions"]()
    assert [op.name for ops_of in users(made.region).values() for op in ops_of] == ["scan", "scan"]


def test_dependencies_come_before_what_needs_them() -> None:
    made = diamond()
    exp, sin, _, add, mul = made.ops
    needed = dependencies(made.results)
    assert set(needed) == {exp, sin, add, mul}
    assert needed.index(add) > max(needed.index(exp), needed.index(sin))
    assert needed[-1] is mul
    assert dependencies([exp.result, made.parameters[0], number(1.0)]) == [exp]
    assert dependencies([]) == []


@settings(deadline=None, max_examples=30)
@given(graphs())
def test_dependencies_are_closed_and_ordered(random: Graph) -> None:
    seen: set[Op] = set()
    for op in dependencies(random.results):
        assert all(v.op in seen for v in op.operands if isinstance(v, Result))
        assert op not in seen
        seen.add(op)
    assert all(v.op in seen for v in random.results if isinstance(v, Result))


def test_dependencies_of_a_long_chain_do_not_recurse() -> None:
    def write(x: Value) -> Value:
        for _ in range(3000):
            x = ops.neg(x)
        return x

    made = graph({"x": "f32[]"}, write)
    assert dependencies(made.results) == list(made.ops)


# --- live ops, topological order ------------------------------------------------------------------


def test_live_ops_are_what_the_values_need_in_order() -> None:
    made = diamond()
    assert [op.name for op in live_ops(made.ops, made.results)] == ["exp", "sin", "add", "mul"]
    assert [op.name for op in live_ops(made.ops, [made.ops[1].result])] == ["sin"]


def test_live_ops_leave_effects_out_when_told_so() -> None:
    def write(x: Value) -> Value:
        ops.host_call.emit(ops.exp(x), function=print)
        return ops.sin(x)

    made = graph({"x": "f32[2]"}, write)
    assert [op.name for op in live_ops(made.ops, made.results)] == ["exp", "host_call", "sin"]
    assert [op.name for op in live_ops(made.ops, made.results, effects=False)] == ["sin"]


def test_live_ops_ask_what_an_op_with_regions_reads() -> None:
    made = SAMPLES["nested_regions"]()
    asked: list[str] = []

    def reads(op: Op, needed: set[Value]) -> Sequence[Value]:
        assert not needed.isdisjoint(op.results)
        asked.append(op.name)
        return ()

    assert [op.name for op in live_ops(made.ops, made.results, reads=reads)] == ["scan"]
    assert asked == ["scan"]


def test_a_topological_order_follows_sources_and_then_priority() -> None:
    sources = {"a": [], "b": ["d"], "c": [], "d": ["a"], "e": []}
    rank = {"a": 1, "b": 0, "c": 0, "d": 0, "e": 0}
    assert topological_order(sources, rank.__getitem__) == ["c", "e", "a", "d", "b"]


def test_a_topological_order_counts_a_source_once() -> None:
    assert topological_order({"b": ["a", "a"], "a": []}, lambda _: 0) == ["a", "b"]


def test_a_topological_order_refuses_a_cycle() -> None:
    with pytest.raises(ValueError, match="wait for each other"):
        topological_order({"a": ["b"], "b": ["a"]}, lambda _: 0)
