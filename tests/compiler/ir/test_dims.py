"""Symbolic sizes against plain integers: what the algebra says must hold for every value."""

from __future__ import annotations

import operator
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from weft.compiler.ir import dims, solving, sympy_sizes
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.reader import Reader, parse_type

# An expression: a number, the name of a symbol, or an operator with its two sides.
Tree: TypeAlias = "int | str | tuple[str, Any, Any]"

NAMES = ("k", "m", "n")
BINARY: dict[str, tuple[Callable[[Any, Any], Size], Callable[[int, int], int]]] = {
    "+": (operator.add, operator.add),
    "-": (operator.sub, operator.sub),
    "*": (operator.mul, operator.mul),
    "//": (operator.floordiv, operator.floordiv),
    "%": (operator.mod, operator.mod),
    "max": (dims.maximum, max),
    "min": (dims.minimum, min),
}
RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class World:
    """Symbols by name, and several values for all of them that keep to the bounds."""

    symbols: dict[str, Dim]
    samples: list[dict[str, int]]


@st.composite
def worlds(draw: st.DrawFn, widths: tuple[int | None, ...] = (None, 0, 5, 20)) -> World:
    symbols, ranges = {}, {}
    for name in NAMES:
        low = draw(st.sampled_from([1, 1, 0, 2, 8, -3]))
        width = draw(st.sampled_from(widths))
        symbols[name] = dims.symbol(name, lower=low, upper=None if width is None else low + width)
        ranges[name] = st.integers(low, low + (30 if width is None else width))
    samples = draw(st.lists(st.fixed_dictionaries(ranges), min_size=4, max_size=8))
    return World(symbols, samples)


