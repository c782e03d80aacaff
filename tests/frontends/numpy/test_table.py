"""Runs every row of the function tables, and requires that each public function has one."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tests.frontends.numpy
import weft.numpy
from docs.numpy_functions import NUMPY
from tests.frontends.numpy.arrays import REAL, array
from tests.frontends.numpy.checking import Call, check_compiled
from tests.frontends.numpy.row import Row
from weft.frontends.numpy.functions.namespace import FFT, LINALG, MAIN, OBJECTS, UFUNC_NAMES
from weft.frontends.numpy.functions.refusals import HANDED_ON, REASONS
from weft.frontends.numpy.public import NUMPYS_OWN

TABLES = [
    importlib.import_module(f"tests.frontends.numpy.{module.name}")
    for module in pkgutil.iter_modules(tests.frontends.numpy.__path__)
    if module.name.startswith("rows_")
]
ROWS: list[Row] = [row for table in TABLES for row in table.ROWS]
NAMES = sorted({row.name for row in ROWS})


PUBLIC = [*MAIN, *[f"linalg.{name}" for name in LINALG], *[f"fft.{name}" for name in FFT]]


@pytest.mark.parametrize("name", PUBLIC)
def test_function_has_a_row(name: str) -> None:
    assert name in NAMES, f"{name} has no row in tests/frontends/numpy/rows_*.py"


def test_modules_list_what_they_have() -> None:
    others = {*UFUNC_NAMES, *OBJECTS, *NUMPYS_OWN, "linalg", "fft"}
    assert set(weft.numpy.__all__) == {*MAIN, *others}
    assert set(weft.numpy.linalg.__all__) == set(LINALG)
    assert set(weft.numpy.fft.__all__) == set(FFT)


@pytest.mark.parametrize("name", NUMPYS_OWN)
def test_what_has_no_values_is_that_of_numpy(name: str) -> None:
    assert getattr(weft.numpy, name) is getattr(np, name)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_function_equals_numpy(name: str, data: st.DataObject) -> None:
    candidates = [row for row in ROWS if row.name == name]
    data.draw(st.sampled_from(candidates)).check(data.draw)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=5, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_native_code_equals_numpy_alone_and_batched(name: str, data: st.DataObject) -> None:
    candidates = [row for row in ROWS if row.name == name]
    data.draw(st.sampled_from(candidates)).check_compiled(data.draw)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(UFUNC_NAMES))
@settings(max_examples=3, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_native_ufunc_equals_numpy_alone_and_batched(name: str, data: st.DataObject) -> None:
    ufunc = UFUNC_NAMES[name]
    given = [array(data.draw, REAL, (3,), values="positive") for _ in range(ufunc.nin)]
    check_compiled(getattr(weft.numpy, name), Call(tuple(given)), ufunc, 512.0)


@pytest.mark.skipif(
    not np.__version__.startswith(f"{NUMPY}."), reason=f"docs/numpy.md is about NumPy {NUMPY}"
)
@pytest.mark.parametrize("module", ["numpy", "numpy.linalg", "numpy.fft"])
def test_page_names_every_function_of_numpy(module: str) -> None:
    original = importlib.import_module(module)
    functions = {n for n in original.__all__ if is_function(getattr(original, n))}
    ours = {"numpy": {*MAIN, *UFUNC_NAMES}, "numpy.linalg": {*LINALG}, "numpy.fft": {*FFT}}[module]
    others = {*REASONS, *HANDED_ON.split()} if module == "numpy" else set()
    assert functions - ours == others
    assert not ours & others


def is_function(item: object) -> bool:
    return callable(item) and not isinstance(item, type)
