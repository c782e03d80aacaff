"""The traced array against `numpy.ndarray`: attributes, methods, operators, Python scalars."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import weft as wf
from tests.frontends.numpy.arrays import (
    ALL,
    BOOL,
    NUMBER,
    REAL,
    Draw,
    a_dtype,
    an_axis,
    array,
    axes,
    broadcastable,
    choice,
    distinct_axes,
    integer,
    keepdims,
    operand,
    options,
    plain,
    shape,
)
from tests.frontends.numpy.checking import Call, Known, Weak, call, check_against_numpy
from weft.frontends.numpy.array import TracedArray

examples = settings(max_examples=15, deadline=None, derandomize=True, database=None)

# --- attributes -----------------------------------------------------------------------------------

ATTRIBUTES = ("T", "mT", "real", "imag", "shape", "dtype", "ndim", "size", "itemsize", "nbytes")


@pytest.mark.parametrize("name", ATTRIBUTES)
@examples
@given(st.data())
def test_attribute_equals_numpy(name: str, data: st.DataObject) -> None:
    check_against_numpy(lambda x: getattr(x, name), (array(data.draw),))


@examples
@given(st.data())
def test_len_and_iteration_equal_numpy(data: st.DataObject) -> None:
    def function(x: Any) -> Any:
        return len(x), list(x), [row for row in x[::-1]]

    check_against_numpy(function, (array(data.draw),))


# --- methods --------------------------------------------------------------------------------------


def reduced(draw: Draw) -> Call:
    x = array(draw, REAL, least=1, values="unit")
    return call(x, **options(draw, axis=st.just(axes(draw, x.ndim)), keepdims=keepdims))


def along(draw: Draw) -> Call:
    x = array(draw, REAL, least_rank=1, least=1, values="unit")
    return call(x, **options(draw, axis=st.just(an_axis(draw, x.ndim))))


def ordered(draw: Draw) -> Call:
    x = array(draw, least_rank=1, most=5)
    return call(x, axis=an_axis(draw, x.ndim), kind="stable")


def partly_ordered(draw: Draw) -> Call:
    x = array(draw, least_rank=1, least=1, most=5)
    return call(x, 0)


def alone(draw: Draw) -> Call:
    return call(array(draw, values="finite"))


def cast(draw: Draw) -> Call:
    return call(array(draw, values="finite"), draw(a_dtype()))


def in_order(draw: Draw) -> Call:
    return call(array(draw), **options(draw, order=st.sampled_from("CF")))


def reshaped(draw: Draw) -> Call:
    x = array(draw)
    target = choice(draw, (-1,), (x.size,), (1, x.size), (-1, 1), ((1, x.size),), ((7,),))
    return call(x, *target, **options(draw, order=st.sampled_from("CF")))


def transposed(draw: Draw) -> Call:
    x = array(draw)
    order = distinct_axes(draw, x.ndim, least=x.ndim)
    return call(x, *choice(draw, (), (None,), order, (order,)))


def swapped(draw: Draw) -> Call:
    x = array(draw, least_rank=1)
    return call(x, an_axis(draw, x.ndim), an_axis(draw, x.ndim))


def squeezed(draw: Draw) -> Call:
    x = array(draw, most=2)
    return call(x, **options(draw, axis=st.just(an_axis(draw, x.ndim))))


def clipped(draw: Draw) -> Call:
    x = array(draw, REAL, values="finite")
    return call(x, *choice(draw, (0, 2), (None, 1), (1,), (np.array(1, x.dtype), 2)))


def rounded(draw: Draw) -> Call:
    return call(array(draw, NUMBER, values="finite"), *choice(draw, (), (1,), (-1,)))


def dotted(draw: Draw) -> Call:
    x = array(draw, least_rank=1, most_rank=2, values="finite")
    return call(x, array(draw, of=(x.shape[-1], 2), values="finite"))


def repeated(draw: Draw) -> Call:
    x = array(draw, least_rank=1)
    return call(x, integer(draw, 0, 2), **options(draw, axis=st.just(an_axis(draw, x.ndim))))


def taken(draw: Draw) -> Call:
    return call(array(draw, least_rank=1, least=1), choice(draw, 0, [0, -1], np.array([0, 0])))


def diagonal(draw: Draw) -> Call:
    return call(array(draw, least_rank=2, values="finite"), *choice(draw, (), (1,), (-1,)))


def searched(draw: Draw) -> Call:
    x = np.sort(array(draw, REAL, (integer(draw, 0, 5),), values="finite"))
    return call(x, array(draw, REAL, values="finite"), choice(draw, "left", "right"))


def compressed(draw: Draw) -> Call:
    x = array(draw, least_rank=1)
    return call(x, Known(array(draw, BOOL, (x.shape[0],))), 0)


def chosen(draw: Draw) -> Call:
    of = shape(draw)
    which = array(draw, ("int64",), of, values="finite") % 2
    return call(which, [array(draw, of=broadcastable(draw, of)) for _ in range(2)])


METHODS: dict[str, Callable[[Draw], Call]] = {
    **dict.fromkeys(("sum", "prod", "mean", "var", "std", "max", "min", "any", "all"), reduced),
    **dict.fromkeys(("argmax", "argmin", "cumsum", "cumprod"), along),
    **dict.fromkeys(("copy", "conj", "conjugate", "__copy__"), alone),
    **dict.fromkeys(("flatten", "ravel"), in_order),
    "argsort": ordered,
    "argpartition": partly_ordered,
    "astype": cast,
    "reshape": reshaped,
    "transpose": transposed,
    "swapaxes": swapped,
    "squeeze": squeezed,
    "clip": clipped,
    "round": rounded,
    "dot": dotted,
    "repeat": repeated,
    "take": taken,
    "trace": diagonal,
    "diagonal": diagonal,
    "searchsorted": searched,
    "compress": compressed,
    "choose": chosen,
}
IN_PLACE: dict[str, Callable[[Draw], Call]] = {
    "sort": lambda draw: call(array(draw, least_rank=1, most=5)),
    "fill": lambda draw: call(array(draw, NUMBER), choice(draw, 2, np.array(1, np.int8))),
    "partition": partly_ordered,
}
REFUSED = ("item", "tolist")
UNSUPPORTED = (
    *("base", "byteswap", "ctypes", "data", "dump", "dumps", "flags", "getfield"),
    *("resize", "setfield", "setflags", "strides", "tobytes", "tofile"),
)


def argpartition(x: Any, kth: int) -> Any:
    """What Weft promises: a full, stable sort."""
    return np.argsort(x, kind="stable")


@pytest.mark.parametrize("name", METHODS)
@examples
@given(st.data())
def test_method_equals_numpy(name: str, data: st.DataObject) -> None:
    made = METHODS[name](data.draw)
    oracle = argpartition if name == "argpartition" else None
    check_against_numpy(
        lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs),
        made.args,
        made.kwargs,
        oracle=oracle,
        tolerance=64,
    )


@pytest.mark.parametrize("name", IN_PLACE)
@examples
@given(st.data())
def test_method_writes_what_numpy_writes(name: str, data: st.DataObject) -> None:
    def function(x: Any, *args: Any) -> Any:
        written = x.copy()
        assert getattr(written, name)(*args) is None
        return np.sort(written) if name == "partition" else written

    check_against_numpy(function, IN_PLACE[name](data.draw).args)


def test_every_attribute_of_numpys_arrays_is_accounted_for() -> None:
    public = {name for name in dir(np.ndarray) if not name.startswith("_")}
    elsewhere = {"flat", "nonzero", "put", "view", "device", "to_device"}
    known = {*ATTRIBUTES, *METHODS, *IN_PLACE, *REFUSED, *UNSUPPORTED, *elsewhere}
    assert public - known == set()
    assert {name for name in UNSUPPORTED if hasattr(TracedArray, name)} == set()


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_is_not_supported_says_so(name: str) -> None:
    with pytest.raises(AttributeError, match=f"{name} is not supported on traced arrays: "):
        wf.trace(lambda x: getattr(x, name))(np.ones(3))


@pytest.mark.parametrize("function", [lambda x: x.item(), lambda x: x.tolist(), float, int, bool])
def test_what_needs_the_value_is_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(wf.TraceError, match="only known when the program runs"):
        wf.trace(function, control_flow=False)(np.array(1.0))


# --- operators ------------------------------------------------------------------------------------

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "divmod": divmod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
IN_PLACE_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "//=": operator.ifloordiv,
    "%=": operator.imod,
    "**=": operator.ipow,
    "&=": operator.iand,
    "|=": operator.ior,
    "^=": operator.ixor,
    "<<=": operator.ilshift,
    ">>=": operator.irshift,
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "abs": abs,
}


def is_power_of_negative(symbol: str, x: Any, y: Any) -> bool:
    """An integer to a negative power, which NumPy refuses when it meets it."""
    numbers = [np.asarray(plain(number)) for number in (x, y)]
    integers = all(number.dtype.kind in "biu" for number in numbers)
    return symbol.startswith("**") and integers and bool((numbers[1] < 0).any())


@pytest.mark.parametrize("symbol", BINARY)
@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_operator_equals_numpy(symbol: str, data: st.DataObject) -> None:
    draw = data.draw
    x = array(draw)
    scalars = (2, 0, -1, 300, True, 1.5, -0.25, 2j)
    other = operand(draw, of=broadcastable(draw, x.shape), scalars=scalars)
    pair = (x, other) if integer(draw, 0, 1) else (other, x)
    assume(not is_power_of_negative(symbol, *pair))
    tolerance = 512 if symbol == "**" else 8
    check_against_numpy(BINARY[symbol], pair, tolerance=tolerance, exact_zeros=True)


@pytest.mark.parametrize("symbol", IN_PLACE_OPERATORS)
@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_in_place_operator_equals_numpy(symbol: str, data: st.DataObject) -> None:
    def function(x: Any, y: Any) -> Any:
        written = x.copy()
        view = written[...]
        result = IN_PLACE_OPERATORS[symbol](written, y)
        return result, written, view

    draw = data.draw
    x = array(draw, values="finite", least_rank=1)
    y = operand(draw, of=broadcastable(draw, x.shape), values="finite", scalars=(2, 1.5, True))
    assume(not is_power_of_negative(symbol, x, y))
    check_against_numpy(function, (x, y), tolerance=512)


@pytest.mark.parametrize("symbol", UNARY)
@examples
@given(st.data())
def test_unary_operator_equals_numpy(symbol: str, data: st.DataObject) -> None:
    check_against_numpy(UNARY[symbol], (array(data.draw),), exact_zeros=True)


@examples
@given(st.data())
def test_matmul_operator_equals_numpy(data: st.DataObject) -> None:
    draw = data.draw
    x = array(draw, ALL, (*shape(draw, most_rank=1), 2, 3), values="finite")
    y = array(draw, ALL, (3, integer(draw, 0, 2)), values="finite")
    check_against_numpy(operator.matmul, (x, y))
    check_against_numpy(operator.matmul, (Known(x), y))
    check_against_numpy(operator.matmul, (x, Known(y)))


# --- Python scalars as arguments ------------------------------------------------------------------

SCALAR_PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "arithmetic": lambda w, x: (w * 2 + 1) * x,
    "quotient": lambda w, x: x * (w / 4),
    "whole quotient": lambda w, x: x + w // 2 - w % 2,
    "negative": lambda w, x: x - (-w) + abs(w) + (+w),
    "square": lambda w, x: x * w**2,
    "comparison": lambda w, x: x * (w < 3),
    "function": lambda w, x: np.maximum(x, w),
    "of NumPy": lambda w, x: x + np.add(w, 1),
    "where": lambda w, x: np.where(x > 0, x, w),
}


@pytest.mark.parametrize("name", SCALAR_PROGRAMS)
@settings(max_examples=30, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_python_scalar_promotes_as_in_numpy(name: str, data: st.DataObject) -> None:
    x = array(data.draw, NUMBER, values="positive")
    w = Weak(choice(data.draw, 2, 3, 1.5))
    check_against_numpy(SCALAR_PROGRAMS[name], (w, x), tolerance=64)


# --- powers that are cheaper otherwise ------------------------------------------------------------


@pytest.mark.parametrize(
    ("exponent", "dtype", "op"),
    [
        (2, "float32", "mul"),
        (2.0, "float64", "mul"),
        (2, "int32", "mul"),
        (2, "complex64", "mul"),
        (0.5, "float32", "sqrt"),
        (-1, "float64", "div"),
        (3, "float32", "pow"),
    ],
)
@pytest.mark.parametrize("power", [np.power, operator.pow])
def test_known_exponent_takes_the_cheapest_op(
    power: Callable[..., Any], exponent: float, dtype: str, op: str
) -> None:
    graph = wf.trace(lambda x: power(x, exponent))(np.ones(3, dtype))
    assert [made.name for made in graph.ops] == [op]


def test_power_of_one_is_the_array_itself() -> None:
    graph = wf.trace(lambda x: x**1)(np.ones(3))
    assert not graph.ops
    assert list(graph.results) == list(graph.parameters)


def test_integer_to_a_known_negative_power_is_refused() -> None:
    with pytest.raises(wf.DTypeError, match="negative power"):
        wf.trace(lambda x: x**-1)(np.arange(3))


@pytest.mark.parametrize(
    "dtype, other", [("float64", "int64"), ("float32", "uint32"), ("int8", "uint8")]
)
def test_view_reads_the_same_bits_and_writes_through(dtype: str, other: str) -> None:
    def function(x: Any) -> Any:
        copied = x.copy()
        bits = copied.view(other)
        bits[0] = bits[0] ^ bits.dtype.type(1)
        return bits, copied, copied.view()

    check_against_numpy(function, (np.array([1, 2, 5]).astype(dtype),))


def test_attributes_of_the_array_api() -> None:
    def function(x: Any) -> Any:
        namespace = x.__array_namespace__()
        assert x.device == "cpu" and x.to_device("cpu") is x
        return namespace.sin(x)

    x = np.array([0.5, 1.0])
    np.testing.assert_allclose(wf.jit(function)(x), np.sin(x), rtol=1e-15)


@pytest.mark.parametrize(
    "name, reason", [("strides", "memory"), ("tofile", "files"), ("resize", r"np\.resize")]
)
def test_attributes_that_are_refused_say_why(name: str, reason: str) -> None:
    with pytest.raises(
        AttributeError, match=f"{name} is not supported on traced arrays: .*{reason}"
    ):
        wf.jit(lambda x: getattr(x, name))(np.ones(3))


PYTHON_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "conjugate": lambda n: n.conjugate(),
    "real": lambda n: n.real,
    "imag": lambda n: n.imag,
    "np.real": np.real,
    "np.imag": np.imag,
    "round": lambda n: round(n, 1) if not isinstance(n, complex) else n,
    "np.round": lambda n: np.round(n, 1),
    "transpose": lambda n: np.transpose(n, ()),
    "reshape": lambda n: np.reshape(n, ()),
    "squeeze": np.squeeze,
    "ravel": np.ravel,
    "abs": abs,
    "power": lambda n: n**2,
    "sum": lambda n: sum([n, n]),
}


@pytest.mark.parametrize("name", PYTHON_NUMBERS)
@pytest.mark.parametrize("number", [1.25, 3, 1.5 + 2j], ids=str)
@pytest.mark.parametrize("dtype", ["f2", "f4", "i1"])
def test_what_becomes_of_python_numbers_promotes_as_in_numpy(
    name: str, number: Any, dtype: str
) -> None:
    def function(x: Any, n: Any) -> Any:
        return x * PYTHON_NUMBERS[name](n)

    x = np.ones(2, dtype)
    got = wf.jit(function, backend="reference")(x, number)
    np.testing.assert_allclose(got, function(x, number), rtol=1e-3)
    assert got.dtype == function(x, number).dtype
