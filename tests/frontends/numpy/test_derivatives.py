"""Derivatives of every function of the tables against differences of NumPy's own results.

Arguments are those of the rows, as float64 and moved a little, so that few of them are equal. Where
the slopes on both sides differ, at kinks and jumps, nothing is compared.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf
import weft.numpy
from docs.numpy_functions import NOT_DIFFERENTIABLE
from tests.frontends.numpy.arrays import array
from tests.frontends.numpy.checking import REFUSALS, Array, Call, Known
from tests.frontends.numpy.row import Row, named
from tests.frontends.numpy.test_table import NAMES, ROWS
from weft.frontends.numpy.functions.namespace import UFUNC_NAMES
from weft.frontends.tracing.trace import Tracer

STEP = 1e-6
# Differences lose half of the digits, and more where results are large.
TOLERANCE = 2e-4


def as_smooth(given: Call) -> Call | None:
    """The call with its floats as float64, moved a little; None if there are none."""
    generator = np.random.default_rng(7)
    found = []

    def change(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray) or leaf.dtype.kind != "f" or leaf.size == 0:
            return leaf
        tame = np.where(np.isfinite(leaf), leaf, 0.5).astype(np.float64)
        found.append(leaf)
        return np.asarray(tame * 0.25 + generator.uniform(0.02, 0.08, leaf.shape))

    # A result of few digits has no differences.
    named_arguments = {n: _map(v, change) for n, v in given.kwargs.items() if n != "dtype"}
    made = Call(_map(given.args, change), named_arguments)
    return made if found else None


def _map(structure: Any, change: Any) -> Any:
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*[_map(part, change) for part in structure])
    if isinstance(structure, list | tuple):
        return type(structure)(_map(part, change) for part in structure)
    return change(structure)


def is_moved(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and leaf.dtype == np.float64 and leaf.size > 0


class Line:
    """A function along a line through its arguments."""

    def __init__(self, row: Row, given: Call) -> None:
        self.given = given
        # A root has no derivative at 0.
        self.is_root = row.name in ("std", "nanstd")
        self.ours = named(weft.numpy, row.name)
        own = named(np, row.name) if row.name.startswith("fft.") else None
        self.theirs = own or row.oracle or row.function or named(np, row.name)
        leaves: list[Array] = []
        _map((given.args, list(given.kwargs.values())), leaves.append)
        generator = np.random.default_rng(8)
        self.start = [leaf for leaf in leaves if is_moved(leaf)]
        self.direction = [np.asarray(generator.standard_normal(a.shape)) for a in self.start]

    def at(self, distance: float) -> list[Array]:
        """The results of NumPy's function, as flat arrays."""
        pairs = zip(self.start, self.direction, strict=True)
        moved = [np.asarray(a + distance * d) for a, d in pairs]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return numbers(self._call(self.theirs, moved))

    def _call(self, function: Any, arrays: Any) -> Any:
        remaining = iter(arrays)

        def change(leaf: Any) -> Any:
            if isinstance(leaf, Known):
                return leaf.array
            return next(remaining) if is_moved(leaf) else getattr(leaf, "number", leaf)

        args = _map(self.given.args, change)
        return function(*args, **{n: _map(v, change) for n, v in self.given.kwargs.items()})

    def slope(self) -> list[Array]:
        """The derivatives of the traced function along the line."""

        def traced(*arrays: Any) -> list[Any]:
            results: list[Any] = []
            _map(self._call(self.ours, arrays), results.append)
            return [r for r in results if isinstance(r, Tracer) and r.type.dtype.is_inexact]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, tangents = wf.jvp(traced, tuple(self.start), tuple(self.direction))
        return numbers(list(tangents))


def numbers(results: Any) -> list[Array]:
    found: list[Any] = []
    _map(results, found.append)
    arrays = [np.asarray(leaf) for leaf in found if isinstance(leaf, np.ndarray | np.generic)]
    return [array.ravel() for array in arrays if array.dtype.kind in "fc"]


def compare(line: Line) -> list[bool]:
    """Require that slopes agree where the function is smooth; whether some are not 0, if any are
    compared.
    """
    moves: list[bool] = []
    before, here, after = [line.at(x) for x in (-STEP, 0.0, STEP)]
    for low, middle, high, slope in zip(before, here, after, line.slope(), strict=True):
        if low.shape != high.shape or middle.dtype not in (np.float64, np.complex128):
            continue  # results of few digits have no differences
        with np.errstate(all="ignore"):
            left, right = (middle - low) / STEP, (high - middle) / STEP
            scale = 1 + np.abs(left) + np.abs(middle) / 100
            is_smooth = np.isfinite(left) & (np.abs(left - right) <= TOLERANCE * scale / 4)
            wrong = is_smooth & ~(np.abs(slope - (left + right) / 2) <= TOLERANCE * scale)
            wrong &= ~(line.is_root & (middle == 0))
        assert not wrong.any(), f"{line.given}: {slope[wrong]}, differences {left[wrong]}"
        moves += [bool((np.abs(slope[is_smooth]) > 0).any())] * bool(is_smooth.any())
    return moves


def operands_of(ufunc: np.ufunc) -> Any:
    return lambda draw: Call(
        tuple(array(draw, ("float64",), (4,), values="unit") for _ in range(ufunc.nin))
    )


EVERY = [*ROWS, *[Row(n, operands_of(u), oracle=u) for n, u in UFUNC_NAMES.items()]]
# These count the Hermitian part of a change: tests/compiler/transforms/test_rules_linalg.py.
HERMITIAN = ("linalg.cholesky", "linalg.eigh", "linalg.eigvalsh")

# Of real numbers the first are constant; moved numbers have little in common.
SELDOM = ("angle", "imag", "intersect1d")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in (*NAMES, *UFUNC_NAMES) if name not in HERMITIAN])
def test_derivatives_are_those_of_numpy(name: str) -> None:
    candidates = [row for row in EVERY if row.name == name]
    moved: list[bool] = []

    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(candidates))
        smooth = as_smooth(row.make(data.draw))
        if smooth is None or len(moved) >= 6:
            return
        line = Line(row, smooth)
        try:
            moved.extend(compare(line))
        except REFUSALS:
            return

    check()
    if name in NOT_DIFFERENTIABLE:
        assert not any(moved), f"{name} has a derivative, against what docs/numpy.md says"
    elif len(moved) >= 6 and name not in SELDOM:
        assert any(moved), f"{name} has no derivative, against what docs/numpy.md says"
