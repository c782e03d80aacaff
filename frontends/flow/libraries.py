"""SciPy's functions inside of converted functions: `weft.scipy` has traced versions of some, which
take their place when they get traced values.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any, Final

_NAMES: Final = ("special", "stats", "linalg", "signal", "ndimage", "integrate", "interpolate")
_PARTS: Final = {
    **{name: f"weft.frontends.scipy.{name}" for name in _NAMES},
    "fft": "weft.frontends.numpy.public.fft",
}
"""The modules that are ours by those of SciPy's."""


def traced_version(function: Any) -> Any:
    """What stands for a function or class of SciPy, one of its interpolators, or a method of one
    of its distributions; None if there is nothing.
    """
    owner = getattr(function, "__self__", None)
    if isinstance(owner, types.ModuleType | type(None)):
        if type(function).__module__.startswith("scipy.interpolate"):
            return _module("interpolate").evaluated(function)
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
    return importlib.import_module(_PARTS[part])
