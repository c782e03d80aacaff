"""Calling programs: native call stubs as Python builtins, and the same from Python code.

    caller = Caller(code, Pool(pool_code))           # once in a process
    call = caller.make(entry, signature)             # once for each program
    call(x, y)                                       # MISS if the arguments are of another kind

An entry is a native function `i64 entry(run, arguments, numbers, results, arena)`, whose `run` is
the run record of `weft.compiler.abi`; the others are the addresses of the arguments' data, the
values of the symbols and of strides, the addresses of the results' data, and memory for
intermediate values.
"""

from __future__ import annotations

import ctypes
import math
import os
import struct
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import numpy as np

from weft.compiler import abi
from weft.compiler.abi import ArrayField, DTypeField, Run, Shared, Stub, StubFlag
from weft.compiler.artifact import no_arena
from weft.runtime import python_api, threads
from weft.runtime.encoding import Encoder
from weft.runtime.memory import Memory
from weft.runtime.native import Library
from weft.runtime.signatures import Result, Signature, Size, Unsupported
from weft.runtime.threads import Pool

Array = np.ndarray[Any, Any]
Record = tuple[int, ...]  # the words of a run record
OnError = Callable[[Record], NoReturn]

_METH_FASTCALL_KEYWORDS: Final = 0x80 | 0x02
_drop: Final = python_api.function("Py_DecRef", None, ctypes.c_void_p)