def trees(max_leaves: int = 6) -> st.SearchStrategy[Tree]:
    def extend(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        power = st.tuples(st.just("**"), inner, st.integers(0, 3))
        return st.tuples(st.sampled_from(sorted(BINARY)), inner, inner) | power

    leaves: st.SearchStrategy[Tree] = st.sampled_from(NAMES) | st.integers(-4, 6)
    return st.recursive(leaves, extend, max_leaves=max_leaves)


def as_size(tree: Tree, symbols: dict[str, Dim]) -> Size:
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return symbols[tree]
    sign, left, right = tree
    if sign == "**":
        power: Size = as_size(left, symbols) ** right
        return power
    divisor = as_size(right, symbols)
    assume(sign not in ("//", "%") or divisor != 0)
    return BINARY[sign][0](as_size(left, symbols), divisor)


def as_number(tree: Tree, values: dict[str, int]) -> int | None:
    """The value of an expression by Python's integers; None where it divides by zero."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return values[tree]
    sign, left, right = tree
    low, high = as_number(left, values), as_number(right, values)
    if low is None or high is None or (sign in ("//", "%") and high == 0):
        return None
    return int(low**high) if sign == "**" else BINARY[sign][1](low, high)


def numbers(tree: Tree, world: World) -> list[tuple[dict[str, int], int]]:
    """Each sample with the value that the expression has for it."""
    pairs = [(sample, as_number(tree, sample)) for sample in world.samples]
    return [(sample, number) for sample, number in pairs if number is not None]


# --- the algebra --------------------------------------------------------------------------------


@settings(deadline=None, max_examples=150)
@given(worlds(), trees())
def test_a_size_evaluates_to_what_integers_give(world: World, tree: Tree) -> None:
    size = as_size(tree, world.symbols)
    for sample, number in numbers(tree, world):
        assert dims.evaluate(size, sample) == number


@settings(deadline=None, max_examples=100)
@given(worlds(widths=(None, 5, 20)), trees(3), trees(3), trees(3))
def test_polynomials_have_one_form(world: World, first: Tree, second: Tree, third: Tree) -> None:
    a, b, c = (as_size(tree, world.symbols) for tree in (first, second, third))
    for left, right in (
        (a + b, b + a),
        (a * b, b * a),
        ((a + b) + c, a + (b + c)),
        ((a * b) * c, a * (b * c)),
        (a * (b + c), a * b + a * c),
        ((a + b) - b, a),
        (a - b, -(b - a)),
        (a + 0, a),
        (a * 1, a),
        ((a + b) ** 2, a * a + 2 * a * b + b * b),
        (dims.maximum(a, b), dims.maximum(b, a)),
        (dims.minimum(a, b), dims.minimum(b, a)),
        (dims.product([a, b, c]), a * b * c),
    ):
        assert left == right
        assert hash(left) == hash(right)
        assert str(left) == str(right)


@settings(deadline=None, max_examples=100)
@given(worlds(), trees(4), trees(4))
def test_equal_sizes_have_equal_values(world: World, first: Tree, second: Tree) -> None:
    left, right = as_size(first, world.symbols), as_size(second, world.symbols)
    if left != right:
        return
    for sample, number in numbers(first, world):
        assert as_number(second, sample) in (number, None)


def test_operations_return_an_int_when_they_can() -> None:
    n, m = dims.symbol("n"), dims.symbol("m")
    for size, number in (
        (n - n, 0),
        (n * 0, 0),
        (n**0, 1),
        ((2 * n) // n, 2),
        ((n + m) % 1, 0),
        ((4 * n + 6) % 2, 0),
        (dims.maximum(n, 0) - n, 0),
        (dims.minimum(n, 1), 1),
        (0 // n, 0),
    ):
        assert type(size) is int
        assert size == number


def test_quotients_take_out_what_divides() -> None:
    n, m = dims.symbol("n"), dims.symbol("m")
    assert (n + 2) // 2 == n // 2 + 1
    assert (n * m + m) // m == n + 1
    assert (6 * n + 5) // 3 == 2 * n + 1
    assert (n * n - m * m) // (n + m) == n - m
    assert n // 1 == n
    assert n // -1 == -n


def test_python_numbers_and_sizes_mix_on_both_sides() -> None:
    n = dims.symbol("n")
    for made, text in (
        (3 - n, "-n + 3"),
        (2 * n, "2*n"),
        (7 // n, "(7//n)"),
        (7 % n, "-(7//n)*n + 7"),
        (n**2 - 1, "n**2 - 1"),
        (-n, "-n"),
        (+n, "n"),
        (n // 2, "(n//2)"),
        (divmod(n, 2)[1], "n - 2*(n//2)"),
    ):
        assert str(made) == text
        assert repr(made) == text


@pytest.mark.parametrize("other", [1.5, 2j, None])
@pytest.mark.parametrize("sign", ["+", "-", "*", "//", "%", *RELATIONS])
def test_other_objects_are_refused(sign: str, other: Any) -> None:
    operation = RELATIONS[sign] if sign in RELATIONS else BINARY[sign][0]
    with pytest.raises(TypeError):
        operation(dims.symbol("n"), other)


def test_equality_sees_bounds_everywhere() -> None:
    free, bounded, other = dims.symbol("n"), dims.symbol("n", lower=8), dims.symbol("m")
    assert free != bounded
    assert free // 2 != bounded // 2
    assert dims.maximum(free, other) != dims.maximum(bounded, other)
    assert bounded == dims.symbol("n", lower=8)
    assert hash(bounded) == hash(dims.symbol("n", lower=8))
    assert free != "n"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda n: n // 0, "division of the size n by zero"),
        (lambda n: n % 0, "division of the size n by zero"),
        (lambda n: dims.floor_divide(3, 0), "division of the size 3 by zero"),
        (lambda n: n**-1, "n**-1 is no integer; sizes take powers from 0 up"),
        (lambda n: dims.symbol("n", lower=5, upper=2), "no size n is at least 5 and at most 2"),
        (lambda n: dims.evaluate(n + 1, {"m": 2}), "the size n + 1 needs a value for n"),
    ],
)
def test_faults_say_what_is_wrong(make: Callable[[Dim], object], message: str) -> None:
    with pytest.raises(ShapeError) as caught:
        make(dims.symbol("n"))
    assert str(caught.value) == message


# --- bounds, order, divisibility ----------------------------------------------------------------


@settings(deadline=None, max_examples=150)
@given(worlds(), trees())
def test_bounds_hold_for_every_value(world: World, tree: Tree) -> None:
    size = as_size(tree, world.symbols)
    low, high = dims.lower(size), dims.upper(size)
    for _, number in numbers(tree, world):
        assert low is None or low <= number
        assert high is None or number <= high


@settings(deadline=None, max_examples=100)
@given(
    st.integers(0, 10**18),
    st.tuples(*[st.integers(1, 50)] * 4),
    st.integers(-5, 5),
)
def test_bounds_of_large_sizes_are_exact(value: int, factors: tuple[int, ...], shift: int) -> None:
    n = dims.symbol("n", lower=value, upper=value)
    a, b, c, d = factors
    size = 3 * (((n * a + b) // c + shift) // d) - n
    number = dims.evaluate(size, {"n": value})
    low, high = dims.lower(size), dims.upper(size)
    assert low is not None and high is not None
    assert low <= number <= high


@settings(deadline=None, max_examples=100)
@given(worlds(), trees(4), trees(4), st.sampled_from(sorted(RELATIONS)))
def test_a_decided_comparison_holds_for_every_value(
    world: World, first: Tree, second: Tree, sign: str
) -> None:
    left, right = as_size(first, world.symbols), as_size(second, world.symbols)
    try:
        answer = RELATIONS[sign](left, right)
    except ShapeError as error:
        # Python asks `left < right` as `right > left` when only the right side is symbolic.
        assert str(error).startswith("cannot decide ")
        return
    assert isinstance(answer, bool)
    for sample, number in numbers(first, world):
        other = as_number(second, sample)
        assert other is None or RELATIONS[sign](number, other) == answer


@pytest.mark.parametrize(
    "fact",
    [
        lambda n, m: n >= 1,
        lambda n, m: n > 0,
        lambda n, m: not n < 1,
        lambda n, m: 0 < n,
        lambda n, m: 2 * n >= n,
        lambda n, m: n * m >= 1,
        lambda n, m: n * m + n > n,
        lambda n, m: (n + 1) // 2 >= 1,
        lambda n, m: n // 2 <= n,
        lambda n, m: n - n // 2 >= 0,
        lambda n, m: n % 4 < 4,
        lambda n, m: n % 4 >= 0,
        lambda n, m: 4 * (n // 4) <= n,
        lambda n, m: dims.maximum(n, m) >= n,
        lambda n, m: dims.maximum(n, m) >= m,
        lambda n, m: dims.minimum(n, m) <= n,
        lambda n, m: dims.minimum(n, m) >= 1,
        lambda n, m: dims.maximum(n, m) <= n + m,
        lambda n, m: dims.maximum(n - 1, 0) == n - 1,
        lambda n, m: (n + 2 - 3) // 2 + 1 >= 1,
    ],
)
def test_facts_that_shapes_need_are_decided(fact: Callable[[Dim, Dim], bool]) -> None:
    assert fact(dims.symbol("n"), dims.symbol("m")) is True


def test_upper_bounds_of_symbols_are_used() -> None:
    n = dims.symbol("n", lower=2, upper=10)
    assert (dims.lower(n), dims.upper(n)) == (2, 10)
    assert (dims.lower(3 - n), dims.upper(3 - n)) == (-7, 1)
    assert (dims.lower(n * n), dims.upper(n * n)) == (4, 100)
    assert (dims.lower(n // 4), dims.upper(n // 4)) == (0, 2)
    assert n <= 10
    assert n < 11
    assert dims.maximum(n, 12) == 12
    assert dims.lower(5) == dims.upper(5) == 5
    assert dims.upper(dims.symbol("m")) is None
    assert dims.lower(-dims.symbol("m")) is None


def test_an_even_power_is_not_negative() -> None:
    n = dims.symbol("n", lower=-3)
    assert dims.lower(n**2) == 0
    assert dims.lower(n) == -3


def test_a_product_with_an_even_power_can_be_negative() -> None:
    m, n = dims.symbol("m", lower=-3, upper=5), dims.symbol("n", upper=4)
    assert (dims.lower(m * n**2), dims.upper(m * n**2)) == (-48, 80)


@pytest.mark.parametrize("sign", RELATIONS)
def test_an_undecidable_comparison_says_how_to_decide_it(sign: str) -> None:
    n, m = dims.symbol("n"), dims.symbol("m")
    with pytest.raises(ShapeError) as caught:
        RELATIONS[sign](2 * n, m + 1)
    assert str(caught.value) == (
        f"cannot decide 2*n {sign} m + 1 for all values of m, n; "
        'declare bounds in the spec, such as wf.spec("f32[n>=8]")'
    )


def test_a_bound_of_many_maxima_is_found_soon() -> None:
    """Each maximum can be replaced by two sizes; trying all combinations would never end."""
    total: Size = 0
    for i in range(12):
        total = total + dims.maximum(dims.symbol(f"a{i}"), dims.symbol(f"b{i}"))
    assert dims.lower(total) == 12


def test_a_bound_through_many_quotients_is_found_soon() -> None:
    size: Size = dims.symbol("n")
    for _ in range(14):
        size = (size + 1) // 2
    assert dims.lower(size) == 1


@settings(deadline=None, max_examples=150)
@given(worlds(), trees(4), trees(3))
def test_divisible_sizes_leave_no_rest(world: World, first: Tree, second: Tree) -> None:
    size, divisor = as_size(first, world.symbols), as_size(second, world.symbols)
    for whole in (size, size * divisor):
        if not dims.is_divisible(whole, divisor):
            continue
        for sample in world.samples:
            left, right = as_number(first, sample), as_number(second, sample)
            if left is not None and right:
                assert dims.evaluate(whole, sample) % right == 0


@pytest.mark.parametrize(
    ("size", "divisor", "answer"),
    [
        ("n*m", "n", True),
        ("n*m", "m*n", True),
        ("6*n", "3", True),
        ("2*n + 4", "2", True),
        ("n*m + n", "m + 1", True),
        ("12", "4", True),
        ("12", "5", False),
        ("n", "2", False),
        ("3*n", "2", False),
        ("n + m", "n", False),
        ("n", "0", False),
        ("12", "0", False),
        ("12", "n", False),
    ],
)
def test_divisibility_of_polynomials(size: str, divisor: str, answer: bool) -> None:
    assert dims.is_divisible(read(size), read(divisor)) is answer


def test_a_size_that_cannot_be_zero_is_true() -> None:
    assert bool(dims.symbol("n"))
    assert bool(-dims.symbol("n"))
    with pytest.raises(ShapeError, match="cannot decide whether the symbolic size k is zero"):
        bool(dims.symbol("k", lower=0))


@pytest.mark.parametrize("convert", [int, float, operator.index, lambda n: [0, 1][n], range])
def test_a_size_has_no_fixed_value(convert: Callable[[Any], object]) -> None:
    with pytest.raises(ShapeError) as caught:
        convert(dims.symbol("n") + 1)
    assert str(caught.value) == (
        "the symbolic size n + 1 has no fixed value here; functions of weft.numpy accept it "
        "(weft.numpy.zeros, arange, reshape, ...), plain numpy's array creation does not"
    )


# --- substitution, solving ----------------------------------------------------------------------


@settings(deadline=None, max_examples=150)
@given(worlds(), trees(), st.sets(st.sampled_from(NAMES)))
def test_substituting_some_symbols_then_the_rest_is_the_same(
    world: World, tree: Tree, chosen: set[str]
) -> None:
    size = as_size(tree, world.symbols)
    for sample, number in numbers(tree, world):
        some = {name: sample[name] for name in chosen}
        assert dims.evaluate(dims.substitute(size, some), sample) == number


@settings(deadline=None, max_examples=100)
@given(worlds(), trees(4), trees(3))
def test_a_symbol_can_be_replaced_by_a_size(world: World, tree: Tree, other: Tree) -> None:
    size = as_size(tree, world.symbols)
    replacement = as_size(other, world.symbols)
    low, high = dims.lower(world.symbols["n"]), dims.upper(world.symbols["n"])
    for sample, number in numbers(other, world):
        if (low is not None and number < low) or (high is not None and number > high):
            continue  # `size` may have been simplified by the bounds of n
        expected = as_number(tree, {**sample, "n": number})
        if expected is not None:
            replaced = dims.substitute(size, {"n": replacement})
            assert dims.evaluate(replaced, sample) == expected


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 50), st.integers(1, 50), st.integers(1, 50), st.permutations(range(4)))
def test_solve_finds_the_values_in_any_order(n: int, m: int, k: int, order: list[int]) -> None:
    values = {"n": n, "m": m, "k": k}
    sizes = [read("n"), read("n*m + 1"), read("3*k - m"), read("max(n, m)")]
    equations = [(sizes[i], dims.evaluate(sizes[i], values)) for i in order]
    assert solving.solve(equations) == values


def test_solve_starts_from_what_is_known() -> None:
    assert solving.solve([(read("n*m"), 12)], {"n": 3}) == {"n": 3, "m": 4}
    assert solving.solve([(4, 4)]) == {}


@pytest.mark.parametrize(
    ("equations", "message"),
    [
        ([("n", 3), ("n", 4)], "n is 3 here, not 4"),
        ([("3", 4)], "3 is 3 here, not 4"),
        ([("n", 3), ("2*n", 7)], "2*n is 6 here, not 7"),
        ([("2*n", 7)], "no integer n makes 2*n = 7"),
        ([("n*m", 6)], "cannot solve m*n = 6 for m, n; give a spec with a bare m, n"),
        ([("n//2", 6)], "cannot solve (n//2) = 6 for n; give a spec with a bare n"),
        ([("n**2", 9)], "cannot solve n**2 = 9 for n; give a spec with a bare n"),
        (
            [("n", 0)],
            "n is 0 here, but it was declared n >= 1; "
            "say n>=0 in the spec if that size is meant to work",
        ),
    ],
)
def test_solve_refuses(equations: list[tuple[str, int]], message: str) -> None:
    with pytest.raises(ShapeError) as caught:
        solving.solve([(read(text), number) for text, number in equations])
    assert str(caught.value) == message


def test_solve_keeps_to_an_upper_bound() -> None:
    n = dims.symbol("n", upper=8)
    assert solving.solve([(n, 8)]) == {"n": 8}
    with pytest.raises(ShapeError, match="n is 9 here, but it was declared n <= 8"):
        solving.solve([(n, 9)])


def test_symbols_are_found_inside_quotients_and_maxima() -> None:
    size = read("max(n, m//k) + (7//j)*i")
    assert {symbol.name for symbol in dims.symbols(size)} == set("nmkji")
    assert dims.symbols(7) == set()


# --- SymPy, text, pickling ----------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(worlds(), trees(4))
def test_sympy_gives_the_same_values(world: World, tree: Tree) -> None:
    expression = sympy_sizes.to_sympy(as_size(tree, world.symbols))
    for sample, number in numbers(tree, world)[:2]:
        by_symbol = {symbol: sample[symbol.name] for symbol in expression.free_symbols}
        assert int(expression.subs(by_symbol)) == number


def test_sympy_symbols_have_the_sign_of_their_bound() -> None:
    for lower, positive, nonnegative in ((1, True, True), (0, None, True), (-2, None, None)):
        expression = sympy_sizes.to_sympy(dims.symbol("n", lower=lower))
        assert expression.is_integer
        assert expression.is_positive is positive
        assert expression.is_nonnegative is nonnegative
    assert sympy_sizes.to_sympy(7) == 7


@settings(deadline=None, max_examples=100)
@given(worlds(), trees())
def test_the_text_of_a_size_reads_back(world: World, tree: Tree) -> None:
    size = as_size(tree, world.symbols)
    back = read(str(size), world.symbols)
    assert back == size
    assert str(back) == str(size)
    low = dims.lower(size)
    if low is not None and low >= 0:
        assert parse_type(f"f32[{size}]", world.symbols).shape == (size,)


def test_bounds_can_be_given_where_a_spec_uses_a_symbol_first() -> None:
    shape = parse_type("f32[n>=8, 2*n, m<=4, k>=2<=3]").shape
    assert shape[0] == dims.symbol("n", lower=8)
    assert shape[1] == 2 * dims.symbol("n", lower=8)
    assert shape[2] == dims.symbol("m", upper=4)
    assert shape[3] == dims.symbol("k", lower=2, upper=3)


def read(text: str, symbols: dict[str, Dim] | None = None) -> Size:
    reader = Reader(text)
    reader.symbols.update(symbols or {})
    size = reader.read_size()
    assert reader.at_end()
    return size


IN_ANOTHER_PROCESS = """
import pickle, sys
from weft.compiler.ir.reader import parse_type
loaded = pickle.loads(sys.stdin.buffer.read())
fresh = parse_type("f32[n, max(n, m)//2]")
assert loaded == fresh and loaded.shape == fresh.shape
assert {loaded: 1}[fresh] == 1
assert {loaded.shape[1]: 1}[fresh.shape[1]] == 1
"""


def test_types_and_sizes_are_keys_after_pickling_into_another_process() -> None:
    type = parse_type("f32[n, max(n, m)//2]")
    hash(type), [dims.lower(size) for size in type.shape]
    run = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS],
        input=pickle.dumps(type),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "7"},
        capture_output=True,
    )
    assert run.returncode == 0, run.stderr.decode()
