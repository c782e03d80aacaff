"""Native linear algebra: drawn matrices against the references, and some without an answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.lower.llvm.routines.guarding import (
    FLOATS,
    LAID,
    SEEDS,
    UNHURRIED,
    Array,
    Case,
    assert_same_in_pieces,
    native,
    numbers,
    relaid,
)
from tests.compiler.ops import rows_linalg
from tests.compiler.ops.rows_linalg import positive
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops.linalg import cholesky, eigh, lu, qr, slogdet, solve, svd, triangular_solve

pytestmark = pytest.mark.usefixtures("guarded")


@st.composite
def systems(draw: st.DrawFn) -> Case:
    """Matrices of moderate condition, alone and in batches, for each op of linear algebra."""
    op = draw(st.sampled_from((cholesky, triangular_solve, solve, lu, slogdet, qr, eigh, svd)))
    dtype, seed = draw(st.sampled_from(FLOATS)), draw(SEEDS)
    rows = columns = draw(st.sampled_from((0, 1, 2, 3, 4, 5, 8, 16, 17, 30)))
    if op in (lu, qr, svd):
        columns = draw(st.sampled_from((rows, 0, 1, 3, 7, 20)))
    batch: tuple[int, ...] = draw(st.sampled_from(((), (1,), (5,), (2, 3), (0,), (33,))))
    a = numbers((*batch, rows, columns), dtype, seed) / (rows + 1)
    a += (1 + np.arange(columns)) * np.eye(rows, columns)
    if op in (cholesky, eigh):
        a = a + a.conj().swapaxes(-1, -2)
    if len(batch) == 1 and draw(st.booleans()):
        a = np.broadcast_to(a[:1], (*batch[:1], rows, columns)) if batch[0] else a
    else:
        a = relaid(a, draw(LAID))
    operands = [a.astype(dtype, copy=False)]
    attributes: dict[str, bool] = {}
    if op in (solve, triangular_solve):
        lines = draw(st.sampled_from((0, 1, 2, 6, 20)))
        if op is triangular_solve:
            attributes = {name: draw(st.booleans()) for name in rows_linalg.FLAGS}
        shape = (rows, lines) if attributes.get("left_side", True) else (lines, rows)
        operands.append(relaid(numbers((*batch, *shape), dtype, seed + 1), draw(LAID)))
    if op in (qr, svd):
        attributes = {"full": draw(st.booleans())}
    return Case(op, operands, attributes, 100 * (rows + columns) ** 2)


@settings(max_examples=12, **UNHURRIED)
@given(case=systems(), dynamic=st.booleans())
def test_drawn_systems(case: Case, dynamic: bool) -> None:
    case.check(dynamic)


@pytest.mark.slow
@settings(max_examples=300, **UNHURRIED)
@given(case=systems(), dynamic=st.booleans())
def test_many_drawn_systems(case: Case, dynamic: bool) -> None:
    case.check(dynamic)


LARGE: dict[str, Case] = {
    "solve": Case(
        solve, [numbers((3000, 3, 3), np.float32, 1), numbers((3000, 3, 2), np.float32, 2)], {}, 1
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_results_do_not_depend_on_how_loops_are_shared(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_same_in_pieces(LARGE[name], monkeypatch)


@pytest.mark.parametrize("size", [3, 7, 16, 24])
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
class TestHopelessMatrices:
    """One matrix of a batch has no answer; the others do."""

    def batch(self, size: int, dtype: Any) -> Array:
        return np.stack([positive(size, dtype, seed) for seed in range(6)])

    def only_third_is_lost(self, op: OpDef, a: Array) -> None:
        for made in native(op, [a], {}, dynamic=False):
            lost = np.isnan(made).reshape(6, -1)
            assert lost[2].all() and not np.delete(lost, 2, 0).any(), op.name

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_not_finite(self, size: int, dtype: Any, bad: float) -> None:
        a = self.batch(size, dtype)
        a[2, size - 1, 0] = bad
        for op in (cholesky, eigh, svd):
            self.only_third_is_lost(op, a)

    def test_not_positive_definite(self, size: int, dtype: Any) -> None:
        a = self.batch(size, dtype)
        a[2, size - 1, size - 1] = -1
        self.only_third_is_lost(cholesky, a)

    def test_singular(self, size: int, dtype: Any) -> None:
        a = self.batch(size, dtype)
        a[2, :, 1] = 0
        sign, logarithm = native(slogdet, [a], {}, dynamic=False)
        assert sign[2] == 0 and logarithm[2] == -np.inf
        assert np.isfinite(np.delete(logarithm, 2)).all() and np.delete(sign, 2).all()
        for lines in (1, 3):
            x = native(solve, [a, numbers((6, size, lines), dtype, 1)], {}, dynamic=False)[0]
            assert not np.isfinite(x[2]).all() and np.isfinite(np.delete(x, 2, 0)).all()
        packed = native(lu, [a], {}, dynamic=False)[0]
        assert np.isfinite(packed).all()
