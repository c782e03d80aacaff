"""Calls of BLAS and LAPACK by Fortran's convention, and row-major matrix products through them.

Names are those that `runtime.symbols` resolves. A row-major matrix is the transpose of a
column-major one in the same memory; the functions here say which of the two they mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from weft.compiler.abi import BLAS_THREADS, BlasThreads, Run
from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm import linkage
from weft.compiler.lower.llvm.emit import atomics
from weft.compiler.lower.llvm.emit.arrays import Array
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I8, I32, I64, PTR, VOID, of_dtype
from weft.compiler.lower.llvm.routines.common import copies, rows, sizes
from weft.compiler.record import record

LETTERS: Final = {dtypes.f32: "s", dtypes.f64: "d", dtypes.c64: "c", dtypes.c128: "z"}
"""How the routines of a dtype begin."""

_MOST: Final = (1 << 31) - 1  # what a size or a distance can be


def call(f: Function, library: str, name: str, *arguments: Operand | str) -> None:
    """Call a routine of "blas" or "lapack". Pointers are passed as they are, and of numbers and
    characters the addresses; numbers become 32-bit integers.
    """
    f.call(linkage.fortran(library, name), VOID, [_argument(f, argument) for argument in arguments])


def _argument(f: Function, argument: Operand | str) -> V:
    if isinstance(argument, str):
        held = f.const(ord(argument), I8)
    elif not isinstance(argument, V):
        held = f.const(argument, I32)
    elif argument.type.is_pointer:
        return argument
    else:
        held = argument.to(I32) if argument.type is I64 else argument
    return held_at(f, held)


def held_at(f: Function, value: V) -> V:
    """The address of a value on the stack."""
    slot = f.stack(value.type)
    f.store(value, slot)
    return slot


def number_at(f: Function, value: float, dtype: DType) -> V:
    """The address of a real number as an element of a dtype."""
    type = of_dtype(dtype)
    slot = f.stack(type, 2)
    f.store(f.const(value, type), slot)
    f.store(f.const(0, type), f.element(slot, type, 1))
    return slot


@record
class Laid:
    """A row-major matrix as BLAS takes it: whether it lies in memory transposed ("T", else "N", as
    a byte) and how far apart its lines are; and whether BLAS can take it so.
    """

    turned: V
    leading: V
    fits: V


def laid_out(f: Function, matrix: Array) -> Laid:
    """How BLAS can take a matrix: by rows if it fits, else by columns."""
    plain, turned = [_by_lines(f, seen) for seen in (matrix, copies.turned(matrix))]
    letters = [f.const(ord(letter), I8) for letter in "NT"]
    return Laid(
        f.select(plain[0], *letters),
        f.maximum(f.select(plain[0], plain[1], turned[1]), 1),
        plain[0] | turned[0],
    )


def is_fit(matrix: Array) -> bool | None:
    """What `laid_out` says of fitting, as far as it is known now."""
    given = (*matrix.shape, *matrix.strides)
    if not sizes.all_known(given):
        return None
    count, columns, down, across = given
    plain = (across == 1 or columns <= 1) and (columns <= down <= _MOST or count <= 1)
    turned = (down == 1 or count <= 1) and (count <= across <= _MOST or columns <= 1)
    return (plain or turned) and max(count, columns) <= _MOST


def _by_lines(f: Function, matrix: Array) -> tuple[V, V]:
    """Whether elements of a row are neighbours, and rows follow each other at a distance that BLAS
    accepts; and that distance. The stride of an axis with one index does not matter.
    """
    count, columns, down, across = [sizes.value(f, x) for x in (*matrix.shape, *matrix.strides)]
    neighbours = (across.eq(1) | columns.le(1)) & f.maximum(count, columns).le(_MOST)
    apart = (down.ge(columns) & down.le(_MOST)) | count.le(1)
    return neighbours & apart, f.select(count.le(1), columns, down)


def gemm(f: Function, lhs: Array, rhs: Array, result: Array, left: Laid, right: Laid) -> None:
    """The product of two matrices that fit into one with neighbouring elements in its rows."""
    dtype, (count, columns) = result.dtype, result.shape
    # Column-major, this is the transposed product: rhs^T lhs^T.
    call(
        f,
        "blas",
        f"{LETTERS[dtype]}gemm",
        right.turned,
        left.turned,
        sizes.value(f, columns),
        sizes.value(f, count),
        sizes.value(f, lhs.shape[1]),
        number_at(f, 1.0, dtype),
        rhs.pointer,
        right.leading,
        lhs.pointer,
        left.leading,
        number_at(f, 0.0, dtype),
        result.pointer,
        f.maximum(sizes.value(f, result.strides[0]), 1),
    )


# --- threads ------------------------------------------------------------------------------------


@contextmanager
def one_thread(f: Function) -> Iterator[None]:
    """Let BLAS use one thread meanwhile, if it is a BLAS that can be told: on several its results
    depend on how many they are.
    """
    with _threads(f, f.const(1, I64)):
        yield


@contextmanager
def threads_of_call(f: Function, run: V) -> Iterator[None]:
    """Let BLAS use as many threads meanwhile as the call of the program may, or one in code that
    runs on several already; it has one while others need that.
    """
    threads, inside = [
        f.load(f.element(run, I64, int(word)), I64) for word in (Run.THREADS, Run.INSIDE)
    ]
    with _threads(f, f.select(inside.eq(0), f.maximum(threads, 1), 1)):
        yield


@contextmanager
def _threads(f: Function, wanted: V) -> Iterator[None]:
    """Nothing in between may return from the function."""
    f.module.external(BLAS_THREADS)
    words = V(f, f"@{BLAS_THREADS}", PTR)
    given = [_WORDS, ("wanted", I64)]
    f.call(rows.shared(f.module, "blas.enter", VOID, given, _enter), VOID, [words, wanted])
    yield
    f.call(rows.shared(f.module, "blas.leave", VOID, [_WORDS], _leave), VOID, [words])


_WORDS: Final = ("words", PTR)


def _enter(f: Function) -> None:
    """The first user says how many threads there are; later ones can only ask for one."""
    words, wanted = f.arguments
    users, before = [
        f.element(words, I64, word) for word in (BlasThreads.USERS, BlasThreads.BEFORE)
    ]
    with _locked(f, words):
        count = f.load(users, I64)
        with f.when(count.eq(0)):
            f.store(_get(f, words), before)
        with f.when(count.eq(0) | wanted.eq(1)):
            _set(f, words, wanted)
        f.store(count + 1, users)
    f.ret()


def _leave(f: Function) -> None:
    (words,) = f.arguments
    users, before = [
        f.element(words, I64, word) for word in (BlasThreads.USERS, BlasThreads.BEFORE)
    ]
    with _locked(f, words):
        count = f.load(users, I64) - 1
        f.store(count, users)
        with f.when(count.eq(0)):
            _set(f, words, f.load(before, I64))
    f.ret()


@contextmanager
def _locked(f: Function, words: V) -> Iterator[None]:
    """With the lock, if the number of threads can be set at all. It is held for a moment only, so
    others spin.
    """
    lock = f.element(words, I64, int(BlasThreads.LOCK))
    with f.when(f.load(f.element(words, I64, int(BlasThreads.SET)), I64).ne(0)):
        with f.loop_while() as loop:
            loop.stop_if(atomics.exchange(f, lock, f.const(0, I64), 1))
            atomics.pause(f, f.module.target.triple)
        yield
        atomics.store(f, f.const(0, I64), lock)


def _get(f: Function, words: V) -> V:
    function = f.load(f.element(words, I64, int(BlasThreads.GET)), PTR)
    return f.call_pointer(function, I32, []).to(I64)


def _set(f: Function, words: V, number: V) -> None:
    with f.when(number.ne(_get(f, words))):
        function = f.load(f.element(words, I64, int(BlasThreads.SET)), PTR)
        f.call_pointer(function, VOID, [number.to(I32)])


# --- triangles ----------------------------------------------------------------------------------


@record
class Triangle:
    """A triangle of a column-major matrix, and how it is applied: as BLAS calls these things."""

    pointer: V
    leading: V
    upper: bool
    turned: str  # "N", "T" or "C"
    unit: bool


def trsm(f: Function, triangle: Triangle, side: str, target: Array) -> None:
    """Solve with a triangle in place of a row-major target; BLAS sees the target transposed, and
    `side` is as BLAS sees it.
    """
    count, columns = [sizes.value(f, size) for size in target.shape]
    call(
        f,
        "blas",
        f"{LETTERS[target.dtype]}trsm",
        side,
        "U" if triangle.upper else "L",
        triangle.turned,
        "U" if triangle.unit else "N",
        columns,
        count,
        number_at(f, 1.0, target.dtype),
        triangle.pointer,
        triangle.leading,
        target.pointer,
        f.maximum(columns, 1),
    )
