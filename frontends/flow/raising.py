"""`raise` and `assert` where a traced condition leads to them: the branch gets a `fail`, which
raises that exception when the program runs, and what follows is traced as if nothing were raised.

Messages are formatted when the program raises: while the exception is made, traced values leave
marks in texts, which say what to put there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import numpy as np

from weft.compiler.ir.errors import BoundsError, ShapeError, TraceError, WeftError
from weft.compiler.ir.graph import Graph, Region, Value
from weft.compiler.ir.location import Location
from weft.compiler.ir.walk import walk
from weft.compiler.ops import control, logic
from weft.compiler.record import record
from weft.frontends.flow.parts import TracedPart, conversion_state
from weft.frontends.flow.saved import is_refused_write
from weft.frontends.flow.scope import Part
from weft.frontends.flow.source import place_of
from weft.frontends.regions.bodies import unify
from weft.frontends.tracing import core
from weft.frontends.tracing.conversion import conversion
from weft.frontends.tracing.failing import fail_where, is_gathered, require_no_handler
from weft.frontends.tracing.handlers import Catcher, handler_of
from weft.frontends.tracing.showing import Showing, showing, with_marks
from weft.frontends.tracing.trace import Tracer, current_trace, find_trace, user_line

_CONVERSION: Final = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?[diouxXeEfFgGrsac])")
OF_LINALG: Final = ("solve", "triangular_solve", "cholesky", "eigh", "eig", "svd")
_ALWAYS: Final = (
    "this function raises whatever its arguments are, which one of its exceptions is only known "
    "when the program runs; return something where the last condition does not hold"
)


@record
class PendingRaise:
    """An exception that a `raise` under a traced condition has made, and what it shows."""

    error: BaseException
    location: Location | None
    shown: Showing
    is_emitted: bool = False


def raised(make: Callable[[], Any]) -> Any:
    """The exception of a `raise`."""
    state = conversion.get()
    if state is None or not state.conditions:
        if state is not None and state.has_failing:
            raise core.trace_error(_ALWAYS)
        return make()
    with with_marks() as shown:
        error = make()
        if isinstance(error, type):
            error = error()
    if isinstance(error, BaseException):
        state.raising = PendingRaise(error, user_line(), shown)
    return error


def percent(text: Any, values: Any) -> Any:
    """`text % values`, in which traced values are shown when the program raises."""
    shown = showing.get()
    given = values if isinstance(values, tuple) else (values,)
    if shown is None or not any(isinstance(value, Tracer) for value in given):
        return text % values
    rest = iter(given)

    def mark(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        value = next(rest)
        return shown.mark(value, found[0]) if isinstance(value, Tracer) else found[0] % (value,)

    return _CONVERSION.sub(mark, text)


@contextmanager
def handled(kinds: Callable[[], Any]) -> Iterator[None]:
    """Inside, exceptions of these kinds are caught by the user's function."""
    state, trace = conversion_state(), find_trace()
    start = 0 if trace is None else len(trace.ops)
    state.handlers.append(kinds)
    try:
        yield
        made = () if trace is None else walk(Graph("", Region((), tuple(trace.ops[start:]), ())))
        if any(op.name in OF_LINALG for op in made):
            require_no_handler(np.linalg.LinAlgError, "linear algebra")
    finally:
        state.handlers.pop()


@contextmanager
def in_order() -> Iterator[None]:
    """Around a function: what Python raises while it is traced is not raised where the program may
    raise something else before.
    """
    try:
        yield
    except Exception as error:
        state = conversion.get()
        if state is None or not state.has_failing or not is_of_data(error):
            raise
        raise TraceError(_ALWAYS, location=place_of(error)) from error


def not_refused(kinds: Callable[[], Any]) -> None:
    """In an `except` of the user's: go on with an exception that is none of the user's function,
    but a word of ours that it cannot be traced, or a request to trace it again. Handlers that name
    our classes get it.
    """
    error = sys.exc_info()[1]
    if error is None or find_trace() is None:
        return
    named = kinds()
    if _is_refusal(error, named if type(named) is tuple else (named,)):
        raise error


