"""How much memory factorisations and solves of one matrix by LAPACK work in.

Each function mirrors the one of its name in `lapack`: what that takes, in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op
from weft.compiler.lower.llvm.routines import Planned
from weft.compiler.lower.llvm.routines.common import planning
from weft.compiler.lower.llvm.routines.common.planning import array, part
from weft.compiler.lower.llvm.routines.linalg.lapack import BLOCK

_INTEGER: Final = 4  # bytes of LAPACK's integers


def matrix_bytes(op: Op) -> Size:
    """What one matrix of an op takes, at most."""
    return _OF_ONE[op.name](op)


def _cholesky(op: Op) -> Size:
    return 0


def _triangular_solve(op: Op) -> Size:
    """A copy of the matrix, if it does not lie in rows."""
    a = op.operands[0].type
    return array(a.dtype, a.shape[-2:])


def _solve(op: Op) -> Size:
    """Pivots, the factors, and the order of rows, which one column does without."""
    a = op.operands[0].type
    return part(a.shape[-1] * _INTEGER) * 2 + array(a.dtype, a.shape[-2:])


def _lu(op: Op) -> Size:
    a = op.operands[0].type
    return array(a.dtype, a.shape[-2:])


def _slogdet(op: Op) -> Size:
    a = op.operands[0].type
    return part(a.shape[-1] * _INTEGER) + array(a.dtype, a.shape[-2:])


def _qr(op: Op) -> Size:
    a, q = op.operands[0].type, op.results[0].type
    rows, columns = a.shape[-2:]
    widest, steps = dims.maximum(columns, q.shape[-1]), dims.minimum(rows, columns)
    work = dims.maximum(widest, 1) * BLOCK
    return sum_of([array(a.dtype, shape) for shape in ((widest, rows), (steps + 1,), (work,))])


def _eigh(op: Op) -> Size:
    a = op.operands[0].type
    size = a.shape[-1]
    square = size * size
    work = array(a.dtype, (square * 2 + size * 6 + 1,))
    real_work = array(a.dtype.real, (square * 2 + size * 5 + 1,))
    integers = part((size * 5 + 3) * _INTEGER)
    return array(a.dtype, (square,)) + work + integers + real_work


def _eig(op: Op) -> Size:
    a = op.operands[0].type
    size = a.shape[-1]
    work = array(a.dtype, (dims.maximum(size, 1) * (BLOCK + 2),))
    parts = array(a.dtype.real, (size * 2 + 2,))
    return array(a.dtype, (size * size,)) * 2 + work + parts


def _svd(op: Op) -> Size:
    """All but what LAPACK itself says at run time that it wants."""
    a = op.operands[0].type
    u, s, vh = [result.type for result in op.results]
    least, most = s.shape[-1], dims.maximum(*a.shape[-2:])
    factors = [array(a.dtype, x.shape[-2:]) for x in (a, u, vh)]
    integers = part(least * (8 * _INTEGER))
    real_work = array(a.dtype.real, (least * (most * 2 + least * 5 + 7),))
    return sum_of([*factors, integers, real_work])


def sum_of(sizes: list[Size]) -> Size:
    total: Size = 0
    for size in sizes:
        total = total + size
    return total


_OF_ONE: Final[Mapping[str, Callable[[Op], Size]]] = {
    "cholesky": _cholesky,
    "triangular_solve": _triangular_solve,
    "solve": _solve,
    "lu": _lu,
    "slogdet": _slogdet,
    "qr": _qr,
    "eigh": _eigh,
    "eig": _eig,
    "svd": _svd,
}


def batch_bytes(call: Planned, *, at_once: bool) -> Size:
    """What a batch of matrices takes; `at_once`: several are worked on at the same time."""
    op, shape = call.op, call.op.operands[0].type.shape
    if op.name == "triangular_solve" and _is_in_rows(shape, call.strides[0]):
        return 0
    each = matrix_bytes(op)
    if not at_once or all(size == 1 for size in shape[:-2]):
        return each
    steps = dims.product((*shape[-2:], dims.minimum(*shape[-2:])))
    tasks = planning.chunks(dims.product(shape[:-2]), steps)
    return planning.tasks(each, call.threads, tasks)


def _is_in_rows(shape: Sequence[Size], strides: Sequence[Size]) -> bool:
    """Whether matrices are known to lie as BLAS takes them."""
    columns = shape[-1]
    return isinstance(columns, int) and strides[-1] == 1 and strides[-2] == columns
