"""Factorisations and solves of batches of matrices: written out where they are small, else LAPACK.

Matrices of a batch are independent, and worked on by several threads at once unless they are so
large that LAPACK keeps its own threads busy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from weft.compiler.ir.graph import Op
from weft.compiler.lower.llvm.emit.arrays import Array, Env, product
from weft.compiler.lower.llvm.emit.function import Function, Operand
from weft.compiler.lower.llvm.routines import Routine
from weft.compiler.lower.llvm.routines.common import copies, sizes
from weft.compiler.lower.llvm.routines.linalg import lanes, lapack
from weft.compiler.lower.llvm.routines.linalg import small as linalg_small
from weft.compiler.lower.llvm.routines.linalg.lanes import Items

_LARGE: Final = 256  # rows from which LAPACK's own threads are worth more than ours


def _by_lapack(emit: Callable[..., None], *flags: str) -> Routine:
    """The routine that applies `emit(f, env, *matrices, **attributes)` to each matrix; `flags` are
    the attributes that it takes.
    """

    def routine(f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]) -> None:
        attributes = {name: op.attributes[name] for name in flags}
        shape = operands[0].shape
        steps = product(f, (*shape[-2:], sizes.least(f, *shape[-2:])))
        at_once = not (sizes.is_known(shape[-1]) and shape[-1] >= _LARGE)

        def each(g: Function, inner: Env, items: list[Array], *_: object) -> None:
            emit(g, inner, *items, **attributes)

        copies.for_each(f, env, shape[:-2], [*operands, *results], steps, each, at_once=at_once)

    return routine


def _small_or_lapack(small: Callable[..., None], emit: Callable[..., None], *flags: str) -> Routine:
    """The routine that writes small matrices out by `small(items, **attributes)`."""
    large = _by_lapack(emit, *flags)

    def routine(f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]) -> None:
        lines: Operand = 1
        if op.name == "triangular_solve":
            lines = operands[1].shape[-1 if op.attributes["left_side"] else -2]
        if not linalg_small.is_small(operands[0], lines):
            large(f, env, op, operands, results)
            return
        attributes: dict[str, Any] = {name: op.attributes[name] for name in flags}
        compute: Callable[[Items], None] = partial(small, **attributes)
        batch = operands[0].shape[:-2]
        lanes.for_lanes(f, env, batch, [*operands, *results], compute)

    return routine


_TRIANGULAR: Final = ("lower", "transpose", "conjugate", "unit_diagonal", "left_side")

ROUTINES: Final[Mapping[str, Routine]] = {
    "cholesky": _small_or_lapack(linalg_small.cholesky, lapack.cholesky),
    "triangular_solve": _small_or_lapack(
        linalg_small.triangular_solve, lapack.triangular_solve, *_TRIANGULAR
    ),
    "solve": _small_or_lapack(linalg_small.solve, lapack.solve),
    "lu": _small_or_lapack(linalg_small.lu, lapack.lu),
    "slogdet": _small_or_lapack(linalg_small.slogdet, lapack.slogdet),
    "qr": _by_lapack(lapack.qr),
    "eigh": _by_lapack(lapack.eigh),
    "eig": _by_lapack(lapack.eig),
    "svd": _by_lapack(lapack.svd),
}
