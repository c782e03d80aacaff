"""What users see when things go wrong: the fact, their line, and what to do instead.

Each bad call is made on a compiled function that good input is given to afterwards.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import weft as wf

VECTOR = np.array([1.0, 2.0, 3.0])


@dataclass(frozen=True)
class Bad:
    """A function, arguments that it refuses, what the text must say, and arguments it takes.

    Without good arguments the function is replaced by a harmless one afterwards.
    """

    function: Callable[..., Any]
    bad: tuple[Any, ...]
    says: tuple[str, ...]
    good: tuple[Any, ...] | None = None
    error: type[Exception] = wf.TraceError

    @property
    def name(self) -> str:
        return self.function.__name__


def refuse(bad: Bad) -> str:
    """The text of the error; the function works afterwards, and refuses bad input again."""
    fails = [True]

    @functools.wraps(bad.function)
    def function(*args: Any) -> Any:
        return bad.function(*args) if fails[0] or bad.good is not None else args[0]

    compiled = wf.jit(function, control_flow=False)
    for _ in range(2):
        with pytest.raises(bad.error) as caught:
            compiled(*bad.bad)
        if bad.good is not None:
            compiled(*bad.good)
    fails[0] = False
    if bad.good is None:
        np.testing.assert_array_equal(compiled(*bad.bad), bad.bad[0])
    return str(caught.value)


# --- Python constructs that need a value ----------------------------------------------------------


def if_statement(x: Any) -> Any:
    total = x.sum()
    if total > 0:
        return x
    return -x


def elif_statement(x: Any) -> Any:
    if x is None:
        return x
    elif x[0] > 0:
        return x
    return -x


def if_expression(x: Any) -> Any:
    return x if x[0] > 0 else -x


def if_over_lines(x: Any) -> Any:
    if (
        x[0] > 0  # the line that is shown
    ):
        return x
    return -x


def if_on_an_array(x: Any) -> Any:
    if x:
        return x
    return -x


def while_statement(x: Any) -> Any:
    y = x.sum()
    while y > 1:
        y = y / 2
    return y


def for_statement(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = x * 2
    return x


def assert_statement(x: Any) -> Any:
    assert x[0] > 0
    return x


def assert_with_text(x: Any) -> Any:
    assert np.all(x > 0), "all must be positive"
    return x


def and_expression(x: Any) -> Any:
    return x[0] > 0 and x[1] > 0


def or_expression(x: Any) -> Any:
    return x[0] > 0 or x[1] > 0


def not_expression(x: Any) -> Any:
    return not x[0]


def chained_comparison(x: Any) -> Any:
    return 0 < x[0] < 2


def in_expression(x: Any) -> Any:
    return 1.0 in x


def builtin_max(x: Any) -> Any:
    return max(x[0], x[1])


def condition_in_a_comprehension(x: Any) -> Any:
    return [v for v in x if v > 0]


IF_HINT = "use wf.cond(p, f, g, *args), or np.where(p, a, b) for arrays"
LOGICAL_HINT = "np.logical_and/or/not"

CONSTRUCTS: list[Bad] = [
    Bad(if_statement, (VECTOR,), ("a Python `if`", "bool[] (`total > 0`)", IF_HINT, ": total > 0")),
    Bad(elif_statement, (VECTOR,), ("a Python `if`", "`x[0] > 0`", IF_HINT), (None,)),
    Bad(if_expression, (VECTOR,), ("a Python `if`", "`x[0] > 0`", IF_HINT)),
    Bad(if_over_lines, (VECTOR,), ("`x[0] > 0`", "wf.cond")),
    Bad(
        if_on_an_array, (VECTOR,), ("a Python `if`", "f64[3] (the argument x)", ": if x:"), ([1.0],)
    ),
    Bad(
        while_statement,
        (VECTOR,),
        ("a Python `while`", "`y > 1`", "wf.while_loop(condition, body,"),
    ),
    Bad(for_statement, (VECTOR, 3), ("range()", "the argument n", "wf.fori_loop or wf.scan")),
    Bad(assert_statement, (VECTOR,), ("a Python `assert`", "outside of the traced function")),
    Bad(assert_with_text, (VECTOR,), ("a Python `assert`", "`np.all(x > 0)`")),
    Bad(and_expression, (VECTOR,), ("a Python `and`", "`x[0] > 0`", LOGICAL_HINT)),
    Bad(or_expression, (VECTOR,), ("a Python `or`", "`x[0] > 0`", LOGICAL_HINT)),
    Bad(not_expression, (VECTOR,), ("a Python `not`", "`x[0]`", LOGICAL_HINT)),
    Bad(chained_comparison, (VECTOR,), ("a Python bool", "0 < x[0] < 2", LOGICAL_HINT)),
    Bad(in_expression, (VECTOR,), ("`in`", "np.any(x == item)")),
    Bad(builtin_max, (VECTOR,), ("max(x[0], x[1])",)),
    Bad(condition_in_a_comprehension, (VECTOR,), ("a Python `if`", "`v > 0`")),
]


@pytest.mark.parametrize("bad", CONSTRUCTS, ids=lambda bad: bad.name)
def test_a_construct_on_a_traced_value_is_explained(bad: Bad) -> None:
    text = refuse(bad)
    for part in (*bad.says, "only known when the program runs", "test_errors.py:"):
        assert part in text


def test_constructs_on_what_is_known_are_fine() -> None:
    def f(x: Any, flag: bool) -> Any:
        assert x.ndim == 1 and x.shape[0] == 3
        if flag and len(x) > 2:
            for value in x:
                x = x + value
        while x.ndim < 2:
            x = x[None]
        return x

    assert wf.jit(f, static_argnames="flag")(VECTOR, True).shape == (1, 3)


def test_a_for_over_a_symbolic_size_points_to_scan() -> None:
    f = wf.jit(lambda x: [v for v in x], specs=("f64[n]",))
    with pytest.raises(wf.TraceError, match=r"`for` over f64\[n\].*use wf\.scan or wf\.map"):
        f(VECTOR)
    with pytest.raises(wf.TraceError, match=r"len\(\) needs the size n.*x\.shape\[0\]"):
        wf.jit(lambda x: len(x), specs=("f64[n]",))(VECTOR)


# --- conversions to Python and NumPy --------------------------------------------------------------


def to_float(x: Any) -> Any:
    return float(x[0])


def to_int(x: Any) -> Any:
    return int(x[0])


def to_bool(x: Any) -> Any:
    return bool(x[0])


def to_complex(x: Any) -> Any:
    return complex(x[0])


def item(x: Any) -> Any:
    return x[0].item()


def tolist(x: Any) -> Any:
    return x.tolist()


def asarray(x: Any) -> Any:
    return np.asarray(x)


def array_of_scalars(x: Any) -> Any:
    return np.array([x[0], x[1]])


def math_function(x: Any) -> Any:
    return math.sin(x[0])


def list_index(x: Any, i: Any) -> Any:
    return [x, -x][i]


def numpy_table(x: Any, i: Any) -> Any:
    return np.arange(5.0)[i] * x


def write_a_number(x: Any) -> Any:
    table = np.zeros(3)
    table[0] = x[0]
    return table


def write_a_row(x: Any) -> Any:
    table = np.zeros((2, 3))
    table[1] = x
    return table


def named_table(x: Any, i: Any) -> Any:
    table = np.arange(5.0)
    return table[i] * x


def numpys_generator(x: Any) -> Any:
    return np.random.default_rng(0).normal(x)


def scipys_function(x: Any) -> Any:
    return scipy.linalg.solve(np.eye(3), x)


_WRITES = ("weft.numpy.zeros", "without control_flow=False")

CONVERSIONS: list[Bad] = [
    Bad(write_a_number, (VECTOR,), ("the write to table[0]", *_WRITES)),
    Bad(write_a_row, (VECTOR,), ("the write to table[1]", *_WRITES)),
    Bad(named_table, (VECTOR, 1), ("the index of table", "without control_flow=False")),
    Bad(numpys_generator, (VECTOR,), ("numpy.random", "weft.random.normal(key")),
    Bad(scipys_function, (VECTOR,), ("scipy.linalg", "weft.scipy.linalg", ": scipy.linalg.solve")),
    Bad(to_float, (VECTOR,), ("float()", "`x[0]`", 'x.astype("float64")', ": float(x[0])")),
    Bad(to_int, (VECTOR,), ("int()", "`x[0]`", 'x.astype("int64")')),
    Bad(to_bool, (VECTOR,), ("bool", "`x[0]`")),
    Bad(to_complex, (VECTOR,), ("complex()", 'x.astype("complex128")')),
    Bad(item, (VECTOR,), (".item()", "the array itself: rank-0 arrays compute like numbers")),
    Bad(tolist, (VECTOR,), (".tolist()", "the array itself")),
    Bad(asarray, (VECTOR,), ("np.asarray", "the argument x", "weft.numpy.asarray")),
    Bad(array_of_scalars, (VECTOR,), ("np.array", "weft.numpy.stack")),
    Bad(math_function, (VECTOR,), ("float()", ": math.sin(x[0])")),
    Bad(list_index, (VECTOR, 1), ("list index", "the argument i", "wf.switch", "static_argnames")),
    Bad(numpy_table, (VECTOR, 1), ("weft.numpy.asarray(table)[i]",)),
]


@pytest.mark.parametrize("bad", CONVERSIONS, ids=lambda bad: bad.name)
def test_a_conversion_is_explained(bad: Bad) -> None:
    text = refuse(bad)
    for part in (*bad.says, "only known when the program runs", "test_errors.py:"):
        assert part in text


# --- wrong dtypes ---------------------------------------------------------------------------------


def bitwise(x: Any) -> Any:
    return x & 1


def invert(x: Any) -> Any:
    return ~x


def complex_remainder(x: Any) -> Any:
    return x % 2


def integer_gradient(x: Any) -> Any:
    return wf.grad(lambda y: (y * y).sum())(x)


def foreign_dtype(x: Any) -> Any:
    return x.astype("U3")


INTEGERS = np.arange(3)
DTYPES: list[Bad] = [
    Bad(bitwise, (VECTOR,), ("bitwise_and", "float64", ": x & 1"), (INTEGERS,), wf.DTypeError),
    Bad(invert, (VECTOR,), ("invert", "float64"), (INTEGERS,), wf.DTypeError),
    Bad(complex_remainder, (VECTOR * 1j,), ("remainder", "complex128"), (VECTOR,), wf.DTypeError),
    Bad(
        integer_gradient,
        (INTEGERS,),
        ("i64[3]", "derivatives exist for floating-point arrays only", "pass a float"),
        (VECTOR,),
        wf.DTypeError,
    ),
    Bad(foreign_dtype, (VECTOR,), ("'U3' is no dtype", "known are bool, i8"), error=wf.DTypeError),
]


@pytest.mark.parametrize("bad", DTYPES, ids=lambda bad: bad.name)
def test_a_wrong_dtype_is_explained(bad: Bad) -> None:
    text = refuse(bad)
    for part in (*bad.says, "test_errors.py:"):
        assert part in text


# --- shapes that do not fit -----------------------------------------------------------------------


def add_shapes(x: Any, y: Any) -> Any:
    a = x * 2
    b = np.exp(y)
    return a + b


def matmul_shapes(x: Any, y: Any) -> Any:
    a = np.tanh(x)
    return a @ y


def concatenate_shapes(x: Any, y: Any) -> Any:
    a = x[:, None]
    return np.concatenate([a, y[None]])


def where_shapes(x: Any, y: Any) -> Any:
    return np.where(x > 0, x, y * 3)


def einsum_shapes(x: Any, y: Any) -> Any:
    return np.einsum("i,i->", x * 2, y * 3)


def reshape_count(x: Any) -> Any:
    return (x + 1).reshape(4)


def axis_out_of_range(x: Any) -> Any:
    return x.sum(axis=2)


def traced_axis(x: Any, axis: Any) -> Any:
    return np.sum(x, axis=axis)


FOUR = np.ones(4)
SHAPES: list[Bad] = [
    Bad(
        add_shapes,
        (VECTOR, FOUR),
        (
            "shapes (3,) and (4,)",
            "f64[3] made at",
            ": x * 2",
            "f64[4] made at",
            ": np.exp(y)",
            ": a + b",
        ),
        (VECTOR, VECTOR),
        wf.ShapeError,
    ),
    Bad(
        matmul_shapes,
        (VECTOR, FOUR),
        ("(3,) and (4,)", "f64[3] made at", ": np.tanh(x)", "f64[4] is the argument y", ": a @ y"),
        (VECTOR, VECTOR),
        wf.ShapeError,
    ),
    Bad(
        concatenate_shapes,
        (VECTOR, FOUR),
        ("f64[3, 1] made at", ": x[:, None]", "f64[1, 4] made at", ": y[None]"),
        (VECTOR, np.ones(1)),
        wf.ShapeError,
    ),
    Bad(
        where_shapes,
        (VECTOR, FOUR),
        ("f64[3] is the argument x", "f64[4] made at", ": y * 3"),
        (VECTOR, VECTOR),
        wf.ShapeError,
    ),
    Bad(
        einsum_shapes,
        (VECTOR, FOUR),
        ("label i have the different sizes 3 and 4", ": x * 2", ": y * 3"),
        (VECTOR, VECTOR),
        wf.ShapeError,
    ),
    Bad(
        reshape_count,
        (VECTOR,),
        ("(3,) has 3 elements, (4,) has 4", "reshape(4)"),
        (FOUR,),
        wf.ShapeError,
    ),
    Bad(
        axis_out_of_range,
        (VECTOR,),
        ("axis 2 is out of bounds",),
        (np.ones((1, 1, 1)),),
        wf.ShapeError,
    ),
    Bad(traced_axis, (VECTOR, 0), ("an axis must be a Python int",), None),
]


@pytest.mark.parametrize("bad", SHAPES, ids=lambda bad: bad.name)
def test_shapes_that_do_not_fit_are_explained(bad: Bad) -> None:
    text = refuse(bad)
    for part in (*bad.says, "test_errors.py:"):
        assert part in text


# --- shapes that depend on data -------------------------------------------------------------------


def zeros_of_traced_size(n: Any) -> Any:
    return wf.numpy.zeros(n)


def reshape_to_traced_size(n: Any) -> Any:
    return wf.numpy.arange(6).reshape(n, -1)


def arange_to_traced(n: Any) -> Any:
    return wf.numpy.arange(n)


def reshaped_mask(x: Any) -> Any:
    return x[x > 0].reshape(1, -1)


def traced_repeats(x: Any, n: Any) -> Any:
    return np.repeat(x, n)


DATA_DEPENDENT: list[Bad] = [
    Bad(reshaped_mask, (VECTOR,), ("np.where(mask, x, other)", "size=")),
    Bad(zeros_of_traced_size, (3,), ("a shape depends on the traced value i64[]", "static")),
    Bad(reshape_to_traced_size, (3,), ("a shape depends on the traced value i64[]", "static")),
    Bad(arange_to_traced, (3,), ("a shape depends on the traced value i64[]", "static")),
    Bad(traced_repeats, (VECTOR, 2), ("a shape depends on the traced value", "static_argnames")),
]


@pytest.mark.parametrize("bad", DATA_DEPENDENT, ids=lambda bad: bad.name)
def test_a_data_dependent_shape_is_explained(bad: Bad) -> None:
    text = refuse(bad)
    for part in (*bad.says, "test_errors.py:"):
        assert part in text


def test_a_static_argument_resolves_a_data_dependent_shape() -> None:
    assert wf.jit(zeros_of_traced_size, static_argnums=0)(3).shape == (3,)
    assert wf.jit(traced_repeats, static_argnums=1)(VECTOR, 2).shape == (6,)


# --- arguments and results ------------------------------------------------------------------------


class Opaque:
    def __repr__(self) -> str:
        return "<opaque>"


BAD_ARGUMENTS: list[tuple[Any, tuple[str, ...]]] = [
    (b"text", ("the argument x of f is a bytes (b'text')", 'static_argnames=("x",)')),
    (Opaque(), ("the argument x of f is a Opaque (<opaque>)", "pytree")),
    ({"a": [1.0, b"b"]}, ("the argument x.a.1 of f is a bytes (b'b')",)),
    (np.array(["a"]), ("the argument x of f has dtype <U1, which is not supported",)),
    (np.array([None]), ("has dtype object, which is not supported",)),
    (np.array([1], "M8[D]"), ("has dtype datetime64[D]",)),
    ({1.0, 2.0}, ("the argument x of f is a set",)),
    (iter([1.0]), ("the argument x of f is a list_iterator",)),
    (int, ("the argument x of f is a type",)),
]


@pytest.mark.parametrize(("bad", "says"), BAD_ARGUMENTS, ids=lambda item: type(item).__name__)
def test_an_argument_that_is_no_array_is_named(bad: Any, says: tuple[str, ...]) -> None:
    def f(x: Any) -> Any:
        return x * 2

    compiled = wf.jit(f)
    with pytest.raises(wf.ArgumentError) as caught:
        compiled(bad)
    for part in (*says, "test_errors.py:"):
        assert part in str(caught.value)
    np.testing.assert_array_equal(compiled(VECTOR), VECTOR * 2)


BAD_RESULTS: list[tuple[Any, str]] = [
    ("text", r"the result of f is a str \('text'\), not an array or a number"),
    ({"a": Opaque()}, r"the result a of f is a Opaque \(<opaque>\)"),
    ([1.0, np.array(["a"])], "the result 1 of f is a ndarray"),
]


@pytest.mark.parametrize(("result", "match"), BAD_RESULTS, ids=["str", "tree", "array"])
def test_a_result_that_is_no_array_is_named(result: Any, match: str) -> None:
    def f(x: Any) -> Any:
        return result if x.shape else x

    compiled = wf.jit(f)
    with pytest.raises(wf.ArgumentError, match=match):
        compiled(VECTOR)
    assert compiled(1.0) == 1.0


@pytest.mark.parametrize("operand", [None, "text", Opaque(), {}])
def test_an_operand_that_is_no_array_is_refused(operand: Any) -> None:
    for function in (lambda x: x + operand, lambda x: np.add(x, operand)):
        with pytest.raises(TypeError):
            wf.jit(function)(VECTOR)


def test_a_list_of_traced_arrays_is_joined() -> None:
    made = wf.jit(lambda x: x + [x[0], x[1], 1.0])(VECTOR)
    np.testing.assert_array_equal(made, [2.0, 4.0, 4.0])


# --- side effects ---------------------------------------------------------------------------------


def test_a_traced_array_stored_in_the_outside_is_refused_when_used() -> None:
    log: list[Any] = []

    def f(x: Any) -> Any:
        log.append(x * 2)
        return x

    compiled = wf.jit(f)
    compiled(VECTOR)
    uses: list[Callable[[Any], Any]] = [
        lambda leaked: leaked + 1,
        lambda leaked: np.sum(leaked),
        lambda leaked: leaked[0],
        lambda leaked: float(leaked),
        lambda leaked: np.asarray(leaked),
        lambda leaked: bool(leaked),
        lambda leaked: compiled(leaked),
        lambda leaked: wf.grad(lambda x: (x * leaked).sum())(VECTOR),
    ]
    for use in uses:
        with pytest.raises(wf.TraceError, match="return it as a result instead of storing it"):
            use(log[0])
    np.testing.assert_array_equal(compiled(VECTOR), VECTOR)


def test_a_traced_array_is_no_dict_key_and_has_no_unknown_attributes() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        wf.jit(lambda x: {x: 1})(VECTOR)
    with pytest.raises(AttributeError, match=r"\.shpae is no attribute of arrays"):
        wf.jit(lambda x: x.shpae)(VECTOR)
    with pytest.raises(AttributeError, match=r"\.tobytes is not supported on traced arrays"):
        wf.jit(lambda x: x.tobytes())(VECTOR)


def test_printing_a_traced_array_shows_its_type(capsys: pytest.CaptureFixture[str]) -> None:
    wf.jit(lambda x: print(x, f"{x:.3f}"), control_flow=False)(VECTOR)
    assert capsys.readouterr().out == "TracedArray(f64[3]) TracedArray(f64[3])\n"


# --- options --------------------------------------------------------------------------------------


def test_an_unknown_backend_lists_those_there_are() -> None:
    with pytest.raises(wf.ArgumentError, match="there is no backend 'tpu'; there is.*reference"):
        wf.jit(lambda x: x, backend="tpu")


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match="fast"):
        wf.jit(lambda x: x, fast=True)  # type: ignore[call-arg]
    with pytest.raises(wf.WeftError, match="nothing, everything, dots, names, got 'some'"):
        wf.checkpoint(lambda x: x, policy="some")(VECTOR)
    with pytest.raises(AttributeError, match="weft has no 'jti'"):
        getattr(wf, "jti")  # noqa: B009


def test_functions_and_arguments_of_numpy_that_are_not_there() -> None:
    unknown: Any = np
    with pytest.raises(wf.TraceError, match=r"numpy\.busday_count is not supported"):
        wf.jit(lambda x: unknown.busday_count(x, x))(VECTOR)
    with pytest.raises(wf.TraceError, match="out= is a NumPy array that the trace cannot write to"):
        wf.jit(lambda x: np.sum(x, out=np.zeros(())), control_flow=False)(VECTOR)
    with pytest.raises(TypeError, match="axs"):
        wf.jit(lambda x: unknown.sum(x, axs=0))(VECTOR)


def test_every_error_is_a_weft_error_and_a_builtin_one() -> None:
    kinds = {
        wf.ShapeError: ValueError,
        wf.DTypeError: TypeError,
        wf.TraceError: TypeError,
        wf.ArgumentError: TypeError,
        wf.BoundsError: IndexError,
        wf.ParseError: ValueError,
        wf.VerifyError: ValueError,
        wf.EvaluationError: RuntimeError,
    }
    for kind, builtin in kinds.items():
        assert issubclass(kind, wf.WeftError) and issubclass(kind, builtin)
