"""`weft.scipy.ndimage`: traced. See `weft.frontends.scipy.ndimage`."""

from weft.frontends.scipy.ndimage import *  # noqa: F403
from weft.frontends.scipy.ndimage import __all__ as __all__
from weft.frontends.scipy.ndimage import __getattr__ as __getattr__
