"""`weft.scipy.integrate`: traced. See `weft.frontends.scipy.integrate`."""

from weft.frontends.scipy.integrate import *  # noqa: F403
from weft.frontends.scipy.integrate import __all__ as __all__
from weft.frontends.scipy.integrate import __getattr__ as __getattr__
