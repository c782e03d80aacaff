"""The levels of a kernel as code: stage after stage, each a nest of inner loops.

What a stage needs is computed as soon as the loops are open that it varies in. Where code goes and
where rows are kept that several stages read is for those who inherit to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from weft.compiler.ir.index.affine import Loop
from weft.compiler.ir.index.expression import Ref
from weft.compiler.loops.group import Reduction
from weft.compiler.loops.kernel import Entry, Kernel, Stage, Write
from weft.compiler.loops.limits import Limits
from weft.compiler.loops.stage_values import reads, stage_values
from weft.compiler.loops.vectorise import VectorPlan
from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.arrays import Element
from weft.compiler.lower.llvm.emit.dimensions import Sizes
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I32, I64
from weft.compiler.lower.llvm.kernels.accumulators import Accumulator
from weft.compiler.lower.llvm.kernels.scope import Scope
from weft.compiler.lower.llvm.kernels.values import Values

_FAR: Final = 1 << 62  # beyond all sizes


class StageEmitter:
    """Writes what is done in one step of the outer loops."""

    f: Function
    sizes: Sizes
    values: Values

    def __init__(self, kernel: Kernel, plan: VectorPlan) -> None:
        self.kernel = kernel
        self.plan = plan
        self.filled: set[Ref] = set()
        self.limits: Mapping[Stage, Limits] = {}
        values = stage_values(kernel)
        self._needed, self._shared = values.needed, values.kept

    def to_scratch(self, scope: Scope, ref: Ref, element: Element) -> None:
        """Keep an element that another stage reads."""
        raise NotImplementedError

    def from_scratch(self, scope: Scope, ref: Ref) -> Element:
        """The element that was kept at this step."""
        raise NotImplementedError

    def steps(self, loop: Loop, low: V, high: V) -> Iterator[Operand]:
        """The counter of a loop, once for each time that its body is to be written."""
        with self.f.range(low, high) as i:
            yield i

    def write(self, scope: Scope, write: Write) -> None:
        self.values.write(scope, write)

    # --- levels and stages ---

    def levels(self, scope: Scope) -> None:
        filled = set(self.filled)
        for stage in self.kernel.stages:
            if stage.loops:
                self._stage(scope, stage)
            else:
                self._once(scope, stage)
            self.filled |= self._shared & set(self._needed[stage])
        self.filled = filled

    def afterwards(self, scope: Scope) -> None:
        """The stages without loops, once the reductions of the others are there."""
        for stage in self.kernel.stages:
            if not stage.loops:
                self._once(scope, stage)

    def _once(self, scope: Scope, stage: Stage) -> None:
        self._ready(scope, stage)
        for write in stage.writes:
            self.write(scope, write)

    def _stage(self, scope: Scope, stage: Stage) -> None:
        across = self.plan.outer is None and stage in self.plan.along
        lanes = scope.lanes if not across else self.plan.lanes
        accumulators = [Accumulator(self.f, entry, lanes) for entry in stage.reductions]
        vector = self.plan.along.get(stage) if across else None
        loops = [loop for loop in stage.loops if loop is not vector]
        self._nest(scope, stage, loops, vector, accumulators, None)
        for accumulator_ in accumulators:
            scope.values[accumulator_.entry.ref] = accumulator_.result(across)

    def _nest(
        self,
        scope: Scope,
        stage: Stage,
        loops: Sequence[Loop],
        vector: Loop | None,
        accumulators: Sequence[Accumulator],
        part: tuple[V, V] | None,
    ) -> None:
        f = self.f
        self._ready(scope, stage)

        def bounds(loop: Loop) -> tuple[V, V]:
            if part is not None and self.plan.tiling and loop is self.plan.tiling.split:
                return part
            return self.within(scope, loop, self.limits.get(stage, frozenset()))

        if loops:
            low, high = bounds(loops[0])
            for i in self.steps(loops[0], low, high):
                inner = scope.inside(loops[0], i)
                self._nest(inner, stage, loops[1:], vector, accumulators, part)
            return
        if vector is not None:
            low, high = bounds(vector)
            whole = part is None and isinstance(vector.size, int)
            exact = whole and int(vector.size) % max(self.plan.lanes, 1) == 0
            exact &= stage not in self.limits
            self._vector_loop(
                scope,
                vector,
                low,
                high,
                lambda inner: self._step(inner, stage, accumulators),
                is_whole=exact,
            )
            return
        self._step(Scope(f, scope), stage, accumulators)

    def within(self, scope: Scope, loop: Loop, limits: Limits) -> tuple[V, V]:
        """The steps of a loop that do something: from the first one to behind the last one."""
        f = self.f
        low, high = f.const(0, I64), self.sizes.value(loop.size)
        for limit in limits:
            if limit.loop is not loop:
                continue
            bound = self._number(scope, limit.bound)
            bound = f.maximum(f.minimum(bound, _FAR), -_FAR) - limit.constant
            if limit.is_upper:
                high = f.minimum(high, bound)
            else:
                low = f.maximum(low, bound)
        return low, f.maximum(high, low) if limits else high

    def _number(self, scope: Scope, ref: Ref) -> V:
        """A value that is the same in all steps."""
        found = scope.find(ref)
        if found is None:
            entry = self.kernel.entries[ref]
            for read in reads(entry):
                self._number(scope, read)
            found = self.values.emit(scope, entry)
        assert isinstance(found, V)
        return found

    def _step(self, scope: Scope, stage: Stage, accumulators: Sequence[Accumulator]) -> None:
        """The innermost body of a stage."""
        self._ready(scope, stage)
        for accumulator_ in accumulators:
            reduction = accumulator_.reduction
            element = self.values.get(scope, reduction.body)
            along = scope.vector is not None and scope.vector in reduction.over
            mask = scope.mask if along else None
            loop = reduction.over[-1] if reduction.over else None
            counter = self.f.const(0 if loop is None else scope.counters[loop], I64)
            accumulator_.add(element, counter, mask, along)
        for write in stage.writes:
            self.write(scope, write)

    def _ready(self, scope: Scope, stage: Stage) -> None:
        """Emit what a stage needs and can be computed with the loops that are open."""
        entries, known = self.kernel.entries, scope.loops
        for ref in self._needed[stage]:
            entry = entries[ref]
            if isinstance(entry.source, Reduction) or scope.find(ref) is not None:
                continue
            if not entry.loops <= known or not self._has_operands(scope, entry):
                continue
            if ref in self.filled:
                scope.values[ref] = self.from_scratch(scope, ref)
                continue
            element = self.values.emit(scope, entry)
            if ref in self._shared:
                self.to_scratch(scope, ref, element)

    def _has_operands(self, scope: Scope, entry: Entry) -> bool:
        if entry.ref in self.filled:
            return True
        return all(scope.find(read) is not None for read in reads(entry))

    # --- lanes ---

    def _vector_loop(
        self,
        scope: Scope,
        loop: Loop,
        low: V,
        high: V,
        body: Callable[[Scope], None],
        *,
        is_whole: bool = False,
    ) -> None:
        """`body` for all lanes from `low` to `high`: whole vectors, then one masked one."""
        f, lanes = self.f, self.plan.lanes
        if not lanes:
            with f.range(low, high) as i:
                body(scope.inside(loop, i))
            return
        static = not isinstance(loop.size, int) or loop.size >= lanes
        middle = low
        if static:
            middle = low + f.mul(f.divide(high - low, lanes), lanes)
            with f.range(low, middle, lanes) as i:
                body(scope.along(loop, i, lanes, None))
        if is_whole:
            return
        with f.when(middle.lt(high)):
            left = f.splat((high - middle).to(I32), lanes)
            mask = memory.iota(f, lanes, I32).lt(left)
            body(scope.along(loop, middle, lanes, mask))
