"""Work that goes on in another thread until its result is wanted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class BackgroundCall(Generic[T]):
    """Starts a call at once; `result` waits for what it returns, or raises what it raised."""

    __slots__ = ("_function", "_thread", "_made", "_failure", "_is_done")

    _made: T

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._failure: BaseException | None = None
        self._is_done = False
        self._thread = threading.Thread(target=self._run, name="weft later")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._made = self._function()
        except BaseException as error:
            self._failure = error
        self._is_done = True

    def result(self) -> T:
        self._thread.join()
        if not self._is_done:
            self._run()  # in a process that was forked meanwhile, where the thread is no more
        if self._failure is not None:
            raise self._failure
        return self._made
