"""Python numbers keep Python's meaning in converted functions: each row computes what Python does,
in its type, or is refused with a word where the table says so.
"""

from __future__ import annotations

import linecache
import math
import numbers
import typing
from collections.abc import Iterable, Sized
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.ir.errors import WeftError

NAN, INF = math.nan, math.inf
INTS = (-7, -2, 0, 1, 2, 5)
FLOATS = (-7.5, -0.5, 0.0, 0.25, 2.0, 3.7)
Row = tuple[str, tuple[Any, ...]]

# An expression of x, and what x is.
ROWS: dict[str, list[Row]] = {
    "bools": [
        ("(x > 1) + (x > 2)", (*INTS, *FLOATS)),
        ("x + x, x - 1, x * 3, -x, +x, abs(x)", (True, False)),
        ("x & True, x | False, x ^ True, x & 1, x | 2", (True, False)),
        ("x / 2, x // 2, x % 2, x ** 2, x << 3, x >> 1", (True, False)),
        ("x == 1, x < 1, x is True, not x, int(x), float(x), bool(x)", (True,)),
        ("sum([x, True, x]), max(x, False), round(x)", (True, False)),
        ("(x > 1) * 2.5, (x > 1) - (x > 2), -(x > 1), (x > 1) / 4", (0, 2, 3)),
        ("~x", INTS),
        ("not x, not not x", (0, 1, 0.0, 2.5, NAN, True, False, 0j, 1j)),
    ],
    "ints": [
        ("x + 3, x - 3, 3 - x, x * 3, -x, +x, abs(x)", INTS),
        ("x // 3, x % 3, x // -3, x % -3, divmod(x, 3), divmod(x, -3), -7 // (x + 9)", INTS),
        ("x / 3, x / 4.0, x + 0.5, x * 2.0, x - 1j", INTS),
        ("x ** 2, x ** 3, x ** 0, x ** 0.5 if x > 0 else 0.0, 2.0 ** x", INTS),
        ("2 ** abs(x), (-1) ** abs(x), 10 ** (x % 4), x ** abs(x)", INTS),
        ("x & 6, x | 6, x ^ 6, x & -4, ~x & 0xFF, x ^ -1", (*INTS, -(2**62))),
        ("x >> 1, x >> 63, x >> 64, x >> 1000, x << 2, 1 << abs(x)", INTS),
        ("x < 2**70, x == 2**70, x > -(2**70), -(2**70) < x < 2**70", INTS),
        ("x * 2.0 + 2**70, min(x, 3), max(x, 3), max(3, x, 1), min([x, 2, 1])", INTS),
        ("int(x), float(x), bool(x), round(x), round(x, 2)", INTS),
        ("x in (1, 2, 3), x not in [1], x in range(0, 10, 2), 1 <= x < 5 != 3", INTS),
        ("[10, 20, 30, 40][x % 4], (1.5, 2.5)[x % 2], [1, 2, 3][-1 - x % 3]", INTS),
        ("x and 5, x or 5, x and x > 1, x or x < 1", INTS),
        ("pow(x, 2), pow(2, abs(x)), sum([x, 1, x]), sum([x, 0.5])", INTS),
        ("x.real, x.imag, x.conjugate()", INTS),
        ("x == 'abc', x != 'abc', x == None, x is None, x is not None", INTS),
    ],
    "floats": [
        ("x + 3, x - 3, 3 - x, x * 3, -x, +x, abs(x)", (*FLOATS, INF, -INF)),
        ("x // 3, x % 3, x // -3, x % -3, divmod(x, 3), divmod(x, -0.7)", FLOATS),
        ("x // INF, x % INF, x // -INF, x % -INF", (1.5, -1.5, 0.0)),
        ("x ** 2, x ** 3, x ** 0, abs(x) ** 0.5, 2 ** x, x ** 2.0", FLOATS),
        ("x < NAN, x == NAN, x != NAN, NAN < x < 3, not x < NAN", FLOATS),
        ("x == x, x != x, x < x, not x == x, x in (1, 2), max(x, 1.0) if x == x else 1.0", (NAN,)),
        ("int(x), int(-x), round(x), round(-x), bool(x)", (*FLOATS, 0.5, 1.5, 2.5, -2.5, 1e15)),
        (
            "round(x, 1), round(x, 2), round(x, 0), round(x, -1)",
            (*FLOATS, 2.675, 1.005, 0.125, 25.0),
        ),
        (
            "round(x, 3), round(-x, 7), round(x, 15), round(x, 22)",
            (*FLOATS, 2.6755, 1e16, 1e300, 5e-324),
        ),
        ("round(x, -3), round(x, 5)", (2500.0, 1500.0, -2500.5, INF, NAN, 1e22)),
        ("x and 2.5, x or 2.5, x and x > 1, 0.0 if x else 1.0", (*FLOATS, NAN)),
        ("1 + x, True + x, x + 1j, 2**40 * x", FLOATS),
        ("x.real, x.imag, x.conjugate()", FLOATS),
        ("0.0 * x, 1.0 / (x * 1e300), x * 1e308 * 10.0", (2.5, -2.5)),
        ("[1.5, 2.5][x > 1], (3, 4)[int(x > 1)]", FLOATS),
    ],
    "complex": [
        ("x + 1, x * 2.5, x - 1j, x / 2, -x, +x, abs(x), x ** 2, x == 1, x != 2j", (3 + 4j, -1j)),
        ("x.real, x.imag, x.conjugate(), bool(x), not x, x and 1j", (3 + 4j, -1j, 0j)),
    ],
    "math": [
        ("math.sin(x), math.cos(x), math.atan(x), math.exp(x), math.tanh(x)", (*INTS, *FLOATS)),
        (
            "math.sqrt(abs(x)), math.cbrt(x), math.hypot(x, 3), math.hypot(x, 3, 4)",
            (*INTS, *FLOATS),
        ),
        ("math.log(x), math.log(x, 10), math.log2(x), math.log10(x), math.log1p(x)", (1, 2, 5.5)),
        ("math.floor(x), math.ceil(x), math.trunc(x)", (*INTS, *FLOATS, -2.5)),
        ("math.isnan(x), math.isinf(x), math.isfinite(x), math.isnan(x) + 1", (1, NAN, INF, 2.5)),
        (
            "math.isclose(x, 1), math.isclose(x, 1, rel_tol=1e-3), math.isclose(1, x, abs_tol=.1)",
            (1 + 1e-8, 1 + 1e-10, 0.95, INF),
        ),
        ("math.fmod(x, 3), math.copysign(2, x), math.fabs(x), math.pow(x, 2)", (*INTS, *FLOATS)),
        ("math.gcd(x, 12), math.gcd(x, 12, 8), math.lcm(x, 4), math.gcd(x)", INTS),
        ("math.modf(x), math.frexp(x), math.ldexp(x, 3)", FLOATS),
        ("math.degrees(x), math.radians(x), math.atan2(x, -1), math.dist((x, 1), (2, 3))", FLOATS),
        ("math.erf(x), math.erfc(x), math.gamma(x), math.lgamma(x)", (0.5, 3.0, 4)),
        ("math.prod([x, 2, x]), math.prod([x, 2], start=0.5)", INTS),
        ("abs(x) > math.pi, math.e * x, x < math.inf", FLOATS),
    ],
    "classes": [
        ("isinstance(x, float), isinstance(x, int), isinstance(x, bool)", (1, 1.5, True, 1j)),
        (
            "isinstance(x, complex), isinstance(x, (int, float)), isinstance(x, int | float)",
            (1, 1.5, True, 1j),
        ),
        (
            "isinstance(x, np.ndarray), isinstance(x, np.generic), isinstance(x, np.number)",
            (1, 1.5, np.ones(2), np.float32(1), np.array(1.0)),
        ),
        (
            "isinstance(x, numbers.Number), isinstance(x, numbers.Integral)",
            (1, 1.5, True, 1j, np.float64(1)),
        ),
        (
            "isinstance(x, Iterable), isinstance(x, Sized), isinstance(x, typing.SupportsFloat)",
            (1, np.ones(2)),
        ),
        (
            "isinstance(x, str), isinstance(x, list), isinstance(x, object), x is None",
            (1, np.ones(2)),
        ),
        (
            "isinstance(x, float), isinstance(x, np.floating)",
            (np.float64(1), np.float32(1), np.array(1.0)),
        ),
        ("isinstance(x > 1, bool), isinstance(x + 1, int), isinstance(x / 1, float)", (1, 2)),
        ("isinstance(np.sin(x), np.float64)", (1.5, np.ones(2))),
        ("isinstance(np.sin(x), np.ndarray)", (1.5, np.ones(2))),
        (
            "isinstance(x[0], np.float64), isinstance(x.sum(), np.ndarray)",
            (np.ones(2),),
        ),
        ("isinstance(np.asarray(x), np.ndarray), isinstance(float(np.sin(x)), np.generic)", (1.5,)),
        (
            "np.isscalar(x), np.ndim(x), np.shape(x), np.size(x)",
            (1, 1.5, True, np.ones(2), np.float64(1), np.array(1.0)),
        ),
        (
            "hasattr(x, '__len__'), hasattr(x, 'shape'), hasattr(x, '__iter__')",
            (1, 1.5, np.ones(2), np.float64(1)),
        ),
        ("hasattr(x, 'is_integer'), hasattr(x, 'bit_length'), callable(x)", (1, 1.5, np.ones(2))),
        (
            "type(x) is float, type(x) == int, type(x) in (int, float), type(x) is np.ndarray",
            (1, 1.5, True, np.ones(2)),
        ),
        ("type(x)(2.7), type(x)(1)", (1, 1.5, True)),
        (
            "getattr(x, 'ndim', 0), getattr(x, 'shape', ()), getattr(x, 'missing', 7)",
            (1, 1.5, np.ones(2)),
        ),
        ("type(x).__name__ == 'float', issubclass(type(x), numbers.Number)", (1, 1.5)),
    ],
    "arrays": [
        ("a32 * x, a32 + x, x / a32, a32 ** x", (2, 2.5)),
        ("(a32 * (x > 1)).dtype == np.float32, (a8 + (x > 1)).dtype == np.int8", (1, 2)),
        ("np.sin(x) * a32, np.float64(x) * a32, np.array(x) * a32", (1.5,)),
        ("np.add(x, x), np.add(x > 1, x > 2), np.sum([x, x]), np.int32(7) * x", (1, 2)),
        ("a8 + x, a8 * x, x - a8", (1, 2)),
    ],
}  # fmt: skip

