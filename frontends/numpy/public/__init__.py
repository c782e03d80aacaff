"""The NumPy surface as a module: NumPy's names, for use inside and outside of traces.

Outside of a trace functions that make arrays give a `weft.Array`, and so do all others of one; of
NumPy arrays they compute NumPy arrays at once. `linalg` and `fft` are here too.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy

from weft.frontends.numpy.functions.namespace import MAIN, OBJECTS, UFUNC_NAMES
from weft.frontends.numpy.functions.refusals import HANDED_ON, refusal
from weft.frontends.numpy.public import fft as fft
from weft.frontends.numpy.public import linalg as linalg
from weft.frontends.numpy.public.info import NamespaceInfo
from weft.frontends.numpy.public.surface import surface, ufunc_surface
from weft.frontends.tracing.outside import REGISTRATION

CONSTANTS = ("pi", "e", "euler_gamma", "inf", "nan", "newaxis")
TYPES = (
    *("bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "dtype", "finfo", "iinfo"),
    *("bool", "generic", "number", "integer", "signedinteger", "unsignedinteger", "inexact"),
    *("floating", "complexfloating"),
)

NUMPYS_OWN = (*CONSTANTS, *TYPES, *HANDED_ON.split())

globals().update(surface(MAIN))
globals().update(ufunc_surface(UFUNC_NAMES))
globals().update(OBJECTS)
globals().update({name: getattr(numpy, name) for name in NUMPYS_OWN})

__all__ = sorted({*MAIN, *UFUNC_NAMES, *OBJECTS, *NUMPYS_OWN, "fft", "linalg"})


__array_api_version__ = "2024.12"


def from_dlpack(
    x: Any, /, *, device: Literal["cpu"] | None = None, copy: bool | None = None
) -> Any:
    """As `numpy.from_dlpack`, as a `weft.Array`; the elements are copied."""
    return REGISTRATION.loaded().array(numpy.from_dlpack(x, device=device, copy=copy))


def __array_namespace_info__() -> NamespaceInfo:
    """What the array API asks about a namespace."""
    return NamespaceInfo()


def __getattr__(name: str) -> Any:
    if hasattr(numpy, name) and not name.startswith("_"):
        raise AttributeError(refusal(name))
    raise AttributeError(f"weft.numpy has no {name}")
