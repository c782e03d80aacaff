"""Every rule has a proof, and every proof holds."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from tests.compiler.ir.making import graph
from tests.compiler.rewrite.checking import (
    Array,
    assert_same_bits,
    combinations,
    edge_values,
    pattern_graph,
)
from weft.compiler.ir.dtypes import BY_NAME, f32
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Constant, Graph, Parameter, Value
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops.arithmetic import mul, pow_
from weft.compiler.ops.helpers import number
from weft.compiler.ops.special import sqrt
from weft.compiler.rewrite.driver import apply_rules
from weft.compiler.rewrite.pattern import placeholders
from weft.compiler.rewrite.rule import Exactness, Examples, Exhaustive, Identity, Rule
from weft.compiler.rewrite.rules import ALL, CANONICAL, EXACT, STABLE

EXHAUSTIVE = [
    pytest.param(rule, dtype, id=f"{rule.name}, {dtype}")
    for rule in ALL
    if isinstance(rule.proof, Exhaustive)
    for dtype in rule.proof.dtypes
]
IDENTITIES = [rule for rule in ALL if isinstance(rule.proof, Identity)]
OF_NUMBERS = [r for r in ALL if isinstance(r.proof, Identity) and r.proof.shape == ""]
EXAMPLES = [
    pytest.param(rule, number, id=f"{rule.name}, {number}")
    for rule in ALL
    if isinstance(rule.proof, Examples)
    for number in range(len(rule.proof.cases))
]


def name_of(rule: Rule) -> str:
    return rule.name


@pytest.mark.parametrize("rule", ALL, ids=name_of)
def test_rule_has_a_proof(rule: Rule) -> None:
    assert rule.proof is not None, f"{rule.name} has no proof; see rewrite/rule.py"
    if isinstance(rule.proof, Identity):
        assert rule.pattern is not None
        named = {placeholder.name for placeholder in placeholders(rule.pattern)}
        assert named == set(rule.proof.domain)
    if isinstance(rule.proof, Examples):
        assert rule.proof.cases


def test_names_are_distinct() -> None:
    assert len({rule.name for rule in ALL}) == len(ALL)


def test_passes_run_the_rules_of_their_exactness() -> None:
    assert all(rule.exactness is Exactness.EXACT for rule in EXACT)
    assert all(rule.exactness is Exactness.STABLE for rule in STABLE)
    assert {rule.name for rule in CANONICAL if rule.exactness is Exactness.STABLE} == {
        "reduction of transpose",
        "axes in order",
        "product in order",
        "product of transpose",
        "transpose of product",
    }


# --- by running all edge values ---------------------------------------------------------------


@pytest.mark.parametrize(("rule", "name"), EXHAUSTIVE)
def test_both_sides_have_the_same_bits(rule: Rule, name: str) -> None:
    assert isinstance(rule.proof, Exhaustive) and rule.pattern is not None
    dtypes = {p.name: BY_NAME[rule.proof.of.get(p.name, name)] for p in placeholders(rule.pattern)}
    numbers = [p.name for p in placeholders(rule.pattern) if _needs_constant(p.accepts, name)]
    varied = [p.name for p in placeholders(rule.pattern) if p.name not in numbers]
    columns = combinations([edge_values(dtypes[v]) for v in varied])
    types = {
        v: ArrayType(dtypes[v], column.shape) for v, column in zip(varied, columns, strict=True)
    }
    choices = combinations([edge_values(dtypes[n]) for n in numbers]) if numbers else []
    fired = 0
    for row in zip(*choices, strict=True) if choices else [()]:
        known: dict[str, Value] = {n: Constant(c) for n, c in zip(numbers, row, strict=True)}
        before = pattern_graph(rule.pattern, types, known, BY_NAME[name])
        after = apply_rules(before, [rule])
        fired += after is not before
        after.verify()
        (made,), (wanted,) = evaluate(after, columns), evaluate(before, columns)
        assert_same_bits(made, wanted)
    assert fired, "the rule never fired"


def _needs_constant(accepts: Any, name: str) -> bool:
    """Whether a placeholder takes constants only."""
    dtype = BY_NAME[name]
    return (
        accepts is not None
        and not accepts(Parameter(ArrayType(dtype, (3,))))
        and accepts(Constant(np.ones((), dtype.numpy)))
    )


# --- by algebra -------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", IDENTITIES, ids=name_of)
def test_both_sides_are_one_expression(rule: Rule) -> None:
    import sympy

    from tests.compiler.rewrite.algebra import to_sympy

    before, after = identity_graphs(rule)
    domain = rule.proof.domain  # type: ignore[union-attr]  # identities only
    symbols = {
        p.name: [sympy.Symbol(f"{p.name}{i}", real=True) for i in range(3 if p.type.rank else 1)]
        for p in before.parameters
    }
    left, right = to_sympy(before, symbols), to_sympy(after, symbols)
    for one, other in zip(left, right, strict=True):
        difference = sympy.simplify(sympy.expand_log(one - other, force=True).rewrite(sympy.exp))
        if difference == 0:
            continue
        # Where SymPy finds no normal form, forty digits at points of the domain decide.
        _assert_equal_in_numbers(one - other, symbols, domain)


def _assert_equal_in_numbers(difference: Any, symbols: Any, domain: Any) -> None:
    import sympy

    flat = [(symbol, domain[name]) for name, group in symbols.items() for symbol in group]
    random = np.random.default_rng(0)
    for _ in range(20):
        point = {
            symbol: sympy.Float(repr(float(random.uniform(*interval))), 60)
            for symbol, interval in flat
        }
        assert abs(sympy.N(difference.subs(point), 40, maxn=400)) < 1e-30


def identity_graphs(rule: Rule) -> tuple[Graph, Graph]:
    """Both sides of a rule as graphs, of f32 numbers or of rows of three."""
    proof = rule.proof
    assert isinstance(proof, Identity) and rule.pattern is not None
    names = [p.name for p in placeholders(rule.pattern)]
    if proof.shape == "rows":
        before = _rows_graph(rule, names)
    else:
        types = {name: ArrayType(f32) for name in names}
        before = pattern_graph(rule.pattern, types, {}, f32)
    after = apply_rules(before, [rule])
    assert after is not before, f"{rule.name} does not fire on its own pattern"
    return before, after.verify()


def _rows_graph(rule: Rule, names: list[str], rows: int = 1) -> Graph:
    """The pattern on rows; sums run along the last axis, and are stretched back along it."""
    from tests.compiler.ir.making import ops

    def write(*values: Value) -> Value:
        of = dict(zip(names, values, strict=True))
        top, bottom = of["x"], of.get("s", of["x"])
        total = ops.reduce_sum(ops.exp(bottom), axes=(1,))
        if rule.name == "log(sum(exp))":
            return ops.log(total)
        share = ops.div(ops.exp(top), ops.broadcast(total, shape=(rows, 3), dims=(0,)))
        return share if rule.name == "softmax" else ops.log(share)

    return graph({name: f"f32[{rows}, 3]" for name in names}, write)


@pytest.mark.parametrize("rule", OF_NUMBERS, ids=name_of)
def test_new_side_is_no_less_accurate(rule: Rule) -> None:
    """In f32 against mpmath with 50 digits, on the domain; errors in units of the last place."""
    before, after = identity_graphs(rule)
    proof = rule.proof
    assert isinstance(proof, Identity)
    (interval,) = proof.domain.values()
    random = np.random.default_rng(1)
    far = random.uniform(*interval, 200)
    near = far / 1000.0 if interval[0] <= 0 else far
    errors: list[list[float]] = [[], []]
    for x in np.concatenate([far, near]).astype(np.float32):
        exact = _exact(before, x)
        if not float(np.finfo(np.float32).tiny) < abs(exact) < 1e38:
            continue
        ulp = mpmath.mpf(float(np.spacing(np.float32(abs(float(exact))))))
        for errors_of, side in zip(errors, (before, after), strict=True):
            (made,) = evaluate(side, [np.asarray(x)])
            errors_of.append(float(abs(mpmath.mpf(float(made)) - exact) / ulp))
    worst_before, worst_after = max(errors[0]), max(errors[1])
    assert worst_after <= max(worst_before, 2.0)


def _exact(made: Graph, x: Any) -> Any:
    from tests.compiler.rewrite.algebra import exact_value

    with mpmath.workdps(50):
        return exact_value(made, mpmath.mpf(float(x)))


@pytest.mark.parametrize("name", ["softmax", "log(softmax)", "log(sum(exp))"])
@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0])
def test_softmax_rules_are_finite_where_exponentials_overflow(name: str, shift: float) -> None:
    before = _rows_graph(next(r for r in STABLE if r.name == name), ["x"], rows=2)
    after = apply_rules(apply_rules(before, STABLE), STABLE)
    x = np.array([[0.5, 1.0, -2.0], [3.0, 3.0, 3.0]], np.float32)
    (made,) = evaluate(after, [x + np.float32(shift)])
    exact = x.astype(np.float64)
    total = np.sum(np.exp(exact), axis=1, keepdims=True)
    wanted = {
        "softmax": np.exp(exact) / total,
        "log(softmax)": np.log(np.exp(exact) / total),
        "log(sum(exp))": np.log(total)[:, 0] + shift,
    }[name]
    np.testing.assert_allclose(made, wanted, rtol=1e-4)


@pytest.mark.parametrize("rule", OF_NUMBERS, ids=name_of)
def test_new_side_has_the_special_values_of_the_old(rule: Rule) -> None:
    """NaN, infinities and zeros stay what they are, unless the old side overflowed on the way."""
    before, after = identity_graphs(rule)
    for x in (np.nan, np.inf, -np.inf, 0.0, -0.0):
        (old,), (new,) = (evaluate(side, [np.array(x, np.float32)]) for side in (before, after))
        if (rule.name, x) in IMPROVED:
            assert IMPROVED[rule.name, x] == float(new)
        else:
            is_zero = float(old) == 0 and rule.name in CHANGES_SIGN_OF_ZERO
            np.testing.assert_equal(abs(new) if is_zero else new, abs(old) if is_zero else old)


# inf / inf where the limit is 1.
IMPROVED = {("exp(x) / (1 + exp(x))", np.inf): 1.0}
# log(1 + -0.0) and exp(-0.0) - 1 are 0.0, their accurate forms -0.0, as in every libm.
CHANGES_SIGN_OF_ZERO = {
    "log(1 + x)",
    "exp(x) - 1",
    "exp(x) + -1",
    "log(sigmoid(x))",
}


# --- by examples ------------------------------------------------------------------------------


@pytest.mark.parametrize(("rule", "number"), EXAMPLES)
def test_example_evaluates_the_same(rule: Rule, number: int) -> None:
    assert isinstance(rule.proof, Examples)
    types, write = rule.proof.cases[number]
    before = graph({f"x{i}": type for i, type in enumerate(types)}, write)
    after = apply_rules(before, [rule]).verify()
    assert after is not before, "the rule did not fire"
    random = np.random.default_rng(0)
    arrays = [_random(parameter.type, random) for parameter in before.parameters]
    (made,), (wanted,) = evaluate(after, arrays), evaluate(before, arrays)
    if rule.exactness is Exactness.EXACT:
        assert_same_bits(made, wanted)
    else:
        np.testing.assert_allclose(made, wanted, rtol=1e-6)


def _random(type: ArrayType, random: np.random.Generator) -> Array:
    shape = tuple(int(size) for size in type.shape)
    if type.dtype.is_integer:
        return random.choice(edge_values(type.dtype), shape)
    return np.asarray(random.standard_normal(shape)).astype(type.dtype.numpy)


LEFT_ALONE = {
    "may be -inf, whose root is NaN": lambda x: pow_(sqrt(x), number(-1 / 3, x)),
    "odd power of -0.0": lambda x: pow_(sqrt(mul(x, x)), number(3.0, x)),
    "no number": lambda x: pow_(sqrt(mul(x, x)), x),
}


@pytest.mark.parametrize("why", LEFT_ALONE)
def test_powers_of_roots_that_are_left_alone(why: str) -> None:
    before = graph({"x": "f64[4]"}, LEFT_ALONE[why])
    rule = next(r for r in STABLE if r.name == "sqrt(x) ** c")
    assert apply_rules(before, [rule]) is before


@pytest.mark.parametrize("exponent", [-1 / 3, 0.2, 1.5, -2.5])
def test_powers_of_roots_have_the_special_values(exponent: float) -> None:
    before = graph({"x": "f64[7]"}, lambda x: pow_(sqrt(mul(x, x)), number(exponent, x)))
    rule = next(r for r in STABLE if r.name == "sqrt(x) ** c")
    after = apply_rules(before, [rule])
    assert after is not before
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -3.0])
    with np.errstate(all="ignore"):
        (made,), (wanted,) = evaluate(after, [x]), evaluate(before, [x])
    np.testing.assert_allclose(made, wanted, rtol=1e-15)
