"""Finite elements on triangles."""

from .mesh import Mesh, unit_square
from .poisson import PoissonProblem, bar_displacements, solve_poisson

__all__ = ["Mesh", "PoissonProblem", "bar_displacements", "solve_poisson", "unit_square"]
