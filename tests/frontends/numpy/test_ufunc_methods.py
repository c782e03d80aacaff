"""Ufuncs called in other ways: reduce, accumulate, outer, at, out= and where=."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf
from tests.frontends.numpy.arrays import (
    ALL,
    BOOL,
    FLOAT,
    NUMBER,
    REAL,
    a_dtype,
    an_axis,
    array,
    axes,
    broadcastable,
    chance,
    choice,
    integer,
    keepdims,
    like,
    operand,
    options,
)
from tests.frontends.numpy.checking import Known, check_against_numpy
from weft.frontends.numpy.functions.namespace import UFUNC_NAMES

examples = settings(max_examples=30, deadline=None, derandomize=True, database=None)

REDUCED = (np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or)
RUNNING = (np.add, np.multiply, np.maximum, np.minimum)
WRITTEN = (np.add, np.subtract, np.multiply, np.maximum, np.minimum)
BY_HALVES = (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_xor, np.gcd, np.lcm)
REAL_BY_HALVES = (np.logaddexp, np.logaddexp2, np.hypot, np.fmax, np.fmin)
IN_ORDER = (np.subtract, np.divide, np.floor_divide, np.remainder, np.copysign)
BINARY = sorted({ufunc.__name__ for ufunc in UFUNC_NAMES.values() if ufunc.nin == 2})


def by_name(ufunc: np.ufunc) -> str:
    return ufunc.__name__


@pytest.mark.parametrize("ufunc", REDUCED, ids=by_name)
@examples
@given(st.data())
def test_reduce_equals_numpy(ufunc: np.ufunc, data: st.DataObject) -> None:
    draw = data.draw
    x = array(draw, REAL if ufunc in REDUCED[2:4] else ALL, values="unit")
    given = options(draw, axis=st.just(axes(draw, x.ndim)), keepdims=keepdims)
    if chance(draw):
        given |= {"initial": 2, **options(draw, where=st.just(like(draw, x, BOOL)))}
    if ufunc in REDUCED[:2]:
        given |= options(draw, dtype=a_dtype(("float32", "float64", "complex64", "int8")))
    check_against_numpy(ufunc.reduce, (x,), given, tolerance=64)


@pytest.mark.parametrize("ufunc", [*BY_HALVES, *REAL_BY_HALVES, *IN_ORDER], ids=by_name)
@examples
@given(st.data())
def test_reduce_without_an_op_equals_numpy(ufunc: np.ufunc, data: st.DataObject) -> None:
    draw = data.draw
    kinds = ("bool", "int8", "uint32", "int64") if ufunc in BY_HALVES[:4] else ("int16", "int64")
    x = array(draw, kinds if ufunc in BY_HALVES else FLOAT, values="positive")
    axis = choice(draw, 0, -1, None if ufunc not in (*IN_ORDER, np.lcm) else 0)
    given = options(draw, axis=st.just(axis), keepdims=keepdims)
    if chance(draw) and ufunc not in (np.copysign,):
        given |= {"initial": x.dtype.type(1)}
        if ufunc in (*BY_HALVES[:4], np.hypot):
            given |= options(draw, where=st.just(like(draw, x, BOOL)))
    check_against_numpy(ufunc.reduce, (x,), given, tolerance=64)


@pytest.mark.parametrize("ufunc", [*BY_HALVES, *REAL_BY_HALVES, *IN_ORDER], ids=by_name)
@settings(max_examples=10, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_accumulate_without_an_op_equals_numpy(ufunc: np.ufunc, data: st.DataObject) -> None:
    draw = data.draw
    kinds = ("int16", "int64") if ufunc in BY_HALVES else FLOAT
    x = array(draw, kinds, least_rank=1, values="positive")
    given = options(draw, axis=st.just(an_axis(draw, x.ndim)))
    check_against_numpy(ufunc.accumulate, (x,), given, tolerance=64)


@pytest.mark.parametrize("ufunc", [*REDUCED, np.subtract, np.hypot], ids=by_name)
@examples
@given(st.data())
def test_reduceat_equals_numpy(ufunc: np.ufunc, data: st.DataObject) -> None:
    draw = data.draw
    x = array(draw, ("float64", "float32", "int64"), least_rank=1, least=1, values="unit")
    axis = integer(draw, -x.ndim, x.ndim - 1)
    if ufunc is np.hypot:
        x = x.astype(np.float64)
    size = x.shape[axis]
    indices = array(draw, ("int64",), (integer(draw, 0, 4),)) % size
    is_known = chance(draw) or ufunc not in REDUCED
    call = Known(indices) if is_known else indices
    check_against_numpy(ufunc.reduceat, (x, call), {"axis": axis}, tolerance=64)


def test_many_known_pieces_are_reduced_at_once() -> None:
    x = np.random.default_rng(0).standard_normal((3, 200))
    places = np.arange(0, 200, 5)
    compiled = wf.jit(lambda x: np.add.reduceat(x, places, axis=1))
    np.testing.assert_allclose(compiled(x), np.add.reduceat(x, places, axis=1), rtol=1e-12)


@pytest.mark.parametrize("ufunc", RUNNING, ids=by_name)
@examples
@given(st.data())
def test_accumulate_equals_numpy(ufunc: np.ufunc, data: st.DataObject) -> None:
    draw = data.draw
    x = array(draw, REAL, values=choice(draw, "unit", "any") if ufunc in RUNNING[2:] else "unit")
    given = options(draw, axis=st.just(an_axis(draw, x.ndim)))
    if ufunc in RUNNING[:2]:
        given |= options(draw, dtype=a_dtype(("float64", "int64")))
    check_against_numpy(ufunc.accumulate, (x,), given, tolerance=64)


@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=6, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_outer_equals_numpy(name: str, data: st.DataObject) -> None:
    draw = data.draw
    pair = [operand(draw, NUMBER, values="positive", most_rank=2, scalars=(2, 1.5)) for _ in "xy"]
    check_against_numpy(UFUNC_NAMES[name].outer, tuple(pair), tolerance=512)


@pytest.mark.parametrize("ufunc", WRITTEN, ids=by_name)
@examples
@given(st.data())
def test_at_equals_numpy(ufunc: np.ufunc, data: st.DataObject) -> None:
    def function(x: Any, key: Any, new: Any) -> Any:
        written = x.copy()
        ufunc.at(written, key, new)
        return written

    draw = data.draw
    x = array(draw, REAL, least_rank=1, least=1, values="unit")
    size = x.shape[0]
    places = array(draw, ("int64",), (integer(draw, 0, 4),)) % size
    key = choice(draw, places, Known(places), slice(0, 2), integer(draw, -size, size - 1))
    part = x[key.array if isinstance(key, Known) else key]
    new = choice(draw, 2, array(draw, (str(x.dtype),), broadcastable(draw, part.shape)))
    check_against_numpy(function, (x, key, new), tolerance=64)


@pytest.mark.parametrize("ufunc", [np.divide, np.fmax, np.hypot, np.negative, np.sqrt], ids=by_name)
@settings(max_examples=12, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_at_without_an_op_equals_numpy(ufunc: np.ufunc, data: st.DataObject) -> None:
    def function(x: Any, key: Any, *new: Any) -> Any:
        written = x.copy()
        ufunc.at(written, key, *new)
        return written

    draw = data.draw
    x = array(draw, ("float64",), least_rank=1, least=1, values="positive")
    places = array(draw, ("int64",), (integer(draw, 0, 4),)) % x.shape[0]
    key = choice(draw, places, Known(places), slice(0, 2))
    new = (choice(draw, 2.0, array(draw, ("float64",), (), values="positive")),)
    check_against_numpy(function, (x, key, *(new if ufunc.nin == 2 else ())), tolerance=64)


AT_DTYPES = ("?", "i1", "u1", "i8", "u8", "f2", "f8", "c8")


@pytest.mark.parametrize("ufunc", [*WRITTEN, np.divide], ids=by_name)
@pytest.mark.parametrize("own", AT_DTYPES)
@pytest.mark.filterwarnings("ignore")  # about casts of complex numbers, and divisions by 0
def test_at_casts_after_each_operation_as_numpy_does(ufunc: np.ufunc, own: str) -> None:
    """Whatever the dtype of the operands: that decides what is computed, and how often it is cut
    off where an index is there twice.
    """

    def function(x: Any, new: Any) -> Any:
        written = x.copy()
        ufunc.at(written, np.array([1, 1, 0, 1]), new)
        return written

    x = np.array([1, 2, 3]).astype(own)
    for other in AT_DTYPES:
        numbers = np.array([3.25, 0.625, 1.75, 200.0])
        new = (numbers if other in "?u1u8" else numbers * [1, 1, -1, 1]).astype(other)
        try:
            expected = function(x, new)
        except TypeError:
            continue
        made = wf.jit(function, backend="reference")(x, new)
        np.testing.assert_allclose(made, expected, rtol=1e-2 if own == "f2" else 1e-6)
        assert made.dtype == expected.dtype


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: np.sum(x, axis=0, out=out[0]),
        lambda x, out: np.add.reduce(x, 0, None, out[0]),
        lambda x, out: np.cumsum(x, axis=1, out=out),
        lambda x, out: np.add.accumulate(x, 1, out=out),
        lambda x, out: x.mean(axis=0, out=out[1]),
        lambda x, out: x.cumsum(1, None, out),
        lambda x, out: np.clip(x, 0.25, 0.5, out),
        lambda x, out: np.dot(x, x[:, :1], out=out[:, :1].copy()),
        lambda x, out: np.matmul(x, x.T, out=out[:, :3]),
        lambda x, out: np.concatenate([x[:1], x[1:]], out=out),
        lambda x, out: np.take(x, [2, 1, 0], 0, out),
        lambda x, out: np.round(x, 1, out=out),
        lambda x, out: np.einsum("ij->j", x, out=out[2]),
        lambda x, out: np.stack([x[0], x[1], x[2]], out=out),
        lambda x, out: np.median(x, axis=0, out=out[0]),
        lambda x, out: np.copyto(out, x, where=x > 0.5),
        lambda x, out: np.putmask(out, x > 0.5, x[0]),
        lambda x, out: np.place(out, x > 0.5, [1.0, 2.0]),
        lambda x, out: np.put(out, [0, 5], x[0, 0]),
        lambda x, out: out.put([1, 2], [7.0, 8.0]),
    ],
)
def test_results_of_functions_go_where_out_says(call: Any) -> None:
    def function(x: Any) -> Any:
        out = np.zeros_like(x)
        result = call(x, out)
        return out if result is None else (out, result)

    x = np.random.default_rng(3).random((3, 4))
    check_against_numpy(function, (x,), tolerance=64)


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda x: np.add.at(x, 0, 1.0), r"x.at\[i\].add"),
        (lambda x: np.divide.at(x, 0, 2.0), r"x.at\[i\].set"),
        (lambda x: np.sum(x, axis=0, out=x[0]), "argument x is written to"),
        (lambda x: np.putmask(x, x > 0, 1.0), "x = weft.numpy.putmask"),
        (lambda x: np.add(x, 1, out=x), "argument x is written to"),
        (lambda x: np.copyto(np.zeros((2, 2)), x), "writes to a NumPy array"),
        (lambda x: np.sum(x, out=np.zeros(())), "out= is a NumPy array"),
    ],
)
def test_writes_to_arguments_name_what_to_write(call: Any, match: str) -> None:
    with pytest.raises(wf.TraceError, match=match):
        wf.vmap(call, control_flow=False)(np.ones((3, 2, 2)))


@pytest.mark.parametrize("name", ["add", "multiply", "divide", "maximum", "less", "divmod"])
@examples
@given(st.data())
def test_out_and_where_equal_numpy(name: str, data: st.DataObject) -> None:
    ufunc = UFUNC_NAMES[name]

    def function(x: Any, y: Any, out: Any, **kwargs: Any) -> Any:
        targets = tuple(out.copy() for _ in range(ufunc.nout))
        result = ufunc(x, y, out=targets if chance_of_tuple else targets[0], **kwargs)
        return result, targets

    draw = data.draw
    out = array(draw, ("float64", "float32", "int64"), values="finite")
    x, y = like(draw, out, REAL, "positive"), like(draw, out, REAL, "positive")
    given = options(draw, where=st.just(like(draw, out, BOOL)))
    chance_of_tuple = chance(draw) or ufunc.nout > 1
    check_against_numpy(function, (x, y, out), given)


@examples
@given(st.data())
def test_results_of_modf_go_where_out_says(data: st.DataObject) -> None:
    def function(x: Any) -> Any:
        whole = np.zeros_like(x)
        outputs: Any = (None, whole)
        fraction, returned = np.modf(x, out=outputs)
        return fraction, returned, whole

    check_against_numpy(function, (array(data.draw, FLOAT),))


def test_what_cannot_be_written_to_is_refused() -> None:
    x = np.ones(3)
    target = np.zeros(3)
    with pytest.raises(wf.TraceError, match="out= is a NumPy array"):
        wf.jit(lambda x: np.add(x, x, out=target))(x)
    with pytest.raises(wf.TraceError, match="where= needs out="):
        wf.jit(lambda x: np.add(x, x, where=x > 0))(x)


@pytest.mark.parametrize("call", [np.divmod.reduce, np.sin.accumulate])
def test_methods_without_meaning_are_refused(call: Any) -> None:
    with pytest.raises((wf.TraceError, ValueError), match="two operands|only supported"):
        wf.jit(call)(np.ones(3))
