"""Iterative solvers of linear systems."""

from .operators import LinearOperator, aslinearoperator, jacobi
from .solvers import bicgstab, cg, gmres

__all__ = ["LinearOperator", "aslinearoperator", "bicgstab", "cg", "gmres", "jacobi"]
