"""Programs that are answered whatever happens to the compiler: where it fails by a fault of its
own, the graph as it was traced runs on the reference evaluator, and a warning says so.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from weft.compiler.ir.errors import CompilerError, CompilerWarning
from weft.frontends.driver import failures
from weft.frontends.driver.background import BackgroundCall
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import Call
from weft.runtime.forking import fork_lock
from weft.runtime.program import Program

if TYPE_CHECKING:
    from weft.compiler.ir.graph import Graph
    from weft.compiler.ir.location import Location
    from weft.compiler.loops.pipeline import LoopReport
    from weft.compiler.lower.llvm.program.module import ProgramCode
    from weft.frontends.driver.cpu_program import Layout

Run = Callable[[], "list[Any]"]


class Fallback:
    """A program, or what answers in its place once its compiler has failed.

    `make` makes the program, at once; `traced` gives the graph before all passes. Where it
    `is_strict`, nothing answers: calls raise the failure. It is remembered either way.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        traced: Callable[[], Graph],
        is_strict: Callable[[], bool] | None = None,
        place: Location | None = None,
    ) -> None:
        self.failure: CompilerError | None = None
        self._traced = traced
        self._is_strict = is_strict or (lambda: failures.is_strict())
        self._place = place
        self._is_told = False
        self._has_no_stub = False
        self._slow: Program | None = None
        self._lock = fork_lock()
        self.native: Any = None  # where it could not be made
        self.native = self._guarded(make)

    # --- calls ---

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        return self.prepared(arguments)()

    def prepared(self, arguments: Sequence[Any]) -> Run:
        """The call with these arguments, compiled if it can be."""
        run: Run | None = self._guarded(lambda: self._native_run(arguments))
        if run is not None:
            return run
        self._answer()
        return functools.partial(self.slow, arguments)

    def _native_run(self, arguments: Sequence[Any]) -> Run:
        prepared = getattr(self.native, "prepared", None)  # the reference evaluator has none
        made: Run = (
            functools.partial(self.native, arguments) if prepared is None else prepared(arguments)
        )
        return made

    @property
    def slow(self) -> Program:
        """The graph on the reference evaluator."""
        if self._slow is None:
            from weft.compiler.lower import reference

            self._slow = Program(reference.lower(self.graph))
        return self._slow

    @property
    def graph(self) -> Graph:
        """The graph after all passes; as it was traced where the compiler failed."""
        graph: Graph | None = self._guarded(lambda: self.native.graph)
        return self._traced() if graph is None else graph

    @property
    def has_code(self) -> bool:
        """Whether calls run native code, or will when one has been compiled."""
        return self.failure is None and hasattr(self.native, "stub")

    def compile(self) -> bool:
        """Whether there is native code for row-major arguments, made now if need be."""
        return self._guarded(lambda: self.native.program()) is not None

    def layout(self, arguments: Sequence[Any]) -> Layout:
        """Which arguments need native code for the way they lie."""
        layout: Layout = self.native.layout(arguments)
        return layout

    def stub(
        self, call: Call, out_tree: tree.TreeDef, layout: Layout, donated: Sequence[int]
    ) -> Callable[..., Any] | None:
        """A builtin for calls like this one; None where calls need Python."""
        return self._stub("stub", call, out_tree, layout, donated)

    def flat_stub(
        self, call: Call, layout: Layout, donated: Sequence[int]
    ) -> Callable[..., Any] | None:
        """A builtin of the leaves; see `CpuProgram.flat_stub`."""
        return self._stub("flat_stub", call, layout, donated)

    def _stub(self, kind: str, *args: Any) -> Callable[..., Any] | None:
        """A builtin; where making it fails, calls go on as they do without one."""
        make = getattr(self.native, kind, None)
        if make is None or self.failure is not None or self._has_no_stub:
            return None
        try:
            made: Callable[..., Any] | None = make(*args)
        except CompilerError as failure:
            failures.report(failure, self._graph_of_failure)
            if self._is_strict():
                raise
            warn(failure, "Calls go through Python, which takes some microseconds.")
            self._has_no_stub = True
            return None
        return made

    # --- inspection ---

    @property
    def code(self) -> ProgramCode:
        """The emitted program; raises the failure where there is none."""
        code: ProgramCode = self._guarded(lambda: self.native.code)
        self.require()
        return code

    @property
    def report(self) -> LoopReport | None:
        """What the steps to the loop program did, if it was made in this process."""
        return getattr(self.native, "report", None)

    def measured_bytes(self, threads: int) -> dict[str, int]:
        """What routines work in that find this out at run time, by the names of the sizes."""
        bytes: dict[str, int] = self._guarded(lambda: self.native.measured_bytes(threads))
        self.require()
        return bytes

    def require(self) -> None:
        """Raise the failure, if there was one."""
        if self.failure is not None:
            raise self.failure.with_traceback(None)

    # --- failures ---

    def _guarded(self, run: Callable[[], Any]) -> Any:
        """What this returns; None where it fails now, or something has failed before."""
        if self.failure is None:
            try:
                return _with_enough_stack(run)
            except CompilerError as failure:
                self._fail(failure)
        return None

    def _fail(self, failure: CompilerError) -> None:
        """Remember the first failure, and write down its graph."""
        with self._lock:
            if self.failure is not None:
                return
            self.failure = failure
            try:
                failures.report(failure, self._graph_of_failure, self._conditions())
            finally:  # an interrupt may end the search
                failure.at(self._place)
            if not self._is_strict():
                forget_frames(failure)

    def _graph_of_failure(self) -> Graph:
        graph: Graph = self.native.graph
        return graph

    def _conditions(self) -> failures.Conditions:
        """What the program was being compiled with."""
        return getattr(self.native, "conditions", failures.PLAIN)

    def _answer(self) -> None:
        """Raise the failure, or warn that calls are answered all the same, once."""
        if self._is_strict():
            self.require()
        if not self._is_told:
            assert self.failure is not None
            warn(self.failure, "Calls run on the reference evaluator, op by op, which is slower.")
            self._is_told = True


def _with_enough_stack(run: Callable[[], Any]) -> Any:
    """What this returns; where it ends because the caller's stack is nearly used up, it is tried
    once more on a stack of its own.
    """
    try:
        return run()
    except CompilerError as failure:
        if not isinstance(failure.__cause__, RecursionError):
            raise
    return BackgroundCall(functools.partial(copy_context().run, run)).result()


def forget_frames(failure: CompilerError) -> None:
    """Let go of what the frames of a failure hold, among it arrays of the user."""
    import traceback

    if failure.__cause__ is not None:
        traceback.clear_frames(failure.__cause__.__traceback__)
    failure.with_traceback(None)


def warn(failure: CompilerError, answer: str) -> None:
    """Tell the user, at the line of the call, what runs in place of native code."""
    from weft.frontends.tracing.caller import Locator

    message = CompilerWarning(f"{failure}\n  {answer} With WEFT_STRICT=1 this is an error.")
    frame = Locator().frame()
    if frame is None:
        warnings.warn(message, stacklevel=2)
        return
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    file, module = frame.f_code.co_filename, frame.f_globals.get("__name__")
    warnings.warn_explicit(message, CompilerWarning, file, frame.f_lineno, module, registry)
