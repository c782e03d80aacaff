"""Factorisations and solves of one matrix by LAPACK, with what the ops promise beyond it.

Each function emits one op on one matrix: operands of any strides, row-major results. LAPACK sees
matrices by columns, so most are copied to workspace on the way; it never sees an infinity or NaN
where that could make it loop.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Final

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm import math
from weft.compiler.lower.llvm.emit.arrays import Array, Element, Env, plus, product, times
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import F64, I8, I32, I64, PTR, of_dtype
from weft.compiler.lower.llvm.routines.common import copies, elements, sizes
from weft.compiler.lower.llvm.routines.common.elements import ElementCell, number, read, write
from weft.compiler.lower.llvm.routines.gemm import blas
from weft.compiler.lower.llvm.routines.gemm.blas import LETTERS, Triangle

BLOCK: Final = 64  # columns that LAPACK may work on at once, for the size of workspace


def _call(f: Function, env: Env, dtype: DType, name: str, *arguments: Operand | str) -> V:
    """Call a routine of LAPACK whose last argument, left out here, is `info`; whether it is 0."""
    info = f.stack(I32)
    f.store(f.const(0, I32), info)
    with _threads(f, env):
        blas.call(f, "lapack", f"{LETTERS[dtype]}{name}", *arguments, info)
    return f.load(info, I32).eq(0)


def _threads(f: Function, env: Env) -> AbstractContextManager[None]:
    """The threads that LAPACK has: one, so that bits depend on nothing else, unless BLAS is asked
    for.
    """
    if env.products.wanted == "blas":
        return blas.threads_of_call(f, env.run)
    return blas.one_thread(f)


# --- copies -------------------------------------------------------------------------------------


def _by_columns(f: Function, env: Env, matrix: Array) -> Array:
    """The transposed matrix in workspace, row-major: the matrix as LAPACK wants it."""
    turned = copies.turned(matrix)
    result = copies.scratch(f, env, matrix.dtype, turned.shape)
    copies.copy_here(f, turned, result)
    return result


def _copy_lower(f: Function, matrix: Array, target: Array) -> None:
    """The lower triangle with zeros above it, into an array of any strides."""
    zero = number(f, 0, matrix.dtype)
    with f.range(0, matrix.shape[0]) as row:
        with f.range(0, row + 1) as column:
            made = read(f, matrix, matrix.position(f, (row, column)), 0, matrix.dtype)
            write(f, target, target.position(f, (row, column)), made, matrix.dtype)
        with f.range(row + 1, matrix.shape[1]) as column:
            write(f, target, target.position(f, (row, column)), zero, matrix.dtype)


def _is_finite(f: Function, array: Array) -> V:
    """Whether no element of a row-major array is infinite or NaN."""
    scale = 2 if array.dtype.is_complex else 1
    count = sizes.value(f, times(f, product(f, array.shape), scale))
    flat = Array(array.pointer, array.dtype.real, (count,), (1,))
    lanes = elements.vector_lanes(flat.dtype)
    totals = [
        ElementCell(f, number(f, 0, flat.dtype, lanes)),
        ElementCell(f, number(f, 0, flat.dtype)),
    ]
    whole = count & -lanes
    for total, width, begin, end in ((totals[0], lanes, 0, whole), (totals[1], 0, whole, count)):
        with f.range(begin, end, max(width, 1)) as i:
            x = read(f, flat, i, width, flat.dtype)
            # Differences are 0 or NaN.
            total.set(elements.add(total.get(), elements.subtract(x, x)))
    wide = elements.sum_of_lanes(f, totals[0].get(), elements.add)
    return elements.is_zero(elements.add(wide, totals[1].get()))


def _fill(f: Function, array: Array, value: float) -> None:
    """The same number in all elements of a row-major array."""
    element = number(f, value, array.dtype)
    with f.range(0, product(f, array.shape)) as i:
        write(f, array, i, element, array.dtype)


def _fill_identity(f: Function, array: Array) -> None:
    _fill(f, array, 0.0)
    with f.range(0, array.shape[0]) as i:
        write(f, array, array.position(f, (i, i)), number(f, 1, array.dtype), array.dtype)


def _conjugate(f: Function, array: Array) -> None:
    with f.range(0, product(f, array.shape)) as i:
        made = elements.conjugate(read(f, array, i, 0, array.dtype))
        write(f, array, i, made, array.dtype)


# --- cholesky, triangular solve -----------------------------------------------------------------


def cholesky(f: Function, env: Env, a: Array, lower: Array) -> None:
    """Row-major, the lower triangle is LAPACK's upper one of the conjugate matrix, whose factor
    U^H U = conj(a) lies there as the lower U^T, and a = U^T conj(U).
    """
    _copy_lower(f, a, lower)
    works = f.variable(_is_finite(f, lower).to(I32))
    size = sizes.value(f, a.shape[0])
    with f.when(works.get().ne(0)):
        found = _call(f, env, a.dtype, "potrf", "U", size, lower.pointer, f.maximum(size, 1))
        works.set(found.to(I32))
    with f.when(works.get().eq(0)):
        _fill(f, lower, float("nan"))


def triangular_solve(
    f: Function,
    env: Env,
    a: Array,
    b: Array,
    x: Array,
    *,
    lower: bool,
    transpose: bool,
    conjugate: bool,
    unit_diagonal: bool,
    left_side: bool,
) -> None:
    """BLAS sees everything transposed, so sides and triangles are exchanged. It does not conjugate
    without transposing: then the conjugate of b is solved for that of x.
    """
    is_turned_about = conjugate and not transpose and a.dtype.is_complex
    copies.copy_here(f, b, x)
    if is_turned_about:
        _conjugate(f, x)
    pointer, leading, workspace = _row_major(f, env, a)
    turned = "N" if not transpose else "C" if conjugate else "T"
    triangle = Triangle(pointer, leading, upper=lower, turned=turned, unit=unit_diagonal)
    with _threads(f, env):
        blas.trsm(f, triangle, "R" if left_side else "L", x)
    if is_turned_about:
        _conjugate(f, x)
    env.free(f, workspace)


def _row_major(f: Function, env: Env, matrix: Array) -> tuple[V, V, V]:
    """The matrix with neighbouring elements in its rows: its address, how far apart rows are, and
    the workspace it was copied to, or null.
    """
    pointer, workspace = f.variable(matrix.pointer), f.variable(0, PTR)
    leading = f.variable(matrix.strides[0], I64)
    down, columns = sizes.value(f, matrix.strides[0]), sizes.value(f, matrix.shape[1])
    fits = sizes.equal(f, matrix.strides[1], 1) & down.ge(columns) & down.lt(1 << 31)
    with f.when(~fits):
        packed = copies.scratch(f, env, matrix.dtype, matrix.shape)
        copies.copy_here(f, matrix, packed)
        pointer.set(packed.pointer)
        workspace.set(packed.pointer)
        leading.set(columns)
    return pointer.get(), f.maximum(leading.get(), 1), workspace.get()


# --- LU, solve, determinant ---------------------------------------------------------------------


def _factorise(f: Function, env: Env, a: Array, pivots: V) -> tuple[Array, V]:
    """a by columns, replaced by its factors, with pivots from 1 up; whether no pivot is 0."""
    packed = _by_columns(f, env, a)
    rows, columns = [sizes.value(f, size) for size in a.shape]
    leading = f.maximum(rows, 1)
    regular = _call(f, env, a.dtype, "getrf", rows, columns, packed.pointer, leading, pivots)
    return packed, regular


def _permute(f: Function, pivots: V, steps: Operand, permutation: V, rows: Operand) -> None:
    """The order of rows that exchanges by pivots from 1 up amount to."""
    with f.range(0, rows) as i:
        f.store(i.to(I32), f.element(permutation, I32, i))
    with f.range(0, steps) as i:
        here = f.element(permutation, I32, i)
        pivot = f.load(f.element(pivots, I32, i), I32) - 1
        there = f.element(permutation, I32, pivot.to(I64))
        first, second = f.load(here, I32), f.load(there, I32)
        f.store(second, here)
        f.store(first, there)


def lu(f: Function, env: Env, a: Array, packed: Array, pivots: Array, permutation: Array) -> None:
    factors, _ = _factorise(f, env, a, pivots.pointer)
    copies.copy_here(f, copies.turned(factors), packed)
    steps = pivots.shape[0]
    _permute(f, pivots.pointer, steps, permutation.pointer, a.shape[0])
    with f.range(0, steps) as i:
        place = f.element(pivots.pointer, I32, i)
        f.store(f.load(place, I32) - 1, place)
    env.free(f, factors.pointer)


def solve(f: Function, env: Env, a: Array, b: Array, x: Array) -> None:
    """One column by LAPACK; several, which lie there by rows, by two triangular solves."""
    size = sizes.value(f, a.shape[0])
    pivots = env.workspace(f, size * 4)
    factors, _ = _factorise(f, env, a, pivots)
    leading = f.maximum(size, 1)
    if sizes.is_known(b.shape[1]) and b.shape[1] == 1:
        copies.copy_here(f, b, x)
        given = (factors.pointer, leading, pivots, x.pointer, leading)
        _call(f, env, x.dtype, "getrs", "N", size, 1, *given)
    else:
        order = env.workspace(f, size * 4)
        _permute(f, pivots, size, order, size)
        with f.range(0, size) as row:
            source = f.load(f.element(order, I32, row), I32).to(I64)
            given_row = b.without(0).moved(f, f.mul(source, b.strides[0]))
            copies.copy_here(f, given_row, x.without(0).moved(f, f.mul(row, x.strides[0])))
        for upper in (False, True):
            triangle = Triangle(factors.pointer, leading, upper=upper, turned="T", unit=not upper)
            with _threads(f, env):
                blas.trsm(f, triangle, "R", x)
        env.free(f, order)
    env.free(f, factors.pointer)
    env.free(f, pivots)


def slogdet(f: Function, env: Env, a: Array, sign: Array, logarithm: Array) -> None:
    size = sizes.value(f, a.shape[0])
    pivots = env.workspace(f, size * 4)
    factors, regular = _factorise(f, env, a, pivots)
    total_sign = ElementCell(f, number(f, 1, a.dtype))
    total = ElementCell(f, number(f, 0, logarithm.dtype))
    with f.range(0, size) as i:
        pivot = read(f, factors, factors.position(f, (i, i)), 0, a.dtype)
        direction, height = sign_and_log(f, pivot)
        swapped = f.load(f.element(pivots, I32, i), I32).to(I64).ne(i + 1)
        turned = elements.select(f, swapped, elements.negate(direction), direction)
        total_sign.set(elements.multiply(total_sign.get(), turned))
        total.set(elements.add(total.get(), height))
    zero, nothing = number(f, 0, a.dtype), number(f, -float("inf"), logarithm.dtype)
    write(f, sign, 0, elements.select(f, regular, total_sign.get(), zero), a.dtype)
    made = elements.select(f, regular, total.get(), nothing)
    write(f, logarithm, 0, made, logarithm.dtype)
    env.free(f, factors.pointer)
    env.free(f, pivots)


def sign_and_log(f: Function, x: Element) -> tuple[Element, Element]:
    """x / |x| and the logarithm of |x|, for any number of lanes."""
    if not isinstance(x, tuple):
        one = f.const(1.0, x.type)
        return f.select(x.lt(0.0), -one, one), math.call(f, "log", f.abs(x))
    magnitude = absolute(f, x)
    direction = x[0] / magnitude, x[1] / magnitude
    return direction, math.call(f, "log", magnitude)


def absolute(f: Function, x: tuple[V, V]) -> V:
    """|x| without overflow on the way."""
    a, b = f.abs(x[0]), f.abs(x[1])
    larger, smaller = f.select(a.ge(b), a, b), f.select(a.ge(b), b, a)
    ratio = smaller / larger
    made = larger * f.sqrt(ratio * ratio + 1.0)
    return f.select(larger.eq(0.0), larger, made)


# --- QR -----------------------------------------------------------------------------------------


def qr(f: Function, env: Env, a: Array, q: Array, r: Array) -> None:
    """q and r have as many columns and rows as the op wants, which is all that makes it full."""
    rows, columns = [sizes.value(f, size) for size in a.shape]
    inner = sizes.value(f, q.shape[1])
    steps, widest = f.minimum(rows, columns), f.maximum(columns, inner)
    work_size = f.maximum(widest, 1) * BLOCK
    held = copies.scratch(f, env, a.dtype, (widest, rows))
    scales = copies.scratch(f, env, a.dtype, (plus(f, steps, 1),))
    work = copies.scratch(f, env, a.dtype, (work_size,))
    turned = copies.turned(a)
    copies.copy_here(f, turned, Array(held.pointer, held.dtype, turned.shape, held.strides))
    leading = f.maximum(rows, 1)
    shared = (scales.pointer, work.pointer, work_size)
    _call(f, env, a.dtype, "geqrf", rows, columns, held.pointer, leading, *shared)
    _copy_upper(f, held, r)
    make = "ungqr" if a.dtype.is_complex else "orgqr"
    _call(f, env, a.dtype, make, rows, inner, steps, held.pointer, leading, *shared)
    factor = Array(held.pointer, held.dtype, (inner, rows), held.strides)
    copies.copy_here(f, copies.turned(factor), q)
    for used in (held, scales, work):
        env.free(f, used.pointer)


def _copy_upper(f: Function, by_columns: Array, target: Array) -> None:
    """The upper triangle with zeros below it."""
    zero = number(f, 0, target.dtype)
    with f.range(0, target.shape[0]) as row:
        below = f.minimum(row, sizes.value(f, target.shape[1]))
        with f.range(0, below) as column:
            write(f, target, target.position(f, (row, column)), zero, target.dtype)
        with f.range(row, target.shape[1]) as column:
            made = read(f, by_columns, by_columns.position(f, (column, row)), 0, target.dtype)
            write(f, target, target.position(f, (row, column)), made, target.dtype)


# --- eigenvalues, singular values ---------------------------------------------------------------


def eigh(f: Function, env: Env, a: Array, values: Array, vectors: Array) -> None:
    """By divide and conquer; the sizes of workspace are those that LAPACK's manual gives."""
    size = sizes.value(f, a.shape[0])
    square = size * size
    held = copies.scratch(f, env, a.dtype, (size, size))
    _copy_lower(f, a, copies.turned(held))
    works = f.variable(_is_finite(f, held).to(I32))
    whole_size, real_size = square * 2 + size * 6 + 1, square * 2 + size * 5 + 1
    work = copies.scratch(f, env, a.dtype, (whole_size,))
    integers = env.workspace(f, (size * 5 + 3) * 4)
    real_work = copies.scratch(f, env, a.dtype.real, (real_size,))
    more: tuple[Operand, ...] = (real_work.pointer, real_size) if a.dtype.is_complex else ()
    with f.when(works.get().ne(0)):
        given = ("V", "L", size, held.pointer, f.maximum(size, 1), values.pointer)
        spaces = (work.pointer, whole_size, *more, integers, size * 5 + 3)
        name = "heevd" if a.dtype.is_complex else "syevd"
        works.set(_call(f, env, a.dtype, name, *given, *spaces).to(I32))
    with f.otherwise(works.get().ne(0)) as choice:
        copies.copy_here(f, copies.turned(held), vectors)
        choice.otherwise()
        for result in (values, vectors):
            _fill(f, result, float("nan"))
    for pointer in (held.pointer, work.pointer, real_work.pointer, integers):
        env.free(f, pointer)


