"""Kernels of very few steps, written out where they stand instead of being called.

Steps and positions are numbers by then, so that LLVM sees which element of a small array is which:
together with small arrays on the stack that makes registers of them (docs/compiling.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from weft.compiler.ir.alignment import ALIGNMENT
from weft.compiler.ir.graph import Value
from weft.compiler.ir.index.affine import Loop
from weft.compiler.ir.index.expression import Ref
from weft.compiler.loops.kernel import Kernel, Write
from weft.compiler.loops.vectorise import VectorPlan, inline_lanes
from weft.compiler.lower.llvm.emit.arrays import Element
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import I8, I64
from weft.compiler.lower.llvm.kernels.scope import Scope
from weft.compiler.lower.llvm.kernels.stages import StageEmitter
from weft.compiler.lower.llvm.kernels.values import Values

_NO_LANES: Final = VectorPlan({}, None, 0, 1)


def on_stack(f: Function) -> V:
    """Room for a small array."""
    return f.stack(I8, ALIGNMENT, align=ALIGNMENT)


class InPlace(StageEmitter):
    """Writes a kernel into the function that wants it."""

    def __init__(self, kernel: Kernel, values: Values) -> None:
        super().__init__(kernel, _NO_LANES)
        self.f, self.sizes, self.values = values.f, values.sizes, values
        self.numbers: dict[Value, Element] = {}
        self._kept: dict[tuple[object, ...], Element] = {}
        self._lanes = inline_lanes(kernel)

    def emit(self) -> dict[Value, Element]:
        """Write all steps; returns what it makes that is a number."""
        self._outer(Scope(self.f), self.kernel.outer)
        return self.numbers

    def _outer(self, scope: Scope, loops: tuple[Loop, ...]) -> None:
        if not loops:
            self.levels(scope)
            return
        if loops[0] is self._lanes:
            start = self.f.const(0, I64)
            self.levels(scope.along(loops[0], start, int(loops[0].size), None))
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
