"""How much memory routines work in, as sizes that are known when a program is planned.

The functions mirror what `emit.scratch` hands out: parts that are aligned, and for tasks as many
slots as threads can be at work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weft.compiler.ir import dims
from weft.compiler.ir.alignment import aligned, parts_for_threads
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.types import ArrayType
from weft.compiler.lower.llvm.emit.arrays import Array, Env
from weft.compiler.lower.llvm.emit.function import Function, Module, Operand, V
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID, Type
from weft.compiler.lower.llvm.routines.common.rows import LEAST_STEPS


def part(bytes: Size) -> Size:
    """The bytes that a part takes."""
    return aligned(bytes)


def array(dtype: DType, shape: Iterable[Size]) -> Size:
    """The bytes that an array takes."""
    return part(dims.product(shape) * dtype.itemsize)


def largest(sizes: Iterable[Size]) -> Size:
    """The bytes of what is needed one after the other."""
    most: Size = 0
    for size in sizes:
        most = dims.maximum(most, size)
    return most


def tasks(bytes: Size, threads: Size, count: Size) -> Size:
    """The bytes for `count` tasks that take so many each."""
    return parts_for_threads(bytes, threads, count)


def chunks(count: Size, steps: Size, group: int = 1) -> Size:
    """How many tasks `rows.parallel` makes of items, at most."""
    if isinstance(count, int) and isinstance(steps, int):
        each = -(-LEAST_STEPS // (max(steps, 1) * group)) * group
        return -(-count // each)
    return count


def seen(type: ArrayType, strides: Sequence[Size]) -> Array:
    """An operand as its routine sees it, for decisions: what is known only at run time is a value
    that nothing is known of.
    """
    f = nowhere()

    def operand(size: Size) -> Operand:
        return size if isinstance(size, int) else _unknown(f, I64)

    shape, steps = [tuple(map(operand, sizes)) for sizes in (type.shape, strides)]
    return Array(_unknown(f, PTR), type.dtype, shape, steps)


def nowhere() -> Function:
    """A function that nobody calls, for decisions that are emitted where sizes are not known."""
    return Function(Module(), "planning", VOID, [])


def no_env(f: Function) -> Env:
    """What is asked for while such decisions are emitted: sizes that nothing is known of."""
    return Env(f.module, _unknown(f, PTR), "planning", [], lambda _: _unknown(f, I64))


def _unknown(f: Function, type: Type) -> V:
    return V(f, "%unknown", type)
