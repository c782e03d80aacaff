"""Sparse matrices by rows, in plain NumPy."""

from .factor import ilu0
from .matrix import CSRMatrix, from_coo
from .solve import gauss_seidel, pagerank, pcg, relax

__all__ = ["CSRMatrix", "from_coo", "gauss_seidel", "ilu0", "pagerank", "pcg", "relax"]
