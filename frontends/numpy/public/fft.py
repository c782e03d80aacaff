"""`numpy.fft` for traced arrays."""

from __future__ import annotations

from typing import Any

from weft.frontends.numpy.functions.namespace import FFT
from weft.frontends.numpy.public.surface import surface

globals().update(surface(FFT))

__all__ = sorted(FFT)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"weft.numpy.fft has no {name}")