def _is_refusal(error: BaseException, named: Sequence[Any]) -> bool:
    """Whether an exception is a word of ours, which handlers of these classes do not ask for."""
    if isinstance(error, ShapeError | BoundsError) or any(issubclass(n, WeftError) for n in named):
        return False
    return type(error).__module__.partition(".")[0] == "weft" or is_refused_write(error)


class Suppressing(suppress):
    """`contextlib.suppress` in a converted function: an `except` that does nothing."""

    def __init__(self, *kinds: type[BaseException]) -> None:
        super().__init__(*kinds)
        self._kinds = kinds

    def __enter__(self) -> None:
        conversion_state().handlers.append(lambda: self._kinds)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        conversion_state().handlers.pop()
        if error is not None and _is_refusal(error, self._kinds):
            return False
        return super().__exit__(kind, error, traceback)


# --- branches that raise --------------------------------------------------------------------------


class RaisingPart:
    """A branch, which may end with an exception: that is made an op then."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.error: BaseException | None = None
        self.catcher: Catcher | None = None  # the `try` right around the branch that catches it

    def __call__(self) -> Any:
        self.error = self.catcher = None
        try:
            return self.part()
        except Exception as error:
            pending = _pending(error)
            if pending is None:
                raise
            handler = handler_of(conversion_state().handlers, error)
            if isinstance(handler, Catcher) and handler.trace is current_trace().parent:
                self.catcher = handler
            else:
                _emit(pending)
            self.error = error
            return None


def refusing_raise(part: Part) -> Part:
    """A loop body that must not end with an exception in every step."""

    def run(*args: Any) -> Any:
        try:
            return part(*args)
        except Exception as error:
            if _pending(error) is None:
                raise
            raise core.trace_error(
                "the first step of this loop raises in any case; write an `if` with the condition "
                "of the loop around the `raise`"
            ) from error

    return run


def _pending(error: BaseException) -> PendingRaise | None:
    """What is known of an exception that the program is to raise, as a traced condition leads to
    it: a `raise` has made it, or Python has, of what is known.
    """
    state = conversion.get()
    pending: PendingRaise | None = None if state is None else state.raising
    if pending is not None and pending.error is error:
        return pending
    return PendingRaise(error, place_of(error), Showing([])) if is_of_data(error) else None


def is_of_data(error: BaseException) -> bool:
    """Whether Python has raised an exception because of values, and none of ours."""
    kinds = (ArithmeticError, LookupError, ValueError)
    is_ours = isinstance(error, WeftError) or is_refused_write(error)
    return isinstance(error, kinds) and not is_ours


def raise_if(chosen: Value, parts: Sequence[RaisingPart], made: Sequence[TracedPart]) -> Any:
    """What follows branches of which one or both raise, by a condition: the op that raises, and the
    value of the other branch, which needs no condition any more.
    """
    empty = current_trace().nested().closed_region([])
    closed = [
        branch.trace.closed_region([]) if part.error is not None and part.catcher is None else empty
        for part, branch in zip(parts, made, strict=True)
    ]
    regions, captured = unify(closed)
    if any(part.error is not None and part.catcher is None for part in parts):
        control.switch.emit(chosen, *captured, regions=regions)
    for holds, part in zip((logic.not_(chosen), chosen), parts, strict=True):
        if part.catcher is not None and part.error is not None:
            part.catcher.found(holds, part.error)
    for part in parts:
        if part.error is None:
            return part.part()
    state = conversion_state()
    error = parts[-1].error
    assert error is not None
    if not state.conditions:
        raise core.trace_error(_ALWAYS)
    state.raising = PendingRaise(error, None, Showing([]), is_emitted=True)
    raise error


def _emit(pending: PendingRaise) -> None:
    if pending.is_emitted:
        is_gathered(None, pending.error)
    else:
        fail_where(core.lift(True), pending.error, pending.shown, pending.location)
