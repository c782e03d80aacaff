"""Editing: substitution, copies, dead ops, and when the same graph comes back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings

from tests.compiler.ir.making import Array, graph, made_by, number, ops, region
from tests.compiler.ir.random_graphs import graphs
from tests.compiler.ir.samples import SAMPLES
from weft.compiler.ir import dims
from weft.compiler.ir.build import Builder
from weft.compiler.ir.edit import Rewriter, clone, drop_dead_ops, edit, inline, rebuild
from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Constant, Graph, Op, Region, Result, Value
from weft.compiler.ir.identity import RegionHashes, structurally_equal
from weft.compiler.ir.location import Location
from weft.compiler.ir.reader import parse_type
from weft.compiler.ir.walk import dependencies, has_effect, walk

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


# --- copies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_a_clone_is_equal_and_shares_nothing(name: str) -> None:
    original = SAMPLES[name]()
    assert_is_separate_copy(clone(original), original)


@settings(deadline=None, max_examples=30)
@given(graphs())
def test_a_clone_of_a_random_graph_is_equal_and_shares_nothing(random: Graph) -> None:
    assert_is_separate_copy(clone(random), random)


def assert_is_separate_copy(copy: Graph, original: Graph) -> None:
    assert copy.verify().text(locations=True) == original.text(locations=True)
    assert structurally_equal(copy, original)
    assert not set(walk(copy)) & set(walk(original))
    assert not parameters_of(copy) & parameters_of(original)
    assert not set(copy.regions()) & set(original.regions())


def parameters_of(made: Graph) -> set[Value]:
    return {parameter for inner in made.regions() for parameter in inner.parameters}


def test_inline_binds_parameters_to_arguments() -> None:
    body = region(
        ["f32[2]", "f32[2]"], lambda a, b: (ops.sub(a, b), b, Constant(np.ones(2, np.float32)))
    )
    builder = Builder()
    x = builder.parameter(parse_type("f32[2]"), "x")
    with builder.active():
        y = ops.neg(x)
    results = inline(body, [y, x], builder)
    made = builder.graph("g", results)
    assert run(made, X) == [[-1.0, 2.0], [0.5, -1.0], [1.0, 1.0]]
    assert results[1] is x
    assert results[2] is body.results[2]
    assert [op.name for op in made.ops] == ["neg", "sub"]
    assert made.ops[1] not in body.ops


def test_inline_keeps_locations() -> None:
    source = SAMPLES["locations"]()
    builder = Builder(locate=lambda: Location("elsewhere.py", 1))
    inline(source.region, [builder.parameter(source.parameters[0].type)], builder)
    assert [op.location for op in builder.ops] == [op.location for op in source.ops]


@pytest.mark.parametrize("name", ["nested_regions", "while", "while_that_records", "custom_vjp"])
def test_a_region_can_be_inlined_twice(name: str) -> None:
    source = SAMPLES[name]()
    builder = Builder()
    parameters = [builder.parameter(p.type, p.name) for p in source.parameters]
    once = inline(source.region, parameters, builder)
    twice = inline(source.region, parameters, builder)
    made = builder.graph("twice", [*once, *twice]).verify()
    assert len(made.ops) == 2 * len(source.ops)


def test_inlined_loops_get_their_own_number_of_steps() -> None:
    source = SAMPLES["while_that_records"]()
    builder = Builder()
    x, y = (builder.parameter(parse_type("f32[]"), name) for name in "xy")
    results = [*inline(source.region, [x], builder), *inline(source.region, [y], builder)]
    made = builder.graph("two_loops", results)
    start = [np.float32(0.0), np.float32(2.0)]
    assert run(made, *map(np.asarray, start)) == [3.0, [0.0, 1.0, 2.0], 3.0, [2.0]]
    first, second = (dims.symbols(result.type.shape[0]) for result in results[1::2])
    assert not first & second


def test_inline_needs_an_argument_per_parameter() -> None:
    with pytest.raises(ValueError, match="zip"):
        inline(SAMPLES["scan"]().region, [], Builder())


# --- rebuild ------------------------------------------------------------------------------------


def keep(op: Op, rewriter: Rewriter) -> None:
    """A rule that never fires."""


def sin_becomes_cos(op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
    if op.name != "sin":
        return None
    return [ops.cos(rewriter.value(op.operands[0]))]


def double_negation_goes(op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
    operand = op.operands[0] if op.operands else None
    if op.name != "neg" or not isinstance(operand, Result) or operand.op.name != "neg":
        return None
    return [rewriter.value(operand.op.operands[0])]


@pytest.mark.parametrize("name", SAMPLES)
def test_rebuild_returns_the_same_object_when_no_rule_fires(name: str) -> None:
    original = SAMPLES[name]()
    assert rebuild(original, keep) is original


def test_rebuild_replaces_ops_and_leaves_the_original_alone() -> None:
    original = diamond()
    before = str(original)
    made = rebuild(original, sin_becomes_cos)
    assert [op.name for op in made.ops] == ["exp", "cos", "cos", "add", "mul"]
    assert made.name == original.name
    assert [p.name for p in made.parameters] == ["x"]
    assert str(original) == before
    expected = (np.exp(X) + np.cos(X)) * np.exp(X)
    np.testing.assert_allclose(run(made, X)[0], expected, rtol=1e-6)


def test_rebuild_replaces_ops_in_nested_regions() -> None:
    made = rebuild(SAMPLES["custom_vjp"](), sin_becomes_cos).verify()
    assert [op.name for op in walk(made)] == ["custom_vjp", "cos", "cos", "cos", "mul"]
    deep = rebuild(
        SAMPLES["nested_regions"](),
        lambda op, rewriter: (
            [ops.sin(rewriter.value(op.operands[0]))] if op.name == "neg" else None
        ),
    )
    assert [op.name for op in walk(deep.verify())] == ["scan", "call", "switch", "sin", "exp"]


def test_rebuild_keeps_regions_in_which_nothing_changes() -> None:
    changed = region(["f32[2]"], ops.sin)
    unchanged = region(["f32[2]"], ops.exp)
    original = graph(
        {"x": "f32[2]"},
        lambda x: (
            *ops.call.emit(x, function="f", regions=[changed]),
            *ops.call.emit(x, function="g", regions=[unchanged]),
        ),
    )
    made = rebuild(original, sin_becomes_cos)
    assert made.ops[0].regions[0] is not changed
    assert made.ops[1].regions[0] is unchanged


def test_rules_see_the_values_that_stand_for_operands() -> None:
    """neg(neg(neg(neg(x)))): the first pair goes, and the second then reads x."""

    def write(x: Value) -> Value:
        return ops.neg(ops.neg(ops.neg(ops.neg(x))))

    made = rebuild(graph({"x": "f32[2]"}, write), double_negation_goes)
    made.verify()
    assert run(made, X) == [X.tolist()]


def test_a_rule_sees_the_regions_that_it_changed() -> None:
    def inline_calls(op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
        if op.name != "call":
            return None
        operands = [rewriter.value(operand) for operand in op.operands]
        return inline(op.regions[0], operands, rewriter.builder)

    inner = region(["f32[2]"], ops.neg)
    outer = region(["f32[2]"], lambda x: ops.call.emit(x, function="inner", regions=[inner]))
    original = graph({"x": "f32[2]"}, lambda x: ops.call.emit(x, function="outer", regions=[outer]))
    made = rebuild(original, inline_calls)
    assert [op.name for op in walk(made.verify())] == ["neg"]


def test_a_rule_may_return_a_constant_or_a_parameter() -> None:
    zero = Constant(np.zeros(2, np.float32))

    def rule(op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
        if op.name == "exp":
            return [zero]
        return [rewriter.value(op.operands[0])] if op.name == "sin" else None

    assert run(rebuild(diamond(), rule), X) == [[0.0, -0.0]]


def test_ops_that_a_rule_emits_get_the_location_of_the_op_they_stand_for() -> None:
    builder = Builder(locate=lambda: Location("model.py", 3, "np.sin(x)"))
    x = builder.parameter(parse_type("f32[2]"), "x")
    with builder.active():
        y = ops.sin(x)
    made = rebuild(builder.graph("g", [y]), sin_becomes_cos)
    assert str(made_by(made.results[0]).location) == "at model.py:3: np.sin(x)"


def test_a_rule_must_give_a_value_per_result() -> None:
    with pytest.raises(ValueError, match="zip"):
        rebuild(diamond(), lambda op, rewriter: [] if op.name == "sin" else None)


@settings(deadline=None, max_examples=30)
@given(graphs())
def test_rebuilding_every_op_gives_an_equal_graph(random: Graph) -> None:
    made = rebuild(
        random,
        lambda op, rewriter: None if op.regions else rewriter.copy(op),
    )
    assert structurally_equal(made.verify(), random)


# --- dead ops ----------------------------------------------------------------------------------


def test_drop_dead_ops_drops_what_no_result_needs() -> None:
    original = diamond()
    made = drop_dead_ops(original)
    assert [op.name for op in made.verify().ops] == ["exp", "sin", "add", "mul"]
    assert run(made, X) == run(original, X)
    assert drop_dead_ops(made) is made


def test_drop_dead_ops_drops_whole_chains() -> None:
    def write(x: Value) -> Value:
        ops.sin(ops.exp(ops.neg(x)))
        return x

    assert drop_dead_ops(graph({"x": "f32[]"}, write)).ops == ()


def test_drop_dead_ops_keeps_effects_and_what_they_need() -> None:
    def write(x: Value) -> Value:
        ops.host_call.emit(ops.exp(x), function=print)
        ops.host_call.emit(ops.sin(x), function=abs, results=[x.type], pure=True)
        return x

    made = drop_dead_ops(graph({"x": "f32[]"}, write))
    assert [op.name for op in made.ops] == ["exp", "host_call"]
    assert drop_dead_ops(made) is made


@pytest.mark.parametrize("pure", [False, True])
def test_effects_inside_regions_count(pure: bool) -> None:
    def step(x: Value) -> Sequence[Value]:
        ops.host_call.emit(x, function=print, pure=pure)
        return ()

    inner = region(
        ["f32[]"], lambda x: ops.call.emit(x, function="f", regions=[region(["f32[]"], step)])
    )

    def write(x: Value) -> Value:
        ops.call.emit(x, function="g", regions=[inner])
        return x

    made = graph({"x": "f32[]"}, write)
    assert has_effect(made.ops[0]) is not pure
    assert len(drop_dead_ops(made).ops) == (0 if pure else 1)


@settings(deadline=None, max_examples=30)
@given(graphs())
def test_what_is_left_is_what_the_results_need(random: Graph) -> None:
    made = drop_dead_ops(random)
    assert set(made.ops) == set(dependencies(random.results))
    assert [op for op in random.ops if op in set(made.ops)] == list(made.ops)


def test_rewriter_remembers_what_stands_for_what() -> None:
    source = diamond()
    builder = Builder()
    rewriter = Rewriter(builder)
    (x,) = rewriter.parameters(source.region)
    assert rewriter.value(source.parameters[0]) is x
    (copied,) = rewriter.copy(source.ops[0])
    assert rewriter.value(source.ops[0].result) is copied
    constant = number(1.0)
    assert rewriter.value(constant) is constant
    rewriter.replace(source.ops[1], [copied])
    assert rewriter.value(source.ops[1].result) is copied
    assert Region((x,), tuple(builder.ops), (copied,)).result_types == (copied.type,)


# --- edit -----------------------------------------------------------------------------------------


def sin_to_cos(op: Op) -> Sequence[Value] | None:
    return [ops.cos(op.operands[0])] if op.name == "sin" else None


def test_edit_shares_what_does_not_change() -> None:
    original = diamond()
    made = edit(original, sin_to_cos)
    assert [op.name for op in made.ops] == ["exp", "cos", "add", "mul"]
    assert made.ops[0] is original.ops[0]
    assert made.parameters == original.parameters


def test_edit_returns_the_same_graph_when_no_visit_fires() -> None:
    original = diamond()
    assert edit(original, lambda op: None) is original
    assert edit(original, sin_to_cos, roots=(ops.exp,)) is original


def test_edit_visits_only_the_kinds_that_it_is_told() -> None:
    seen: list[str] = []

    def visit(op: Op) -> None:
        seen.append(op.name)

    edit(SAMPLES["nested_regions"](), visit, roots=(ops.exp, ops.neg))
    assert seen == ["neg", "exp"]


def test_an_edit_must_keep_the_type() -> None:
    with pytest.raises(VerifyError, match=r"a rewrite of sin gave f32\[\] in place of f32\[2\]"):
        edit(diamond(), lambda op: [number(1.0)] if op.name == "sin" else None)


@pytest.mark.parametrize("depth", (3, 40))
def test_hashes_of_nested_regions_look_at_each_op_once(depth: int) -> None:
    def nest(levels: int) -> Region:
        if levels == 0:
            return region(["f32[2]"], ops.sin)
        inner = nest(levels - 1)
        return region(["f32[2]"], lambda x: ops.call.emit(x, regions=(inner,), function="f"))

    hashes = RegionHashes()
    assert hashes.hash(nest(depth)) == hashes.hash(nest(depth))
    assert hashes.hash(nest(depth)) != hashes.hash(nest(depth - 1))
