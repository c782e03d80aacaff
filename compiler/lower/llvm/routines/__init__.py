"""Ops that are more than a loop nest: sorting, transforms, matrices. One emitter per op.

An emitter writes the op's computation into a function: `emit(f, env, op, operands, results)`.
Operands may have any strides; results are row-major and share no memory with operands.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from weft.compiler.ir.graph import Op
from weft.compiler.lower.llvm.emit.arrays import Array, Env
from weft.compiler.lower.llvm.emit.function import Function

Routine: TypeAlias = Callable[[Function, Env, Op, list[Array], list[Array]], None]

# Which file has the emitter of an op. A family is loaded when one of its ops is first met: most
# programs have products and nothing else of these.
FAMILIES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "gemm.contraction": ("dot_general", "dot_general_sums"),
        "convolution.api": ("convolution",),
        "reductions.cumulative": (
            *("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"),
            "linear_recurrence",
        ),
        "fourier.api": ("fft",),
        "linalg.api": (
            *("cholesky", "eig", "eigh", "lu", "qr", "slogdet", "solve", "svd"),
            "triangular_solve",
        ),
        "sorting.api": ("sort", "top_k", "searchsorted"),
        "gemm.sparse": ("sparse_dot",),
        "reductions.windows": ("reduce_window", "window_argmax"),
    }
)
_HOMES: Final = {name: family for family, names in FAMILIES.items() for name in names}


def has_routine(name: str) -> bool:
    """Whether an op has an emitter."""
    return name in _HOMES


def routine(name: str) -> Routine:
    """The emitter of an op."""
    module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
    found: Routine = module.ROUTINES[name]
    return found
