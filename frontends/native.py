"""The CPU backend put together: compile, keep object code on disk, link, call."""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Atom, Dim, Maximum, Symbol
from weft.compiler.ir.graph import Graph
from weft.compiler.lower import native
from weft.compiler.lower.native import Strides
from weft.frontends import tree
from weft.frontends.tracing import Call
from weft.runtime import signatures
from weft.runtime.cache import Cache, open_cache
from weft.runtime.program import NativeProgram
from weft.runtime.signatures import Unsupported
from weft.runtime.stub import Caller
from weft.runtime.threads import Pool

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.program import ProgramCode

Array = np.ndarray[Any, Any]
COPIED_BYTES: Final = 1 << 16  # a smaller argument is copied rather than compiled for as it lies

_lock: Final = threading.RLock()


@functools.cache
def disk() -> Cache:
    """The cache of object code on disk."""
    return open_cache()


@functools.cache
def caller() -> Caller:
    """The process's one thread pool and call stub."""
    from weft.compiler.lower.llvm.driver import host
    from weft.compiler.lower.llvm.support.pool import pool_text
    from weft.compiler.lower.llvm.support.stub import stub_text

    triple = host().triple
    return Caller(compile_text(stub_text(triple)), Pool(compile_text(pool_text(triple))))


def compile_text(text: str) -> bytes:
    """Object code of LLVM text, from the disk if it was compiled before."""
    from weft.compiler.lower.llvm import driver

    key = hashlib.blake2b(f"{driver.host().key}\n{text}".encode(), digest_size=20).hexdigest()
    found = disk().get(key)
    if found is None:
        found = driver.compile_text(text)
        disk().put(key, found)
    return found


class CpuProgram:
    """A graph on this machine's CPU: one native program for row-major arguments, and others for
    arguments that lie in memory in other ways.
    """

    def __init__(self, graph: Graph, donated: Mapping[int, int] | None = None) -> None:
        self.graph = graph
        self.donated = dict(donated or {})
        self._programs: dict[tuple[tuple[int, Strides], ...], NativeProgram] = {}
        self._code: ProgramCode | None = None

    @property
    def code(self) -> ProgramCode:
        """The emitted program, for inspection."""
        self.program()
        assert self._code is not None
        return self._code

    def __call__(self, arguments: Sequence[Array]) -> list[Array]:
        strides: dict[int, Strides] = {}
        plain: list[Array] = []
        for number, argument in enumerate(arguments):
            array = _usable(argument)
            if not array.flags.c_contiguous:
                strides[number] = _strides(array)
            plain.append(array)
        return self.program(strides)(plain)

    def program(self, strides: Mapping[int, Strides] | None = None) -> NativeProgram:
        """The native program for arguments of these strides."""
        key = tuple(sorted((strides or {}).items(), key=lambda item: item[0]))
        with _lock:
            if key not in self._programs:
                lowered = native.lower(self.graph, compile_text, strides, self.donated)
                self._programs[key] = NativeProgram(lowered[0], caller())
                if not key:
                    self._code = lowered[1]
            return self._programs[key]

    def stub(self, call: Call, out_tree: tree.TreeDef) -> Callable[..., Any] | None:
        """A builtin for calls like this one; None where calls need Python."""
        try:
            arguments = _arguments(call, self.graph)
            output = _output(out_tree, iter(range(len(self.graph.results))))
            known = tuple(signatures.Symbol(s.name, s.lower, s.upper) for s in self.graph.symbols)
            return self.program().stub(arguments, _sizes, output, known)
        except Unsupported:
            return None


def _usable(array: Array) -> Array:
    """The array itself, or a copy if its elements cannot be read where they lie (misaligned, with
    bytes in the other order, apart by less than an element), or if it is small and a copy costs
    less than another program.
    """
    if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
        return array
    uneven = any(stride % array.itemsize for stride in array.strides)
    exotic = not array.flags.aligned or not array.dtype.isnative or uneven
    if exotic or array.nbytes <= COPIED_BYTES:
        return np.array(array, array.dtype.newbyteorder("="), order="C")
    return array


def _strides(array: Array) -> Strides:
    known = {0: 0, array.itemsize: 1}
    return tuple(known.get(stride) for stride in array.strides)


# --- what stubs are told ------------------------------------------------------------------------


def _arguments(call: Call, graph: Graph) -> tuple[signatures.Argument, ...]:
    """The arguments of a call as trees."""
    positional, keywords = call.treedef.children()
    if keywords.num_leaves or call.has_static_keywords:
        raise Unsupported("it is called with keywords")
    static = dict(call.static)
    leaves = iter(zip(call.values, graph.parameters, strict=True))

    def argument(spec: tree.TreeDef, number: int | None = None) -> signatures.Argument:
        if number in static:
            return signatures.Same(static[number])
        if spec.is_leaf():
            value, parameter = next(leaves)
            return _leaf(value, parameter.type.dtype.numpy, _sizes(parameter.type.shape))
        items = tuple(argument(child) for child in spec.children())
        if spec.type is type(None):
            return signatures.Same(None)
        if spec.type is dict:
            return signatures.DictOf(tuple(spec.entries()), items)
        if spec.type is list:
            return signatures.ListOf(items)
        if spec.type is not None and (spec.type is tuple or hasattr(spec.type, "_fields")):
            return signatures.TupleOf(items, spec.type)
        raise Unsupported(f"{spec.type} is taken apart in Python")

    children = positional.children()
    return tuple(argument(child, number) for number, child in enumerate(children))


def _leaf(
    value: Any, dtype: np.dtype[Any], shape: tuple[signatures.Size, ...]
) -> signatures.Argument:
    if type(value) is np.ndarray:
        return signatures.ArrayOf(dtype, shape)
    if shape:
        raise Unsupported("an argument is no array yet")
    return signatures.NumberOf(type(value), dtype)


def _output(spec: tree.TreeDef, numbers: Any) -> signatures.Output:
    if spec.is_leaf():
        return signatures.Leaf(next(numbers))
    items = tuple(_output(child, numbers) for child in spec.children())
    if spec.type is type(None):
        return signatures.Same(None)
    if spec.type is dict:
        return signatures.DictOf(tuple(spec.entries()), items)
    if spec.type is list:
        return signatures.ListOf(items)
    if spec.type is tuple:
        return signatures.TupleOf(items)
    if spec.type is not None and hasattr(spec.type, "_fields"):
        return signatures.CallOf(spec.type, items)
    raise Unsupported(f"{spec.type} is put together in Python")


def _sizes(shape: Sequence[dims.Size]) -> tuple[signatures.Size, ...]:
    return tuple(_size(size) for size in shape)


def _size(size: dims.Size) -> signatures.Size:
    """A symbolic size in the stub's terms."""
    if not isinstance(size, Dim):
        return int(size)
    total: signatures.Size | None = None
    for monomial, factor in size.terms:
        term: signatures.Size = factor
        for atom, power in monomial:
            for _ in range(power):
                term = _atom(atom) if term == 1 else ("*", term, _atom(atom))
        total = term if total is None else ("+", total, term)
    assert total is not None
    return total


def _atom(atom: Atom) -> signatures.Size:
    if isinstance(atom, Symbol):
        return atom.name
    if isinstance(atom, Maximum):
        return ("max", _size(atom.left), _size(atom.right))
    return ("//", _size(atom.numerator), _size(atom.denominator))
