"""What holds while a function is traced whose Python control flow is converted.

The conversion itself is `frontends.flow`, which is written in terms of traces; here is what traces
have to know of it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Final

from weft.compiler.ir.location import Location


@dataclass
class Conversion:
    """What holds while a converted function is traced.

    `convert` converts the functions that it calls; `undefined` says why variables have no value;
    `copies` is how many times the loop bodies around are traced; `conditions` are the places of
    traced conditions that decide whether this runs; `kept` are the iterators, by identity, from
    before the branches and loop bodies that run: nothing is to be taken from these; `ties` are
    objects that may be the same, depending on values; `left` says why functions that are called
    are as they are, by their code; `measured` are the lists, by identity, whose length was asked
    for.
    """

    convert: Callable[[Any], Any]
    undefined: dict[str, str] = field(default_factory=dict)
    copies: int = 1
    conditions: list[str] = field(default_factory=list)
    kept: list[frozenset[int]] = field(default_factory=list)
    ties: list[Any] = field(default_factory=list)
    left: dict[CodeType, str] = field(default_factory=dict)
    measured: list[int] = field(default_factory=list)

    def why_left(self, location: Location | None) -> str:
        """For messages: why the function that a place is in was not converted, if it was not."""
        instruction = None if location is None else location.instruction
        reason = None if instruction is None else self.left.get(instruction[0])
        if instruction is None or reason is None:
            return ""
        return f"; the control flow of {instruction[0].co_name} was not converted, as {reason}"


conversion: Final[ContextVar[Conversion | None]] = ContextVar("weft_conversion", default=None)


def prepared(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is about to be traced: converted if the function around it is."""
    state = conversion.get()
    return function if state is None else state.convert(function)
