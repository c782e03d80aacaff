"""Python's control flow on traced values, against Python itself running the same function."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree
import pytest

import weft as wf
from tests.frontends.flow.programs import PROGRAMS


def assert_same(made: Any, expected: Any) -> None:
    left, left_tree = optree.tree_flatten(made)
    right, right_tree = optree.tree_flatten(expected)
    assert left_tree == right_tree
    for one, other in zip(left, right, strict=True):
        assert np.shape(one) == np.shape(other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("backend", ["reference", pytest.param("cpu", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_python(name: str, backend: str) -> None:
    function, inputs = PROGRAMS[name]
    words = [n for n, part in enumerate(inputs[0]) if isinstance(part, str)]
    compiled = wf.jit(function, control_flow=True, backend=backend, static_argnums=words)
    for given in inputs:
        assert_same(compiled(*given), function(*given))
