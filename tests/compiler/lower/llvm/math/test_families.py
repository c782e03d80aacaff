"""The table of mathematical functions says where each of them is."""

from __future__ import annotations

import importlib

import pytest

from weft.compiler.lower.llvm import math


@pytest.mark.parametrize("family", math.FAMILIES)
def test_a_family_has_the_functions_that_the_table_says(family: str) -> None:
    module = importlib.import_module(f"{math.__name__}.{family}")
    assert tuple(module.FUNCTIONS) == math.FAMILIES[family]