def eig(f: Function, env: Env, a: Array, values: Array, vectors: Array) -> None:
    """The workspace lets LAPACK work on blocks of columns."""
    size = sizes.value(f, a.shape[0])
    held = _by_columns(f, env, a)
    columns = copies.scratch(f, env, a.dtype, (size, size))
    works = f.variable(_is_finite(f, held).to(I32))
    work_size = f.maximum(size, 1) * (BLOCK + 2)
    work = copies.scratch(f, env, a.dtype, (work_size,))
    parts = copies.scratch(f, env, a.dtype.real, (plus(f, size * 2, 2),))
    real, leading = a.dtype.real, f.maximum(size, 1)
    second = f.element(parts.pointer, of_dtype(real), leading)
    is_complex = a.dtype.is_complex
    found = (values.pointer,) if is_complex else (parts.pointer, second)
    given = ("N", "V", size, held.pointer, leading, *found, work.pointer, leading)
    spaces = (columns.pointer, leading, work.pointer, work_size)
    more: tuple[Operand, ...] = (parts.pointer,) if is_complex else ()
    with f.when(works.get().ne(0)):
        works.set(_call(f, env, a.dtype, "geev", *given, *spaces, *more).to(I32))
    with f.otherwise(works.get().ne(0)) as choice:
        if is_complex:
            copies.copy_here(f, copies.turned(columns), vectors)
        else:
            imaginary = Array(second, real, parts.shape, parts.strides)
            _join_pairs(f, parts, imaginary, columns, values, vectors)
        choice.otherwise()
        for result in (values, vectors):
            _fill(f, result, float("nan"))
    for used in (held, columns, work, parts):
        env.free(f, used.pointer)


