"""Tiled reductions (`weft.compiler.loops.reduction_tiling`), which go along memory, as code.

The running results of a unit lie side by side. Those of parts go to memory that all units share, in
which they are combined in order after the last one, lanes of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from weft.compiler.ir import dims
from weft.compiler.ir.index.affine import Loop
from weft.compiler.loops.reduction_tiling import ReductionPlan
from weft.compiler.loops.workspace import PARTIAL_BYTES, running_extent, running_results
from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.arrays import product
from weft.compiler.lower.llvm.emit.function import Operand, V
from weft.compiler.lower.llvm.emit.types import I64, Type
from weft.compiler.lower.llvm.kernels.accumulators import Accumulator
from weft.compiler.lower.llvm.kernels.scope import Scope

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.kernels.kernel import Body

SLOT_BYTES: Final = 8
SLOTS: Final = PARTIAL_BYTES // SLOT_BYTES  # values that a running result is made of, at most


class ReductionTile:
    """A unit of a tiling: some results, for all steps of the reduced loops or a part of them."""

    def __init__(self, body: Body, tiling: ReductionPlan) -> None:
        self.body, self.tiling = body, tiling
        self.f, self.stage = body.f, tiling.stage
        self.vector = body.plan.outer if body.plan.lanes else None
        self.across = self.stage in body.plan.along and self.vector is None
        self.lanes = body.plan.lanes
        self.held_lanes = 0 if self.across else self.lanes
        self.count = running_results(tiling, body.plan)
        self.rooms = [
            [self._room(x.type.element) for x in each.variables]
            for each in self._accumulators(self.held_lanes)
        ]
        self._steps: Sequence[V] = ()

    def emit(
        self,
        scope: Scope,
        low: V,
        part: tuple[V, V] | None,
        then: Callable[[Scope, list[Accumulator]], None],
    ) -> None:
        """Go through results from step `low` of the first kept loop on, all steps of reduced loops
        or those of a part, then do something with each of the results.
        """
        self.low, self.part = low, part
        self._clear()
        self._go(scope, self.tiling.order)
        self._each(scope, self.tiling.kept, then)

    # --- running results ---

    def _room(self, type: Type) -> V:
        """Memory of running results; a single one is in a register."""
        if self.count == 1:
            return self.f.stack(type)
        return self.body.env.workspace(self.f, self.count * type.itemsize)

    def _clear(self) -> None:
        """Let running results be those of no steps."""
        starts = self._accumulators(self.held_lanes)
        with self.f.range(0, self.count, max(self.held_lanes, 1)) as place:
            self._keep(starts, place)

    def _accumulators(self, lanes: int) -> list[Accumulator]:
        return [Accumulator(self.f, entry, lanes) for entry in self.stage.reductions]

    def _keep(self, accumulators: Sequence[Accumulator], place: Operand) -> None:
        for each, rooms in zip(accumulators, self.rooms, strict=True):
            for variable, room in zip(each.variables, rooms, strict=True):
                self.f.store(variable.get(), self.f.element(room, variable.type, place))

    def _kept(self, scope: Scope) -> tuple[list[Accumulator], Operand]:
        """The running results at the step of a scope, and where they lie."""
        place, accumulators = self._place(scope), self._accumulators(self.held_lanes)
        for each, rooms in zip(accumulators, self.rooms, strict=True):
            for variable, room in zip(each.variables, rooms, strict=True):
                at = self.f.element(room, variable.type, place)
                variable.set(self.f.load(at, variable.type))
        return accumulators, place

    def _place(self, scope: Scope) -> Operand:
        """Where running results lie: lanes side by side."""
        f = self.f
        place: V = f.const(0, I64)
        for loop in _lanes_last(self.tiling.kept, self.vector):
            counter = f.const(scope.counters[loop], I64)
            if loop is self.tiling.kept[0]:
                counter = counter - self.low
            place = place * self._extent(loop) + counter
        return place

    def _extent(self, loop: Loop) -> int:
        return running_extent(loop, self.tiling, self.body.plan)

    # --- the loops of a work item ---

    def _go(self, scope: Scope, loops: Sequence[Loop]) -> None:
        self.body._ready(scope, self.stage)
        if not any(loop in self.tiling.kept for loop in loops):
            self._visit(scope, loops)
        elif loops[0] is self.tiling.gathered:
            self._go_together(scope, loops[0], loops[1:])
        else:
            self._along(scope, loops[0], lambda inner: self._go(inner, loops[1:]))

    def _go_together(self, scope: Scope, loop: Loop, rest: Sequence[Loop]) -> None:
        """Several steps of a reduced loop at a time, then those that are left."""
        f, count = self.f, self.tiling.together
        low, high = self._bounds(loop)
        whole = low + f.divide(high - low, count) * count
        with f.range(low, whole, count) as first:
            self._steps = [first + step for step in range(count)]
            self._go(scope, rest)
        if not dims.is_divisible(loop.size, count):
            with f.range(whole, high) as only:
                self._steps = [only]
                self._go(scope, rest)
        self._steps = ()

    def _visit(self, scope: Scope, loops: Sequence[Loop]) -> None:
        """The steps that enter the running results of a scope. Lanes that go along a reduced loop
        become one number before.
        """
        held, place = self._kept(scope)
        entered = self._accumulators(self.lanes) if self.across else held
        vector = self.body.plan.along.get(self.stage) if self.across else None
        plain = [loop for loop in loops if loop is not vector]
        gathered, scopes = self.tiling.gathered, [scope]
        if gathered is not None:
            scopes = [scope.inside(gathered, step) for step in self._steps]
        for inner in scopes:
            self.body._nest(inner, self.stage, plain, vector, entered, self.part)
        if self.across:
            for old, new in zip(held, entered, strict=True):
                old.merge(new.state(across=True))
        self._keep(held, place)

    def _each(
        self,
        scope: Scope,
        loops: Sequence[Loop],
        then: Callable[[Scope, list[Accumulator]], None],
    ) -> None:
        """Do something with each of the results, lanes of them at once."""
        if not loops:
            then(scope, self._kept(scope)[0])
            return
        self._along(scope, loops[0], lambda inner: self._each(inner, loops[1:], then))

    def _along(self, scope: Scope, loop: Loop, body: Callable[[Scope], None]) -> None:
        """Steps of a loop that belong to the unit."""
        low, high = self._bounds(loop)
        if loop is not self.vector:
            with self.f.range(low, high) as i:
                body(scope.inside(loop, i))
            return
        is_whole = dims.is_divisible(loop.size, self.lanes)
        self.body._vector_loop(scope, loop, low, high, body, is_whole=is_whole)

    def _bounds(self, loop: Loop) -> tuple[V, V]:
        f, size = self.f, self.body.sizes.value(loop.size)
        if self.tiling.kept and loop is self.tiling.kept[0]:
            end = self.low + self.tiling.tile
            is_whole = dims.is_divisible(loop.size, self.tiling.tile)
            return self.low, end if is_whole else f.minimum(end, size)
        if loop is self.tiling.split and self.part is not None:
            return self.part
        return f.const(0, I64), size


class ReductionParts:
    """The running results of all parts: for each reduction and part, those of all results."""

    def __init__(self, body: Body, tiling: ReductionPlan, memory: V) -> None:
        self.body, self.tiling, self.memory = body, tiling, memory
        self.f = body.f
        vector = body.plan.outer
        if vector is None and body.kernel.outer:
            vector = body.kernel.outer[-1]
        self.vector = vector if body.plan.lanes else None
        self.loops = _lanes_last(body.kernel.outer, self.vector)

    def store(self, scope: Scope, part: V, accumulators: Sequence[Accumulator]) -> None:
        """Leave the running results of a part."""
        address = self._address(scope, part)
        for number, each in enumerate(accumulators):
            for slot, value in enumerate(each.state(across=False)):
                room = self._room(number, slot)
                memory.store(self.f, room, value, address, scope.lanes, scope.mask)

    def combine(self, scope: Scope, then: Callable[[Scope], None]) -> None:
        """Combine the parts of every result, in order, and go on with it."""
        self._over(scope, self.loops, then)

    def _over(self, scope: Scope, loops: Sequence[Loop], then: Callable[[Scope], None]) -> None:
        if not loops:
            self._combine_one(scope)
            then(scope)
            return
        loop, rest = loops[0], loops[1:]
        zero, size = self.f.const(0, I64), self.body.sizes.value(loop.size)
        if loop is self.vector:
            self.body._vector_loop(
                scope, loop, zero, size, lambda inner: self._over(inner, rest, then)
            )
            return
        with self.f.range(zero, size) as i:
            self._over(scope.inside(loop, i), rest, then)

    def _combine_one(self, scope: Scope) -> None:
        f = self.f
        for number, entry in enumerate(self.tiling.stage.reductions):
            total = Accumulator(f, entry, scope.lanes)
            with f.range(0, self.body.sizes.value(self.tiling.parts)) as part:
                place = self._address(scope, part).base
                state = []
                for slot, variable in enumerate(total.variables):
                    at = f.element(self._room(number, slot), variable.type, place)
                    state.append(memory.load_lanes(f, at, variable.type, scope.mask))
                total.merge(state)
            scope.values[entry.ref] = total.result(False)

    def _room(self, number: int, slot: int) -> V:
        """The memory of one of the values that a reduction holds."""
        f, sizes = self.f, self.body.sizes
        results = product(f, [sizes.operand(loop.size) for loop in self.loops])
        each = f.mul(sizes.value(self.tiling.parts), results) * SLOT_BYTES
        return f.offset(self.memory, each * (number * SLOTS + slot))

    def _address(self, scope: Scope, part: V) -> memory.Address:
        place: V = part
        for loop in self.loops:
            place = place * self.body.sizes.value(loop.size) + scope.counters[loop]
        return memory.Address(place, 1 if scope.lanes else 0)


def _lanes_last(loops: Sequence[Loop], vector: Loop | None) -> list[Loop]:
    return [*(o for o in loops if o is not vector), *(o for o in loops if o is vector)]
