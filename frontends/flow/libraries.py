"""SciPy's functions inside of converted functions: `weft.scipy` has traced versions of some, which
take their place when they get traced values.
"""

from __future__ import annotations

import sys
import types
from typing import Any, Final

_PARTS: Final = ("special", "stats", "linalg", "signal", "ndimage", "fft")


def traced_version(function: Any) -> Any:
    """What stands for a function of SciPy, or for a method of one of its distributions; None if
    there is nothing.
    """
    owner = getattr(function, "__self__", None)
    if isinstance(owner, types.ModuleType | type(None)):
        return _ours(function, getattr(function, "__name__", ""))
    distribution = _ours(owner, getattr(owner, "name", ""))
    return getattr(distribution, function.__name__, None)


def is_scipys(function: Any) -> bool:
    """Whether a function, or the object that it is a method of, is SciPy's."""
    owner = getattr(function, "__self__", None)
    is_function = isinstance(owner, types.ModuleType | type(None))
    module = getattr(function if is_function else type(owner), "__module__", "") or ""
    return module.startswith("scipy.")


def _ours(thing: Any, name: str) -> Any:
    """The thing of that name in `weft.scipy`, if SciPy's own by that name is the one."""
    for part in _PARTS:
        theirs = sys.modules.get(f"scipy.{part}")
        if theirs is not None and getattr(theirs, name, None) is thing:
            return getattr(_module(part), name, None)
    return None


def _module(part: str) -> Any:
    """Our version of a part of SciPy, loaded when SciPy's own is used."""
    if part == "fft":
        from weft.frontends.numpy.public import fft

        return fft
    if part == "linalg":
        from weft.frontends.scipy import linalg

        return linalg
    if part == "ndimage":
        from weft.frontends.scipy import ndimage

        return ndimage
    if part == "signal":
        from weft.frontends.scipy import signal

        return signal
    if part == "special":
        from weft.frontends.scipy import special

        return special
    from weft.frontends.scipy import stats

    return stats
