"""Runs pieces of native code on NumPy arrays: scalar functions in a loop, and routines of ops."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.compiler.abi import PARALLEL, RUN_WORDS, Failed
from weft.compiler.artifact import Site
from weft.compiler.ir.dtypes import DType, dtype
from weft.compiler.ir.graph import Op
from weft.compiler.loops.workspace import measured
from weft.compiler.lower.llvm import linkage
from weft.compiler.lower.llvm.emit.arrays import Array, Env
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.scratch import Scratch
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID, of_dtype
from weft.compiler.lower.llvm.machine import compile_text, host
from weft.compiler.lower.llvm.routines import Planned, scratch_bytes
from weft.compiler.lower.llvm.routines.convolution import entry as convolution_phases
from weft.compiler.lower.llvm.routines.gemm import gemm
from weft.compiler.lower.llvm.routines.gemm.kinds import KINDS
from weft.frontends.driver.machine_code import support
from weft.runtime.native import Library

NDArray = np.ndarray[Any, Any]


def shared_mathematics(module: Module) -> dict[str, int]:
    """The addresses of what the module's mathematical functions share with those of others."""
    return {name: support(name) for name in module.outside(linkage.math(""))}


def link(module: Module, name: str, imports: dict[str, int] | None = None) -> tuple[Library, int]:
    """The module with a serial `weft_parallel`, linked; the library and the function's address."""
    _define_parallel(module)
    imports = dict(imports or {})
    for dtype_ in convolution_phases.DTYPES:
        if module.outside(convolution_phases.symbol(dtype_)):
            symbol, library = _convolution(dtype_, imports)
            imports[symbol] = library.address(symbol)
    for kind in reversed(KINDS.values()):  # programs are linked to these; here they are inside
        if any(module.outside(export) for export in kind.exports(module.target)):
            gemm.define(module, kind)
    imports |= shared_mathematics(module)
    library = Library(compile_text(module.text()), [name], imports)
    return library, library.address(name)


def _define_parallel(module: Module) -> None:
    parameters = [("run", PTR), ("task", PTR), ("data", PTR), ("count", I64), ("grain", I64)]
    f = module.function(PARALLEL, VOID, parameters)
    run, task, data, count, _ = f.arguments
    f.call_pointer(task, VOID, [run, data, f.const(0, I64), count])
    f.ret()


_convolutions: dict[tuple[object, ...], Library] = {}


def _convolution(of: DType, imports: dict[str, int]) -> tuple[str, Library]:
    """The function of convolutions, which serves all sizes; tests may replace `Env.workspace`."""
    symbol = convolution_phases.symbol(of)
    key = (symbol, Env.workspace, *sorted(imports.items()))
    if key not in _convolutions:
        module = Module()
        _define_parallel(module)
        convolution_phases.define(module, of)
        _convolutions[key] = Library(_compiled(module.text()), [symbol], imports)
    return symbol, _convolutions[key]


@functools.cache
def _compiled(text: str) -> bytes:
    return compile_text(text)


def map_lanes(
    emit: Callable[..., V], arrays: Sequence[NDArray], out: np.dtype[Any], lanes: int | None = None
) -> NDArray:
    """`emit(f, *values)` applied to each element of contiguous 1-D arrays of real dtypes.

    With `lanes` above 0 the function sees vectors (None: as many as this machine's registers hold
    of the first array's dtype); the rest is done one by one.
    """
    if lanes is None:
        lanes = host().lanes(arrays[0].dtype.itemsize * 8)
    module = Module()
    pointers = [(f"x{i}", PTR) for i in range(len(arrays))]
    f = module.function("map", VOID, [("n", I64), *pointers, ("y", PTR)])
    n, *xs, y = f.arguments
    types = [of_dtype(dtype(array.dtype)) for array in arrays]

    def step(i: V, width: int) -> None:
        values = [
            f.load(f.element(x, t, i), t.with_lanes(width)) for x, t in zip(xs, types, strict=True)
        ]
        f.store(emit(f, *values), f.element(y, of_dtype(dtype(out)), i))

    whole = f.const(0, I64)
    if lanes:
        whole = f.mul(f.divide(n, lanes), lanes)
        with f.range(0, whole, lanes) as i:
            step(i, lanes)
    with f.range(whole, n) as i:
        step(i, 0)
    f.ret()
    library, address = link(module, "map")
    kinds = [ctypes.c_int64, *[ctypes.c_void_p] * (len(arrays) + 1)]
    result = np.zeros(arrays[0].shape, out)
    call = ctypes.CFUNCTYPE(None, *kinds)(address)
    call(result.size, *[np.ascontiguousarray(a).ctypes.data for a in arrays], result.ctypes.data)
    library.close()
    return result


Routine = Callable[[Function, Env, Op, list[Array], list[Array]], None]


