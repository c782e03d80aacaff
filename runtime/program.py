"""A loaded artifact that can be called with arrays."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from weft.compiler.abi import (
    ARENA_BYTES,
    CONSTANTS,
    ENTRY,
    MEASURE,
    PARALLEL,
    RUN_WORDS,
    Failed,
    Run,
)
from weft.compiler.artifact import (
    Array,
    Artifact,
    HostCall,
    Native,
    concrete,
    no_arena,
    no_workspace,
)
from weft.runtime import signatures, symbols
from weft.runtime.native import Library
from weft.runtime.stub import Caller, Record, words

_BYTES = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
_MEASURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_HOST = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))


class Program:
    """Checks arguments against the artifact's signature and runs its entry."""

    __slots__ = ("artifact",)

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact

    def __call__(self, arguments: Sequence[Array]) -> list[Array]:
        """The results, as arrays that share no memory with the arguments or with each other."""
        sizes = self.artifact.signature.bind(arguments)
        assert self.artifact.entry is not None
        results = self.artifact.entry(arguments, sizes)
        return _separate(results, arguments)


class NativeProgram:
    """Native code of an artifact, linked, with what it needs to be called."""

    def __init__(
        self,
        artifact: Artifact,
        caller: Caller,
        support: Callable[[str], int] = symbols.address,
        memory: Mapping[str, int] | None = None,
    ) -> None:
        """`support` gives the addresses of what the code imports; `memory` is linked in too."""
        assert artifact.native is not None
        self.artifact = artifact
        self.native: Native = artifact.native
        self.caller = caller
        self._constants = words([array.ctypes.data for array in self.native.constants])
        imports = {name: support(name) for name in self.native.imports}
        imports |= memory or {}
        imports[PARALLEL] = caller.pool.parallel
        imports[CONSTANTS] = ctypes.addressof(self._constants)
        functions = (ENTRY, ARENA_BYTES, *([MEASURE] if self.native.measured else []))
        self.library = Library(self.native.code, functions, imports)
        self.entry = self.library.address(ENTRY)
        self._arena_bytes = _BYTES(self.library.address(ARENA_BYTES))
        self._strides = {name: (number, axis) for name, number, axis in self.native.strides}
        self._host = _Host(self.native.hosts) if self.native.hosts else None

    def __call__(self, arguments: Sequence[Array]) -> list[Array]:
        """The results, as new arrays, or as donated ones that were written over."""
        native = self.native
        sizes = self.artifact.signature.bind(arguments)
        given = [self._number(name, sizes, arguments) for name in native.symbols]
        numbers = words([*given, *[0] * len(native.defined)])
        results = [self._result(number, sizes, arguments) for number in range(len(native.late))]
        targets = words([0 if array is None else array.ctypes.data for array in results])
        record = self.caller.run(
            self.entry,
            words([array.ctypes.data for array in arguments]),
            numbers,
            targets,
            release=native.is_long,
            parallel=native.is_parallel,
            arena_bytes=self._arena_bytes,
            host=0 if self._host is None else self._host.address,
        )
        if record[Run.ERROR] or record[Run.STOP]:
            self.fail(tuple(record.tolist()))
        for index, name in enumerate(native.defined):
            sizes[name] = numbers[len(native.symbols) + index]
        return [
            self._adopted(number, targets[number], sizes) if array is None else array
            for number, array in enumerate(results)
        ]

    def measured_bytes(self, threads: int) -> dict[str, int]:
        """What routines work in that find this out at run time, on so many threads; nothing where
        it depends on arguments.
        """
        native = self.native
        if not native.measured or native.symbols:
            return {}
        record = np.zeros(RUN_WORDS, np.int64)
        record[Run.THREADS] = threads
        table = words([0] * len(native.measured))
        measure = _MEASURE(self.library.address(MEASURE))
        measure(record.ctypes.data, 0, ctypes.addressof(table))
        return dict(zip(native.measured, table, strict=True))

    def stub(
        self,
        arguments: tuple[signatures.Argument, ...],
        shapes: Callable[[Sequence[Any]], tuple[signatures.Size, ...]],
        output: signatures.Output,
        known: tuple[signatures.Symbol, ...],
        keywords: Sequence[str] = (),
    ) -> Callable[..., Any]:
        """A builtin that calls the program; raises `Unsupported` where there is none for it. The
        last arguments come by `keywords`.
        """
        native = self.native
        numbers = [*[symbol.name for symbol in known], *[name for name, *_ in native.strides]]
        if any(native.late) or numbers != list(native.symbols):
            raise signatures.Unsupported("its results are not made by the caller")
        results = tuple(
            signatures.Result(
                type.dtype.numpy,
                shapes(type.shape),
                f"result {number}",
                native.in_place.get(number),
            )
            for number, type in enumerate(self.artifact.signature.results)
        )
        return self.caller.make(
            self.entry,
            signatures.Signature(
                arguments,
                results,
                known,
                output,
                names=(*[None] * (len(arguments) - len(keywords)), *keywords),
                keyword_only=len(keywords),
            ),
            name=self.artifact.name,
            on_error=self.fail,
            release=native.is_long,
            parallel=native.is_parallel,
            arena_function=self.library.address(ARENA_BYTES),
            host=0 if self._host is None else self._host.address,
            keep=self,
        )

    def fail(self, record: Record) -> NoReturn:
        """Raise what a run record tells of."""
        if self._host is not None:
            self._host.raise_failure()
        error = record[Run.ERROR]
        if error == Failed.INTERRUPTED:
            raise KeyboardInterrupt
        if error == Failed.ARENA_MEMORY:
            raise no_arena(record[Run.DETAIL1])
        if error == Failed.WORKSPACE_MEMORY:
            raise no_workspace(record[Run.DETAIL1])
        details = record[Run.DETAIL0 : Run.DETAIL2 + 1]
        raise self.native.sites[error - 1].exception(details)

    def _number(self, name: str, sizes: Mapping[str, int], arguments: Sequence[Array]) -> int:
        if name in self._strides:
            parameter, axis = self._strides[name]
            array = arguments[parameter]
            return array.strides[axis] // array.itemsize
        return sizes[name]

    def _result(
        self, number: int, sizes: dict[str, int], arguments: Sequence[Array]
    ) -> Array | None:
        """The array that a result is written to; None if native code makes it."""
        if number in self.native.in_place:
            return arguments[self.native.in_place[number]]
        if self.native.late[number]:
            return None
        type = self.artifact.signature.results[number]
        shape = concrete(type.shape, sizes)
        return self.caller.empty(signatures.Result(type.dtype.numpy, shape), number)

    def _adopted(self, number: int, address: int, sizes: dict[str, int]) -> Array:
        """A result that native code made on the heap."""
        type = self.artifact.signature.results[number]
        result = _view(address, concrete(type.shape, sizes), type.dtype.numpy).copy()
        _free(address)
        return result


