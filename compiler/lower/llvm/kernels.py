"""Kernels as LLVM functions.

A kernel becomes `name(run, arrays..., numbers..., symbols..., begin, end)`, which does some of its
units of work, and `name.run(...)`, which does all of them, on several threads where that pays. A
unit is a step of the outer loops, or a block of steps of the one that vectors go along, or a part
of a reduction of everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from weft.compiler.artifact import Site
from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.loops.expression import Ref
from weft.compiler.loops.index import Loop
from weft.compiler.loops.kernel import Kernel, Stage
from weft.compiler.loops.schedule import MOST_PARTS, TILE, Schedule, schedule
from weft.compiler.lower.llvm import memory, scalar
from weft.compiler.lower.llvm.arrays import Element, Env, product, unpacked, unravel
from weft.compiler.lower.llvm.dimensions import Sizes
from weft.compiler.lower.llvm.driver import Target
from weft.compiler.lower.llvm.emit import Function, Module, Operand, V
from weft.compiler.lower.llvm.levels import Levels
from weft.compiler.lower.llvm.parameters import Parameters, parameters_of
from weft.compiler.lower.llvm.reduce import Accumulator
from weft.compiler.lower.llvm.scope import Scope
from weft.compiler.lower.llvm.squares import emit_squares
from weft.compiler.lower.llvm.types import I64, PTR, VOID, Type
from weft.compiler.lower.llvm.values import Values
from weft.compiler.record import record

PARALLEL_COST: Final = 1 << 17  # additions below which one thread is faster
GRAIN_COST: Final = 1 << 15  # additions that one thread takes at a time
PART_BYTES: Final = 16


@record
class Scratch:
    """Room for one row of an entry that several stages read."""

    pointer: V
    loops: tuple[Loop, ...]


@dataclass(eq=False, slots=True)
class KernelCode:
    """Emits one kernel; `name.run` is what a program calls."""

    module: Module
    kernel: Kernel
    name: str
    target: Target
    sites: list[Site]
    schedule: Schedule = field(init=False)
    parameters: Parameters = field(init=False)
    _followers: dict[Size, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.schedule = schedule(self.kernel, self.target.vector_bytes * 8)
        self.parameters = parameters_of(self.kernel)

    def emit(self) -> None:
        """Define the kernel's functions in the module."""
        Body(self).emit()
        self._emit_run()

    # --- all units of work ---

    def _emit_run(self) -> None:
        f = self.module.function(
            f"{self.name}.run", VOID, self.parameters.declared(), internal=True, glue=True
        )
        run, *values = f.arguments
        _, _, symbols = self.parameters.unpack(values)
        sizes = Sizes(f, symbols)
        units = self.units(f, sizes)
        passed = list(f.arguments)
        if self.schedule.split is not None:
            count = len(_split_stage(self.kernel).reductions)
            partials = f.stack(I64, MOST_PARTS * count * PART_BYTES // 8, align=16)
            passed.append(partials)
        cost = self._cost()
        if isinstance(cost, int) and cost < PARALLEL_COST:
            self._do(f, passed, f.const(0, I64), f.const(units, I64))
        else:
            self._share_out(f, sizes, passed, units, cost)
        if self.schedule.split is not None:
            f.call(f"{self.name}.finish", VOID, [*passed, f.const(units, I64)])
        f.ret()

    def follows(self, rows: Sequence[Loop]) -> bool:
        """Whether the units of each step of some of the outer loops follow each other."""
        plan = self.schedule
        has_order = plan.split is None and plan.tile is None
        return has_order and not self.kernel.in_order and plan.outer not in rows

    def emit_follower(self, captured: Sequence[V], rows: Size) -> str:
        """Define `name.rows(run, data, begin, end)`: the units of some rows, of so many in all."""
        name = self._followers.setdefault(rows, f"{self.name}.rows{len(self._followers)}")
        if name not in self.module.functions:
            parameters = [("run", PTR), ("data", PTR), ("begin", I64), ("end", I64)]
            f = self.module.function(name, VOID, parameters, internal=True, glue=True)
            run, data, begin, end = f.arguments
            values = unpacked(f, data, captured)
            sizes = Sizes(f, self.parameters.unpack(values)[2])
            units = f.const(self.units(f, sizes), I64)
            each = f.divide(units, f.maximum(sizes.value(rows), 1))
            self._do(f, [run, *values], begin * each, end * each)
            f.ret()
        return name

    def _do(self, f: Function, passed: Sequence[V], begin: V, end: V) -> None:
        f.call(self.name, VOID, [*passed, begin, end])

    def _cost(self) -> Size:
        """Additions in all."""
        steps = dims.product(loop.size for loop in (*self.kernel.outer, *self.kernel.inner))
        lanes = max(self.schedule.lanes // 4, 1)
        return steps * max(self.kernel.weight // lanes, 1)

    def _share_out(
        self, f: Function, sizes: Sizes, passed: Sequence[V], units: Operand, cost: Size
    ) -> None:
        total = sizes.value(cost)
        count = f.const(units, I64)
        with f.otherwise(total.lt(PARALLEL_COST)) as choice:
            self._do(f, passed, f.const(0, I64), count)
            choice.otherwise()
            each = f.maximum(f.divide(total, f.maximum(count, 1)), 1)
            grain = f.maximum(f.divide(f.const(GRAIN_COST, I64), each), 1)
            env = Env(self.module, passed[0], self.name, self.sites)
            env.share(f, self.name, count, list(passed[1:]), grain)

    def units(self, f: Function, sizes: Sizes) -> Operand:
        """How many units of work there are."""
        plan = self.schedule
        if plan.split is not None:
            return _parts(f, sizes, self.kernel, plan)[0]
        if plan.outer is None:
            return product(f, [sizes.operand(loop.size) for loop in self.kernel.outer])
        return product(f, self.unit_shape(f, sizes))

    def others(self) -> list[Loop]:
        """The outer loops beside the one of the lanes, a tiled one last."""
        plan = self.schedule
        rest = [loop for loop in self.kernel.outer if loop not in (plan.outer, plan.tile)]
        return [*rest, plan.tile] if plan.tile is not None else rest

    def unit_shape(self, f: Function, sizes: Sizes) -> list[Operand]:
        """The units of a vector loop over an outer loop: steps of the others, then blocks; a tiled
        loop has its tiles before the blocks and the steps of a tile after them.
        """
        plan = self.schedule
        assert plan.outer is not None
        shape = [sizes.operand(loop.size) for loop in self.others()]
        blocks = _blocks(f, sizes.operand(plan.outer.size), self.block)
        if plan.tile is None:
            return [*shape, blocks]
        if plan.squares:
            return [*shape[:-1], _blocks(f, shape[-1], plan.lanes), blocks]
        return [*shape[:-1], _blocks(f, shape[-1], TILE), blocks, TILE]

    @property
    def block(self) -> int:
        """Steps of the vector loop in a unit: few if every one has loops of its own inside."""
        return self.schedule.lanes if self.kernel.inner else self.schedule.block


def _blocks(f: Function, size: Operand, block: int) -> Operand:
    if not isinstance(size, V):
        return -(-int(size) // block)
    return f.divide(size + (block - 1), block)


def _split_stage(kernel: Kernel) -> Stage:
    (stage,) = [stage for stage in kernel.stages if stage.loops]
    return stage


def _parts(f: Function, sizes: Sizes, kernel: Kernel, plan: Schedule) -> tuple[Operand, Operand]:
    """How many parts a split reduction has, and how many steps of the split loop each takes."""
    assert plan.split is not None
    stage = _split_stage(kernel)
    length = sizes.operand(plan.split.size)
    lanes = plan.lanes if plan.split in plan.along.values() else 1
    rest = product(f, [sizes.operand(o.size) for o in stage.loops if o is not plan.split])
    if not isinstance(length, V) and not isinstance(rest, V):
        wanted = max(min(int(length) * int(rest) // (1 << 13), MOST_PARTS), 1)
        each = -(-int(length) // wanted)
        each = max(-(-each // lanes) * lanes, 1)
        return -(-int(length) // each), each
    steps = f.mul(f.const(length, I64), rest)
    wanted_value = f.maximum(f.minimum(steps >> 13, MOST_PARTS), 1)
    longest = f.divide(f.const(length, I64) + (wanted_value - 1), wanted_value)
    each_value = f.maximum(f.divide(longest + (lanes - 1), lanes) * lanes, lanes)
    return f.divide(f.const(length, I64) + (each_value - 1), each_value), each_value


class Body(Levels):
    """The function that does some units."""

    def __init__(self, code: KernelCode) -> None:
        super().__init__(code.kernel, code.schedule)
        self.code = code
        self.scratch: dict[Ref, Scratch] = {}

    # --- functions ---

    def emit(self) -> None:
        code, plan = self.code, self.plan
        declared = code.parameters.declared()
        extra = [("partials", PTR)] if plan.split is not None else []
        f = code.module.function(
            code.name,
            VOID,
            [*declared, *extra, ("begin", I64), ("end", I64)],
            internal=True,
            parameter_attributes="noalias",
        )
        top = self._open(f, f.arguments[: len(declared)])
        begin, end = f.arguments[-2:]
        if plan.split is not None:
            with f.range(begin, end) as unit:
                self._part(Scope(f, top), unit, f.arguments[-3])
            f.ret()
            self._emit_finish(declared)
            return
        self._make_scratch(f)
        with f.range(begin, end) as unit:
            self._unit(Scope(f, top), unit)
        self._drop_scratch(f)
        f.ret()

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
        if plan.outer is None:
            shape = [self.sizes.operand(loop.size) for loop in self.kernel.outer]
            self._enter(scope, self.kernel.outer, unravel(f, unit, shape))
            self.levels(scope)
            return
        length = self.sizes.operand(plan.outer.size)
        *indices, number = unravel(f, unit, self.code.unit_shape(f, self.sizes))
        others = self.code.others()
        if plan.tile is None:
            self._enter(scope, others, indices)
            self._block(scope, plan.outer, f.const(number, I64), length)
            return
        if plan.squares:
            *indices, tile = indices
            self._enter(scope, others[:-1], indices)
            emit_squares(self, scope, f.const(tile, I64), f.const(number, I64))
            return
        *indices, tile, block = indices
        step = f.add(f.mul(f.const(tile, I64), TILE), number)
        with f.when(step.lt(self.sizes.operand(plan.tile.size))):
            self._enter(scope, others, [*indices, step])
            self._block(scope, plan.outer, f.const(block, I64), length)

    def _block(self, scope: Scope, loop: Loop, number: V, length: Operand) -> None:
        """A block of the vector loop."""
        f, block = self.f, self.code.block
        low = f.mul(number, block)
        high = f.minimum(low + block, f.const(length, I64))
        # Blocks are whole vectors, so only the end of the loop can leave a part of one.
        fits = not isinstance(length, V) and int(length) % max(self.plan.lanes, 1) == 0
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

    # --- parts of a reduction of everything ---

    def _part(self, scope: Scope, unit: V, partials: V) -> None:
        f = self.f
        stage = _split_stage(self.kernel)
        assert self.plan.split is not None
        _, each = _parts(f, self.sizes, self.kernel, self.plan)
        low = f.mul(unit, each)
        high = f.minimum(low + f.const(each, I64), self.sizes.value(self.plan.split.size))
        across = stage in self.plan.along
        lanes = self.plan.lanes if across else 0
        self._enter(scope, self.kernel.outer, [0] * len(self.kernel.outer))
        accumulators = [Accumulator(f, entry, lanes) for entry in stage.reductions]
        vector = self.plan.along.get(stage)
        loops = [loop for loop in stage.loops if loop is not vector]
        self._nest(scope, stage, loops, vector, accumulators, (low, high))
        count = len(accumulators)
        for number, accumulator_ in enumerate(accumulators):
            total = accumulator_.get()
            if lanes:
                total = accumulator_.across(total)
            _store_partial(f, partials, f.mul(unit, count) + number, total)

    def _emit_finish(self, declared: Sequence[tuple[str, Type]]) -> None:
        """Combine the parts in order, then do what follows the reductions."""
        code = self.code
        f = code.module.function(
            f"{code.name}.finish",
            VOID,
            [*declared, ("partials", PTR), ("parts", I64)],
            internal=True,
            parameter_attributes="noalias",
        )
        top = self._open(f, f.arguments[: len(declared)])
        partials, parts = f.arguments[-2:]
        self._enter(top, self.kernel.outer, [0] * len(self.kernel.outer))
        stage = _split_stage(self.kernel)
        count = len(stage.reductions)
        for number, entry in enumerate(stage.reductions):
            total = Accumulator(f, entry, 0)
            with f.range(0, parts) as unit:
                place = f.mul(unit, count) + number
                part = _load_partial(f, partials, place, total)
                total.set(scalar.combine(f, total.kind, total.get(), part, total.dtype))
            top.values[entry.ref] = total.result(False)
        for later in self.kernel.stages:
            if not later.loops:
                self._ready(top, later)
                for write in later.writes:
                    self.values.write(top, write)
        f.ret()

    # --- rows that several stages read ---

    def _make_scratch(self, f: Function) -> None:
        inner = self.kernel.inner
        for ref in self.kernel.entries:
            if ref not in self._shared:
                continue
            loops = tuple(loop for loop in inner if loop in self.kernel.entries[ref].loops)
            vector = [loop for loop in loops if loop in self.plan.along.values()]
            loops = tuple(loop for loop in loops if loop not in vector) + tuple(vector)
            dtype = ref.value.type.dtype
            lanes = max(self.plan.lanes, 1)
            steps = product(f, [self.sizes.operand(loop.size) for loop in loops])
            if self.plan.outer is not None:
                steps = f.mul(f.const(steps, I64), lanes)
            bytes = f.mul(f.const(steps, I64), dtype.itemsize) + lanes * dtype.itemsize
            self.scratch[ref] = Scratch(self.env.workspace(f, bytes), loops)

    def _drop_scratch(self, f: Function) -> None:
        for scratch in self.scratch.values():
            self.env.free(f, scratch.pointer)

    def _scratch_address(self, scope: Scope, scratch: Scratch) -> memory.Address:
        f = self.f
        place: Operand = 0
        for loop in scratch.loops:
            place = f.add(
                f.mul(f.const(place, I64), self.sizes.operand(loop.size)), scope.counters[loop]
            )
        if self.plan.outer is not None and self.plan.lanes:
            return memory.Address(f.mul(f.const(place, I64), self.plan.lanes), 1)
        varies = scope.vector is not None and scope.vector in scratch.loops
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


def _store_partial(f: Function, partials: V, place: V, total: Element) -> None:
    at = f.offset(partials, place * PART_BYTES)
    parts = total if isinstance(total, tuple) else (total,)
    for number, part in enumerate(parts):
        f.store(part, f.element(at, part.type, number))


def _load_partial(f: Function, partials: V, place: V, like: Accumulator) -> Element:
    at = f.offset(partials, place * PART_BYTES)
    parts = [
        f.load(f.element(at, part.type, number), part.type)
        for number, part in enumerate(like.parts)
    ]
    return (parts[0], parts[1]) if len(parts) == 2 else parts[0]
