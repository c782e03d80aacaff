"""Accumulators of reductions: what they hold, how a step enters, how lanes become one number.

Lanes accumulate independently and are combined in a fixed tree at the end, so the result does not
depend on how the work was shared out.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.ir.dtypes import DType, i64
from weft.compiler.loops.group import Reduction
from weft.compiler.loops.kernel import Entry
from weft.compiler.lower.llvm import scalar
from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.arrays import Element
from weft.compiler.lower.llvm.emit.function import Function, V, Variable
from weft.compiler.lower.llvm.emit.types import I1, I64
from weft.compiler.lower.llvm.kernels.scope import select, splat
from weft.compiler.lower.llvm.kernels.values import convert


class Accumulator:
    """The running result of one reduction, in a number of lanes."""

    def __init__(self, f: Function, entry: Entry, lanes: int) -> None:
        assert isinstance(entry.source, Reduction)
        self.f = f
        self.entry = entry
        self.reduction = entry.source
        self.kind = entry.source.kind
        self.source = entry.source.body.value.type.dtype
        self.dtype = self.source.working
        self.lanes = lanes
        start = splat(f, _start(f, self.kind, self.dtype), lanes)
        self.parts = [f.variable(part) for part in _parts(start)]
        self.place: Variable | None = None
        self.empty: Variable | None = None
        if self.is_position:
            self.place = f.variable(f.splat(f.const(0, I64), lanes))
            self.empty = f.variable(f.splat(f.const(True, I1), lanes))

    @property
    def is_position(self) -> bool:
        """Whether the place of an extreme is wanted, not the extreme itself."""
        return self.kind in ("argmax", "argmin")

    @property
    def variables(self) -> list[Variable]:
        """All that it holds."""
        return [*self.parts, *(x for x in (self.place, self.empty) if x is not None)]

    def get(self) -> Element:
        return _element([part.get() for part in self.parts])

    def set(self, element: Element) -> None:
        for part, value in zip(self.parts, _parts(element), strict=True):
            part.set(value)

    def add(self, element: Element, counter: V, mask: V | None, along: bool) -> None:
        """Let one step enter. `counter` is the step's (lane 0's if the lanes go `along` it)."""
        f = self.f
        new = splat(f, convert(f, element, self.source, self.dtype), self.lanes)
        if self.is_position:
            places = f.splat(counter, self.lanes)
            if along:
                places = places + memory.iota(f, self.lanes)
            self._add_place(new, places, mask)
            return
        old = self.get()
        made = scalar.combine(f, self.kind, old, new, self.dtype)
        if mask is not None:
            made = select(f, f.splat(mask, self.lanes), made, old)
        self.set(made)

    def _add_place(self, new: Element, places: V, mask: V | None) -> None:
        assert self.place is not None and self.empty is not None
        old = self.get()
        assert isinstance(new, V) and isinstance(old, V)
        better = self._beats(new, old) | self.empty.get()
        if mask is not None:
            better = better & self.f.splat(mask, self.lanes)
        self.set(self.f.select(better, new, old))
        self.place.set(self.f.select(better, places, self.place.get()))
        self.empty.set(self.f.select(better, False, self.empty.get()))

    def _beats(self, new: V, old: V) -> V:
        """Strictly better: so the first of equal ones stays, and the first NaN."""
        better = new.gt(old) if self.kind == "argmax" else new.lt(old)
        if not new.type.is_float:
            return better
        return (better | self.f.is_nan(new)) & ~self.f.is_nan(old)

    def result(self, across: bool) -> Element:
        """The result in the dtype of the op; `across` the lanes, or lane by lane."""
        f = self.f
        target = self.entry.ref.value.type.dtype
        state = self.state(across)
        if self.is_position:
            return convert(f, state[1], i64, target)
        return convert(f, _element(state), self.dtype, target)

    def state(self, across: bool) -> list[V]:
        """All that it holds; `across` the lanes, which are combined in a tree, or lane by lane."""
        held = [variable.get() for variable in self.variables]
        lanes = self.lanes if across else 0
        if not lanes:
            return held
        while lanes > 1:
            lanes //= 2
            pairs = [_vector_halves(self.f, part, lanes) for part in held]
            held = self._combined([low for low, _ in pairs], [high for _, high in pairs])
        return [self.f.extract(part, 0) for part in held]

    def merge(self, state: Sequence[V]) -> None:
        """Let what another accumulator holds enter, all of whose steps come later."""
        held = [variable.get() for variable in self.variables]
        for variable, value in zip(self.variables, self._combined(held, state), strict=True):
            variable.set(value)

    def _combined(self, first: Sequence[V], second: Sequence[V]) -> list[V]:
        """What is held of two sets of steps; of equal extremes the one with the lower place."""
        f = self.f
        if not self.is_position:
            return _parts(
                scalar.combine(f, self.kind, _element(first), _element(second), self.dtype)
            )
        (v, p, e), (w, q, g) = first, second
        better = self._beats(w, v) | (~self._beats(v, w) & q.lt(p)) | e
        better = better & ~g
        return [f.select(better, w, v), f.select(better, q, p), e & g]


def _start(f: Function, kind: str, dtype: DType) -> Element:
    if kind in ("argmax", "argmin"):
        return scalar.constant(f, dtype.numpy.type(0), dtype, 0)
    return scalar.constant(f, scalar.identity(kind, dtype), dtype, 0)


def _parts(element: Element) -> list[V]:
    return list(element) if isinstance(element, tuple) else [element]


def _element(parts: Sequence[V]) -> Element:
    return (parts[0], parts[1]) if len(parts) == 2 else parts[0]


def _vector_halves(f: Function, x: V, lanes: int) -> tuple[V, V]:
    low = f.shuffle(x, x, list(range(lanes)))
    high = f.shuffle(x, x, list(range(lanes, 2 * lanes)))
    return low, high
