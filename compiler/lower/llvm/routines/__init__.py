"""Ops that are more than a loop nest: sorting, transforms, matrices. One emitter per op.

An emitter writes the op's computation into a function: `emit(f, env, op, operands, results)`.
Operands may have any strides; results are row-major and share no memory with operands.

What an op's routine works in is known when a program is planned, for the families that have a table
`SCRATCH`: `scratch_bytes` says how much, and the emitter is given so much (`Env.scratch`). Where
this follows from decisions that are left to the run, it is a symbol, and the value of that is what
the routine notes when it is called with a record that only measures (`Scratch.measuring`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op
from weft.compiler.lower.choice import Products
from weft.compiler.lower.llvm.emit.arrays import Array, Env
from weft.compiler.lower.llvm.emit.function import Function
from weft.compiler.lower.llvm.target import Target
from weft.compiler.record import record

Routine: TypeAlias = Callable[[Function, Env, Op, list[Array], list[Array]], None]


@record
class Planned:
    """A call of a routine as the plan of a program knows it: the op, the element strides of its
    operands, the machine, how many threads a run may use (a number, or a symbol that is at least
    the number of any run), how matrices are to be multiplied, and the symbol that stands for what
    the routine works in if it finds this out at run time.
    """

    op: Op
    strides: Sequence[tuple[Size, ...]]
    target: Target
    threads: Size
    products: Products = Products()
    measured: Size = 0


ScratchOf: TypeAlias = Callable[[Planned], Size]

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


def scratch_bytes(call: Planned) -> Size:
    """How many bytes an op's routine works in, beside its operands and results: a size that the
    emitter is to be given, or 0 where it takes none or asks the heap at run time.
    """
    module = importlib.import_module(f"{__name__}.{_HOMES[call.op.name]}")
    table: Mapping[str, ScratchOf] = getattr(module, "SCRATCH", {})
    return table[call.op.name](call) if call.op.name in table else 0
