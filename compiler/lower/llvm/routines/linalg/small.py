"""Small systems without LAPACK: each lane of a vector works on a matrix of its own.

Rows are exchanged by selection, since every lane chooses its own pivots. Pivots, divisions and what
becomes of singular matrices are as in the ops' references.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, TypeAlias

from weft.compiler.lower.llvm.emit.arrays import Array, Element, plus
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I32
from weft.compiler.lower.llvm.routines.common import elements, sizes
from weft.compiler.lower.llvm.routines.common.elements import (
    ElementCell,
    divide,
    multiply,
    multiply_subtract,
    negate,
    parts,
    select,
)
from weft.compiler.lower.llvm.routines.linalg.lanes import WRITTEN_OUT, Items, LaneBlock
from weft.compiler.lower.llvm.routines.linalg.lapack import sign_and_log

LARGEST: Final = 16  # rows and columns up to which lanes are faster than LAPACK
FEWEST: Final = 4  # matrices from which that holds for all but the smallest
MOST_LINES: Final = 4  # right-hand sides up to which it holds for triangular solves

Get: TypeAlias = Callable[[Operand, Operand], Element]


def is_small(matrices: Array, lines: Operand = 1) -> bool:
    """Whether matrices are known to be small, and not too few; in triangular solves, for few
    `lines` of the other operand, since BLAS takes many of them at once.
    """
    *batch, count, columns = matrices.shape
    if not sizes.is_known(count) or not sizes.is_known(columns):
        return False
    few_matrices = sizes.all_known(batch) and math.prod(batch) < FEWEST
    many_lines = not sizes.is_known(lines) or lines > MOST_LINES
    return max(count, columns) <= (WRITTEN_OUT if few_matrices or many_lines else LARGEST)


def _whole(items: Items, which: int) -> LaneBlock:
    count, columns = [sizes.known(size) for size in items.arrays[which].shape]
    return items.take(which, count, columns, lambda row, column: (row, column))


# --- cholesky -----------------------------------------------------------------------------------


def cholesky(items: Items) -> None:
    f, block = items.f, _whole(items, 0)
    size = block.rows
    works = ElementCell(f, items.count(1))

    def require(condition: V) -> None:
        works.set(select(f, condition, works.get(), items.count(0)))

    def clean(row: Operand) -> None:
        end = plus(f, row, 1)
        items.each(0, end, lambda c: require(elements.is_finite(f, block.get(row, c))))
        items.each(end, size, lambda c: block.set(row, c, items.number(0)))

    items.each(0, size, clean)
    items.each(0, size, lambda column: _cholesky_column(items, block, column, require))

    def finish(row: Operand, column: Operand) -> None:
        found = parts(works.get())[0].ne(0)
        made = select(f, found, block.get(row, column), items.number(float("nan")))
        block.set(row, column, made)

    items.each(0, size, lambda row: items.each(0, size, lambda column: finish(row, column)))
    items.put(1, block, lambda row, column: (row, column))


def _cholesky_column(
    items: Items, block: LaneBlock, column: Operand, require: Callable[[V], None]
) -> None:
    f = items.f
    pivot = ElementCell(f, parts(block.get(column, column))[0])

    def lessen(k: Operand) -> None:
        for part in parts(block.get(column, k)):
            pivot.set(elements.subtract(pivot.get(), part * part))

    items.each(0, column, lessen)
    height = parts(pivot.get())[0]
    require(height.gt(0.0))
    root = f.sqrt(height)

    def below(row: Operand) -> None:
        rest = ElementCell(f, block.get(row, column))

        def reduce(k: Operand) -> None:
            other = elements.conjugate(block.get(column, k))
            rest.set(multiply_subtract(rest.get(), block.get(row, k), other))

        items.each(0, column, reduce)
        block.set(row, column, elements.map_parts(lambda part: part / root, rest.get()))

    items.each(plus(f, column, 1), block.rows, below)
    real = (root, f.const(0, root.type)) if items.dtype.is_complex else root
    block.set(column, column, real)


# --- triangular solve ---------------------------------------------------------------------------


def triangular_solve(
    items: Items,
    *,
    lower: bool,
    transpose: bool,
    conjugate: bool,
    unit_diagonal: bool,
    left_side: bool,
) -> None:
    """x op(a) = b is op(a)^T x^T = b^T, so only solves from the left are left to do."""
    block = _whole(items, 0)
    is_turned = transpose == left_side

    def get(row: Operand, column: Operand) -> Element:
        held = block.get(column, row) if is_turned else block.get(row, column)
        return elements.conjugate(held) if conjugate else held

    with items.f.range(0, items.arrays[1].shape[1 if left_side else 0]) as line:

        def place(row: Operand, _: Operand) -> tuple[Operand, ...]:
            return (row, line) if left_side else (line, row)

        x = items.take(1, block.rows, 1, place)
        _substitute(items, get, x, lower=lower != is_turned, unit_diagonal=unit_diagonal)
        items.put(2, x, place)


def _substitute(items: Items, get: Get, x: LaneBlock, *, lower: bool, unit_diagonal: bool) -> None:
    """Solve for x in place of what a triangle times x is."""
    f = items.f

    def one(row: Operand) -> None:
        rest = ElementCell(f, x.get(row))

        def reduce(k: Operand) -> None:
            rest.set(multiply_subtract(rest.get(), get(row, k), x.get(k)))

        if lower:
            items.each(0, row, reduce)
        else:
            items.each_down(plus(f, row, 1), x.rows, reduce)
        made = rest.get() if unit_diagonal else divide(f, rest.get(), get(row, row))
        x.set(row, 0, made)

    (items.each if lower else items.each_down)(0, x.rows, one)


# --- elimination --------------------------------------------------------------------------------


class _Elimination:
    """Gaussian elimination with partial pivoting: `block` becomes the packed factors, `pivots` has
    the row that each step exchanged with its own.
    """

    def __init__(self, items: Items) -> None:
        self.f: Final = items.f
        self.items: Final = items
        self.block: Final = _whole(items, 0)
        self.steps: Final = min(self.block.rows, self.block.columns)
        self.pivots: Final = LaneBlock(items, self.steps, 1, I32)
        items.each(0, self.steps, self._step)

    def _step(self, step: Operand) -> None:
        self.pivots.set(step, 0, self._choose(step))
        self.exchange(step, self.block)
        self._eliminate(step)

    def _choose(self, step: Operand) -> Element:
        """The row with the greatest element of a column; the first of equal ones, or of NaNs."""
        f, items, block = self.f, self.items, self.block
        best = ElementCell(f, _weight(f, block.get(step, step)))
        chosen = ElementCell(f, items.count(step))

        def compare(row: Operand) -> None:
            weight, before = _weight(f, block.get(row, step)), parts(best.get())[0]
            better = weight.gt(before) | (f.is_nan(weight) & ~f.is_nan(before))
            best.set(f.select(better, weight, before))
            chosen.set(select(f, better, items.count(row), chosen.get()))

        items.each(plus(f, step, 1), block.rows, compare)
        return chosen.get()

    def exchange(self, step: Operand, block: LaneBlock) -> None:
        """Exchange the rows of one step in a block."""
        f, items = self.f, self.items
        pivot = parts(self.pivots.get(step))[0]

        def one(row: Operand) -> None:
            is_chosen = pivot.eq(items.count(row))

            def swap(column: Operand) -> None:
                here, there = block.get(step, column), block.get(row, column)
                block.set(step, column, select(f, is_chosen, there, here))
                block.set(row, column, select(f, is_chosen, here, there))

            items.each(0, block.columns, swap)

        items.each(plus(f, step, 1), block.rows, one)

    def _eliminate(self, step: Operand) -> None:
        f, items, block = self.f, self.items, self.block
        pivot = block.get(step, step)
        divisor = select(f, elements.is_zero(pivot), items.number(1), pivot)
        following = plus(f, step, 1)

        def one(row: Operand) -> None:
            factor = divide(f, block.get(row, step), divisor)
            block.set(row, step, factor)

            def reduce(column: Operand) -> None:
                rest = multiply_subtract(block.get(row, column), factor, block.get(step, column))
                block.set(row, column, rest)

            items.each(following, block.columns, reduce)

        items.each(following, block.rows, one)


def _weight(f: Function, x: Element) -> V:
    """|re| + |im|, by which LAPACK compares pivots."""
    return f.abs(x[0]) + f.abs(x[1]) if isinstance(x, tuple) else f.abs(x)


def lu(items: Items) -> None:
    made = _Elimination(items)
    order = LaneBlock(items, made.block.rows, 1, I32)
    items.each(0, order.rows, lambda row: order.set(row, 0, items.count(row)))
    items.each(0, made.steps, lambda step: made.exchange(step, order))
    items.put(1, made.block, lambda row, column: (row, column))
    items.put(2, made.pivots, lambda row, _: (row,))
    items.put(3, order, lambda row, _: (row,))


def solve(items: Items) -> None:
    made = _Elimination(items)
    with items.f.range(0, items.arrays[1].shape[1]) as line:

        def place(row: Operand, _: Operand) -> tuple[Operand, ...]:
            return row, line

        x = items.take(1, made.block.rows, 1, place)
        items.each(0, made.steps, lambda step: made.exchange(step, x))
        _substitute(items, made.block.get, x, lower=True, unit_diagonal=True)
        _substitute(items, made.block.get, x, lower=False, unit_diagonal=False)
        items.put(2, x, place)


def slogdet(items: Items) -> None:
    f, made = items.f, _Elimination(items)
    sign, total = ElementCell(f, items.number(1)), ElementCell(f, parts(items.number(0))[0])
    regular = ElementCell(f, items.count(1))

    def take(step: Operand) -> None:
        pivot = made.block.get(step, step)
        regular.set(select(f, elements.is_zero(pivot), items.count(0), regular.get()))
        direction, height = sign_and_log(f, pivot)
        swapped = parts(made.pivots.get(step))[0].ne(items.count(step))
        sign.set(multiply(sign.get(), select(f, swapped, negate(direction), direction)))
        total.set(elements.add(total.get(), height))

    items.each(0, made.steps, take)
    is_regular = parts(regular.get())[0].ne(0)
    nothing = f.const(-float("inf"), parts(total.get())[0].type)
    results = (
        (1, select(f, is_regular, sign.get(), items.number(0))),
        (2, select(f, is_regular, total.get(), nothing)),
    )
    for which, value in results:
        block = LaneBlock(items, 1, 1, parts(value)[0].type.element, len(parts(value)))
        block.set(0, 0, value)
        items.put(which, block, lambda row, column: ())