# These are refused: what they give, or its type, is only known when the program runs.
REFUSED: list[Row] = [
    ("[0.0] * x, x * [1]", (3,)),
    ("(0.0,) * x", (3,)),
    ("'abc' * x", (3,)),
    ("10 ** -x", (3,)),
    ("np.array([0.0] * x)", (3,)),
    ("[1, 2, 3][:x]", (2,)),
    ("x + 2**70", (3,)),
    ("x & 0xFFFFFFFFFFFFFFFF", (3,)),
    ("pow(x, 5, 7)", (3,)),
    ("math.factorial(x), math.remainder(x, 3)", (3,)),
    ("round(x, -1)", (15,)),
    ("chr(x), bin(x), hex(x)", (65,)),
    ("isinstance(1 if x > 2 else 0.5, int)", (3,)),
    ("isinstance(x and 0.5, float)", (3,)),
    ("type(max(x, 2.5) * 2) is int", (3,)),
    ("isinstance([1, 0.5][x % 2] + 1, float)", (3,)),
    ("(x > 2 and x) is True", (3,)),
    ("x", (2**63, -(2**63) - 1)),
]

# These raise what Python raises, when the program runs.
RAISED: list[Row] = [
    ("1 / x, x // 1", (0, 0.0, False)),
    ("1j / x", (0, 0.0, 0j)),
    ("5 // x", (0, 0.0)),
    ("5.5 % x", (0, 0.0)),
    ("divmod(5, x)", (0, 0.0)),
    ("0.0 ** x, 1", (-1.0, -2)),
    ("x ** -1", (0, 0.0)),
    ("x ** -1.5", (0, 0.0)),
    ("10.0 ** x", (400, 400.0)),
    ("x ** 2", (1e200,)),
    ("1 << x, 1 >> x", (-1,)),
    ("int(x)", (NAN, INF, -INF)),
    ("round(x)", (NAN, INF)),
    ("math.floor(x)", (NAN, INF)),
    ("math.trunc(x)", (NAN, -INF)),
    ("math.log(x)", (0, 0.0, -1.0)),
    ("math.log(2, x)", (1, 0.0)),
    ("math.sqrt(x)", (-1, -0.5)),
    ("math.exp(x)", (1000, 1000.0)),
    ("math.acos(x)", (1.5, -2)),
    ("math.sin(x)", (INF,)),
    ("math.atanh(x)", (1, -1.0)),
    ("math.fmod(1, x)", (0.0,)),
    ("math.pow(x, 0.5)", (-1.0,)),
    ("1.0 / x if x < 1 else 0.0", (0.0,)),
    ("x < 1 and 1.0 / x > 0", (0.0,)),
    ("[1 / v for v in (2, x, 1)]", (0,)),
]
# These have a value in Python, which no program has; so they raise, with a word.
BEYOND: list[Row] = [
    ("100 ** x", (20,)),
    ("x * x * x * x", (10**5, -(10**5))),
    ("x + x", (2**62, -(2**62) - 1)),
    ("x - (-x)", (2**62,)),
    ("1 << x", (63, 70)),
    ("x << 40", (2**30, -(2**30))),
    ("10 ** x", (-2,)),
    ("(-x) ** 0.5", (8.0,)),
    ("x ** x", (-1.5,)),
    ("sum([x, x, x])", (2**62,)),
]
# Values decide of which type a number is, but not what is asked.
MIXED: list[Row] = [
    ("isinstance(1 if x > 2 else 0.5, (int, float)), isinstance(max(x, 0.5) / 2, float)", (1, 3)),
    ("1 / max(x, 2.5), max(x, 0.5) // 1, (x > 2 and x) + 1, -max(x, 0.5)", (0, 3)),
    ("isinstance(max(x, 0.5) > 1, bool), isinstance(max(x, 2), int)", (0, 3)),
]

