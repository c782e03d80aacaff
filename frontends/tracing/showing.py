"""Texts with traced values in them: marks that stand for digits which are only known when the
program runs, while somebody makes such a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from weft.compiler.ir.types import ArrayType

MARK: Final = re.compile("\ue000([0-9]+)\ue001")  # of Unicode's private use


class Showing:
    """The marks of a text: traced values and how they are formatted, as `str.format` or `%` have
    it.
    """

    def __init__(self, marks: list[tuple[Any, str]]) -> None:
        self.marks = marks

    def mark(self, value: Any, style: str) -> str:
        """What stands for a value in a text."""
        self.marks.append((value, style))
        made = Mark(f"\ue000{len(self.marks) - 1}\ue001")
        made.origin = self, value, style
        return made


class Mark(str):
    """A mark as it is made, which knows what to do when it is formatted further: `{x!r:>10}`."""

    origin: tuple[Showing, Any, str]

    def __format__(self, spec: str) -> str:
        shown, value, style = self.origin
        return shown.mark(value, f"{style}:{spec}") if spec else self


showing: Final[ContextVar[Showing | None]] = ContextVar("weft_showing", default=None)


@contextmanager
def with_marks() -> Iterator[Showing]:
    """Let texts of traced values be marks."""
    made = Showing([])
    token = showing.set(made)
    try:
        yield made
    finally:
        showing.reset(token)


class ShownArray:
    """How traced arrays become text: marks while somebody makes such a text, else what they are."""

    __slots__ = ()

    if TYPE_CHECKING:
        weak: bool

        @property
        def type(self) -> ArrayType: ...

    def __repr__(self) -> str:
        return self._shown("!r")

    def __str__(self) -> str:
        return self._shown("!s")

    def __format__(self, spec: str) -> str:
        return self._shown(f":{spec}")

    def _shown(self, style: str) -> str:
        shown = showing.get()
        if shown is not None:
            return shown.mark(self, style)
        weak = ", weak" if self.weak else ""
        return f"TracedArray({self.type}{weak})"
