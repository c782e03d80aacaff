"""Arrays in native code: a pointer, sizes and strides, with elements of any dtype.

An element is one `V`, or a pair of them for complex dtypes. `Env` is what a routine may ask for:
workspace, parallel loops, and to fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from weft.compiler.abi import PARALLEL, Run
from weft.compiler.artifact import Site
from weft.compiler.ir.alignment import FLAG_BYTES
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.graph import Op
from weft.compiler.lower.choice import Products
from weft.compiler.lower.llvm.emit import workspace
from weft.compiler.lower.llvm.emit.function import Function, Module, Operand, V
from weft.compiler.lower.llvm.emit.partition import SELDOM
from weft.compiler.lower.llvm.emit.scratch import Scratch, Slots, rounded
from weft.compiler.lower.llvm.emit.types import I1, I64, PTR, VOID, Type, of_dtype
from weft.compiler.record import record

_FAIL: Final = "weft.fail"
_OUTSIDE: Final = "weft.outside"
_DETAILS: Final = 3  # of a failure, as many as the run record has words for

Element: TypeAlias = "V | tuple[V, V]"


@record
class Array:
    """An array in memory; sizes and strides (in elements) are numbers or i64 values."""

    pointer: V
    dtype: DType
    shape: tuple[Operand, ...]
    strides: tuple[Operand, ...]

    @property
    def type(self) -> Type:
        """The LLVM type of an element, or of each part of a complex one."""
        return of_dtype(self.dtype)

    def position(self, f: Function, index: Sequence[Operand]) -> V:
        """The place of an element, counted in elements from the start."""
        return dot(f, index, self.strides)

    def at(self, f: Function, position: Operand) -> V:
        """The address of the element at a position."""
        scale = 2 if self.dtype.is_complex else 1
        place = times(f, f.const(position, I64), scale)
        return f.element(self.pointer, self.type, place)

    def load(self, f: Function, position: Operand) -> Element:
        """The element at a position."""
        address = self.at(f, position)
        if not self.dtype.is_complex:
            return f.load(address, self.type)
        return f.load(address, self.type), f.load(f.element(address, self.type, 1), self.type)

    def store(self, f: Function, position: Operand, value: Element) -> None:
        address = self.at(f, position)
        if not isinstance(value, tuple):
            f.store(value, address)
            return
        f.store(value[0], address)
        f.store(value[1], f.element(address, self.type, 1))

    def moved(self, f: Function, position: Operand) -> Array:
        """The same array with its start at another element."""
        return Array(self.at(f, position), self.dtype, self.shape, self.strides)

    def without(self, axis: int) -> Array:
        """The array at index 0 of an axis, which is dropped."""
        shape, strides = list(self.shape), list(self.strides)
        del shape[axis], strides[axis]
        return Array(self.pointer, self.dtype, tuple(shape), tuple(strides))


def contiguous(f: Function, pointer: V, dtype: DType, shape: Sequence[Operand]) -> Array:
    """An array in row-major order."""
    strides: list[Operand] = []
    step: Operand = 1
    for size in reversed(shape):
        strides.append(step)
        step = times(f, step, size)
    return Array(pointer, dtype, tuple(shape), tuple(reversed(strides)))


def times(f: Function, x: Operand, y: Operand) -> Operand:
    """The product of two numbers or i64 values, computed now where possible."""
    if not isinstance(x, V) and not isinstance(y, V):
        return x * y
    if not isinstance(x, V):
        x, y = y, x
    if not isinstance(y, V):
        if y == 1:
            return x
        if y == 0:
            return 0
    return f.mul(x, y)


def plus(f: Function, x: Operand, y: Operand) -> Operand:
    """The sum of two numbers or i64 values, computed now where possible."""
    if not isinstance(x, V) and not isinstance(y, V):
        return x + y
    if not isinstance(x, V):
        x, y = y, x
    return x if not isinstance(y, V) and y == 0 else f.add(x, y)


def dot(f: Function, index: Sequence[Operand], strides: Sequence[Operand]) -> V:
    """The sum of products, as an i64 value."""
    total: Operand = 0
    for i, stride in zip(index, strides, strict=True):
        total = plus(f, total, times(f, i, stride))
    return f.const(total, I64)


def product(f: Function, sizes: Sequence[Operand]) -> Operand:
    """The number of elements of a shape."""
    total: Operand = 1
    for size in sizes:
        total = times(f, total, size)
    return total


def unravel(f: Function, position: V, shape: Sequence[Operand]) -> list[Operand]:
    """The index of the element at a row-major position."""
    index: list[Operand] = []
    rest: V = position
    for size in reversed(shape[1:]):
        index.append(f.remainder(rest, size))
        rest = f.divide(rest, size)
    return [*([rest] if shape else []), *reversed(index)]


@record
class FusedConsumer:
    """What goes on with rows of a matrix product, or planes of a convolution, as soon as they are
    done: `task(run, data, begin, end)`, called with the numbers of rows, of which `first` is that
    of the product's first one. A convolution is told into how many parts, the rows of the task, it
    divides each plane.
    """

    task: V
    data: V
    first: Operand = 0
    parts: int = 1

    def call(self, f: Function, run: V, begin: Operand, end: Operand) -> None:
        """Go on with some rows of the product."""
        first = f.const(self.first, I64)
        f.call_pointer(self.task, VOID, [run, self.data, first + begin, first + end])


@record
class Part:
    """Some of the rows that an array is divided into."""

    begin: V
    end: V
    rows: Operand


class Env:
    """What a routine may ask for while it is emitted into a function. One that has a `part` is
    asked for these rows of its result only.
    """

    def __init__(
        self,
        module: Module,
        run: V,
        prefix: str,
        sites: list[Site],
        measure: Callable[[Size], Operand] | None = None,
        follower: FusedConsumer | None = None,
        products: Products | None = None,
        part: Part | None = None,
        scratch: Scratch | None = None,
    ) -> None:
        self.module = module
        self.run = run
        self.prefix = prefix
        self.sites = sites
        self.follower = follower
        self.part = part
        self.scratch = scratch
        self.products = products or Products()
        self.notes: list[str] = []  # what users are told of how the op is computed
        self._measure = measure
        self._tasks = 0

    def size(self, size: Size) -> Operand:
        """A size of an op's attributes, as the function knows it that the op is emitted into."""
        if isinstance(size, int):
            return size
        assert self._measure is not None, "symbolic attributes are read before parallel loops"
        return self._measure(size)

    def site(self, op: Op, error: str, message: str) -> int:
        """The number of a new failure site, for `fail`."""
        self.sites.append(Site(error, message, op.name, op.location))
        return len(self.sites) - 1

    def workspace(self, f: Function, bytes: Operand) -> V:
        """Memory, aligned to 64 bytes, which is given back with `free`: what the plan has set aside
        for the routine, or else from the heap. Where there is none, the run fails with a
        MemoryError and the function returns, holding nothing.
        """
        return workspace.take(f, self.run, f.const(bytes, I64), self._planned)

    def free(self, f: Function, pointer: V) -> None:
        workspace.give_back(f, pointer, self._planned)

    @property
    def _planned(self) -> V | None:
        return None if self.scratch is None else self.scratch.record

    @property
    def heap(self) -> Env:
        """The same without what was set aside, for memory whose size is known only at run time."""
        return Env(self.module, self.run, f"{self.prefix}.heap", self.sites)

    def leave_without_memory(self, f: Function) -> None:
        """Return from a function if one that it called found no memory: results are not there, so
        that nothing may be computed from them.
        """
        workspace.leave_if_failed(f, self.run)

    def fail(self, f: Function, site: int, details: Sequence[V] = ()) -> None:
        """Note a failure of a site (the first one counts) and ask loops to end."""
        told = [detail.to(I64) for detail in details]
        told += [f.const(0, I64)] * (_DETAILS - len(told))
        _define_fail(f.module)
        f.call(_FAIL, VOID, [self.run, f.const(site + 1, I64), *told])

    def outside(self, f: Function, site: int, index: V, size: V, from_end: V, checks: V) -> V:
        """The position of an index that is not from 0 to below a size: counted from the end if it
        may be. Otherwise it is 0, and the run fails if it `checks`.
        """
        _define_outside(f.module)
        values = [self.run, f.const(site + 1, I64), index, size, from_end, checks]
        return f.call(_OUTSIDE, I64, values)

    def parallel(
        self,
        f: Function,
        count: Operand,
        body: Callable[[Function, Env, V, list[V]], None],
        captured: Sequence[V] = (),
        grain: Operand = 1,
        scratch: Operand = 0,
    ) -> None:
        """A loop from 0 to `count` whose steps may run on several threads at once.

        `body(g, env, i, captured)` emits one step into another function `g`, where only `i` and
        the captured values (scalars and pointers) are known. Steps that work in memory that is
        planned say how many bytes of `scratch` they take; none is set aside where that turns out
        to be 0.
        """
        slots = self.slots(f, count, scratch, may_be_none=isinstance(scratch, V))
        held = [*captured, *(slots.values if slots else ())]
        task = self._task(body, captured, slots)
        self._share(f, task, count, held, grain)
        if slots is not None:
            with slots.when_any(f):
                self.free(f, slots.flags)

    def slots(
        self, f: Function, count: Operand | None, bytes: Operand, may_be_none: bool = False
    ) -> Slots | None:
        """Memory for as many of `count` tasks as threads can be at work, so many bytes for each:
        what is set aside. `free` of the flags gives it back. If there `may_be_none`, the flags are
        null where the bytes are 0.
        """
        if self.scratch is None or (not isinstance(bytes, V) and not bytes):
            return None
        slots, flag_bytes, step = self._division(f, count, bytes)
        if may_be_none:
            taken = f.variable(0, PTR)
            with f.when(step.ne(0)):
                taken.set(self._flags(f, slots, flag_bytes + slots * step))
            flags = taken.get()
        else:
            flags = self._flags(f, slots, flag_bytes + slots * step)
        return Slots(flags, f.offset(flags, flag_bytes), slots, step, may_be_none)

    def _flags(self, f: Function, count: V, bytes: V) -> V:
        """So many bytes, which begin with the flags of so many slots that nobody has claimed."""
        flags = self.workspace(f, bytes)
        with f.range(0, count) as number:
            f.store(f.const(0, I64), f.element(flags, I64, number))
        return flags

    def slots_bytes(self, f: Function, count: Operand | None, bytes: Operand) -> V:
        """What `slots` takes."""
        slots, flag_bytes, step = self._division(f, count, bytes)
        return flag_bytes + slots * step

    def _division(self, f: Function, count: Operand | None, bytes: Operand) -> tuple[V, V, V]:
        """How many slots there are, and the bytes of all flags and of each slot."""
        slots = self._threads(f)
        if count is not None:
            slots = f.maximum(f.minimum(slots, f.const(count, I64)), 1)
        step = f.const(rounded(bytes), I64)
        return slots, f.const(rounded(slots * FLAG_BYTES), I64), step

    def is_measuring(self, f: Function) -> V:
        """Whether nothing is to be computed, but what it would take is to be noted."""
        assert self.scratch is not None
        return self.scratch.is_measuring(f)

    def leave_measured(self, f: Function, bytes: V) -> None:
        """Return where memory is only measured, and note that so many bytes would be taken."""
        assert self.scratch is not None
        is_measuring = self.scratch.is_measuring(f)
        with f.when(is_measuring):
            self.scratch.note(f, bytes)
        workspace.leave_if(f, is_measuring)

    def _threads(self, f: Function) -> V:
        """How many threads may be at work at once, in what is set aside if something is."""
        of_run = f.element(self.run, I64, int(Run.THREADS))
        if self.scratch is None:
            return f.load(of_run, I64)
        record = self.scratch.record
        of_scratch = f.element(record, I64, workspace.THREADS)
        return f.load(f.select(record.ne(0), of_scratch, of_run), I64)

    def share(
        self, f: Function, name: str, count: Operand, captured: Sequence[V], grain: Operand
    ) -> None:
        """Let several threads call `name(run, *captured, begin, end)` on ranges up to `count`."""
        task = f"{name}.task"
        parameters = [("run", PTR), ("data", PTR), ("begin", I64), ("end", I64)]
        g = self.module.function(task, VOID, parameters, internal=True, glue=True)
        run, data, begin, end = g.arguments
        values = unpacked(g, data, captured)
        g.call(name, VOID, [run, *values, begin, end])
        g.ret()
        self._share(f, task, count, captured, grain)

    def _share(
        self, f: Function, task: str, count: Operand, captured: Sequence[V], grain: Operand
    ) -> None:
        data = packed(f, captured)
        address = V(f, f"@{task}", PTR)
        total, least = f.const(count, I64), f.const(grain, I64)
        f.call(PARALLEL, VOID, [self.run, address, data, total, least])

    def _task(
        self,
        body: Callable[[Function, Env, V, list[V]], None],
        captured: Sequence[V],
        slots: Slots | None,
    ) -> str:
        name = f"{self.prefix}.task{self._tasks}"
        self._tasks += 1
        parameters = [("run", PTR), ("data", PTR), ("begin", I64), ("end", I64)]
        g = self.module.function(name, VOID, parameters, internal=True)
        run, data, begin, end = g.arguments
        held = [*captured, *(slots.values if slots else ())]
        values = unpacked(g, data, held)
        inner = Env(self.module, run, name, self.sites)
        if slots is None:
            with g.range(begin, end) as i:
                body(g, inner, i, values)
        else:
            here = Slots.of(values[len(captured) :], slots.may_be_none)
            inner.scratch, number = here.claimed(g, run)
            with g.range(begin, end) as i:
                body(g, inner, i, values[: len(captured)])
            with here.when_any(g):
                here.give_back(g, number)
        g.ret()
        return name


