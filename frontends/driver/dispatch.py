"""Dispatch: which compiled version of a function serves a call, and how a new one is made.

Calls like one before go straight to native code, through a stub. Others are taken apart in Python;
what they need is found in memory, found on disk, or traced and compiled.
"""

from __future__ import annotations

import functools
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.compiler.ir.ambient import active
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import ArgumentError
from weft.compiler.ir.types import ArrayType
from weft.compiler.lower.choice import CHOICES, Products
from weft.compiler.record import record
from weft.frontends.driver import machine_code
from weft.frontends.driver.cache.entry import ProgramEntry, StoredProgram
from weft.frontends.driver.gc_pause import gc_paused
from weft.frontends.driver.retrace import donated_results, why_traced
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import ArgumentLeaf, Call, FunctionSignature, describe_leaf
from weft.runtime.stub import MISS
from weft.runtime.threads import limited, limiting

# The tracer, the passes and the compiler are loaded when a program has to be made: a process that
# finds its programs on disk needs none of them.
if TYPE_CHECKING:
    from weft.compiler.ir.graph import Graph
    from weft.compiler.lower.llvm.program.module import ProgramCode
    from weft.compiler.passes.pipeline import PassLike
    from weft.compiler.passes.running import Pass, Report, Step
    from weft.frontends.driver.cpu_program import CpuProgram
    from weft.frontends.tracing.function import TracedFunction
    from weft.frontends.tracing.trace import Trace

BACKENDS: Final = ("cpu", "reference")
CACHE_SIZE: Final = 256
MOST_STUBS: Final = 8  # that a call tries one after the other


@record
class OptimisedTrace:
    """What tracing gave: the graph as it was traced and after all passes, and what passes did."""

    traced: TracedFunction
    graph: Graph
    report: Report | None
    donated: dict[int, int]


class Specialisation:
    """One compiled version of a function: what runs it, and what it was made of. A program that
    was found on disk is traced only if somebody asks for its graph.
    """

    def __init__(
        self,
        make: Callable[[], OptimisedTrace],
        reason: str,
        entry: ProgramEntry | None,
        products: Products,
    ) -> None:
        self.reason = reason
        self.entry = entry
        self.products = products
        self.program: Callable[[Sequence[Any]], list[Any]]
        self.parameters: tuple[ArrayType, ...]
        self.out_tree: tree.TreeDef
        self._make = make
        self._optimised: OptimisedTrace | None = None

    @property
    def optimised(self) -> OptimisedTrace:
        if self._optimised is None:
            self._optimised = self._make()
        return self._optimised

    @property
    def traced(self) -> TracedFunction:
        return self.optimised.traced

    @property
    def graph(self) -> Graph:
        return self.optimised.graph

    @property
    def report(self) -> Report | None:
        return self.optimised.report


