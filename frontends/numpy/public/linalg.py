"""`numpy.linalg` for traced arrays."""

from __future__ import annotations

from typing import Any

from weft.frontends.numpy.functions.namespace import LINALG
from weft.frontends.numpy.public.surface import surface

globals().update(surface(LINALG))

__all__ = sorted(LINALG)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"weft.numpy.linalg has no {name}")
