"""What holds while a function is traced whose Python control flow is converted, and where that
begins: with the first function of the user's that an outermost trace runs.

The conversion itself is `frontends.flow`, which is written in terms of traces and hands itself in;
here is what traces have to know of it.
"""

from __future__ import annotations

import functools
import opcode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, Final, TypeVar

from weft.compiler.ir.ambient import active
from weft.compiler.ir.errors import TraceError, WeftError
from weft.frontends.tracing.caller import is_users

T = TypeVar("T")


@dataclass
class Conversion:
    """What holds while a converted function is traced.

    `convert` converts the functions that it calls; `undefined` says why variables have no value;
    `copies` is how many times the loop bodies around are traced; `conditions` are the places of
    traced conditions that decide whether this runs; `kept` are the iterators, by identity, from
    before the branches and loop bodies that run: nothing is to be taken from these; `ties` are
    objects that may be the same, depending on values; `why_plain` says why the function of a frame
    is as it is; `left` has what is known of that, by their code; `made` are functions and what they
    were converted to, by identity; `measured` are the lists, by identity, whose length was asked
    for; `raising` is the exception that was raised last where a traced condition decides, and
    `has_failing` says that the program may raise one; `steps` is how
    many loops of the program this is a step of; `handlers` give the kinds that an `except`
    around catches.
    """

    convert: Callable[[Any], Any]
    undefined: dict[str, str] = field(default_factory=dict)
    copies: int = 1
    conditions: list[str] = field(default_factory=list)
    kept: list[frozenset[int]] = field(default_factory=list)
    ties: list[Any] = field(default_factory=list)
    why_plain: Callable[[FrameType | None], str] = lambda frame: ""
    left: dict[CodeType, str] = field(default_factory=dict)
    made: dict[int, tuple[Any, CodeType, Any, Any]] = field(default_factory=dict)
    measured: list[int] = field(default_factory=list)
    raising: Any = None
    has_failing: bool = False
    steps: int = 0
    handlers: list[Callable[[], Any]] = field(default_factory=list)


_RAISE: Final = opcode.opmap["RAISE_VARARGS"]

conversion: Final[ContextVar[Conversion | None]] = ContextVar("weft_conversion", default=None)


@dataclass
class Wish:
    """That functions which are traced from here on be converted; whether one was."""

    is_met: bool = False


_wish: Final[ContextVar[Wish | None]] = ContextVar("weft_conversion_wish", default=None)


class Beginning:
    """How the first converted function of a trace is called, which `frontends.flow` hands in."""

    def __init__(self) -> None:
        self._call: Callable[..., Any] | None = None

    def hand_in(self, call: Callable[..., Any]) -> None:
        """`call(function, *args, **kwargs)` converts the function and all that it calls."""
        self._call = call

    def of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with which conversion begins."""
        if self._call is None:
            return function
        return functools.partial(self._call, function)


BEGINNING: Final = Beginning()


def prepared(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is about to be traced: converted if the function around it is, or if nothing
    was traced so far and conversion is wished for.
    """
    state, wish = conversion.get(), _wish.get()
    if state is not None:
        made: Callable[..., Any] = state.convert(function)
        return made
    if wish is None:
        return function
    wish.is_met = True
    return BEGINNING.of(function)


class Unseen(TraceError):
    """A refusal of what would be wrong in silence if the function were traced as it is."""


def converting(trace: Callable[[], T], tell: Callable[[str], None] | None = None) -> T:
    """What `trace` makes of a function of the user's in an outermost trace, its control flow
    converted; where that is refused and the function can be traced as it is, what that gives. Then
    `tell` gets the reason.
    """
    if conversion.get() is not None or _wish.get() is not None or active.get() is not None:
        return trace()
    wish = Wish()
    token = _wish.set(wish)
    try:
        return trace()
    except Exception as error:
        if not wish.is_met or not is_refusal(error):
            raise
        refusal = error
    finally:
        _wish.reset(token)
    with suppress(Exception):
        made = trace()
        if tell is not None:
            tell(f"{type(refusal).__name__}: {refusal}")
        return made
    raise refusal


def is_refusal(error: Exception) -> bool:
    """Whether an error may be about what conversion made of a function. Wrong shapes and the like
    are as wrong without it, and so is what the user's own code raises.
    """
    if isinstance(error, WeftError):
        return isinstance(error, TraceError) and not isinstance(error, Unseen)
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        entry = entry.tb_next
    if entry is None:
        return True
    code = entry.tb_frame.f_code
    return code.co_code[entry.tb_lasti] != _RAISE or not is_users(code.co_filename)


@contextmanager
def unconverted() -> Iterator[None]:
    """Functions that are traced inside are as they are."""
    before = conversion.set(None), _wish.set(None)
    try:
        yield
    finally:
        conversion.reset(before[0])
        _wish.reset(before[1])