def _define_fail(module: Module) -> None:
    """weft.fail(run, error, details ..): it writes to nothing but the run record."""
    if _FAIL in module.functions:
        return
    details = [(f"detail{number}", I64) for number in range(_DETAILS)]
    parameters = [("run", PTR), ("error", I64), *details]
    attributes = f"{SELDOM} memory(argmem: readwrite)"
    f = module.function(_FAIL, VOID, parameters, attributes=attributes, internal=True, glue=True)
    run, error, *told = f.arguments
    slot = f.element(run, I64, int(Run.ERROR))
    with f.when(f.load(slot, I64).eq(0)):
        f.store(error, slot)
        f.store(f.const(1, I64), f.element(run, I64, int(Run.STOP)))
        for number, detail in enumerate(told):
            f.store(detail, f.element(run, I64, int(Run.DETAIL0) + number))
    f.ret()


def _define_outside(module: Module) -> None:
    """weft.outside(run, error, index, size, from_end, checks): see `Env.outside`."""
    if _OUTSIDE in module.functions:
        return
    _define_fail(module)
    numbers = [(name, I64) for name in ("error", "index", "size")]
    truths = [("from_end", I1), ("checks", I1)]
    parameters = [("run", PTR), *numbers, *truths]
    attributes = f"{SELDOM} memory(argmem: readwrite)"
    f = module.function(_OUTSIDE, I64, parameters, attributes=attributes, internal=True, glue=True)
    run, error, index, size, from_end, checks = f.arguments
    position = index + size
    is_inside = from_end & index.lt(0) & position.ge(0)
    with f.when(checks & ~is_inside):
        f.call(_FAIL, VOID, [run, error, index, size, f.const(0, I64)])
    f.ret(f.select(is_inside, position, 0))


def packed(f: Function, captured: Sequence[V]) -> V:
    """Values on the stack, for a function that is given one pointer."""
    data = f.stack(I64, max(len(captured), 1), align=8)
    for number, value in enumerate(captured):
        f.store(value, f.element(data, I64, number))
    return data


def unpacked(g: Function, data: V, captured: Sequence[V]) -> list[V]:
    """Captured values, read back in another function."""
    return [
        g.load(g.element(data, I64, number), value.type) for number, value in enumerate(captured)
    ]
