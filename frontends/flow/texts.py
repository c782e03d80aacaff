"""The lines that a function was compiled from: of files and notebook cells, of `python -c`, and
what was typed at Python's prompt. Whether they are the ones that are running, `source` finds out.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any, Final

_COMMAND: Final = "<string>"
_PROMPT: Final = "<stdin>"
_MOST_LINES: Final = 2_000  # of what was typed that are looked through


def lines_of(code: CodeType, names: Mapping[str, Any]) -> list[str]:
    """The lines of the file that a function is of; none where they are not known. `names` are its
    globals, by which zipped modules find their text.
    """
    where = {name: names[name] for name in ("__name__", "__loader__", "__spec__") if name in names}
    lines = linecache.getlines(code.co_filename, where)
    if not lines and code.co_filename == _COMMAND and names.get("__name__") == "__main__":
        return _lines_of_command()
    return lines


def typed(code: CodeType) -> Iterator[list[str]]:
    """What may have been typed at the prompt to define a function, the latest first: there, lines
    are counted from the beginning of each statement.
    """
    history = sys.modules.get("readline")
    if code.co_filename != _PROMPT or history is None:
        return
    length = history.get_current_history_length()
    first = max(1, length - _MOST_LINES)
    typed = [f"{history.get_history_item(n) or ''}\n" for n in range(first, length + 1)]
    wanted = "lambda" if code.co_name == "<lambda>" else f"def {code.co_name}"
    for number in range(len(typed) - 1, -1, -1):
        start = number - code.co_firstlineno + 1
        if start >= 0 and (wanted in typed[number] or typed[number].lstrip().startswith("@")):
            yield typed[start:]


def _lines_of_command() -> list[str]:
    """The text of `python -c text`."""
    given = sys.orig_argv
    for place, argument in enumerate(given[1:-1], 1):
        if argument == "-c":
            return given[place + 1].splitlines(keepends=True)
        if not argument.startswith("-"):
            break
    return []
