"""`weft.random`: random numbers as pure functions of a key.

See `weft.frontends.random.sampling` and `weft.frontends.random.distributions`.
"""

from weft.frontends.random.distributions import *  # noqa: F403
from weft.frontends.random.distributions import __all__ as _distributions
from weft.frontends.random.sampling import *  # noqa: F403
from weft.frontends.random.sampling import __all__ as _basic

__all__ = sorted([*_basic, *_distributions])
