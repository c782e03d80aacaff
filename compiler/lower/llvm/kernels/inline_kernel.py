"""Kernels of very few steps, written out where they stand instead of being called.

Steps and positions are numbers by then, so that LLVM sees which element of a small array is which:
together with small arrays on the stack that makes registers of them (docs/compiling.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Result, Value
from weft.compiler.ir.index.affine import Loop
from weft.compiler.ir.index.expression import Ref
from weft.compiler.loops.arena import ALIGNMENT
from weft.compiler.loops.costs import own_cost
from weft.compiler.loops.kernel import Kernel, Write
from weft.compiler.loops.vectorise import Schedule
from weft.compiler.lower.llvm.emit.arrays import Element
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import I8
from weft.compiler.lower.llvm.kernels.scope import Scope
from weft.compiler.lower.llvm.kernels.stages import StageEmitter
from weft.compiler.lower.llvm.kernels.values import Values

MOST_STEPS: Final = 8
MOST_OF_ONE: Final = 28  # additions of one op, all steps together: vectors do divisions at once
MOST_WORK: Final = 256  # additions of one kernel, all steps together
MOST_WORK_IN_ALL: Final = 4096  # of one program
SMALL: Final = ALIGNMENT  # bytes of an array on the stack
MOST_ON_STACK: Final = 256  # such arrays of one program

_NO_LANES: Final = Schedule({}, None, 0, 1)


def work(kernel: Kernel) -> int | None:
    """Additions of a kernel that is short enough to be written out; None for others."""
    sizes = [loop.size for loop in (*kernel.outer, *kernel.inner)]
    if kernel.in_order or not all(isinstance(size, int) for size in sizes):
        return None
    steps = math.prod(int(size) for size in sizes if isinstance(size, int))
    longest = max((_cost(ref) for ref in kernel.entries), default=0)
    total = steps * kernel.weight
    is_short = 0 < steps <= MOST_STEPS and steps * longest <= MOST_OF_ONE and total <= MOST_WORK
    return total if is_short else None


def _cost(ref: Ref) -> int:
    return own_cost(ref.value.op) if isinstance(ref.value, Result) else 0


def is_small(bytes: Size) -> bool:
    """Whether an array is small enough for the stack."""
    return isinstance(bytes, int) and bytes <= SMALL


def on_stack(f: Function) -> V:
    """Room for a small array."""
    return f.stack(I8, SMALL, align=ALIGNMENT)


class InPlace(StageEmitter):
    """Writes a kernel into the function that wants it."""

    def __init__(self, kernel: Kernel, values: Values) -> None:
        super().__init__(kernel, _NO_LANES)
        self.f, self.sizes, self.values = values.f, values.sizes, values
        self.numbers: dict[Value, Element] = {}
        self._kept: dict[tuple[object, ...], Element] = {}

    def emit(self) -> dict[Value, Element]:
        """Write all steps; returns what it makes that is a number."""
        self._outer(Scope(self.f), self.kernel.outer)
        return self.numbers

    def _outer(self, scope: Scope, loops: tuple[Loop, ...]) -> None:
        if not loops:
            self.levels(scope)
            return
        for step in self.written_out(loops[0]):
            self._outer(scope.inside(loops[0], step), loops[1:])

    def written_out(self, loop: Loop) -> Iterator[int]:
        assert isinstance(loop.size, int)
        yield from range(loop.size)

    def steps(self, loop: Loop, low: V, high: V) -> Iterator[int]:
        yield from self.written_out(loop)

    def write(self, scope: Scope, write: Write) -> None:
        storage = self.kernel.arrays[write.array][0]
        if isinstance(storage, tuple):
            self.numbers[storage[1]] = self.values.get(scope, write.source)
        else:
            super().write(scope, write)

    def to_scratch(self, scope: Scope, ref: Ref, element: Element) -> None:
        self._kept[self._at(scope, ref)] = element

    def from_scratch(self, scope: Scope, ref: Ref) -> Element:
        return self._kept[self._at(scope, ref)]

    def _at(self, scope: Scope, ref: Ref) -> tuple[object, ...]:
        """An entry and the step of each loop that it varies in, and of those around."""
        loops = [*self.kernel.outer, *self.kernel.inner]
        varies = self.kernel.entries[ref].loops
        return ref, *(scope.counters[o] for o in loops if o in varies or o in self.kernel.outer)
