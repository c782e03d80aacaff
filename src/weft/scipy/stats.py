"""`weft.scipy.stats`: traced. See `weft.frontends.scipy.stats`."""

from weft.frontends.scipy.stats import *  # noqa: F403
from weft.frontends.scipy.stats import __all__ as __all__
from weft.frontends.scipy.stats import __getattr__ as __getattr__
