"""`weft.scipy.special`: traced. See `weft.frontends.scipy.special`."""

from weft.frontends.scipy.special import *  # noqa: F403
from weft.frontends.scipy.special import __all__ as __all__
from weft.frontends.scipy.special import __getattr__ as __getattr__
