"""`weft.numpy`: NumPy's functions, traceable. See `weft.frontends.numpy`."""

from typing import Any

from weft.frontends import numpy as _surface
from weft.frontends.numpy import *  # noqa: F403
from weft.frontends.numpy import __all__ as __all__


def __getattr__(name: str) -> Any:
    return getattr(_surface, name)
