"""`jit`: a function that is traced and compiled when it first meets arguments of a kind."""

from __future__ import annotations

import functools
import os
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from types import MethodType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.compiler.ir.ambient import active
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import ArgumentError
from weft.compiler.ir.types import ArrayType
from weft.compiler.lower.choice import CHOICES, Products
from weft.compiler.record import record
from weft.frontends.driver import machine_code
from weft.frontends.driver.cache.entry import Shelf, Stored
from weft.frontends.driver.gc_pause import uncollected
from weft.frontends.driver.retrace import donated_results, why_traced
from weft.frontends.flow.api import asked
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import Call, Leaf, Signature, describe_leaf
from weft.runtime.stub import MISS
from weft.runtime.threads import limited, limiting

# The tracer, the passes and the compiler are loaded when a program has to be made: a process that
# finds its programs on disk needs none of them.
if TYPE_CHECKING:
    from weft.compiler.ir.graph import Graph
    from weft.compiler.lower.llvm.program.module import ProgramCode
    from weft.compiler.passes.pipeline import Pass, PassLike, Report
    from weft.frontends.driver.specialisation import CpuProgram
    from weft.frontends.inspect.profile import Profile
    from weft.frontends.inspect.report import Lowered, Memory
    from weft.frontends.tracing.function import Traced
    from weft.frontends.tracing.trace import Trace

BACKENDS: Final = ("cpu", "reference")
CACHE_SIZE: Final = 256
MOST_STUBS: Final = 8  # that a call tries one after the other
LARGE_CONSTANT_BYTES: Final = 1 << 20


@record
class Made:
    """What tracing gave: the graph as it was traced and after all passes, and what passes did."""

    traced: Traced
    graph: Graph
    report: Report | None
    donated: dict[int, int]


class Specialisation:
    """One compiled version of a function: what runs it, and what it was made of. A program that
    was found on disk is traced only if somebody asks for its graph.
    """

    def __init__(
        self, make: Callable[[], Made], reason: str, shelf: Shelf | None, products: Products
    ) -> None:
        self.reason = reason
        self.shelf = shelf
        self.products = products
        self.program: Callable[[Sequence[Any]], list[Any]]
        self.parameters: tuple[ArrayType, ...]
        self.out_tree: tree.TreeDef
        self._make = make
        self._made: Made | None = None

    @property
    def made(self) -> Made:
        if self._made is None:
            self._made = self._make()
        return self._made

    @property
    def traced(self) -> Traced:
        return self.made.traced

    @property
    def graph(self) -> Graph:
        return self.made.graph

    @property
    def report(self) -> Report | None:
        return self.made.report


