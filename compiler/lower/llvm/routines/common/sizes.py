"""Arithmetic on sizes and strides, which are numbers where they are known and i64 values else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from weft.compiler.lower.llvm.emit.arrays import Array
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I1, I64


def is_known(x: Operand) -> TypeGuard[int]:
    """Whether a size is a number already."""
    return not isinstance(x, V)


def all_known(sizes: Sequence[Operand]) -> TypeGuard[Sequence[int]]:
    return not any(isinstance(size, V) for size in sizes)


def known(x: Operand) -> int:
    """A size that must be a number already."""
    assert is_known(x), f"{x} is known only when the program runs"
    return x


def value(f: Function, x: Operand) -> V:
    """The size as an i64 value."""
    return f.const(x, I64)


def minus(f: Function, x: Operand, y: Operand) -> Operand:
    if is_known(x) and is_known(y):
        return x - y
    return x if is_known(y) and y == 0 else f.sub(x, y)


def least(f: Function, x: Operand, y: Operand) -> Operand:
    return min(x, y) if is_known(x) and is_known(y) else f.minimum(x, y)


def most(f: Function, x: Operand, y: Operand) -> Operand:
    return max(x, y) if is_known(x) and is_known(y) else f.maximum(x, y)


def floor_divide(f: Function, x: Operand, y: Operand) -> Operand:
    """`x // y` for any x and a positive y."""
    if is_known(y) and y == 1:
        return x
    if is_known(x) and is_known(y):
        return x // y
    quotient, rest = f.divide(x, y), f.remainder(x, y)
    return quotient - f.select(rest.lt(0), f.const(1, I64), 0)


def ceil_divide(f: Function, x: Operand, y: Operand) -> Operand:
    """`x / y` rounded up, for any x and a positive y."""
    return minus(f, 0, floor_divide(f, minus(f, 0, x), y))


def modulo(f: Function, x: Operand, y: int) -> Operand:
    """What `floor_divide` leaves, from 0 to y - 1."""
    if y == 1:
        return 0
    if is_known(x):
        return x % y
    rest = f.remainder(x, y)
    return f.select(rest.lt(0), rest + y, rest)


def equal(f: Function, x: Operand, y: Operand) -> V:
    return f.const(x == y, I1) if is_known(x) and is_known(y) else f.compare("eq", x, y)


def rank_split(array: Array, leading: int) -> tuple[Array, Array]:
    """The array with its leading axes only, and with the others only; both start at index 0."""
    parts = slice(None, leading), slice(leading, None)
    outer, inner = [
        Array(array.pointer, array.dtype, array.shape[part], array.strides[part]) for part in parts
    ]
    return outer, inner


def coalesced(
    shape: Sequence[Operand], strides: Sequence[Sequence[Operand]]
) -> tuple[list[Operand], list[list[Operand]]]:
    """The axes of several arrays of one shape with neighbours merged that are known to lie behind
    each other in all of them, and axes of size 1 dropped.
    """
    sizes: list[Operand] = []
    steps: list[list[Operand]] = [[] for _ in strides]
    for axis, size in enumerate(shape):
        here = [of[axis] for of in strides]
        if is_known(size) and size == 1:
            continue
        if sizes and is_known(sizes[-1]) and is_known(size) and _follow(steps, here, size):
            sizes[-1] = sizes[-1] * size
            for kept, step in zip(steps, here, strict=True):
                kept[-1] = step
            continue
        sizes.append(size)
        for kept, step in zip(steps, here, strict=True):
            kept.append(step)
    return sizes, steps


def _follow(steps: Sequence[Sequence[Operand]], here: Sequence[Operand], size: int) -> bool:
    """Whether in each array the axis before has the stride that makes one axis of both."""
    last = [of[-1] for of in steps]
    if not all_known(last) or not all_known(here):
        return False
    return all(before == step * size for before, step in zip(last, here, strict=True))