# These raise in Python while the function is traced: what is wrong is known by the types.
ERRORS: list[Row] = [
    ("x & 1.5", (1, 2.5)),
    ("x << 1", (2.5,)),
    ("~x", (2.5,)),
    ("x < 1j", (1, 2.5, 1j)),
    ("x // 1j", (1, 1j)),
    ("x % 2", (1j,)),
    ("int(x)", (1j,)),
    ("float(x)", (1j,)),
    ("round(x)", (1j,)),
    ("[1] + x", (1, 2.5)),
    ("x + [1]", (1, 2.5)),
    ("[1] * x", (2.5,)),
    ("x + 'a'", (1, 2.5)),
    ("len(x)", (1, 2.5)),
    ("iter(x)", (1, 2.5)),
    ("x @ x", (1, 2.5)),
    ("math.gcd(x, 2)", (1.5,)),
]


def function(expression: str) -> Any:
    source = f"def f(x, a32, a8):\n    return {expression}\n"
    name = f"<{expression}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {
        **{"np": np, "math": math, "numbers": numbers, "typing": typing},
        **{"NAN": NAN, "INF": INF, "Iterable": Iterable, "Sized": Sized},
    }
    exec(compile(source, name, "exec"), names)
    return names["f"]


def arguments(x: Any) -> tuple[Any, ...]:
    return x, np.array([1.5, -2.5], np.float32), np.array([1, 2], np.int8)


