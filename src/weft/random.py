"""`weft.random`: random numbers as pure functions of a key. See `weft.frontends.random`."""

from weft.frontends.random import *  # noqa: F403
from weft.frontends.random import __all__ as __all__
