"""Ops that are more than a loop nest: sorting, transforms, matrices. One emitter per op.

An emitter writes the op's computation into a function: `emit(f, env, op, operands, results)`.
Operands may have any strides; results are row-major and share no memory with operands.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Final, TypeAlias

from weft.compiler.ir.graph import Op
from weft.compiler.lower.llvm.arrays import Array, Env
from weft.compiler.lower.llvm.emit import Function

Routine: TypeAlias = Callable[[Function, Env, Op, list[Array], list[Array]], None]

_FAMILIES: Final = (
    "contraction",
    "convolution",
    "cumulative",
    "fourier",
    "linalg",
    "ordering",
    "windows",
)


class _Table(dict[str, Routine]):
    """Filled from the families when a routine is first asked for."""

    def __missing__(self, name: str) -> Routine:
        for family in _FAMILIES:
            try:
                module = importlib.import_module(f"{__name__}.{family}")
            except ModuleNotFoundError:
                continue
            self.update(module.ROUTINES)
        return self.get(name) or _unknown(name)


def _unknown(name: str) -> Routine:
    raise KeyError(name)


TABLE: Final[dict[str, Routine]] = _Table()
