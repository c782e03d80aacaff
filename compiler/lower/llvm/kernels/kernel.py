"""Kernels as LLVM functions.

A kernel becomes `name(run, arrays..., numbers..., symbols..., begin, end)`, which does some of its
units of work, and `name.run(...)`, which does all of them, on several threads where that pays. A
unit is a step of the outer loops, or a block of steps of the one that vectors go along, or a part
of a reduction of everything.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from weft.compiler.artifact import Site
from weft.compiler.ir.dims import Size
from weft.compiler.ir.index.affine import Loop
from weft.compiler.ir.index.expression import Ref
from weft.compiler.loops.costs import LIMITS
from weft.compiler.loops.kernel import Entry, Kernel
from weft.compiler.loops.limits import Limits, limits_of
from weft.compiler.loops.reduction_tiling import ReductionPlan
from weft.compiler.loops.schedule import KernelCase
from weft.compiler.loops.vectorise import LIMITS as VECTORS
from weft.compiler.loops.vectorise import VectorPlan
from weft.compiler.loops.work_items import item_count, item_shape, single_loops
from weft.compiler.loops.workspace import KernelMemory, kept_rows, kernel_memory, partial_bytes
from weft.compiler.lower.llvm import scalar
from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.arrays import Element, Env, product, unpacked, unravel
from weft.compiler.lower.llvm.emit.dimensions import Sizes
from weft.compiler.lower.llvm.emit.function import Function, Module, Operand, V
from weft.compiler.lower.llvm.emit.scratch import Scratch, Slots
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID, Type
from weft.compiler.lower.llvm.kernels.accumulators import Accumulator
from weft.compiler.lower.llvm.kernels.parameters import Parameters, parameters_of
from weft.compiler.lower.llvm.kernels.register_transpose import emit_squares
from weft.compiler.lower.llvm.kernels.scope import Scope
from weft.compiler.lower.llvm.kernels.stages import StageEmitter
from weft.compiler.lower.llvm.kernels.tiled_reduction import ReductionParts, ReductionTile
from weft.compiler.lower.llvm.kernels.values import Values
from weft.compiler.record import record

SLOTS: Final = (("flags", PTR), ("room", PTR), ("slots", I64), ("slot_bytes", I64))


@record
class KeptRow:
    """Room for one row of an entry that several stages read."""

    pointer: V
    loops: tuple[Loop, ...]


@dataclass(eq=False, slots=True)
class KernelCode:
    """Emits one kernel; `name.run` is what a program calls."""

    module: Module
    case: KernelCase
    sites: list[Site]
    parameters: Parameters = field(init=False)
    memory: KernelMemory = field(init=False)
    _consumers: dict[Size, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parameters = parameters_of(self.kernel)
        self.memory = kernel_memory(self.kernel, self.schedule)

    @property
    def name(self) -> str:
        return self.case.name

    @property
    def kernel(self) -> Kernel:
        return self.case.kernel

    @property
    def schedule(self) -> VectorPlan:
        return self.case.vectors

    def emit(self) -> None:
        """Define the kernel's functions in the module."""
        Body(self).emit()
        self._emit_run()

    @property
    def takes_memory(self) -> bool:
        """Whether it takes memory from the heap, and may find none."""
        names = (self.name, f"{self.name}.run", f"{self.name}.finish")
        functions = self.module.functions
        return any(functions[name].held for name in names if name in functions)

    @property
    def tiling(self) -> ReductionPlan | None:
        return self.schedule.tiling

    # --- all units of work ---

    def _emit_run(self) -> None:
        declared, taken = self.parameters.declared(), [("scratch", PTR)] if self.has_memory else []
        f = self.module.function(
            f"{self.name}.run", VOID, [*declared, *taken], internal=True, glue=True
        )
        passed = f.arguments[: len(declared)]
        run, *values = passed
        _, _, symbols = self.parameters.unpack(values)
        sizes = Sizes(f, symbols)
        units = sizes.operand(item_count(self.kernel, self.schedule))
        env = Env(self.module, run, self.name, self.sites)
        if self.has_memory:
            env.scratch = Scratch(f.arguments[-1])
        slots = self.slots(f, env, sizes, 1 if not self.memory.is_shared else None)
        passed += [] if slots is None else slots.values
        partials = None
        if self.tiling is not None and self.tiling.split is not None:
            partials = env.workspace(f, sizes.operand(partial_bytes(self.kernel, self.tiling)))
            passed.append(partials)
        if not self.memory.is_shared:
            self._do(f, passed, f.const(0, I64), f.const(units, I64))
        else:
            cost = self.kernel.additions(self.schedule.lanes)
            self._share_out(f, sizes, env, passed, units, cost)
        if partials is not None:
            f.call(f"{self.name}.finish", VOID, [*passed[: len(declared)], partials])
            env.free(f, partials)
        if slots is not None:
            env.free(f, slots.flags)
        f.ret()

    @property
    def has_memory(self) -> bool:
        """Whether it works in memory beside its arrays."""
        return self.memory.partials != 0 or self.memory.of_thread != 0

    def slots(self, f: Function, env: Env, sizes: Sizes, threads: int | None) -> Slots | None:
        """What threads work in, one unless more may be at work."""
        return env.slots(f, threads, sizes.operand(self.memory.of_thread))

    def emit_consumer(self, captured: Sequence[V], rows: Size) -> str:
        """Define `name.rows(run, data, begin, end)`: the units of some rows, of so many in all."""
        name = self._consumers.setdefault(rows, f"{self.name}.rows{len(self._consumers)}")
        if name not in self.module.functions:
            parameters = [("run", PTR), ("data", PTR), ("begin", I64), ("end", I64)]
            f = self.module.function(name, VOID, parameters, internal=True, glue=True)
            run, data, begin, end = f.arguments
            values = unpacked(f, data, captured)
            own = values[: len(values) - len(SLOTS)] if self.memory.of_thread != 0 else values
            sizes = Sizes(f, self.parameters.unpack(own)[2])
            units = sizes.value(item_count(self.kernel, self.schedule))
            each = f.divide(units, f.maximum(sizes.value(rows), 1))
            self._do(f, [run, *values], begin * each, end * each)
            f.ret()
        return name

    def _do(self, f: Function, passed: Sequence[V], begin: V, end: V) -> None:
        f.call(self.name, VOID, [*passed, begin, end])

    def _share_out(
        self,
        f: Function,
        sizes: Sizes,
        env: Env,
        passed: Sequence[V],
        units: Operand,
        cost: Size,
    ) -> None:
        total = sizes.value(cost)
        count = f.const(units, I64)
        with f.otherwise(total.lt(LIMITS.shared)) as choice:
            self._do(f, passed, f.const(0, I64), count)
            choice.otherwise()
            each = f.maximum(f.divide(total, f.maximum(count, 1)), 1)
            grain = f.maximum(f.divide(f.const(LIMITS.grain, I64), each), 1)
            env.share(f, self.name, count, list(passed[1:]), grain)