def _join_pairs(
    f: Function, real: Array, imaginary: Array, columns: Array, values: Array, vectors: Array
) -> None:
    """Complex values and vectors of a real matrix: LAPACK gives the parts of values apart, and of a
    pair of conjugate vectors the real part, then the imaginary one.
    """
    with f.range(0, values.shape[0]) as i:
        height = _number(f, imaginary, i)
        write(f, values, i, (_number(f, real, i), height), values.dtype)
        is_first, is_second = height.gt(0.0), height.lt(0.0)
        first = i - is_second.to(I64)
        second = i + is_first.to(I64)
        with f.range(0, vectors.shape[0]) as row:
            across = _number(f, columns, columns.position(f, (first, row)))
            up = _number(f, columns, columns.position(f, (second, row)))
            signed = f.select(is_second, -up, up)
            made = f.select(is_first | is_second, signed, f.const(0.0, up.type))
            write(f, vectors, vectors.position(f, (row, i)), (across, made), vectors.dtype)


def _number(f: Function, array: Array, position: Operand) -> V:
    """One element of a real array."""
    result = read(f, array, position, 0, array.dtype)
    assert not isinstance(result, tuple)
    return result


def svd(f: Function, env: Env, a: Array, u: Array, s: Array, vh: Array) -> None:
    """u and vh have as many columns and rows as the op wants, which is all that makes it full."""
    least = sizes.value(f, s.shape[0])
    with f.otherwise(least.eq(0)) as choice:
        for result in (u, vh):
            # What is not empty here is square.
            square = sizes.equal(f, result.shape[0], result.shape[1])
            with f.when(square):
                _fill_identity(f, result)
        choice.otherwise()
        held = _by_columns(f, env, a)
        works = f.variable(_is_finite(f, held).to(I32))
        with f.when(works.get().ne(0)):
            works.set(_decompose(f, env, held, u, s, vh).to(I32))
        with f.when(works.get().eq(0)):
            for result in (u, s, vh):
                _fill(f, result, float("nan"))
        env.free(f, held.pointer)


