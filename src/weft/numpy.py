"""`weft.numpy`: NumPy's functions, traceable. See `weft.frontends.numpy.public`."""

from typing import Any

from weft.frontends.eager.array import NAMESPACE as _surface
from weft.frontends.numpy.public import *  # noqa: F403
from weft.frontends.numpy.public import __all__ as __all__


def __getattr__(name: str) -> Any:
    return getattr(_surface, name)
