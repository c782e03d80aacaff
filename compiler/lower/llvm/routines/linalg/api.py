"""Factorisations and solves of batches of matrices: written out where they are small, else LAPACK.

Matrices of a batch are independent, and worked on by several threads at once; each by LAPACK on one
thread, on which its results do not depend. Where BLAS is asked for, large ones follow each other
and have LAPACK's own threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op
from weft.compiler.lower.choice import Products
from weft.compiler.lower.llvm.emit.arrays import Array, Env, product
from weft.compiler.lower.llvm.emit.function import Function, Operand
from weft.compiler.lower.llvm.routines import Planned, Routine, ScratchOf
from weft.compiler.lower.llvm.routines.common import copies, planning, sizes
from weft.compiler.lower.llvm.routines.linalg import lanes, lapack, scratch
from weft.compiler.lower.llvm.routines.linalg import small as linalg_small
from weft.compiler.lower.llvm.routines.linalg.lanes import Items

_LARGE: Final = 256  # rows from which LAPACK's own threads are worth more than ours


def _is_at_once(matrices: Array, products: Products) -> bool:
    """Whether several matrices are worked on at the same time."""
    columns = matrices.shape[-1]
    is_large = sizes.is_known(columns) and columns >= _LARGE
    return products.wanted != "blas" or not is_large


def _is_small(op: Op, operands: Sequence[Array]) -> bool:
    """Whether matrices are written out instead of handed to LAPACK."""
    if op.name not in _SMALL:
        return False
    lines: Operand = 1
    if op.name == "triangular_solve":
        lines = operands[1].shape[-1 if op.attributes["left_side"] else -2]
    return linalg_small.is_small(operands[0], lines)


def _by_lapack(emit: Callable[..., None], *flags: str) -> Routine:
    """The routine that applies `emit(f, env, *matrices, **attributes)` to each matrix; `flags` are
    the attributes that it takes.
    """

    def routine(f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]) -> None:
        attributes = {name: op.attributes[name] for name in flags}
        shape = operands[0].shape
        steps = product(f, (*shape[-2:], sizes.least(f, *shape[-2:])))
        at_once = _is_at_once(operands[0], env.products)
        bytes = 0 if env.scratch is None else env.size(scratch.matrix_bytes(op))

        def each(g: Function, inner: Env, items: list[Array], *_: object) -> None:
            emit(g, inner, *items, **attributes)

        every = [*operands, *results]
        copies.for_each(f, env, shape[:-2], every, steps, each, at_once=at_once, scratch=bytes)

    return routine


def _small_or_lapack(small: Callable[..., None], emit: Callable[..., None], *flags: str) -> Routine:
    """The routine that writes small matrices out by `small(items, **attributes)`."""
    large = _by_lapack(emit, *flags)

    def routine(f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]) -> None:
        if not _is_small(op, operands):
            large(f, env, op, operands, results)
            return
        attributes: dict[str, Any] = {name: op.attributes[name] for name in flags}
        compute: Callable[[Items], None] = partial(small, **attributes)
        batch = operands[0].shape[:-2]
        lanes.for_lanes(f, env, batch, [*operands, *results], compute)

    return routine


def _scratch(call: Planned) -> Size:
    types = [operand.type for operand in call.op.operands]
    operands = [planning.seen(*given) for given in zip(types, call.strides, strict=True)]
    if _is_small(call.op, operands):
        return 0
    return scratch.batch_bytes(call, at_once=_is_at_once(operands[0], call.products))


_SMALL: Final = ("cholesky", "triangular_solve", "solve", "lu", "slogdet")
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
SCRATCH: Final[Mapping[str, ScratchOf]] = dict.fromkeys(ROUTINES, _scratch)