def leaves(value: Any) -> list[Any]:
    if not isinstance(value, tuple | list):
        return [np.asarray(value)]
    return [leaf for part in value for leaf in leaves(part)]


def check(expression: str, x: Any, backend: str) -> None:
    plain = function(expression)
    with np.errstate(all="ignore"):
        wanted = leaves(plain(*arguments(x)))
    made = leaves(wf.jit(plain, control_flow=True, backend=backend)(*arguments(x)))
    assert len(made) == len(wanted)
    for number, (one, other) in enumerate(zip(made, wanted, strict=True)):
        message = f"{expression}, number {number}, at {x!r}"
        assert one.dtype == other.dtype or _takes_what_it_meets(expression), message
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=0, err_msg=message)


def _takes_what_it_meets(expression: str) -> bool:
    """Numbers of two types on two ways become the wider one: docs/control_flow.md."""
    return any(word in expression for word in ("min(", "max(", " if ", " and ", " or "))


@pytest.mark.filterwarnings("ignore:Bitwise inversion")
@pytest.mark.parametrize("kind", ROWS)
def test_numbers_are_as_in_python(kind: str) -> None:
    for expression, values in ROWS[kind]:
        for x in values:
            check(expression, x, "reference")


@pytest.mark.parametrize("kind", ["bools", "ints", "floats"])
def test_numbers_are_as_in_python_natively(kind: str) -> None:
    for expression, values in ROWS[kind]:
        check(expression, values[0], "cpu")
        check(expression, values[-1], "cpu")


