"""`weft.implicit`: derivatives of solutions. See `weft.frontends.implicit`."""

from weft.frontends.implicit import fixed_point, linear_solve, root

__all__ = ["fixed_point", "linear_solve", "root"]
