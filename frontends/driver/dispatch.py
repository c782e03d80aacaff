"""Dispatch: which compiled version of a function serves a call, and how a new one is made.

Calls like one before go straight to native code, through a stub. Others are taken apart in Python;
what they need is found in memory, found on disk, or traced and compiled.
"""

from __future__ import annotations

import copy
import functools
import operator
import os
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import numpy as np

from weft.compiler.ir.ambient import active, sealed
from weft.compiler.ir.errors import ArgumentError, CompilerError
from weft.compiler.lower.choice import CHOICES, Products
from weft.frontends.driver import donation, failures, machine_code, write_back
from weft.frontends.driver.cache.entry import ProgramEntry, has_host_calls
from weft.frontends.driver.cache.stored import StoredProgram
from weft.frontends.driver.declared import passed_dtype, types_of
from weft.frontends.driver.fallback import Fallback, forget_frames
from weft.frontends.driver.fixing import FixedNumbers
from weft.frontends.driver.frozen.guard import Guard
from weft.frontends.driver.frozen.watch import Watch
from weft.frontends.driver.gc_pause import gc_paused
from weft.frontends.driver.retrace import why_traced
from weft.frontends.driver.specialisation import OptimisedGraph, Specialisation
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import Call, FunctionSignature
from weft.frontends.tracing.conversion import is_refusal
from weft.frontends.tracing.fixing import fewest, with_values
from weft.runtime.forking import fork_lock
from weft.runtime.headroom import out_of_memory_is_memory_error
from weft.runtime.program import Program
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
    from weft.frontends.driver.frozen.dependencies import Dependencies
    from weft.frontends.driver.tiers import Tiered
    from weft.frontends.tracing.function import TracedFunction
    from weft.frontends.tracing.trace import Trace

BACKENDS: Final = ("cpu", "reference")
CACHE_SIZE: Final = 256
MOST_REASONS: Final = 1024  # for new versions that are remembered, the latest ones
MOST_STUBS: Final = 8  # that a call tries one after the other
MOST_STATES: Final = 4  # of what a trace found outside of its arguments, per kind of arguments

