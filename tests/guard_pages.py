"""Inaccessible pages around every buffer that native code gets: arguments, results, constants, the
arena, and what it takes from the heap. A read or write outside of a buffer ends the process, and
pytest's faulthandler shows the test.

    WEFT_GUARD=end pytest tests/compiler/lower      # buffers end where such pages begin
    WEFT_GUARD=begin pytest tests/compiler/lower    # buffers begin where such pages end

What lies between a buffer and the page on its other side, or is left over by its alignment, is
marked, and looked at when the buffer is given back. All calls go through Python.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]

MODES: Final = ("end", "begin")
MARK: Final = 0x5A
GARBAGE: Final = 0xA5  # in memory that nothing was written to yet
_PAGE: Final = mmap.PAGESIZE
_MARGIN: Final = 16 * _PAGE  # inaccessible bytes on each side
_ALIGNMENT: Final = 64  # of an arena and of memory to work in
_NOTHING, _READ_WRITE, _PRIVATE = 0, 3, 0x22  # of mmap: PROT_*, MAP_PRIVATE | MAP_ANONYMOUS

_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Buffer:
    """Memory of so many bytes next to an inaccessible page."""

    def __init__(self, bytes: int, alignment: int, mode: str) -> None:
        self.bytes = bytes
        self._room = -(-bytes // _PAGE) * _PAGE
        self._whole = 0
        whole = self._room + 2 * _MARGIN
        start = _libc.mmap(None, whole, _NOTHING, _PRIVATE, -1, 0)
        if start == ctypes.c_void_p(-1).value:
            raise MemoryError(f"{bytes:,} bytes")
        self._first, self._whole = start + _MARGIN, whole
        if self._room and _libc.mprotect(self._first, self._room, _READ_WRITE):
            raise MemoryError(f"{bytes:,} bytes")
        offset = (self._room - bytes) // alignment * alignment if mode == "end" else 0
        self.address = self._first + offset
        self._before, self._after = offset, self._room - offset - bytes
        ctypes.memset(self._first, MARK, self._room)
        ctypes.memset(self.address, GARBAGE, bytes)

    def fault(self) -> str | None:
        """What was written beside the buffer."""
        for where, start, length in (
            ("before", self._first, self._before),
            ("after", self.address + self.bytes, self._after),
        ):
            found = ctypes.string_at(start, length)
            written = length - found.count(MARK)
            if written:
                return f"{written} bytes written {where} a buffer of {self.bytes} bytes"
        return None

    def close(self) -> None:
        """Give the memory back: whoever uses it now faults."""
        if self._whole:
            _libc.munmap(self._first - _MARGIN, self._whole)
            self._whole = 0

    __del__ = close

    def array(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """The memory as an array, which keeps the buffer."""
        if not self.bytes:
            return np.empty(shape, dtype)
        held: Any = (ctypes.c_char * self.bytes).from_address(self.address)
        held.buffer = self
        made: Array = np.ndarray(shape, dtype, memoryview(held))
        return made


class Copied:
    """An array with its strides in memory of its own."""

    def __init__(self, array: Array, mode: str) -> None:
        self.original = array
        low, high = np.lib.array_utils.byte_bounds(array) if array.size else (0, 0)
        self.buffer = Buffer(high - low, array.itemsize, mode)
        self.before = ctypes.string_at(low, high - low)
        ctypes.memmove(self.buffer.address, self.before, high - low)
        held = (ctypes.c_char * max(high - low, 1)).from_address(self.buffer.address)
        start = array.ctypes.data - low if array.size else 0
        if array.size:
            memory = memoryview(held)
            self.array: Array = np.ndarray(array.shape, array.dtype, memory, start, array.strides)
        else:
            self.array = np.empty_like(array)

    @property
    def is_changed(self) -> bool:
        return ctypes.string_at(self.buffer.address, self.buffer.bytes) != self.before


class Heap:
    """What native code knows as malloc and the like."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.faults: list[str] = []
        self._held: dict[int, Buffer] = {}
        address, size = ctypes.c_void_p, ctypes.c_size_t
        self._kept = {
            "malloc": ctypes.CFUNCTYPE(address, size)(lambda bytes: self.take(bytes, 16)),
            "aligned_alloc": ctypes.CFUNCTYPE(address, size, size)(
                lambda alignment, bytes: self.take(bytes, alignment)
            ),
            "realloc": ctypes.CFUNCTYPE(address, address, size)(self.again),
            "free": ctypes.CFUNCTYPE(None, address)(self.give_back),
        }
        self.functions = {
            name: ctypes.cast(function, ctypes.c_void_p).value or 0
            for name, function in self._kept.items()
        }

    def take(self, bytes: int, alignment: int = _ALIGNMENT) -> int | None:
        try:
            buffer = Buffer(bytes, alignment, self.mode)
        except (MemoryError, OverflowError, ctypes.ArgumentError):
            return None
        self._held[buffer.address] = buffer
        return int(buffer.address)

    def again(self, address: int | None, bytes: int) -> int | None:
        """What realloc does."""
        made = self.take(bytes, 16)
        if made is not None and address:
            ctypes.memmove(made, address, min(bytes, self._held[address].bytes))
            self.give_back(address)
        return made

    def give_back(self, address: int | None) -> None:
        if not address:
            return
        buffer = self._held.pop(address)
        fault = buffer.fault()
        buffer.close()
        if fault:
            self.faults.append(fault)

    def check(self) -> None:
        faults, self.faults = self.faults, []
        assert not faults, faults


