"""`weft.scipy.signal`: traced. See `weft.frontends.scipy.signal`."""

from weft.frontends.scipy.signal import *  # noqa: F403
from weft.frontends.scipy.signal import __all__ as __all__
from weft.frontends.scipy.signal import __getattr__ as __getattr__