class CompiledFunction:
    """A function compiled per kind of arguments: structure, dtypes, shapes and static values.

    Calls with NumPy arrays and numbers return NumPy arrays. `trace` gives the graph, `explain` a
    report, `passes` what passes did to it.
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
        control_flow: bool = False,
    ) -> None:
        if backend not in BACKENDS:
            raise ArgumentError(f"there is no backend {backend!r}; there is {', '.join(BACKENDS)}")
        if products not in CHOICES:
            raise ArgumentError(f"products is {products!r}; it can be {', '.join(CHOICES)}")
        self.function = function = asked(function, control_flow)
        self.backend = backend
        self._passes = tuple(passes or ())
        self._optimise = backend == "cpu" if optimise is None else optimise
        self._column = _column(self._passes, self._optimise) if self._passes else None
        self.signature = Signature(function, static_argnums, static_argnames)
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
        specialisation = self._specialise(call)
        arrays = self._arrays(specialisation, call)
        with limited(self._threads):
            results = specialisation.program(arrays)
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
                    made = (call.treedef, stub, specialisation.out_tree)
                    self._flat_stubs = (made, *self._flat_stubs[: MOST_STUBS - 1])
                self._stub_kinds = (kind, *self._stub_kinds[: MOST_STUBS - 1])

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program for these arguments, for reading: graph, kernels, LLVM text, assembly."""
        from weft.frontends.inspect.report import lowered

        item = self._specialise(self.signature.take_apart(args, kwargs))
        return lowered(item.graph, self._code(item))

    def memory(self, *args: Any, **kwargs: Any) -> Memory:
        """The bytes that the program for these arguments needs, and what is alive at the peak."""
        from weft.frontends.inspect.report import memory_of

        item = self._specialise(self.signature.take_apart(args, kwargs))
        return memory_of(item.graph, self._code(item))

    def profile(self, *args: Any, calls: int = 5, **kwargs: Any) -> Profile:
        """Where the time of a call with these arguments goes: kernel by kernel, the longest first.

        The program is compiled anew with clocks in it; donated arguments are copied.
        """
        from weft.frontends.inspect.profile import profile

        call = self.signature.take_apart(args, kwargs)
        item = self._specialise(call)
        donated = self._code(item).program.donated
        arrays = self._arrays(item, call)
        given = [np.asarray(array, order="C") for array in arrays]

        def arguments() -> list[Any]:
            return [a.copy() if n in donated.values() else a for n, a in enumerate(given)]

        return profile(item.graph, donated, arguments, calls, item.products)

    def why_retraced(self) -> str:
        """Why each compiled version was made: what differed from those before."""
        return "\n".join(self._reasons) or f"{self.signature.name} has not been compiled yet"

    def explain_cache(self) -> str:
        """For each compiled version, whether it was found on disk, kept there, or why not."""
        if not self._cache:
            return f"{self.signature.name} has not been compiled yet"
        return "\n".join(self._kept(item) for item in self._cache.values())

    def _kept(self, item: Specialisation) -> str:
        types = ", ".join(map(str, item.parameters))
        note = (
            f"the backend {self.backend} keeps nothing" if item.shelf is None else item.shelf.note
        )
        return f"{self.signature.name}({types}): {note or 'not compiled yet'}"

    def why_nan(self, *args: Any, **kwargs: Any) -> str:
        """Which op first makes a NaN for these arguments; for gradients, the forward op that it
        comes from.
        """
        from weft.frontends.inspect.report import why_nan

        call = self.signature.take_apart(args, kwargs)
        item = self._specialise(call)
        return why_nan(item.traced.graph, self._arrays(item, call))

    def _code(self, item: Specialisation) -> ProgramCode:
        if self.backend != "cpu":
            raise ArgumentError(f"the backend {self.backend} makes no code")
        program: Any = item.program
        code: ProgramCode = program.code
        return code

    def trace(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph for these arguments, or for specs in their place."""
        return self._specialise(self.signature.take_apart(args, kwargs)).traced.graph

    def explain(self) -> str:
        """A report on every compiled version: what it takes, which ops it has, what deserves
        attention.
        """
        if not self._cache:
            return (
                f"{self.signature.name} has not been compiled yet: call it, or trace it with specs."
            )
        return "\n".join(self._report(item) for item in self._cache.values())

    def _report(self, item: Specialisation) -> str:
        lines = _report(item, self.backend)
        if self.backend == "cpu":
            from weft.frontends.inspect.report import explanation

            lines += explanation(self._code(item))
        return "\n".join(lines)

    def passes(self) -> str:
        """A report on what passes did to every compiled version."""
        if not self._cache:
            return f"{self.signature.name} has not been compiled yet: call it first."
        return "\n".join(
            str(item.report or f"{self.signature.name}: no passes ran")
            for item in self._cache.values()
        )

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<compiled function {self.signature.name}, {len(self._cache)} versions>"

    def _spec_types(self, specs: Sequence[Any]) -> list[ArrayType | None]:
        leaves, treedef = tree.flatten(tuple(specs))
        self._spec_tree = treedef
        from weft.frontends.tracing.spec import spec

        return [None if leaf is Ellipsis else spec(leaf) for leaf in leaves]

    def _specialise(self, call: Call) -> Specialisation:
        call = self._with_specs(call)
        key = call.key
        with self._lock:
            found = self._cache.get(key)
            if found is not None:
                self._cache.move_to_end(key)
                return found
            made = self._compile(call)
            self._reasons.append(made.reason)
            self._cache[key] = made
            if len(self._cache) > CACHE_SIZE:
                self._cache.popitem(last=False)
                self._stubs = self._flat_stubs = self._stub_kinds = ()
            return made

    def _compile(self, call: Call) -> Specialisation:
        reason = why_traced(self.signature.name, call, list(self._cache))
        kind = replace(call, values=())  # so that no array of the user is kept
        products = self._choice()
        shelf = self._shelf(kind, products) if self.backend == "cpu" else None
        item = Specialisation(functools.partial(self._make, kind), reason, shelf, products)
        stored = None if shelf is None else shelf.find()
        if stored is not None:
            self._use(item, stored)
            return item
        traced = item.traced
        if shelf is not None:
            shelf.confirm()
        item.parameters = tuple([p.type for p in traced.graph.parameters])
        item.out_tree = traced.out_tree
        item.program = _program(self.backend, item, self._tiered)
        return item

    def _make(self, call: Call) -> Made:
        from weft.frontends.tracing.function import trace_call

        is_native = self.backend == "cpu" and not self._tiered
        if is_native:
            machine_code.anticipate()
        if self._column is None:
            self._column = _column((), self._optimise)
        with uncollected():
            traced = trace_call(self.function, self.signature.name, call)
            if is_native:
                machine_code.anticipate(traced.graph)
            graph, report = _optimised(traced.graph, self._column)
        donated = donated_results(graph, call, self._donate) if self._donate else {}
        return Made(traced, graph, report, donated)

    def _choice(self) -> Products:
        """How products are to be computed, by what is known of this machine now."""
        if self._products != "auto" or self.backend != "cpu":
            return Products(self._products)
        from weft.frontends.driver.tuning import measured

        with limited(self._threads):
            return measured()

    def _shelf(self, call: Call, products: Products) -> Shelf:
        """Where programs for calls of this kind are kept between processes."""
        options = (self.signature.name, self._optimise, self._donate, products.key)
        return Shelf(
            machine_code.disk(), self.function, call, options, refused=_not_kept(self._passes)
        )

    def _use(self, item: Specialisation, stored: Stored) -> None:
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
        from weft.frontends.tracing.array import start_trace
        from weft.frontends.tracing.function import lift_results, run

        inner = start_trace(trace)
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
    program = _native_program(item, item.made.donated)
    if not tiered:
        return program
    from weft.frontends.driver.tiers import Tiered

    return Tiered(program)


def _native_program(item: Specialisation, donated: Mapping[int, int]) -> CpuProgram:
    from weft.frontends.driver.specialisation import CpuProgram

    return CpuProgram(lambda: item.graph, donated, item.shelf, lambda: item.out_tree, item.products)


def _column(passes: Sequence[PassLike] | None, optimise: bool) -> list[Pass]:
    """The passes to run. They are loaded only when some are asked for, as that takes a while."""
    if not passes and not optimise:
        return []
    from weft.frontends.api.rewriting import column

    return column(passes, optimise=optimise)


def _optimised(graph: Graph, passes: list[Pass]) -> tuple[Graph, Report | None]:
    if not passes:
        return graph, None
    from weft.compiler.passes.pipeline import optimise

    return optimise(graph, passes=passes)


def _passed_dtype(leaf: Leaf, declared: DType) -> DType:
    """The dtype in which an argument is passed: its own, but a Python scalar takes a declared one
    of its kind or a wider kind.
    """
    own = leaf.type.dtype
    fits = declared.is_complex or (declared.is_float and not own.is_complex)
    fits = fits or (declared.is_integer and own.is_integer)
    return declared if leaf.weak and fits else own


def _declared(leaf: Leaf, type: ArrayType) -> Leaf:
    return describe_leaf(leaf.name, type, "")


def jit(
    function: Callable[..., Any] | None = None,
    *,
    backend: str = "cpu",
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    specs: Sequence[Any] | None = None,
    passes: Sequence[PassLike] | None = None,
    optimise: bool | None = None,
    donate: int | Iterable[int] = (),
    tiered: bool = False,
    threads: int | None = None,
    products: str = "auto",
    control_flow: bool = False,
) -> Any:
    """Compile a function of arrays; usable as a decorator, with or without options.

    `static_argnums` and `static_argnames` name arguments that are Python values, each value
    compiled for. `specs` declares the types of the array arguments, so that one version serves all
    values of symbolic sizes. `passes` are your own passes over the traced graph: functions from
    graph to graph, and rules made by `rewrite`; `optimise` says whether the default ones run too
    (None: on the CPU backend, but not on the reference). `donate` names positional arguments whose
    arrays may be written over by results. `tiered` runs calls on the reference while native code is
    made in the background. `threads` limits the threads of each call. `products` says what
    multiplies matrices of floats: "generated" code, "blas", or "auto": BLAS where `python -m weft
    tune` measured it to be faster on this machine, else generated code. With `control_flow`,
    Python's `if`, `while`, `for`, ... on traced values become branches and loops (see
    `control_flow`).

    >>> import numpy as np, weft as wf
    >>> @wf.jit
    ... def norm(x):
    ...     return np.sqrt(np.sum(x * x))
    >>> float(norm(np.array([3.0, 4.0])))
    5.0
    """
    options: dict[str, Any] = {
        "backend": backend,
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "specs": specs,
        "passes": passes,
        "optimise": optimise,
        "donate": donate,
        "tiered": tiered,
        "threads": threads,
        "products": products,
        "control_flow": control_flow,
    }
    if function is None:
        return lambda decorated: CompiledFunction(decorated, **options)
    return CompiledFunction(function, **options)


def _report(item: Specialisation, backend: str) -> list[str]:
    graph = item.traced.graph
    parameters = ", ".join(f"{p.name}: {p.type}" for p in graph.parameters)
    results = ", ".join(str(result.type) for result in graph.results)
    counts = Counter(op.name for region in graph.regions() for op in region.ops)
    kinds = ", ".join(f"{count} {name}" for name, count in counts.most_common())
    lines = [
        f"{graph.name}({parameters}) -> {results}",
        f"  backend: {backend}",
        f"  ops: {counts.total()} ({kinds})" if kinds else "  ops: none",
    ]
    from weft.frontends.tracing.function import large_constants

    for constant in large_constants(graph, LARGE_CONSTANT_BYTES):
        place = f", used {constant.location}" if constant.location is not None else ""
        lines.append(
            f"  note: the function closes over an array {constant.type} of "
            f"{constant.array.nbytes / 2**20:.1f} MiB, "
            f"which was copied into the program as a constant{place}; pass it as an argument to "
            "share memory and "
            "to let it change"
        )
    return lines
