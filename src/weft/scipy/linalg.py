"""`weft.scipy.linalg`: traced. See `weft.frontends.scipy.linalg`."""

from weft.frontends.scipy.linalg import *  # noqa: F403
from weft.frontends.scipy.linalg import __all__ as __all__
from weft.frontends.scipy.linalg import __getattr__ as __getattr__