class _Local(threading.local):
    """The results that the calls of this thread that are under way have made."""

    def __init__(self) -> None:
        self.made: list[list[Buffer]] = []


def install(mode: str) -> Heap:
    """Let all native code of this process run in such memory from now on."""
    assert mode in MODES, f"WEFT_GUARD is {mode!r}; it can be {' or '.join(MODES)}"
    from weft.frontends.driver.cpu_program import CpuProgram
    from weft.runtime import program
    from weft.runtime.memory import Memory
    from weft.runtime.python_api import keep_for_ever

    heap = Heap(mode)
    keep_for_ever(heap)  # native code calls it for as long as the process lives
    _guard_library(heap)
    _guard_programs(heap)
    _guard_routines(heap)
    patched: Any = Memory
    patched.new = lambda self, bytes: heap.take(bytes)
    patched.free = lambda self, block: heap.give_back(block)
    patched._teach_malloc = lambda self: None
    patched = CpuProgram
    patched.is_native = False  # so that no stub is made
    patched = program
    patched._free = heap.give_back
    return heap


def _guard_library(heap: Heap) -> None:
    """Code that is linked from now on takes its memory from the heap; the call stub's own memory
    is NumPy's, too.
    """
    from weft.compiler import abi
    from weft.runtime.native import Library

    link = Library.__init__

    def linking(
        self: Library,
        images: Any,
        exports: Sequence[str],
        imports: Mapping[str, int] | None = None,
    ) -> None:
        own = {} if abi.STUB_CALL in exports else heap.functions
        link(self, images, exports, {**own, **(imports or {})})

    patched: Any = Library
    patched.__init__ = linking


def _guard_programs(heap: Heap) -> None:
    from weft.runtime.program import NativeProgram
    from weft.runtime.stub import Caller

    make, call, local = NativeProgram.__init__, NativeProgram.__call__, _Local()

    def making(self: NativeProgram, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        held: Any = self
        held.guarded_constants = [Copied(array, heap.mode) for array in self.native.constants]
        for number, copied in enumerate(held.guarded_constants):
            self._constants[number] = copied.buffer.address

    def empty(self: Caller, result: Any, number: int = 0) -> Array:
        bytes = int(np.prod([int(size) for size in result.shape], dtype=object))
        buffer = Buffer(bytes * result.dtype.itemsize, result.dtype.itemsize, heap.mode)
        local.made[-1].append(buffer)
        return buffer.array(result.shape, result.dtype)

    def calling(self: NativeProgram, arguments: Sequence[Array]) -> list[Array]:
        copies = [Copied(array, heap.mode) for array in arguments]
        local.made.append([])
        try:
            made = call(self, [copied.array for copied in copies])
            return _brought_out(self.native.in_place, made, copies)
        finally:
            buffers = [*local.made.pop(), *[copied.buffer for copied in copies]]
            heap.faults += [fault for fault in (buffer.fault() for buffer in buffers) if fault]
            for buffer in buffers:
                buffer.close()
            heap.check()

    patched: Any = NativeProgram
    patched.__init__, patched.__call__ = making, calling
    patched = Caller
    patched.empty = empty


def _brought_out(
    in_place: Mapping[int, int], made: Sequence[Array], copies: Sequence[Copied]
) -> list[Array]:
    """Results in ordinary memory; those in the place of donated arguments are these again."""
    results: list[Array] = []
    for number, result in enumerate(made):
        if number in in_place:
            original = copies[in_place[number]].original
            original[...] = result
            results.append(original)
        else:
            results.append(result.copy())
    for number, copied in enumerate(copies):
        written = number in in_place.values()
        assert written or not copied.is_changed, f"argument {number} was written to"
    return results


def _guard_routines(heap: Heap) -> None:
    """The harness that runs routines without a program."""
    from tests.compiler.lower import harness

    run: Callable[..., Any] = harness.run_routine

    def garbage(shape: Sequence[int], of: np.dtype[Any]) -> Array:
        bytes = int(np.prod(shape, dtype=object)) * of.itemsize
        return Buffer(bytes, of.itemsize, heap.mode).array(shape, of)

    def running(emit: Any, op: Any, arrays: Sequence[Array], **options: Any) -> Any:
        copies = [Copied(array, heap.mode) for array in arrays]
        try:
            return run(emit, op, [copied.array for copied in copies], **options)
        finally:
            faults = [copied.buffer.fault() for copied in copies]
            heap.faults += [fault for fault in faults if fault]
            for copied in copies:
                copied.buffer.close()
            heap.check()

    patched: Any = harness
    patched.run_routine, patched._garbage = running, garbage