class _Miss:
    """The type of MISS."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISS"


MISS: Final = _Miss()


class _MethodDef(ctypes.Structure):
    """Python's `PyMethodDef`."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class Caller:
    """The native side of calls; `code` is what `support.stub` compiles to.

    Raises `Unsupported` where Python or NumPy keep their objects in other ways than expected.
    """

    def __init__(self, code: bytes, pool: Pool) -> None:
        _check_layouts()
        imports = _python_functions() | _numpy_functions()
        library = Library(code, abi.STUB_EXPORTS, imports)
        self.pool = pool
        self.memory = Memory(library)
        self._library = library
        self._shared = np.zeros(len(Shared), np.int64)
        self._prepare = _preparation(pool)
        self._fill_shared()
        # Arrays call this code when they die, which may be the last thing that a process does.
        python_api.keep_for_ever((library, self.memory, self._shared, self._prepare))
        pointers = [ctypes.c_void_p] * 6
        self._enter = ctypes.PYFUNCTYPE(None, *pointers, ctypes.c_int64)(
            library.address(abi.STUB_ENTER)
        )
        self._new_array = ctypes.PYFUNCTYPE(
            ctypes.c_void_p, *pointers[:2], ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64
        )(library.address(abi.STUB_ARRAY))
        _follow_main_thread(self._shared)

    @property
    def poll(self) -> int:
        """The address of poll(run), for run records made elsewhere."""
        return self._library.address(abi.POLL)

    def make(
        self,
        entry: int,
        signature: Signature,
        *,
        name: str = "call",
        on_error: OnError | None = None,
        fallback: Callable[..., Any] | None = None,
        release: bool = False,
        parallel: bool = False,
        arena_bytes: int = 0,
        arena_function: int = 0,
        host: int = 0,
        program: int = 0,
        keep: Any = None,
    ) -> Callable[..., Any]:
        """A builtin function that calls a program.

        Arguments of another kind than the signature's give MISS, or what `fallback` returns for
        them. `on_error` raises what a run record tells of. `release` lets other Python threads run
        meanwhile: for long programs, and for those whose parallel tasks call back into Python.
        `parallel` is for programs with parallel regions. The arena's size is a number, or the
        address of size(run, numbers). `keep` lives as long as the builtin: what holds the program's
        code.
        """
        encoder = Encoder(signature)
        raises = _Failure(signature.results, on_error)
        flags = _flags(release=release, parallel=parallel)
        head = {
            Stub.ENTRY: entry,
            Stub.FLAGS: flags,
            Stub.MISS: id(MISS),
            Stub.FALLBACK: 0 if fallback is None else id(fallback),
            Stub.ON_ERROR: id(raises),
            Stub.SHARED: self._shared.ctypes.data,
            Stub.HOST: host,
            Stub.PROGRAM: program,
            Stub.ARENA_BYTES: arena_bytes,
            Stub.ARENA_FUNCTION: arena_function,
        }
        words = encoder.descriptor()
        for position, value in head.items():
            words[position] = value
        descriptor = np.array(words, np.int64).tobytes()
        function = self._library.address(abi.STUB_CALL)
        method = _MethodDef(name.encode(), function, _METH_FASTCALL_KEYWORDS, None)
        kept = (descriptor, method, encoder.kept, raises, fallback, keep)
        types = ctypes.c_void_p, ctypes.py_object, ctypes.py_object
        new = python_api.function("PyCFunction_NewEx", ctypes.py_object, *types)
        result: Callable[..., Any] = new(ctypes.addressof(method), kept, "weft")
        return result

    def call_entry(
        self,
        entry: int,
        arrays: Sequence[Array],
        numbers: Sequence[int],
        results: Sequence[Result],
        *,
        on_error: OnError | None = None,
        release: bool = True,
        parallel: bool = False,
        arena_bytes: int = 0,
        host: int = 0,
        program: int = 0,
    ) -> list[Array]:
        """The results of a program, without a stub: the arrays are of the dtypes, shapes and
        layouts that it expects, and the shapes of the results are numbers.
        """
        built = [self.empty(result, number) for number, result in enumerate(results)]
        record = self.run(
            entry,
            _addresses(arrays),
            words(numbers),
            _addresses(built),
            release=release,
            parallel=parallel,
            arena_bytes=arena_bytes,
            host=host,
            program=program,
        )
        if record[Run.ERROR]:
            _Failure(results, on_error)(record.tobytes())
        return built

    def run(
        self,
        entry: int,
        arguments: Any,
        numbers: Any,
        results: Any,
        *,
        release: bool,
        parallel: bool,
        arena_bytes: int | Callable[[int, int], int],
        host: int = 0,
        program: int = 0,
    ) -> Array:
        """Call an entry with tables of words; returns the run record. The arena's size is a number,
        or a function of the run record and the numbers.
        """
        record = np.zeros(abi.RUN_WORDS, np.int64)
        record[Run.THREADS] = 1
        if parallel:
            record[Run.THREADS] = self._prepare()
            record[Run.POOL] = self.pool.address
        record[Run.POLL], record[Run.SHARED] = self.poll, self._shared.ctypes.data
        record[Run.HOST], record[Run.PROGRAM] = host, program
        size = arena_bytes
        if not isinstance(size, int):
            size = size(record.ctypes.data, ctypes.addressof(numbers))
        arena = self.memory.new(max(size, 1))
        if arena is None:
            record[Run.ERROR], record[Run.DETAIL1] = abi.Failed.ARENA_MEMORY, size
        else:
            try:
                flags = _flags(release=release, parallel=parallel)
                self._enter(entry, record.ctypes.data, arguments, numbers, results, arena, flags)
            finally:
                self.memory.free(arena)
        return record

    def empty(self, result: Result, number: int = 0) -> Array:
        """A new array for a result whose shape is known, in the memory that stubs use too."""
        shape = [_known(size) for size in result.shape]
        total = math.prod(shape) * result.dtype.itemsize
        place = 0
        if total <= _LARGEST:
            shared, dims = self._shared.ctypes.data, words(shape)
            place = self._new_array(shared, id(result.dtype), len(shape), dims, total) or 0
        if not place:
            _no_result_memory(result, number, total)
        array: Array = ctypes.cast(place, ctypes.py_object).value
        _drop(place)  # the reference that the call returned
        return array

    def offer_buffers(self, cls: type) -> None:
        """Let the objects of a Python class offer the buffer of their `data`, as classes with
        `__buffer__` do from Python 3.12 on.
        """
        table = ctypes.c_int64.from_address(id(cls) + abi.TYPE_BUFFER).value
        if not id(cls) <= table < id(cls) + type.__sizeof__(cls):
            raise Unsupported("Python keeps its classes in another way than expected")
        ctypes.c_int64.from_address(table).value = self._library.address(abi.BUFFER)

    def _fill_shared(self) -> None:
        table = {
            Shared.MEMORY: self.memory.address,
            Shared.MEMORY_OBJECT: id(self.memory.capsule),
            Shared.POOL: self.pool.address,
            Shared.MAIN_THREAD: threading.main_thread().ident or 0,
            Shared.THREADS_CHOSEN: id(threads.chosen),
            Shared.THREADS_DEFAULT: threads.default.address,
            Shared.THREADS_PREPARE: id(self._prepare),
            Shared.ARRAY: id(np.ndarray),
            Shared.DICT: id(dict),
            Shared.LIST: id(list),
            Shared.FLOAT: id(float),
            Shared.INT: id(int),
            Shared.BOOL: id(bool),
            Shared.COMPLEX: id(complex),
            Shared.TRUE: id(True),
            Shared.NONE: id(None),
        }
        for position, value in table.items():
            self._shared[position] = value


_LARGEST: Final = (1 << 63) - 1


