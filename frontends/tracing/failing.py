"""Exceptions that a program raises where a condition of traced values holds: `fail_where`."""

from __future__ import annotations

from typing import Any

from weft.compiler.ir.attributes import HostFunction
from weft.compiler.ir.errors import WeftError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.location import Location
from weft.compiler.ir.raising import ExceptionForm, Place, Shown, Text, class_name
from weft.compiler.ops import control
from weft.frontends.tracing import core
from weft.frontends.tracing.conversion import Unseen, conversion
from weft.frontends.tracing.handlers import Catcher, handler_of
from weft.frontends.tracing.showing import MARK, Showing
from weft.frontends.tracing.trace import Tracer, current_trace, user_line


def fail_where(
    when: Value,
    error: BaseException,
    shown: Showing | None = None,
    location: Location | None = None,
    is_expected: bool = True,
) -> None:
    """Let the program raise an exception at the user's line if a rank-0 bool is true. What the
    exception holds of traced values is put in then; `shown` has the marks in its texts. One that is
    not `is_expected`, such as that of a division by zero, may come after others of the user's.
    """
    if is_gathered(when, error):
        return
    state = conversion.get()
    if state is not None and is_expected:
        state.has_failing = True
    values: list[Tracer] = []
    form = _exception(error, shown or Showing([]), values)
    text = form.text()
    place, trace = location or user_line(), current_trace()
    code = None if place is None or place.instruction is None else place.instruction[0]
    with trace.at(place):
        control.fail.emit(
            when,
            *[trace.read(value) for value in values],
            error=class_name(form.kind),
            form=text or "",
            made_by=HostFunction("nothing" if text else form.kind.__name__, None if text else form),
            function="" if code is None else code.co_name,
        )


def is_gathered(when: Value | None, error: BaseException) -> bool:
    """Whether a `try` of the user's around takes care of what only the program can raise; refused
    if its `except` would catch it and cannot. Our own errors, which Python would not raise, end the
    call.
    """
    state = conversion.get()
    if state is None or isinstance(error, WeftError):
        return False
    handler = handler_of(state.handlers, error)
    if handler is None:
        return False
    is_here = isinstance(handler, Catcher) and handler.trace is current_trace()
    if is_here and when is not None:
        handler.found(when, error)  # type: ignore[attr-defined]
        return True
    raise Unseen(
        f"this may raise a {type(error).__name__} when the program runs, which an `except` around "
        "it would catch, and whose handler would have to run then; test the condition with an `if` "
        "that does what the `except` does",
        location=user_line(),
    )


def require_no_handler(kind: type[BaseException], what: str) -> None:
    """Raise if the user's function would catch an exception that programs do not raise."""
    state = conversion.get()
    for kinds in state.handlers if state is not None else ():
        if issubclass(kind, kinds()):
            raise Unseen(
                f"{what} raises no {kind.__name__} in a program, where it gives NaN or infinity: "
                "the `except` around it would never run; test with an `if`, such as "
                "`if np.isfinite(x).all():`",
                location=user_line(),
            )


def _exception(error: BaseException, shown: Showing, values: list[Tracer]) -> ExceptionForm:
    cause: Any = error.__cause__
    if cause is None and error.__suppress_context__:
        cause = False
    arguments = _form(error.args, shown, values)
    return ExceptionForm(type(error), arguments, _form(error.__dict__, shown, values), cause)


def _form(value: Any, shown: Showing, values: list[Tracer]) -> Any:
    """A part of an exception, with places for its traced values."""
    if isinstance(value, Tracer):
        return _place(value, values)
    if isinstance(value, str):
        return _text(value, shown, values)
    if type(value) in (list, tuple):
        return type(value)([_form(part, shown, values) for part in value])
    if type(value) is dict:
        return {key: _form(part, shown, values) for key, part in value.items()}
    return value


def _text(text: str, shown: Showing, values: list[Tracer]) -> Any:
    if "TracedArray(" in text:
        raise core.trace_error(
            "the message of this exception was formatted before its `raise`, where a traced value "
            "has no digits yet; format it in the `raise` statement"
        )
    pieces = MARK.split(text)
    if len(pieces) == 1:
        return text
    parts: list[Any] = []
    for number, piece in enumerate(pieces):
        if number % 2:
            value, style = shown.marks[int(piece)]
            parts.append(Shown(_place(value, values), style))
        elif piece:
            parts.append(piece)
    return Text(tuple(parts))


def _place(value: Tracer, values: list[Tracer]) -> Place:
    for number, known in enumerate(values):
        if known is value:
            return Place(number, value.weak)
    values.append(value)
    return Place(len(values) - 1, value.weak)
