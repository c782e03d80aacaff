"""Functions of libraries by their names."""

from __future__ import annotations

import pytest

from weft.runtime import symbols


def test_symbols_have_addresses() -> None:
    assert symbols.address("scipy_blas_dgemm") == symbols.address("scipy_blas_dgemm") != 0
    for name in ("scipy_blas_nothing", "scipy_lapack_nothing", "cblas_dgemm"):
        with pytest.raises(KeyError):
            symbols.address(name)
