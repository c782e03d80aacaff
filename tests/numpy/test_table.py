"""Runs every row of the function tables, and requires that each public function has one."""

from __future__ import annotations

import importlib
import pkgutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tests.numpy
from tests.numpy.row import Row

TABLES = [
    importlib.import_module(f"tests.numpy.{module.name}")
    for module in pkgutil.iter_modules(tests.numpy.__path__)
    if module.name.startswith("rows_")
]
ROWS: list[Row] = [row for table in TABLES for row in table.ROWS]
NAMES = sorted({row.name for row in ROWS})


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_function_equals_numpy(name: str, data: st.DataObject) -> None:
    candidates = [row for row in ROWS if row.name == name]
    data.draw(st.sampled_from(candidates)).check(data.draw)
