"""The CPU backend put together: lower, compile, link, call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from weft.compiler.artifact import Artifact
from weft.compiler.ir.stages import KEEPING, LINKING, STUB, stage
from weft.compiler.lower.choice import Products
from weft.frontends.driver import call_signature
from weft.frontends.driver.cache.entry import ProgramEntry
from weft.frontends.driver.cache.stored import StoredProgram
from weft.frontends.driver.failures import PLAIN, Conditions
from weft.frontends.driver.gc_pause import gc_paused
from weft.frontends.driver.machine_code import caller, compile_texts, support
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import Call
from weft.runtime import signatures
from weft.runtime.cores import available_cores
from weft.runtime.forking import fork_lock
from weft.runtime.headroom import out_of_memory_is_memory_error
from weft.runtime.program import NativeProgram
from weft.runtime.signatures import Unsupported

if TYPE_CHECKING:
    from weft.compiler.ir.graph import Graph
    from weft.compiler.loops.pipeline import LoopReport
    from weft.compiler.lower.cpu import Strides
    from weft.compiler.lower.llvm.program.module import ProgramCode

Array = np.ndarray[Any, Any]
# Which arguments lie in memory in another way than row by row, and their strides.
Layout: TypeAlias = "tuple[tuple[int, Strides], ...]"
COPIED_BYTES: Final = 1 << 16  # a smaller argument is copied rather than compiled for as it lies

_lock: Final = fork_lock()


class CpuProgram:
    """A graph on this machine's CPU: one native program for row-major arguments, and others for
    arguments that lie in memory in other ways.

    No donated argument shares memory with another one. The graph may come as a function, called
    when it is first needed: programs that are on the disk do not need it. `out_tree` is what is
    kept with them.
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
        self._programs: dict[Layout, NativeProgram] = {}
        self._code: ProgramCode | None = None
        self._report: LoopReport | None = None
        self.conditions = PLAIN  # of what was compiled last

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
            if not plain[number].flags.writeable:
                plain[number] = np.array(plain[number], order="C")
        return functools.partial(self.program(self.layout(plain)), plain)

    def layout(self, arguments: Sequence[Array]) -> Layout:
        """Which arguments need a program for the way they lie."""
        return tuple(
            (number, _strides(array))
            for number, array in enumerate(arguments)
            if not (array.flags.c_contiguous or _is_copied(array))
        )

    @out_of_memory_is_memory_error
    def program(self, layout: Layout = ()) -> NativeProgram:
        """The native program for arguments that lie like this."""
        with _lock:
            if layout not in self._programs:
                entry = self._entry if layout else None  # who made this object looked there first
                stored = None if entry is None else entry.find(layout)
                artifact = self._lower(layout) if stored is None else stored.artifact
                self.link(artifact, layout)
                if stored is None:
                    self._keep(artifact, layout)
            return self._programs[layout]

    def measured_bytes(self, threads: int) -> dict[str, int]:
        """What its routines work in that find this out at run time, by the names of the sizes."""
        return self.program().measured_bytes(threads)

    def link(self, artifact: Artifact, strides: Layout = ()) -> None:
        """Let an artifact run for arguments of these strides."""
        with stage(LINKING):
            self._programs[strides] = NativeProgram(artifact, caller(), support)

    def _lower(self, key: Layout) -> Artifact:
        from weft.compiler.lower import cpu

        with gc_paused():
            graph = self.graph
            self.conditions = Conditions(dict(key), self.donated, self._products)
            program, report = cpu.loops(graph, dict(key), self.donated, products=self._products)
            artifact, code = cpu.lower(
                program,
                compile_texts,
                products=self._products,
                most_parts=available_cores(),
            )
        if not key:
            self._code, self._report = code, report
        return artifact

    def _keep(self, artifact: Artifact, key: Layout) -> None:
        """Leave a program that was made, and linked, for later processes."""
        if self._entry is not None and self._out_tree is not None:
            with stage(KEEPING):
                self._entry.keep(StoredProgram(artifact, self.donated), self._out_tree(), key)

    def stub(
        self, call: Call, out_tree: tree.TreeDef, layout: Layout = (), donated: Sequence[int] = ()
    ) -> Callable[..., Any] | None:
        """A builtin for calls like this one, with arrays that lie like this; None where calls need
        Python.
        """
        program = self.program(layout)
        with stage(STUB), suppress(Unsupported):
            leaves = self._leaves(call, program, layout, donated)
            output = call_signature.output_of(out_tree)
            arguments, keywords = call_signature.arguments_of(call, leaves)
            return program.stub(arguments, call_signature.sizes, output, _known(program), keywords)
        return None

    def flat_stub(
        self, call: Call, layout: Layout = (), donated: Sequence[int] = ()
    ) -> Callable[..., Any] | None:
        """A builtin of the leaves, each an argument, for calls that are taken apart in Python; it
        returns all results in a tuple.
        """
        program = self.program(layout)
        with stage(STUB), suppress(Unsupported):
            leaves = self._leaves(call, program, layout, donated)
            count = len(program.artifact.signature.results)
            output = signatures.TupleOf(tuple(map(signatures.Leaf, range(count))))
            return program.stub(tuple(leaves), call_signature.sizes, output, _known(program))
        return None

    def _leaves(
        self, call: Call, program: NativeProgram, layout: Layout, donated: Sequence[int]
    ) -> list[signatures.Argument]:
        """What the program takes for each leaf of a call."""
        strides, types = dict(layout), program.artifact.signature.parameters
        return [
            call_signature.leaf(
                value,
                declared,
                layout=strides.get(number, "C"),
                copied=COPIED_BYTES,
                donated=number in donated,
            )
            for number, (value, declared) in enumerate(zip(call.values, types, strict=True))
        ]


def _known(program: NativeProgram) -> tuple[signatures.Symbol, ...]:
    symbols = program.artifact.signature.symbols
    return tuple(signatures.Symbol(s.name, s.lower, s.upper) for s in symbols)


@out_of_memory_is_memory_error
def compiled(graph: Graph) -> CpuProgram:
    """A graph through all passes and on this machine's CPU."""
    return CpuProgram(optimised(graph))


def optimised(graph: Graph) -> Graph:
    """A graph through all passes."""
    from weft.compiler.passes.pipeline import optimise

    with gc_paused():
        return optimise(graph)[0]


def _usable(array: Array) -> Array:
    """The array itself, or a copy where that is needed."""
    if _is_copied(array):
        return np.array(array, array.dtype.newbyteorder("="), order="C")
    return array


def _is_copied(array: Array) -> bool:
    """Whether an array is copied: its elements cannot be read where they lie (misaligned, with
    bytes in the other order, apart by less than an element), or it is small and a copy costs less
    than another program.
    """
    if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
        return False
    uneven = any(stride % array.itemsize for stride in array.strides)
    is_odd = not array.flags.aligned or not array.dtype.isnative or uneven
    return is_odd or array.nbytes <= COPIED_BYTES


def _strides(array: Array) -> Strides:
    known = {0: 0, array.itemsize: 1}
    return tuple(known.get(stride) for stride in array.strides)