class Dispatcher:
    """A function and its compiled versions, one per kind of arguments: structure, dtypes, shapes
    and static values.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        backend: str,
        static_argnums: int | Iterable[int],
        static_argnames: str | Iterable[str],
        specs: Sequence[Any] | None,
        passes: Sequence[PassLike] | None = None,
        optimise: bool | None = None,
        donate: int | Iterable[int] = (),
        tiered: bool = False,
        threads: int | None = None,
        products: str = "auto",
    ) -> None:
        if backend not in BACKENDS:
            raise ArgumentError(f"there is no backend {backend!r}; there is {', '.join(BACKENDS)}")
        if products not in CHOICES:
            raise ArgumentError(f"products is {products!r}; it can be {', '.join(CHOICES)}")
        self.function = function
        self.backend = backend
        self._passes = tuple(passes or ())
        self._optimise = backend == "cpu" if optimise is None else optimise
        self._column = _column(self._passes, self._optimise) if self._passes else None
        self.signature = FunctionSignature(function, static_argnums, static_argnames)
        self._specs = None if specs is None else self._spec_types(specs)
        self._donate = (donate,) if isinstance(donate, int) else tuple(donate)
        self._tiered = tiered
        self._threads = threads
        self._products = products
        self._cache: OrderedDict[Any, Specialisation] = OrderedDict()
        self._reasons: list[str] = []
        self._stubs: tuple[Callable[..., Any], ...] = ()
        self._flat_stubs: tuple[tuple[tree.TreeDef, Callable[..., Any], tree.TreeDef], ...] = ()
        self._stub_kinds: tuple[Any, ...] = ()
        self._lock = RLock()
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        trace = _trace_in_force()
        if trace is None and not kwargs:
            for stub in self._stubs:
                result = stub(*args)
                if result is not MISS:
                    return result
            if self._flat_stubs:
                result = self._call_flat(args)
                if result is not MISS:
                    return result
        call = self.signature.take_apart(args, kwargs)
        if trace is not None:
            return self._call_traced(call, trace)
        return self._call_slowly(call)

    def _call_flat(self, args: tuple[Any, ...]) -> Any:
        """A call whose arguments Python takes apart, such as dataclasses, and native code takes
        from there.
        """
        leaves, treedef = tree.flatten((args, {}))
        for known, stub, out_tree in self._flat_stubs:
            if known == treedef:
                results = stub(*leaves)
                if results is not MISS:
                    return tree.unflatten(out_tree, results)
        return MISS

    def _call_slowly(self, call: Call) -> Any:
        """The way of calls that no stub serves: the first of a kind, and unusual ones."""
        with gc_paused():
            specialisation = self._specialise(call)
            arrays = self._arrays(specialisation, call)
            program = specialisation.program
            prepared = getattr(program, "prepared", None)
            run = functools.partial(program, arrays) if prepared is None else prepared(arrays)
        with limited(self._threads):
            results = run()
        with gc_paused():
            self._add_stub(specialisation, call)
        return tree.unflatten(specialisation.out_tree, results)

    def _arrays(self, specialisation: Specialisation, call: Call) -> list[Any]:
        types = specialisation.parameters
        return [
            np.asarray(value, _passed_dtype(leaf, type.dtype).numpy)
            for value, leaf, type in zip(call.values, call.leaves, types, strict=True)
        ]

    def _add_stub(self, specialisation: Specialisation, call: Call) -> None:
        """Let calls like this one go straight to native code from now on."""
        make = getattr(specialisation.program, "stub", None)
        kind = (specialisation, call.treedef, tuple(map(type, call.values)))
        # One that is there already did not take the arrays as they lie in memory.
        if make is None or kind in self._stub_kinds:
            return
        stub = make(call, specialisation.out_tree)
        flat = getattr(specialisation.program, "flat_stub", None)
        if stub is not None:
            with self._lock:
                stub = limiting(stub, self._threads)
                self._stubs = (stub, *self._stubs[: MOST_STUBS - 1])
                self._stub_kinds = (kind, *self._stub_kinds[: MOST_STUBS - 1])
        elif flat is not None and not call.static and not call.treedef.children()[1].num_leaves:
            stub = flat(call)
            with self._lock:
                if stub is not None:
                    stub = limiting(stub, self._threads)
                    known = (call.treedef, stub, specialisation.out_tree)
                    self._flat_stubs = (known, *self._flat_stubs[: MOST_STUBS - 1])
                self._stub_kinds = (kind, *self._stub_kinds[: MOST_STUBS - 1])

    def _spec_types(self, specs: Sequence[Any]) -> list[ArrayType | None]:
        leaves, treedef = tree.flatten(tuple(specs))
        self._spec_tree = treedef
        from weft.frontends.tracing.spec import spec

        return [None if leaf is Ellipsis else spec(leaf) for leaf in leaves]

    def _specialise(self, call: Call) -> Specialisation:
        call = self._with_specs(call)
        key = call.key
        with self._lock:
            known = self._cache.get(key)
            if known is not None:
                self._cache.move_to_end(key)
                return known
            specialisation = self._compile(call)
            self._reasons.append(specialisation.reason)
            self._cache[key] = specialisation
            if len(self._cache) > CACHE_SIZE:
                self._cache.popitem(last=False)
                self._stubs = self._flat_stubs = self._stub_kinds = ()
            return specialisation

    def _compile(self, call: Call) -> Specialisation:
        reason = why_traced(self.signature.name, call, list(self._cache))
        kind = replace(call, values=())  # so that no array of the user is kept
        products = self._choice()
        entry = self._entry(kind, products) if self.backend == "cpu" else None
        item = Specialisation(functools.partial(self._make, kind), reason, entry, products)
        stored = None if entry is None else entry.find()
        if stored is not None:
            self._use(item, stored)
            return item
        traced = item.traced
        if entry is not None:
            entry.confirm()
        item.parameters = tuple([p.type for p in traced.graph.parameters])
        item.out_tree = traced.out_tree
        item.program = _program(self.backend, item, self._tiered)
        return item

    def _make(self, call: Call) -> OptimisedTrace:
        from weft.compiler.passes.running import recording

        is_native = self.backend == "cpu" and not self._tiered
        if is_native:
            machine_code.anticipate()
        if self._column is None:
            self._column = _column((), self._optimise)
        with gc_paused():
            with recording() as steps:
                traced = self._trace(call)
            if is_native:
                machine_code.anticipate(traced.graph)
            graph, report = _optimised(traced.graph, self._column, steps)
        donated = donated_results(graph, call, self._donate) if self._donate else {}
        return OptimisedTrace(traced, graph, report, donated)

    def _trace(self, call: Call) -> TracedFunction:
        """The graph of the function for a call; whoever can trace says how."""
        raise NotImplementedError

    def _code(self, item: Specialisation) -> ProgramCode:
        if self.backend != "cpu":
            raise ArgumentError(f"the backend {self.backend} makes no code")
        program: Any = item.program
        code: ProgramCode = program.code
        return code

    def _choice(self) -> Products:
        """How products are to be computed, by what is known of this machine now."""
        if self._products != "auto" or self.backend != "cpu":
            return Products(self._products)
        from weft.frontends.driver.tuning import measured

        with limited(self._threads):
            return measured()

    def _entry(self, call: Call, products: Products) -> ProgramEntry:
        """Where programs for calls of this kind are kept between processes."""
        options = (self.signature.name, self._optimise, self._donate, products.key)
        return ProgramEntry(
            machine_code.disk(), self.function, call, options, refused=_not_kept(self._passes)
        )

    def _use(self, item: Specialisation, stored: StoredProgram) -> None:
        """Run what was found on disk."""
        item.parameters = stored.artifact.signature.parameters
        item.out_tree = stored.out_tree
        program = _native_program(item, stored.donated)
        program.link(stored.artifact)
        item.program = program

    def _with_specs(self, call: Call) -> Call:
        """The call with declared types in place of those of the arrays that came."""
        if self._specs is None:
            return call
        if len(self._specs) != len(call.leaves):
            raise ArgumentError(
                f"{self.signature.name} was given {len(self._specs)} specs but is called with "
                f"{len(call.leaves)} arrays"
            )
        leaves = [
            leaf if type is None else _declared(leaf, type)
            for leaf, type in zip(call.leaves, self._specs, strict=True)
        ]
        return replace(call, leaves=tuple(leaves))

    def _call_traced(self, call: Call, trace: Trace) -> Any:
        """Inside another trace: one `call` op, whose region is this function."""
        from weft.compiler.ops import control
        from weft.frontends.tracing.function import lift_results, run

        inner = trace.nested()
        with inner.active():
            tracers = [
                inner.argument(
                    leaf.type, leaf.name, weak=leaf.weak, owner=f"the argument {leaf.name}"
                )
                for leaf in call.leaves
            ]
            values, out_tree = lift_results(
                run(self.function, call, tracers), inner, self.signature.name
            )
        region, captured = inner.closed_region(values)
        operands = [*captured, *[trace.lift(value) for value in call.values]]
        results = control.call.emit(*operands, regions=(region,), function=self.signature.name)
        return tree.unflatten(out_tree, [trace.wrap(result) for result in results])


def _trace_in_force() -> Trace | None:
    """The trace that this call is a part of; there is none before the tracer is loaded."""
    if active.get() is None:
        return None
    from weft.frontends.tracing.trace import find_trace

    return find_trace()


def _not_kept(passes: Sequence[PassLike]) -> str:
    """Why programs are not kept on disk, whatever the function is."""
    if passes:
        return "it has passes of its own"
    return "WEFT_DUMP asks for every pass" if os.environ.get("WEFT_DUMP") else ""


def _program(
    backend: str, item: Specialisation, tiered: bool
) -> Callable[[Sequence[Any]], list[Any]]:
    """The graph on a backend; the native one is loaded only when it is asked for."""
    if backend == "reference":
        from weft.compiler.lower import reference
        from weft.runtime.program import Program

        return Program(reference.lower(item.graph))
    program = _native_program(item, item.optimised.donated)
    if not tiered:
        return program
    from weft.frontends.driver.tiers import Tiered

    return Tiered(program)


def _native_program(item: Specialisation, donated: Mapping[int, int]) -> CpuProgram:
    from weft.frontends.driver.cpu_program import CpuProgram

    return CpuProgram(lambda: item.graph, donated, item.entry, lambda: item.out_tree, item.products)


def _column(passes: Sequence[PassLike] | None, optimise: bool) -> list[Pass]:
    """The passes to run. They are loaded only when some are asked for, as that takes a while."""
    if not passes and not optimise:
        return []
    from weft.frontends.driver.passes import column

    return column(passes, optimise=optimise)


def _optimised(
    graph: Graph, passes: list[Pass], before: Sequence[Step]
) -> tuple[Graph, Report | None]:
    if not passes:
        return graph, None
    from weft.compiler.passes.pipeline import optimise

    return optimise(graph, passes=passes, before=before)


def _passed_dtype(leaf: ArgumentLeaf, declared: DType) -> DType:
    """The dtype in which an argument is passed: its own, but a Python scalar takes a declared one
    of its kind or a wider kind.
    """
    own = leaf.type.dtype
    fits = declared.is_complex or (declared.is_float and not own.is_complex)
    fits = fits or (declared.is_integer and own.is_integer)
    return declared if leaf.weak and fits else own


def _declared(leaf: ArgumentLeaf, type: ArrayType) -> ArgumentLeaf:
    return describe_leaf(leaf.name, type, "")