T = TypeVar("T")
_FlatStub: TypeAlias = (
    "tuple[tree.TreeDef, tuple[Any, ...], Callable[..., Any], tree.TreeDef]"  # and order of keys
)


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
        donate: int | str | Iterable[int | str] = (),
        tiered: bool = False,
        threads: int | None = None,
        products: str = "auto",
        check: str = "warn",
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
        self._declared = types_of(specs, self.signature.name)
        self._numbers = FixedNumbers(self.signature.name, self._found_fixed)
        self._donate = donation.donated_parameters(donate, self.signature)
        self._tiered = tiered
        self._threads = threads
        self._products = products
        self._watch = Watch(function, self.signature.name, check)
        self._cache: OrderedDict[Any, Specialisation] = OrderedDict()
        self._failures: dict[Any, CompilerError] = {}
        self._states: dict[Any, tuple[str, ...]] = {}  # per kind of arguments, the latest first
        self._reasons: deque[str] = deque(maxlen=MOST_REASONS)
        self._stubs: tuple[Callable[..., Any], ...] = ()
        self._keyword_stubs: tuple[Callable[..., Any], ...] = ()
        self._flat_stubs: tuple[_FlatStub, ...] = ()
        self._stub_kinds: tuple[Any, ...] = ()
        self._lock = fork_lock()
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        trace = _trace_in_force()
        if trace is None:
            for stub in self._keyword_stubs if kwargs else self._stubs:
                result = stub(*args, **kwargs)
                if result is not MISS:
                    return result
            if self._flat_stubs:
                result = self._call_flat(args, kwargs)
                if result is not MISS:
                    return result
        call = self.signature.take_apart(args, kwargs)
        if trace is not None:
            return self._call_traced(call, (args, kwargs), trace)
        return self._call_slowly(call, (args, kwargs))

    def _call_flat(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call whose arguments Python takes apart, such as ordered dicts, and native code takes
        from there.
        """
        leaves, treedef = tree.flatten((args, kwargs))
        for known, orders, stub, out_tree in self._flat_stubs:
            if known == treedef and orders == tree.key_orders(treedef):
                results = stub(*leaves)
                if results is not MISS:
                    return tree.unflatten(out_tree, results)
        return MISS

    def _call_traced(self, call: Call, given: Any, trace: Trace) -> Any:
        """Inside of another trace, for the values of numbers where that is needed."""

        def traced(known: Collection[int] = ()) -> Any:
            name, fixed = self.signature.name, call.with_fixed(known)
            return write_back.call_traced(self.function, name, fixed, given, trace)

        return with_values(call.values, traced) if self._fixes_numbers else traced()

    @sealed
    def _call_slowly(self, call: Call, given: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
        """The way of calls that no stub serves: the first of a kind, and unusual ones."""
        with gc_paused():
            specialisation, call = self._version(call)
            written = specialisation.written
            donated = donation.donated_arguments(call, self._donate)
            arrays = self._arrays(specialisation, call)
            ends = () if written is None else written.arguments
            if donated or ends:
                donation.require_apart(call, arrays, donated, self.signature.name, ends)
            if written is not None:
                held = specialisation.guard.arrays
                write_back.require_writable(call, given, written, held, self.signature.name)
            run = specialisation.program.prepared(arrays)
        with limited(self._threads):
            results = run()
        donation.give_away(call, donated, self.signature.name)
        with gc_paused():
            if specialisation.calls_back:
                specialisation.guard = self._watch.after_run(specialisation.guard)
            self._add_stub(specialisation, call, arrays, [*donated, *ends])
        if written is not None:
            return written.finish(call.values, given, results, write_back.store)
        return tree.unflatten(specialisation.out_tree, results)

    def _arrays(self, specialisation: Specialisation, call: Call) -> list[Any]:
        types = specialisation.parameters
        return [
            np.asarray(value, passed_dtype(leaf, type.dtype).numpy)
            for value, leaf, type in zip(call.values, call.leaves, types, strict=True)
        ]

    def _add_stub(
        self,
        specialisation: Specialisation,
        call: Call,
        arrays: Sequence[Any],
        donated: Sequence[int],
    ) -> None:
        """Let calls like this one go straight to native code from now on."""
        program = specialisation.program
        if not program.has_code or self.signature.has_order(call.keywords):
            return
        layout = program.layout(arrays)
        kind = (specialisation, call.treedef, call.orders, tuple(map(type, call.values)), layout)
        if kind in self._stub_kinds:  # the one that is there could not take this call
            return
        out_tree, written = specialisation.out_tree, specialisation.written
        stub = program.stub(call, out_tree, layout, donated)
        is_flat = stub is None and written is None and not (call.static or call.fixed)
        if is_flat:
            stub = program.flat_stub(call, layout, donated)
        with self._lock:
            self._stub_kinds = _with_first(kind, self._stub_kinds)
            if stub is None:
                return
            takes_keywords = bool(call.keywords) and not is_flat
            stub = specialisation.guard.guarded(limiting(stub, self._threads), takes_keywords)
            if written is not None:
                stub = write_back.writing(stub, call, written, specialisation.guard.arrays)
                if stub is None:
                    return
            if is_flat:
                known = (call.treedef, call.orders, stub, out_tree)
                self._flat_stubs = _with_first(known, self._flat_stubs)
            elif takes_keywords:
                self._keyword_stubs = _with_first(stub, self._keyword_stubs)
            else:
                self._stubs = _with_first(stub, self._stubs)

    def _version(self, call: Call) -> tuple[Specialisation, Call]:
        """The version that serves a call, and the call as that takes it."""
        item = self._specialise(call)
        return item, self._numbers.of(call) if item.fixed else call

    def _specialise(self, call: Call) -> Specialisation:
        if self._declared is not None:
            call = self._declared.of(call)
        with self._lock:
            whole, call = call, self._numbers.of(call) if self._fixes_numbers else call
            known = self._known(call)
            if known is not None:
                return known
            now = self._watch.look(call)
            key = call.key, now.hexdigest()
            known = self._cache.get(key)
            if known is None:
                try:
                    known = self._compile_once(key, call, now)
                except Exception as refusal:
                    known = self._compiled_for_values(whole, call, refusal)
                    if known is None:
                        raise
                    return known
                known.fixed = call.fixed
                self._numbers.count(call)
                self._reasons.append(known.reason)
            else:  # equal values, in other objects
                known.guard = now.guard()
                self._forget_stubs()
            known.objects = call.objects
            self._keep(call.key, known)
            return known

    def _compiled_for_values(
        self, whole: Call, call: Call, refusal: Exception
    ) -> Specialisation | None:
        """The version for the values of Python's whole numbers among the arguments, where none can
        be traced that serves all values.
        """
        if not self._fixes_numbers or not is_refusal(refusal):
            return None

        def needed() -> frozenset[int]:
            found = fewest(call.whole_numbers, lambda known: self._trace(call.with_fixed(known)))
            return frozenset() if found is None else found[0]

        if not self._numbers.learn(call, needed):
            return None
        with suppress(Exception):
            made = self._specialise(whole)
            if self.backend == "cpu":
                entry = self._entry(replace(call, values=()), self._choice())
                entry.keep_fixed(self._numbers.positions(call))
            return made
        self._numbers.forget(call)
        return None

    def _found_fixed(self, call: Call) -> Collection[int]:
        """The leaves whose values an earlier process found to be needed."""
        if self.backend != "cpu":
            return ()
        return self._entry(replace(call, values=()), self._choice()).find_fixed()

    @property
    def _fixes_numbers(self) -> bool:
        """Whether a call can be traced for the values of numbers where it cannot for all."""
        return self._declared is None

    def _known(self, call: Call) -> Specialisation | None:
        """The version for a kind of arguments whose guard holds, which is of the very objects that
        were static.
        """
        key, objects = call.key, call.objects
        for number, state in enumerate(self._states.get(key, ())):
            known = self._cache[key, state]
            if not all(map(operator.is_, known.objects, objects)):
                continue
            if known.guard.verify() if number else known.guard.check():
                self._cache.move_to_end((key, state))
                return known
        return None

    def _keep(self, key: Any, item: Specialisation) -> None:
        """Put a version first among those of its kind of arguments."""
        state = item.guard.state
        states = (state, *[each for each in self._states.get(key, ()) if each != state])
        for dropped in states[MOST_STATES:]:
            del self._cache[key, dropped]
        self._states[key] = states[:MOST_STATES]
        self._cache[key, state] = item
        if len(states) > MOST_STATES or any(self._cache[key, s].guard.looks for s in states[1:]):
            self._forget_stubs()
        if len(self._cache) > CACHE_SIZE:
            (other, dropped), _ = self._cache.popitem(last=False)
            self._states[other] = tuple([s for s in self._states[other] if s != dropped])
            if not self._states[other]:
                del self._states[other]
            self._forget_stubs()

    def _forget_stubs(self) -> None:
        self._stubs = self._keyword_stubs = self._flat_stubs = self._stub_kinds = ()

    def _compile_once(self, key: Any, call: Call, now: Dependencies) -> Specialisation:
        """A new version, or the failure that this gave before."""
        if key in self._failures:
            raise self._failures[key].with_traceback(None)
        try:
            return self._compile(call, now)
        except CompilerError as failure:
            self._remember(key, failure)
            raise

    def _remember(self, key: Any, failure: CompilerError) -> None:
        """A function that cannot be traced, by a fault of the compiler: nothing can answer calls
        of this kind, so they fail at once from now on. How much of the stack is left is another
        matter at the next call.
        """
        if isinstance(failure.__cause__, RecursionError):
            return
        kept = copy.copy(failure)
        kept.__cause__ = failure.__cause__
        if not self._is_strict:
            forget_frames(kept)
        self._failures[key] = kept
        if len(self._failures) > CACHE_SIZE:
            del self._failures[next(iter(self._failures))]

    @property
    def _is_strict(self) -> bool:
        """Whether a fault of the compiler is raised, rather than answered by a slower program."""
        return self._watch.is_strict or failures.is_strict()

    @out_of_memory_is_memory_error
    def _compile(self, call: Call, now: Dependencies) -> Specialisation:
        reason = self._why_traced(call, now.guard())
        kind = replace(call, values=())  # so that no array of the user is kept
        products = self._choice()
        entry = self._entry(kind, products) if self.backend == "cpu" else None
        item = Specialisation(
            functools.partial(self._traced, kind),
            functools.partial(self._optimised, kind),
            reason,
            entry,
            products,
        )
        known = None if entry is None else entry.find_untraced()
        if known is not None:
            stored, item.out_tree = known
            self._watch.found(now)
            item.guard = now.guard()
            self._use(item, stored)
            return item
        item.guard = self._watch.traced(now, kind, lambda: item.traced).guard()
        traced = item.traced
        item.calls_back = has_host_calls(traced.graph)
        if self._shares_program(item, call):
            return item
        item.parameters = tuple([p.type for p in traced.graph.parameters])
        item.out_tree, item.written = traced.out_tree, traced.written
        if entry is not None:
            entry.traced(traced.graph, None if traced.written is None else traced.written.places)
            found = entry.find()
            if found is not None:
                entry.keep_untraced(traced.out_tree)
                self._use(item, found)
                return item
        item.program = self._program(item, lambda: _program(self.backend, item))
        return item

    def _program(self, item: Specialisation, make: Callable[[], Any]) -> Fallback | Tiered:
        """What runs calls, whatever happens to the compiler."""
        made = Fallback(
            make,
            lambda: item.traced.graph,
            lambda: self._is_strict,
            failures.place_of(self.function),
        )
        if not self._tiered or item.is_stored:
            return made
        from weft.frontends.driver.tiers import Tiered

        return Tiered(made)

    def _shares_program(self, item: Specialisation, call: Call) -> bool:
        """Take the program of another version where what changed turned out not to matter."""
        if item.calls_back:
            return False
        for state in self._states.get(call.key, ()):
            other = self._cache[call.key, state]
            if other.is_like(item):
                item.program, item.entry = other.program, other.entry
                item.parameters, item.out_tree = other.parameters, other.out_tree
                item.written = other.written
                return True
        return False

    def _why_traced(self, call: Call, now: Guard) -> str:
        """What is new about a call: its arguments, or what else a trace depends on."""
        states = self._states.get(call.key)
        if not states:
            return why_traced(self.signature.name, call, [key for key, _ in self._cache])
        before = self._cache[call.key, states[0]].guard
        differences = before.differences(now)
        self._watch.changed_late(before)
        return f"{self.signature.name}: " + "; ".join(differences)

    @failures.reported
    def _traced(self, call: Call) -> tuple[TracedFunction, list[Step]]:
        """The graph for a call, and the passes that ran while it was traced."""
        from weft.compiler.passes.running import recording

        is_native = self.backend == "cpu" and not self._tiered
        if is_native:
            machine_code.anticipate()
        with gc_paused(), recording() as steps:
            traced = self._trace(call)
        if is_native:
            machine_code.anticipate(traced.graph)
        return traced, steps

    def _optimised(self, call: Call, traced: TracedFunction, steps: list[Step]) -> OptimisedGraph:
        if self._column is None:
            self._column = _column((), self._optimise)
        with gc_paused():
            graph, report = _optimised(traced.graph, self._column, steps)
        donated, written = donation.donated_arguments(call, self._donate), traced.written
        ends = {} if written is None else write_back.in_place(graph, written)
        reused = donation.donated_results(graph, donated, written.places if written else ())
        return OptimisedGraph(graph, report, reused | ends)

    def _trace(self, call: Call) -> TracedFunction:
        """The graph of the function for a call; whoever can trace says how."""
        raise NotImplementedError

    def _code(self, item: Specialisation) -> ProgramCode:
        if self.backend != "cpu":
            raise ArgumentError(f"the backend {self.backend} makes no code")
        return item.program.code

    def _choice(self) -> Products:
        """How products are to be computed, by what is known of this machine now."""
        if self._products != "auto" or self.backend != "cpu":
            return Products(self._products)
        from weft.frontends.driver.tuning import measured

        with limited(self._threads):
            return measured()

    def _entry(self, call: Call, products: Products) -> ProgramEntry:
        """Where programs for calls of this kind are kept between processes."""
        donated = tuple(donation.donated_arguments(call, self._donate))
        options = (self.signature.name, self._optimise, donated, products.key)
        return ProgramEntry(
            machine_code.disk(), self.function, call, options, refused=_not_kept(self._passes)
        )

    def _use(self, item: Specialisation, stored: StoredProgram) -> None:
        """Run what was found on disk."""
        item.parameters = stored.artifact.signature.parameters
        item.is_stored = True

        def linked() -> CpuProgram:
            program = _native_program(item, stored.donated)
            program.link(stored.artifact)
            return program

        item.program = self._program(item, linked)


def _with_first(new: T, old: tuple[T, ...]) -> tuple[T, ...]:
    return (new, *old[: MOST_STUBS - 1])


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


def _program(backend: str, item: Specialisation) -> Program | CpuProgram:
    """The graph on a backend; the native one is loaded only when it is asked for."""
    if backend == "reference":
        from weft.compiler.lower import reference

        return Program(reference.lower(item.graph))
    return _native_program(item, item.optimised.donated)


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
