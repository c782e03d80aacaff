"""`weft.scipy.interpolate`: traced. See `weft.frontends.scipy.interpolate`."""

from weft.frontends.scipy.interpolate import *  # noqa: F403
from weft.frontends.scipy.interpolate import __all__ as __all__
from weft.frontends.scipy.interpolate import __getattr__ as __getattr__
