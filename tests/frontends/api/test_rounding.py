"""`wf.rounded`: products that are rounded before they are added, as NumPy rounds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_bits_are_those_of_numpy(dtype: str, size: int) -> None:
    rng = np.random.default_rng(0)
    x, y, z = rng.standard_normal((3, size)).astype(dtype)

    def horner(x: Any, y: Any, z: Any) -> Any:
        return wf.rounded(wf.rounded(x * y) + z) - wf.rounded(y * z)

    wanted = x * y + z - y * z
    assert wf.jit(horner)(x, y, z).tobytes() == wanted.tobytes()
    assert np.asarray(horner(*map(wf.numpy.asarray, (x, y, z)))).tobytes() == wanted.tobytes()


def test_derivatives_and_batches_pass_through() -> None:
    x = np.arange(3.0)
    slope = wf.grad(lambda x: np.sum(wf.rounded(x * x)))
    np.testing.assert_array_equal(wf.jit(slope)(x), 2 * x)
    np.testing.assert_array_equal(wf.jit(wf.vmap(wf.rounded))(x), x)


def test_other_numbers_and_trees_stay() -> None:
    given = {"a": np.arange(3), "b": (np.ones(2, np.complex64), True)}
    made = wf.jit(wf.rounded)(given)
    assert made["a"].dtype == np.int64 and made["b"][0].dtype == np.complex64
    assert bool(made["b"][1]) is True
