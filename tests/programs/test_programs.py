"""Whole NumPy programs, compiled: the results are NumPy's, which runs the same functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree
import pytest

import weft as wf
from tests.programs.table import PROGRAMS, Program


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_results_are_numpys(program: Program) -> None:
    given = program.arguments()
    compiled = wf.jit(program.function, static_argnums=program.static)
    before = [np.copy(argument) for argument in given]
    made, made_tree = optree.tree_flatten(compiled(*given))
    wanted, wanted_tree = optree.tree_flatten(program.function(*given))
    assert made_tree == wanted_tree
    for one, other in zip(made, wanted, strict=True):
        assert_close(one, other, program.rtol)
    for argument, copy in zip(given, before, strict=True):
        np.testing.assert_array_equal(argument, copy)


def assert_close(made: Any, wanted: Any, rtol: float) -> None:
    wanted = np.asarray(wanted)
    assert made.shape == wanted.shape
    assert made.dtype == wanted.dtype
    scale = np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted))
    np.testing.assert_allclose(made, wanted, rtol=rtol, atol=rtol * scale)
