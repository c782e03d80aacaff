"""Where an op comes from: the user's file, line and expression.

Capturing must cost next to nothing while tracing, so a location made from a running frame keeps the
code object and instruction offset, and looks up the expression's text only when somebody prints it.
"""

from __future__ import annotations

import linecache
from itertools import islice
from types import CodeType


class Location:
    """A place in a user's source; compares and hashes by what it prints."""

    __slots__ = ("file", "line", "_expression", "_code", "_offset")

    def __init__(self, file: str, line: int, expression: str = "") -> None:
        self.file = file
        self.line = line
        self._expression: str | None = expression
        self._code: CodeType | None = None
        self._offset = 0

    @classmethod
    def of_instruction(cls, code: CodeType, offset: int, line: int) -> Location:
        """The place of the instruction at byte `offset` of `code`."""
        location = cls(code.co_filename, line)
        location._expression = None
        location._code = code
        location._offset = offset
        return location

    @property
    def instruction(self) -> tuple[CodeType, int] | None:
        """The code and the byte offset that it was found at, if that is how it was made."""
        return None if self._code is None else (self._code, self._offset)

    @property
    def expression(self) -> str:
        """The text of the expression, or of its line where Python kept no columns; may be empty."""
        if self._expression is None:
            assert self._code is not None
            self._expression = _expression_text(self._code, self._offset, self.line)
            self._code = None
        return self._expression

    def __str__(self) -> str:
        position = f"at {self.file}:{self.line}"
        return f"{position}: {self.expression}" if self.expression else position

    def __repr__(self) -> str:
        return f"Location({self.file!r}, {self.line}, {self.expression!r})"

    def __reduce__(self) -> tuple[object, ...]:
        """As text: code objects do not pickle, and errors carry locations between processes."""
        return Location, self._key()

    def _key(self) -> tuple[str, int, str]:
        return self.file, self.line, self.expression

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Location) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.file, self.line))


def _expression_text(code: CodeType, offset: int, line: int) -> str:
    source = linecache.getline(code.co_filename, line)
    start, end, column, end_column = next(
        islice(code.co_positions(), offset // 2, None), (None, None, None, None)
    )
    if start is None or column is None or start != line:
        return source.strip()
    if end != start or end_column is None:
        return source.encode()[column:].decode(errors="replace").strip()
    return source.encode()[column:end_column].decode(errors="replace").strip()
