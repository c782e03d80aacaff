"""Work that goes on in another thread until its result is wanted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Later(Generic[T]):
    """Starts a call at once; `result` waits for what it returns, or raises what it raised."""

    __slots__ = ("_thread", "_made", "_failure")

    def __init__(self, function: Callable[[], T]) -> None:
        self._failure: BaseException | None = None

        def run() -> None:
            try:
                self._made = function()
            except BaseException as error:
                self._failure = error

        self._thread = threading.Thread(target=run, name="weft later")
        self._thread.start()

    def result(self) -> T:
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        return self._made
