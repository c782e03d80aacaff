"""Patterns: what matches what, and what the driver does with rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from tests.compiler.ir.making import graph, made_by, number, ops, region
from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.graph import Graph, Value
from weft.compiler.rewrite.driver import apply_rules
from weft.compiler.rewrite.pattern import (
    Application,
    Bindings,
    PatternBuilder,
    Placeholder,
    literal,
    match,
)
from weft.compiler.rewrite.rule import Rule, rule


def matched(
    pattern: Callable[..., Value], write: Callable[..., Value], *names: str
) -> Bindings | None:
    """What a pattern of placeholders binds on the result of a graph of parameters x, y, z."""
    with PatternBuilder().active():
        root = pattern(*[Placeholder(name) for name in names or ("x",)])
    assert isinstance(root, Application)
    made = graph({name: "f32[2]" for name in "xyz"}, write)
    return match(root, made_by(made.results[0]))


def test_pattern_prints_as_it_is_written() -> None:
    with PatternBuilder().active():
        made = ops.log(ops.add(ops.exp(Placeholder("x")), literal(1)))
    assert repr(made) == "log(add(exp(x), 1))"


def test_commutative_ops_match_in_both_orders_at_every_level() -> None:
    def pattern(x: Value, y: Value) -> Value:
        return ops.add(ops.mul(x, ops.exp(y)), ops.sin(x))

    # Only one of the four orders is right, so the search must turn back.
    found = matched(
        pattern,
        lambda x, y, z: ops.add(ops.sin(z), ops.mul(ops.exp(x), z)),
        "x",
        "y",
    )
    assert found is not None
    assert [getattr(found[name], "name", None) for name in "xy"] == ["z", "x"]


def test_other_ops_match_in_their_own_order() -> None:
    def pattern(x: Value) -> Value:
        return ops.sub(x, literal(1))

    assert matched(pattern, lambda x, y, z: ops.sub(x, number(1))) is not None
    assert matched(pattern, lambda x, y, z: ops.sub(number(1), x)) is None


def test_repeated_placeholder_is_one_value() -> None:
    def pattern(x: Value) -> Value:
        return ops.sub(x, x)

    assert matched(pattern, lambda x, y, z: ops.sub(x, x)) is not None
    assert matched(pattern, lambda x, y, z: ops.sub(x, y)) is None
    assert matched(pattern, lambda x, y, z: ops.sub(number([1, 2]), number([1, 2]))) is not None
    assert matched(pattern, lambda x, y, z: ops.sub(number([1, 2]), number([1, 3]))) is None


@pytest.mark.parametrize(
    ("write", "is_one"),
    [
        (lambda: number(1), True),
        (lambda: number(2), False),
        (lambda: number([1, 1]), True),
        (lambda: number([1, 2]), False),
        (lambda: ops.broadcast(number(1), shape=(2,), dims=()), True),
        (lambda: number(float("nan")), False),
    ],
)
def test_literal_matches_by_value(write: Callable[[], Value], is_one: bool) -> None:
    found = matched(lambda x: ops.mul(x, literal(1)), lambda x, y, z: ops.mul(x, write()))
    assert (found is not None) == is_one


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_literal_zero_has_a_sign(zero: float) -> None:
    found = matched(lambda x: ops.sub(x, literal(0.0)), lambda x, y, z: ops.sub(x, number(zero)))
    assert (found is not None) == (not np.signbit(zero))


def test_attribute_is_a_value_a_condition_or_anything() -> None:
    def write(x: Value, y: Value, z: Value) -> Value:
        return ops.reduce_sum(x, axes=(0,))

    assert matched(lambda x: ops.reduce_sum(x), write) is not None
    assert matched(lambda x: ops.reduce_sum(x, axes=(0,)), write) is not None
    assert matched(lambda x: ops.reduce_sum(x, axes=()), write) is None
    assert matched(lambda x: ops.reduce_sum(x, axes=lambda axes: len(axes) == 1), write) is not None
    assert matched(lambda x: ops.reduce_sum(x, axes=lambda axes: not axes), write) is None


def test_pattern_with_an_unknown_attribute_is_refused() -> None:
    with pytest.raises(VerifyError, match="reduce_sum has no attribute axis"):
        matched(lambda x: ops.reduce_sum(x, axis=0), lambda x, y, z: x)


def test_pattern_with_a_region_is_refused() -> None:
    body = region(["f32[2]"], ops.exp)
    with pytest.raises(VerifyError, match="cannot hold call"):
        matched(lambda x: ops.call.emit(x, function="f", regions=[body])[0], lambda x, y, z: x)


# --- the driver -----------------------------------------------------------------------------------

SINE_OF_SINE = rule("sin(sin(x))", lambda x: ops.sin(ops.sin(x)), lambda x: ops.cos(x), proof=None)


def chain(count: int) -> Graph:
    def write(x: Value) -> Value:
        for _ in range(count):
            x = ops.sin(x)
        return x

    return graph({"x": "f32[2]"}, write)


def test_rules_apply_inside_of_regions() -> None:
    body = region(["f32[2]"], lambda x: ops.sin(ops.sin(x)))
    made = graph(
        {"x": "f32[2]"},
        lambda x: ops.scan.emit(x, n_carry=1, length=3, regions=[body])[0],
    )
    fired: Counter[str] = Counter()
    after = apply_rules(made, [SINE_OF_SINE], fired).verify()
    assert [op.name for op in made_by(after.results[0]).regions[0].ops] == ["cos"]
    assert fired == {"sin(sin(x))": 1}


def test_graph_on_which_no_rule_fires_is_the_same_object() -> None:
    made = chain(1)
    assert apply_rules(made, [SINE_OF_SINE]) is made


def test_new_ops_have_the_location_of_the_old() -> None:
    from weft.compiler.ir.build import Builder
    from weft.compiler.ir.location import Location
    from weft.compiler.ir.reader import parse_type

    builder = Builder()
    x = builder.parameter(parse_type("f32[2]"))
    place = Location("model.py", 7)
    with builder.active():
        inner = ops.sin(x)
        with builder.at(place):
            result = ops.sin(inner)
    after = apply_rules(builder.graph("g", [result]), [SINE_OF_SINE])
    assert made_by(after.results[0]).location == place


def test_rules_that_never_end_are_reported() -> None:
    to_cos = rule("to cos", lambda x: ops.sin(x), lambda x: ops.cos(x), proof=None)
    to_sin = rule("to sin", lambda x: ops.cos(x), lambda x: ops.sin(x), proof=None)
    with pytest.raises(VerifyError, match="still fire after 100 sweeps, most of all to"):
        apply_rules(chain(1), [to_cos, to_sin])


def test_replacement_of_another_type_is_refused() -> None:
    wrong: Rule = rule(
        "wrong", lambda x: ops.sin(x), lambda x: ops.cast(x, dtype="f64"), proof=None
    )
    with pytest.raises(VerifyError, match=r"rewrite of sin gave f64\[2\] in place of f32\[2\]"):
        apply_rules(chain(1), [wrong])


def test_rank_0_replacement_is_stretched() -> None:
    to_zero = rule("to zero", lambda x: ops.sin(x), lambda x: number(0), proof=None)
    after = apply_rules(chain(1), [to_zero]).verify()
    assert made_by(after.results[0]).name == "broadcast"


def test_pattern_that_is_no_op_is_refused() -> None:
    with pytest.raises(VerifyError, match="the pattern of nothing is no op"):
        rule("nothing", lambda x: x, lambda x: x, proof=None)