class _Host:
    """Calls from native code back to Python, and what they raised, thread by thread."""

    def __init__(self, hosts: Sequence[HostCall]) -> None:
        self._hosts = hosts
        self._failures = threading.local()
        self._callback = _HOST(self._call)

    @property
    def address(self) -> int:
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def _call(self, run: int, site: int, table: Any) -> None:
        record = (ctypes.c_int64 * RUN_WORDS).from_address(run)
        if record[Run.STOP]:
            return
        try:
            _run_host(self._hosts[site], table)
        except BaseException as error:
            self._failures.error = error
            record[Run.STOP] = 1
            record[Run.ERROR] = 1

    def raise_failure(self) -> None:
        error = getattr(self._failures, "error", None)
        if error is not None:
            self._failures.error = None
            raise error


def _run_host(host: HostCall, table: Any) -> None:
    place = 0
    arrays: list[Array] = []
    for type in (*host.operands, *host.results):
        shape = [table[place + 1 + axis] for axis in range(type.rank)]
        arrays.append(_view(table[place], shape, type.dtype.numpy))
        place += 1 + type.rank
    count = len(host.operands)
    # The function may keep its operands, whose memory is soon used for something else.
    results = host.function(*[array.copy() for array in arrays[:count]], *arrays[count:])
    for target, result in zip(arrays[count:], results, strict=True):
        target[...] = result


def _view(address: int, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """The memory at an address as an array."""
    bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if not bytes:
        return np.empty(shape, dtype)
    held = memoryview((ctypes.c_char * bytes).from_address(address))
    result: Array = np.frombuffer(held, dtype).reshape(shape)
    return result


def _free(address: int) -> None:
    libc = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]
    libc.free(address)


def _separate(results: list[Array], arguments: Sequence[Array]) -> list[Array]:
    """Copies of results that are, or are views of, anything the caller holds or another result."""
    taken = {id(_owner(argument)) for argument in arguments}
    separate = []
    for result in results:
        owner = _owner(result)
        if id(owner) in taken or not result.flags.writeable:
            result = result.copy()
            owner = result
        taken.add(id(owner))
        separate.append(result)
    return separate


def _owner(array: Array) -> Any:
    """The object that holds an array's memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array if array.base is None else array.base