def _identity(kind: str, entry: Entry) -> object:
    """What changes no reduction of a kind, of a value's dtype."""
    return scalar.identity(kind, entry.ref.value.type.dtype)


class Body(StageEmitter):
    """The function that does some units."""

    def __init__(self, code: KernelCode) -> None:
        super().__init__(code.kernel, code.schedule)
        self.code = code
        self.scratch: dict[Ref, KeptRow] = {}
        self.outer_limits: Limits = frozenset()
        self.ends: dict[Loop, tuple[V, V]] = {}  # of outer loops: the steps that do something

    # --- functions ---

    def emit(self) -> None:
        code, plan = self.code, self.plan
        declared = code.parameters.declared()
        is_split = plan.tiling is not None and plan.tiling.split is not None
        extra = list(SLOTS) if code.memory.of_thread != 0 else []
        extra += [("partials", PTR)] if is_split else []
        f = code.module.function(
            code.name,
            VOID,
            [*declared, *extra, ("begin", I64), ("end", I64)],
            internal=True,
            parameter_attributes="noalias",
        )
        top = self._open(f, f.arguments[: len(declared)])
        begin, end = f.arguments[-2:]
        slots = None
        if code.memory.of_thread != 0:
            slots = Slots.of(f.arguments[len(declared) : len(declared) + len(SLOTS)])
            slot = slots.claim(f, self.env.run)
            self.env.scratch = slots.part(f, slot)
        self._make_scratch(f)
        if plan.tiling is not None:
            self.tile = ReductionTile(self, plan.tiling)
        elif plan.tile is None:
            found = limits_of(self.kernel, _identity)
            self.limits, self.outer_limits = found.inner, found.outer
        begin, end = self._units(top, begin, end)
        with f.range(begin, end) as unit:
            self._unit(Scope(f, top), unit)
        if slots is not None:
            slots.give_back(f, slot)
        f.ret()
        if plan.tiling is not None and is_split:
            self._emit_finish(declared, plan.tiling)

    def _units(self, top: Scope, begin: V, end: V) -> tuple[V, V]:
        """The units of those that do something, as far as the first of the outer loops tells."""
        f, loops = self.f, single_loops(self.kernel, self.plan)
        if not self.outer_limits:
            return begin, end
        self.ends = {loop: self.within(top, loop, self.outer_limits) for loop in self.kernel.outer}
        if not loops:
            return begin, end
        low, high = self.ends[loops[0]]
        shape = self._item_shape()
        each = self.f.const(product(f, shape[1:]), I64)
        return f.maximum(begin, low * each), f.minimum(end, high * each)

    @contextmanager
    def _if_within(self, scope: Scope) -> Iterator[None]:
        """Do something only in steps of outer loops that are not for nothing."""
        loops = single_loops(self.kernel, self.plan)[1:]
        limited = {limit.loop for limit in self.outer_limits}
        conditions = [
            self.f.const(scope.counters[loop], I64).ge(self.ends[loop][0])
            & self.f.const(scope.counters[loop], I64).lt(self.ends[loop][1])
            for loop in loops
            if loop in limited
        ]
        if not conditions:
            yield
            return
        with self.f.when(functools.reduce(lambda one, other: one & other, conditions)):
            yield

    def _open(self, f: Function, arguments: Sequence[V]) -> Scope:
        run, *values = arguments
        pointers, numbers, symbols = self.code.parameters.unpack(values)
        self.f = f
        self.sizes = Sizes(f, symbols)
        self.env = Env(self.code.module, run, self.code.name, self.code.sites)
        self.values = Values(f, self.env, self.sizes, pointers, numbers)
        return Scope(f)

    def _unit(self, scope: Scope, unit: V) -> None:
        f, plan = self.f, self.plan
        if plan.tiling is not None:
            self._tile(scope, unit, plan.tiling)
            return
        if plan.outer is None:
            shape = [self.sizes.operand(loop.size) for loop in self.kernel.outer]
            self._enter(scope, self.kernel.outer, unravel(f, unit, shape))
            with self._if_within(scope):
                self.levels(scope)
            return
        length = self.sizes.operand(plan.outer.size)
        *indices, number = unravel(f, unit, self._item_shape())
        others = single_loops(self.kernel, plan)
        if plan.tile is None:
            self._enter(scope, others, indices)
            with self._if_within(scope):
                self._block(scope, plan.outer, f.const(number, I64), length)
            return
        if plan.squares:
            *indices, tile = indices
            self._enter(scope, others[:-1], indices)
            emit_squares(self, scope, f.const(tile, I64), f.const(number, I64))
            return
        *indices, tile, block = indices
        step = f.add(f.mul(f.const(tile, I64), VECTORS.tile), number)
        with f.when(step.lt(self.sizes.operand(plan.tile.size))):
            self._enter(scope, others, [*indices, step])
            self._block(scope, plan.outer, f.const(block, I64), length)

    def _item_shape(self) -> list[Operand]:
        return [self.sizes.operand(size) for size in item_shape(self.kernel, self.plan)]

    def _block(self, scope: Scope, loop: Loop, number: V, length: Operand) -> None:
        """A block of the vector loop."""
        f, block = self.f, self.plan.block
        low = f.mul(number, block)
        high = f.minimum(low + block, f.const(length, I64))
        # Blocks are whole vectors, so only the end of the loop can leave a part of one.
        fits = not isinstance(length, V) and int(length) % max(self.plan.lanes, 1) == 0
        if any(limit.loop is loop for limit in self.outer_limits):
            low = f.maximum(low, self.ends[loop][0])
            high = f.maximum(f.minimum(high, self.ends[loop][1]), low)
            fits = False
        self._hoist(scope)
        self._vector_loop(scope, loop, low, high, self.levels, is_whole=fits)

    def _enter(self, scope: Scope, loops: Sequence[Loop], indices: Sequence[Operand]) -> None:
        for loop, index in zip(loops, indices, strict=True):
            scope.counters[loop] = self.f.const(index, I64)

    def _hoist(self, scope: Scope) -> None:
        """Compute now what does not vary in the vector loop."""
        for stage in self.kernel.stages:
            if stage.level == 0:
                self._ready(scope, stage)

    # --- tiled reductions ---

    def _tile(self, scope: Scope, unit: V, tiling: ReductionPlan) -> None:
        """A work item of a tiled reduction; its running results are results, or those of a part."""
        f = self.f
        part, *indices, tile = [f.const(i, I64) for i in unravel(f, unit, self._item_shape())]
        self._enter(scope, single_loops(self.kernel, self.plan), indices)
        bounds = None
        if tiling.split is not None:
            low = part * self.sizes.value(tiling.each)
            end = low + self.sizes.value(tiling.each)
            bounds = (low, f.minimum(end, self.sizes.value(tiling.split.size)))

        def then(inner: Scope, accumulators: list[Accumulator]) -> None:
            if tiling.split is not None:
                ReductionParts(self, tiling, f.arguments[-3]).store(inner, part, accumulators)
                return
            for each in accumulators:
                inner.values[each.entry.ref] = each.result(False)
            self.afterwards(inner)

        self.tile.emit(scope, tile * tiling.tile, bounds, then)

    def _emit_finish(self, declared: Sequence[tuple[str, Type]], tiling: ReductionPlan) -> None:
        """Combine the parts in order, then do what follows the reductions."""
        code = self.code
        f = code.module.function(
            f"{code.name}.finish",
            VOID,
            [*declared, ("partials", PTR)],
            internal=True,
            parameter_attributes="noalias",
        )
        top = self._open(f, f.arguments[: len(declared)])
        ReductionParts(self, tiling, f.arguments[-1]).combine(top, self.afterwards)
        f.ret()

    # --- rows that several stages read ---

    def _make_scratch(self, f: Function) -> None:
        for ref, (loops, bytes) in kept_rows(self.kernel, self.plan).items():
            pointer = self.env.workspace(f, self.sizes.operand(bytes))
            self.scratch[ref] = KeptRow(pointer, loops)

    def _scratch_address(self, scope: Scope, row: KeptRow) -> memory.Address:
        f = self.f
        place: Operand = 0
        for loop in row.loops:
            place = f.add(
                f.mul(f.const(place, I64), self.sizes.operand(loop.size)), scope.counters[loop]
            )
        if self.plan.outer is not None and self.plan.lanes:
            return memory.Address(f.mul(f.const(place, I64), self.plan.lanes), 1)
        varies = scope.vector is not None and scope.vector in row.loops
        return memory.Address(place, 1 if varies else 0)

    def to_scratch(self, scope: Scope, ref: Ref, element: Element) -> None:
        scratch = self.scratch[ref]
        address = self._scratch_address(scope, scratch)
        memory.store(self.f, scratch.pointer, element, address, scope.lanes, None)

    def from_scratch(self, scope: Scope, ref: Ref) -> Element:
        scratch = self.scratch[ref]
        address = self._scratch_address(scope, scratch)
        dtype = ref.value.type.dtype
        return memory.load(self.f, scratch.pointer, dtype, address, scope.lanes, None)
