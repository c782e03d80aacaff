"""What an `except` of the user's function catches that only the program can raise: the conditions
under which it would, where these can be gathered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.compiler.ir.graph import Value
    from weft.frontends.tracing.trace import Trace


class Catcher:
    """The kinds of exception that a `try` catches, called to tell. `found` is told of each
    condition and exception that comes up in `trace` itself, not in a branch or loop of it.
    """

    def __init__(self, kinds: Callable[[], Any], found: Callable[[Value, BaseException], None]):
        self._kinds = kinds
        self.found = found
        self.trace: Trace | None = None

    def __call__(self) -> Any:
        return self._kinds()


def handler_of(handlers: list[Callable[[], Any]], error: BaseException) -> Callable[[], Any] | None:
    """The innermost of those that catch an exception."""
    found = [kinds for kinds in handlers if isinstance(error, kinds())]
    return found[-1] if found else None
