"""The one piece of ambient state: the builder that ops emit into when they are called.

An interrupt may come between any two lines, also between the one that puts a builder in force and
the one that sees to it that it is taken back. So whatever users call is `sealed`: it works in a
context of its own, which is gone afterwards however it ends.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar, Token, copy_context
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar

from weft.compiler.ir.errors import TraceError

if TYPE_CHECKING:
    from weft.compiler.ir.graph import Region, Value
    from weft.compiler.ir.opdef import OpDef

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Emitter(Protocol):
    """What an op needs of a builder."""

    def emit(
        self,
        definition: OpDef,
        operands: Sequence[Value],
        attributes: Mapping[str, object] | None = None,
        regions: Sequence[Region] = (),
    ) -> tuple[Value, ...]:
        """Append an op and return its results."""


active: ContextVar[Emitter | None] = ContextVar("weft_builder", default=None)


class InForce(Generic[T]):
    """The value of a context variable in a `with` block."""

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[Any], value: T) -> None:
        self._variable = variable
        self._value = value
        self._token: Token[Any]

    def __enter__(self) -> T:
        self._token = self._variable.set(self._value)
        return self._value

    def __exit__(self, *_: object) -> None:
        self._variable.reset(self._token)


def sealed(function: Callable[P, R]) -> Callable[P, R]:
    """The function, after whose calls the builder in force is none again if there was none before,
    even if an interrupt ended it.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if active.get() is not None:
            return function(*args, **kwargs)
        return copy_context().run(function, *args, **kwargs)

    return call


def active_builder() -> Emitter:
    """The builder in force."""
    builder = active.get()
    if builder is None:
        raise TraceError("an op was called outside of a trace; there is no graph to add it to")
    return builder
