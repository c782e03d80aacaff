"""Poisson's equation by multigrid."""

from .cycle import Multigrid, solve
from .grids import prolong, restrict

__all__ = ["Multigrid", "prolong", "restrict", "solve"]
