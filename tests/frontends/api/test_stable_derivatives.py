"""Derivatives of functions that users write out stay finite where the functions do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf

X = np.array([-200.0, -100.0, -20.0, 0.0, 20.0, 100.0, 200.0], "f4")
WIDE = X.astype("f8")
SIGMOID = 1 / (1 + np.exp(-WIDE))

CASES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), SIGMOID * (1 / (1 + np.exp(WIDE)))),
    "softplus": (lambda x: np.log(1 + np.exp(x)), SIGMOID),
    "swish": (lambda x: x / (1 + np.exp(-x)), SIGMOID + WIDE * SIGMOID / (1 + np.exp(WIDE))),
}


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("name", CASES)
def test_slopes_are_finite_and_right(name: str, backend: str) -> None:
    function, wanted = CASES[name]
    gradient = wf.jit(wf.grad(lambda x: np.sum(function(x))), backend=backend)(X)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-5, atol=1e-8)
    moved = wf.jit(lambda x: wf.jvp(function, (x,), (np.ones_like(x),))[1], backend=backend)(X)
    np.testing.assert_allclose(moved, wanted, rtol=1e-5, atol=1e-8)