def _decompose(f: Function, env: Env, held: Array, u: Array, s: Array, vh: Array) -> V:
    """Singular values and vectors of a matrix by columns; whether they were found."""
    dtype = held.dtype
    columns, rows = [sizes.value(f, size) for size in held.shape]
    least, most = sizes.value(f, s.shape[0]), f.maximum(rows, columns)
    left, right = [copies.scratch(f, env, dtype, copies.turned(x).shape) for x in (u, vh)]
    is_full = sizes.equal(f, u.shape[1], rows) & sizes.equal(f, vh.shape[0], columns)
    job = f.select(is_full, f.const(ord("A"), I8), ord("S"))
    integers = env.workspace(f, least * (8 * 4))
    real_work = copies.scratch(f, env, dtype.real, (least * (most * 2 + least * 5 + 7),))
    more: tuple[Operand, ...] = (real_work.pointer,) if dtype.is_complex else ()
    given = (job, rows, columns, held.pointer, rows, s.pointer)
    factors = (left.pointer, rows, right.pointer, sizes.value(f, vh.shape[0]))
    answer = f.stack(of_dtype(dtype), 2)
    _call(f, env, dtype, "gesdd", *given, *factors, answer, -1, *more, integers)
    # The answer is a float, which may have been rounded down.
    size = (f.load(answer, of_dtype(dtype)).to(F64) * (1 + 2.0**-22)).to(I64) + 1
    heap = env.heap
    work = copies.scratch(f, heap, dtype, (size,))
    found = _call(f, env, dtype, "gesdd", *given, *factors, work.pointer, size, *more, integers)
    copies.copy_here(f, copies.turned(left), u)
    copies.copy_here(f, copies.turned(right), vh)
    heap.free(f, work.pointer)
    for pointer in (left.pointer, right.pointer, integers, real_work.pointer):
        env.free(f, pointer)
    return found