@pytest.mark.parametrize("expression, values", REFUSED)
def test_what_is_only_known_when_the_program_runs_is_refused(
    expression: str, values: tuple[Any, ...]
) -> None:
    for x in values:
        compiled = wf.jit(function(expression), control_flow=True, backend="reference")
        with pytest.raises(WeftError) as error:
            compiled(*arguments(x))
        assert len(str(error.value)) > 40


@pytest.mark.parametrize("expression, values", RAISED)
def test_exceptions_of_values_are_pythons(expression: str, values: tuple[Any, ...]) -> None:
    for x in values:
        with pytest.raises((ArithmeticError, ValueError)) as wanted:
            function(expression)(*arguments(x))
        for backend in ("reference", "cpu") if x is values[0] else ("reference",):
            compiled = wf.jit(function(expression), control_flow=True, backend=backend)
            with pytest.raises(type(wanted.value)) as made:
                compiled(*arguments(x))
            assert str(made.value) == str(wanted.value)


@pytest.mark.parametrize("expression, values", BEYOND)
def test_what_no_program_can_compute_raises(expression: str, values: tuple[Any, ...]) -> None:
    for x in values:
        function(expression)(*arguments(x))
        compiled = wf.jit(function(expression), control_flow=True, backend="reference")
        with pytest.raises(WeftError, match="in Python|Python's ints"):
            compiled(*arguments(x))


@pytest.mark.parametrize("expression, values", MIXED)
def test_numbers_of_which_values_decide_the_type(expression: str, values: tuple[Any, ...]) -> None:
    for x in values:
        check(expression, x, "reference")


def test_numbers_of_which_steps_decide_the_type() -> None:
    def total(x: Any, n: int) -> Any:
        y: Any = 0
        for _ in range(n):
            y = y + x
        return y, isinstance(y, float)

    with pytest.raises(WeftError, match="decide whether it is float or int"):
        wf.trace(total, control_flow=True)(0.5, 3)


def test_indices_and_counters_need_no_checks() -> None:
    def counts(a: Any, n: int) -> Any:
        total, k = 0, 0
        for i in range(1000):
            total = total + i * i * 3 + a[i % 4] // (i + 1)
            k += 1
        while k < 2000:
            k = k + 7
        for i in range(n):
            total = total + i % 5
        return total, k

    graph = str(wf.trace(counts, control_flow=True)(np.arange(4), 3))
    assert "fail(" not in graph and "scan" in graph
    checked = str(wf.trace(lambda n, m: n * m + 1 / m, control_flow=True)(3, 4))
    assert checked.count("fail(") == 2


@pytest.mark.parametrize("expression, values", ERRORS)
def test_errors_of_types_are_pythons(expression: str, values: tuple[Any, ...]) -> None:
    for x in values:
        with pytest.raises(TypeError):
            function(expression)(*arguments(x))
        with pytest.raises((TypeError, WeftError)):
            wf.jit(function(expression), control_flow=True, backend="reference")(*arguments(x))


def test_match_by_class_is_refused_for_what_is_traced() -> None:
    def kind(x: Any, known: Any) -> Any:
        match known:
            case float():
                y = 1
            case {"a": int()}:
                y = 2
            case _:
                y = 3
        match x:
            case 7.5 if y > 5:
                y = 4
        match (x, known):
            case (float(), _):
                y = 5
        return y

    with pytest.raises(WeftError, match="a `match` asks for the class of a traced value"):
        wf.trace(kind, control_flow=True)(2.5, 1.5)
    static = wf.jit(kind, control_flow=True, static_argnames=("x", "known"))
    assert static(2.5, 1.5) == static(2.5, "text") == 5


def test_libraries_whose_names_begin_with_numpy_are_converted() -> None:
    def ours(x: Any) -> Any:
        return x if x > 0 else -x

    ours.__module__ = "numpy_financial"
    compiled = wf.jit(lambda x: ours(x) + 1, control_flow=True, backend="reference")
    assert compiled(-2.0) == 3.0


def test_what_is_raised_in_any_case_comes_before_what_values_may_raise() -> None:
    def checked(x: Any, mode: str) -> Any:
        y = 1 / x
        if mode not in ("a", "b"):
            raise ValueError(f"no such mode: {mode}")
        return y

    compiled = wf.jit(checked, static_argnames="mode", backend="reference")
    assert compiled(2.0, mode="a") == 0.5
    with pytest.raises(ValueError, match="no such mode: c"):
        compiled(2.0, mode="c")
    with pytest.raises(ZeroDivisionError):
        compiled(0.0, mode="a")
