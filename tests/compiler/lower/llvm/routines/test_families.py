"""The table of routines says of every emitter where it is."""

from __future__ import annotations

import importlib

import pytest

from weft.compiler.lower.llvm import routines


@pytest.mark.parametrize("family", routines.FAMILIES)
def test_families_have_the_routines_that_the_table_names(family: str) -> None:
    module = importlib.import_module(f"{routines.__name__}.{family}")
    assert set(module.ROUTINES) == set(routines.FAMILIES[family])
    for name in routines.FAMILIES[family]:
        assert routines.routine(name) is module.ROUTINES[name]
