"""`weft.random`: random numbers as pure functions of a key.

See `weft.frontends.random` and `weft.frontends.distributions`.
"""

from weft.frontends.distributions import *  # noqa: F403
from weft.frontends.distributions import __all__ as _distributions
from weft.frontends.random import *  # noqa: F403
from weft.frontends.random import __all__ as _basic

__all__ = sorted([*_basic, *_distributions])
