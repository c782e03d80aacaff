"""`weft.implicit`: derivatives of solutions. See `weft.frontends.api.implicit`."""

from weft.frontends.api.implicit import fixed_point, linear_solve, root

__all__ = ["fixed_point", "linear_solve", "root"]