class Failure(Exception):
    """A failure site was reached; its filled message."""


def _garbage(shape: Sequence[int], of: np.dtype[Any]) -> NDArray:
    """An array that shows what was not written to it."""
    made = np.empty(shape, of)
    made.reshape(-1).view(np.uint8)[:] = 0xA5
    return made


class Room:
    """What a routine is to work in, by its own account, between marked bytes."""

    MARGIN = 4096
    MARK = 0x5A

    def __init__(self, size: int) -> None:
        self.size = size
        self._bytes = np.full(size + 2 * self.MARGIN + 64, self.MARK, np.uint8)
        first = self._bytes.ctypes.data + self.MARGIN
        self.start = first + -first % 64

    def check(self) -> None:
        """Nothing outside was written to."""
        begin = self.start - self._bytes.ctypes.data
        outside = [self._bytes[:begin], self._bytes[begin + self.size :]]
        assert all((x == self.MARK).all() for x in outside), f"written outside {self.size} bytes"


def planned_bytes(
    emit: Routine,
    op: Op,
    arrays: Sequence[NDArray],
    threads: int,
    imports: dict[str, int] | None = None,
) -> int:
    """What a routine is to work in: what its plan says, or else what its code measures."""
    strides = [tuple(s // a.itemsize for s in a.strides) for a in arrays]
    own = measured("test")
    size = scratch_bytes(Planned(op, strides, host(), threads, measured=own))
    if isinstance(size, int):
        return size
    assert size == own
    module = Module()
    f = module.function("measure", I64, [("run", PTR)])
    (run,) = f.arguments
    scratch = Scratch.measuring(f, threads)
    env = Env(module, run, "measure", [], scratch=scratch)
    results = [np.empty([int(s) for s in r.type.shape], r.type.dtype.numpy) for r in op.results]
    nowhere = [
        Array(
            f.const(0, PTR),
            dtype(array.dtype),
            array.shape,
            tuple(stride // array.itemsize for stride in array.strides),
        )
        for array in (*arrays, *results)
    ]
    emit(f, env, op, nowhere[: len(arrays)], nowhere[len(arrays) :])
    f.ret(scratch.measured(f))
    library, address = link(module, "measure", imports)
    record = np.zeros(RUN_WORDS, np.int64)
    record[0] = threads
    made = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)(record.ctypes.data)
    library.close()
    return int(made)


def run_routine(
    emit: Routine,
    op: Op,
    arrays: Sequence[NDArray],
    *,
    dynamic: bool = False,
    imports: dict[str, int] | None = None,
    planned: bool = False,
    threads: int = 1,
) -> list[NDArray]:
    """The results of one op's routine on arrays of any strides; `dynamic` passes sizes and strides
    as values that are known only at run time. With `planned` it is given as many bytes to work in
    as it said beforehand, between marked ones.
    """
    results = [_garbage([int(s) for s in r.type.shape], r.type.dtype.numpy) for r in op.results]
    every = [*arrays, *results]
    numbers = [[*a.shape, *[s // a.itemsize for s in a.strides]] for a in every]
    module = Module()
    pointers = [(f"p{i}", PTR) for i in range(len(every))]
    given = [("run", PTR), ("numbers", PTR), ("scratch", PTR)]
    f = module.function("routine", VOID, [*given, *pointers])
    run, table, memory, *addresses = f.arguments
    sites: list[Site] = []
    room = Room(planned_bytes(emit, op, arrays, threads, imports)) if planned else None
    env = Env(module, run, "routine", sites)
    if room is not None and room.size:
        env.scratch = Scratch.of(f, memory, f.offset(memory, room.size), threads)
    made, place = [], 0
    for pointer, array, values in zip(addresses, every, numbers, strict=True):
        held: list[Any] = list(values)
        if dynamic:
            held = [f.load(f.element(table, I64, place + i), I64) for i in range(len(values))]
        place += len(values)
        rank = array.ndim
        made.append(Array(pointer, dtype(array.dtype), tuple(held[:rank]), tuple(held[rank:])))
    emit(f, env, op, made[: len(arrays)], made[len(arrays) :])
    f.ret()
    library, address = link(module, "routine", imports)
    flat = np.array([n for values in numbers for n in values] or [0], np.int64)
    record = np.zeros(RUN_WORDS, np.int64)
    record[0] = threads
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (3 + len(every)))(address)
    start = 0 if room is None else room.start
    call(record.ctypes.data, flat.ctypes.data, start, *[array.ctypes.data for array in every])
    library.close()
    if room is not None:
        room.check()
    if record[1] == Failed.WORKSPACE_MEMORY:
        raise MemoryError(int(record[3]))
    if record[1]:
        site = sites[record[1] - 1]
        raise Failure(site.message.format(*record[2:5]))
    return results
