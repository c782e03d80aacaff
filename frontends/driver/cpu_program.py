"""The CPU backend put together: lower, compile, link, call."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.compiler.artifact import Artifact
from weft.compiler.ir import dims
from weft.compiler.ir.dims import Atom, Dim, Maximum, Symbol
from weft.compiler.ir.types import ArrayType
from weft.compiler.lower.choice import Products
from weft.frontends.driver.cache.entry import ProgramEntry
from weft.frontends.driver.gc_pause import gc_paused
from weft.frontends.driver.machine_code import caller, compile_texts, support
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import Call
from weft.runtime import signatures
from weft.runtime.cores import available_cores
from weft.runtime.program import NativeProgram
from weft.runtime.signatures import Unsupported

if TYPE_CHECKING:
    from weft.compiler.ir.graph import Graph
    from weft.compiler.loops.pipeline import LoopReport
    from weft.compiler.lower.cpu import Strides
    from weft.compiler.lower.llvm.program.module import ProgramCode

Array = np.ndarray[Any, Any]
COPIED_BYTES: Final = 1 << 16  # a smaller argument is copied rather than compiled for as it lies

_lock: Final = threading.RLock()


class CpuProgram:
    """A graph on this machine's CPU: one native program for row-major arguments, and others for
    arguments that lie in memory in other ways.

    The graph may come as a function, called when it is first needed: programs that are on the
    disk do not need it. `out_tree` is what is kept with them.
    """

    def __init__(
        self,
        graph: Graph | Callable[[], Graph],
        donated: Mapping[int, int] | None = None,
        entry: ProgramEntry | None = None,
        out_tree: Callable[[], tree.TreeDef] | None = None,
        products: Products | None = None,
    ) -> None:
        self._graph = graph
        self._products = products
        self.donated = dict(donated or {})
        self._entry = entry
        self._out_tree = out_tree
        self._programs: dict[tuple[tuple[int, Strides], ...], NativeProgram] = {}
        self._code: ProgramCode | None = None
        self._report: LoopReport | None = None

    @property
    def graph(self) -> Graph:
        return self._graph() if callable(self._graph) else self._graph

    @property
    def code(self) -> ProgramCode:
        """The emitted program, for inspection."""
        with _lock:
            if self._code is None:
                self._lower(())
            assert self._code is not None
            return self._code

    @property
    def report(self) -> LoopReport | None:
        """What the steps to the loop program did, if it was made in this process."""
        return self._report

    def __call__(self, arguments: Sequence[Array]) -> list[Array]:
        return self.prepared(arguments)()

    def prepared(self, arguments: Sequence[Array]) -> Callable[[], list[Array]]:
        """The call with these arguments, compiled."""
        plain = [_usable(argument) for argument in arguments]
        for number in self.donated.values():
            if not _is_free(number, plain):
                plain[number] = np.array(plain[number], order="C")
        strides = {
            number: _strides(array)
            for number, array in enumerate(plain)
            if not array.flags.c_contiguous
        }
        return functools.partial(self.program(strides), plain)

    def program(self, strides: Mapping[int, Strides] | None = None) -> NativeProgram:
        """The native program for arguments of these strides."""
        key = tuple(sorted((strides or {}).items(), key=lambda item: item[0]))
        with _lock:
            if key not in self._programs:
                entry = self._entry if key else None  # who made this object looked there first
                stored = None if entry is None else entry.find(key)
                artifact = self._lower(key) if stored is None else stored.artifact
                self.link(artifact, key)
            return self._programs[key]

    def measured_bytes(self, threads: int) -> dict[str, int]:
        """What its routines work in that find this out at run time, by the names of the sizes."""
        return self.program().measured_bytes(threads)

    def link(self, artifact: Artifact, strides: tuple[tuple[int, Strides], ...] = ()) -> None:
        """Let an artifact run for arguments of these strides."""
        self._programs[strides] = NativeProgram(artifact, caller(), support)

    def _lower(self, key: tuple[tuple[int, Strides], ...]) -> Artifact:
        from weft.compiler.lower import cpu

        with gc_paused():
            program, report = cpu.loops(
                self.graph, dict(key), self.donated, products=self._products
            )
            artifact, code = cpu.lower(
                program,
                compile_texts,
                products=self._products,
                most_parts=available_cores(),
            )
        if not key:
            self._code, self._report = code, report
        if self._entry is not None and self._out_tree is not None:
            self._entry.keep(artifact, self._out_tree(), self.donated, key)
        return artifact

    def stub(self, call: Call, out_tree: tree.TreeDef) -> Callable[..., Any] | None:
        """A builtin for calls like this one; None where calls need Python."""
        try:
            program = self.program()
            signature = program.artifact.signature
            arguments = _arguments(call, signature.parameters)
            output = _output(out_tree, iter(range(len(signature.results))))
            known = tuple(signatures.Symbol(s.name, s.lower, s.upper) for s in signature.symbols)
            return program.stub(arguments, _sizes, output, known)
        except Unsupported:
            return None

    def flat_stub(self, call: Call) -> Callable[..., Any] | None:
        """A builtin of the leaves, each an argument, for calls that are taken apart in Python; it
        returns all results in a tuple.
        """
        try:
            program = self.program()
            signature = program.artifact.signature
            arguments = tuple(
                _leaf(value, declared.dtype.numpy, _sizes(declared.shape))
                for value, declared in zip(call.values, signature.parameters, strict=True)
            )
            output = signatures.TupleOf(
                tuple(signatures.Leaf(number) for number in range(len(signature.results)))
            )
            known = tuple(signatures.Symbol(s.name, s.lower, s.upper) for s in signature.symbols)
            return program.stub(arguments, _sizes, output, known)
        except Unsupported:
            return None


def compiled(graph: Graph) -> CpuProgram:
    """A graph through all passes and on this machine's CPU."""
    from weft.compiler.passes.pipeline import optimise

    with gc_paused():
        optimised, _ = optimise(graph)
    return CpuProgram(optimised)


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


def _is_free(number: int, arrays: Sequence[Array]) -> bool:
    """Whether a donated array can be written over: it may be, and no other argument lies there."""
    others = [*arrays[:number], *arrays[number + 1 :]]
    mine = arrays[number]
    return mine.flags.writeable and not any(np.may_share_memory(mine, other) for other in others)


def _strides(array: Array) -> Strides:
    known = {0: 0, array.itemsize: 1}
    return tuple(known.get(stride) for stride in array.strides)


# --- what stubs are told ------------------------------------------------------------------------


def _arguments(call: Call, types: Sequence[ArrayType]) -> tuple[signatures.Argument, ...]:
    """The arguments of a call as trees."""
    positional, keywords = call.treedef.children()
    if keywords.num_leaves or call.has_static_keywords:
        raise Unsupported("it is called with keywords")
    static = dict(call.static)
    leaves = iter(zip(call.values, types, strict=True))

    def argument(spec: tree.TreeDef, number: int | None = None) -> signatures.Argument:
        if number in static:
            return signatures.Same(static[number])
        if spec.is_leaf():
            value, declared = next(leaves)
            return _leaf(value, declared.dtype.numpy, _sizes(declared.shape))
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
