"""Ufuncs called in other ways: reduce, accumulate, outer, at, out= and where=."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf
from tests.numpy.arrays import (
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
from tests.numpy.checking import Known, check_against_numpy
from weft.frontends.functions.namespace import UFUNC_NAMES

examples = settings(max_examples=30, deadline=None, derandomize=True, database=None)

REDUCED = (np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or)
RUNNING = (np.add, np.multiply, np.maximum, np.minimum)
WRITTEN = (np.add, np.subtract, np.multiply, np.maximum, np.minimum)
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
    if ufunc in REDUCED[:4] and chance(draw):
        given |= {"initial": 2, **options(draw, where=st.just(like(draw, x, BOOL)))}
    if ufunc in REDUCED[:2]:
        given |= options(draw, dtype=a_dtype(("float32", "float64", "complex64", "int8")))
    check_against_numpy(ufunc.reduce, (x,), given, tolerance=64)


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


@pytest.mark.parametrize("call", [lambda x: np.add.reduceat(x, [0, 1]), np.hypot.reduce])
def test_unknown_methods_are_refused(call: Any) -> None:
    with pytest.raises(wf.TraceError, match="not supported on traced arrays"):
        wf.jit(call)(np.ones(3))