class _Failure:
    """Raises what a run record tells of."""

    __slots__ = ("results", "on_error")

    def __init__(self, results: Sequence[Result], on_error: OnError | None) -> None:
        self.results = results
        self.on_error = on_error

    def __call__(self, data: bytes) -> NoReturn:
        record = struct.unpack(f"{abi.RUN_WORDS}q", data)
        error, bytes = record[Run.ERROR], record[Run.DETAIL1]
        if error == abi.Failed.RESULT_MEMORY:
            number = record[Run.DETAIL0]
            _no_result_memory(self.results[number], number, bytes)
        if error == abi.Failed.ARENA_MEMORY:
            raise no_arena(bytes)
        if error == abi.Failed.COPY_MEMORY:
            raise MemoryError(f"there is no memory for {bytes:,} bytes of copies of arguments")
        if error == abi.Failed.INTERRUPTED:
            raise KeyboardInterrupt
        if self.on_error is not None:
            self.on_error(record)
        raise RuntimeError(f"the program failed at its site {error - 1}: {record[2:5]}")


def _no_result_memory(result: Result, number: int, bytes: int) -> NoReturn:
    name = result.label or f"result {number}"
    shape = ", ".join(_size_text(size) for size in result.shape)
    amount = f"{bytes:,}" if bytes < _LARGEST else f"more than {_LARGEST:,}"
    raise MemoryError(
        f"there is no memory for {name}, {result.dtype}[{shape}]: it needs {amount} bytes"
    )


def _size_text(size: Size) -> str:
    if not isinstance(size, tuple):
        return str(size)
    operator, left, right = size[0], _size_text(size[1]), _size_text(size[2])
    return f"max({left}, {right})" if operator == "max" else f"({left} {operator} {right})"


def _known(size: Size) -> int:
    if not isinstance(size, int):
        raise TypeError(f"the size {size!r} of a result is not known")
    return size


def _flags(*, release: bool, parallel: bool) -> int:
    return StubFlag.RELEASE * release + StubFlag.PARALLEL * parallel


def words(numbers: Sequence[int]) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * max(len(numbers), 1))(*numbers)


def _addresses(arrays: Sequence[Array]) -> ctypes.Array[ctypes.c_int64]:
    return words([array.ctypes.data for array in arrays])


def _preparation(pool: Pool) -> Callable[[], int]:
    def prepare() -> int:
        """Start the workers that a call made now may use, and say how many threads these are."""
        count = threads.get_num_threads()
        pool.ensure(count)
        return count

    return prepare


def _follow_main_thread(shared: Array) -> None:
    """In the child of a fork, the thread that forked is the main one."""
    if not hasattr(os, "register_at_fork"):
        return
    held = weakref.ref(shared)

    def update() -> None:
        table = held()
        if table is not None:
            table[Shared.MAIN_THREAD] = threading.get_ident()

    os.register_at_fork(after_in_child=update)


def _python_functions() -> dict[str, int]:
    return {name: python_api.address(name) for name in abi.PYTHON_API}


def _numpy_functions() -> dict[str, int]:
    table = _numpy_table()
    return {name: table[place] or 0 for name, place in abi.NUMPY_API.items()}


def _numpy_table() -> Any:
    from numpy._core import multiarray

    address = python_api.capsule_pointer(multiarray._ARRAY_API, None)
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))


def _check_layouts() -> None:
    """That the fields of objects are where native code looks for them."""
    if "free-threading" in sys.version or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise Unsupported("call stubs need a 64-bit Python with a GIL")
    probe = np.zeros((3, 5, 7), np.float32)[:, 1:, ::2]
    owner = np.empty(1)
    number = ctypes.c_int64.from_address
    small = ctypes.c_int32.from_address
    dims = number(id(probe) + ArrayField.DIMS).value
    strides = number(id(probe) + ArrayField.STRIDES).value
    handler = ctypes.c_void_p(number(id(owner) + ArrayField.HANDLER).value)
    checks = (
        number(id(probe) + abi.OBJECT_TYPE).value == id(np.ndarray),
        _numpy_table()[abi.ARRAY_TYPE_INDEX] == id(np.ndarray),
        number(id(probe) + ArrayField.DATA).value == probe.ctypes.data,
        small(id(probe) + ArrayField.RANK).value == probe.ndim,
        number(id(probe) + ArrayField.DTYPE).value == id(probe.dtype),
        small(id(probe) + ArrayField.FLAGS).value == probe.flags.num,
        small(id(probe.dtype) + DTypeField.NUMBER).value == probe.dtype.num,
        ctypes.string_at(id(probe.dtype) + DTypeField.BYTE_ORDER, 1) == b"=",
    )
    if not all(checks):
        raise Unsupported("NumPy keeps its arrays in another way than this release of Weft expects")
    shown = [ctypes.string_at(place, 24) for place in (dims, strides)]
    if shown != [struct.pack("3q", *probe.shape), struct.pack("3q", *probe.strides)]:
        raise Unsupported("NumPy keeps the shapes of arrays in another way than expected")
    types = ctypes.c_void_p, ctypes.c_char_p
    if not python_api.function("PyCapsule_IsValid", ctypes.c_int, *types)(handler, b"mem_handler"):
        raise Unsupported("NumPy keeps the memory of arrays in another way than expected")
