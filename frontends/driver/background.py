"""Work that goes on in another thread until its result is wanted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from weft.runtime import headroom

T = TypeVar("T")


class BackgroundCall(Generic[T]):
    """Starts a call at once, if it can; `result` waits for what it returns, or raises what it
    raised.
    """

    __slots__ = ("_function", "_thread", "_made", "_failure", "_is_begun", "_is_done")

    _made: T

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._failure: BaseException | None = None
        self._is_done = False
        self._thread = threading.Thread(target=self._run, name="weft later")
        self._is_begun = self._start()

    def _start(self) -> bool:
        """Whether a thread does it: not where address space is limited, of which each would look
        for what it needs and find the same piece, nor where the system allows no more threads.
        """
        if headroom.is_limited():
            return False
        try:
            self._thread.start()
        except RuntimeError:
            return False
        return True

    def _run(self) -> None:
        try:
            self._made = self._function()
        except BaseException as error:
            self._failure = error
        self._is_done = True

    def result(self) -> T:
        if self._is_begun:
            self._thread.join()
        if not self._is_done:
            self._run()  # no thread did, or it is no more, in a process that was forked meanwhile
        if self._failure is not None:
            raise self._failure
        return self._made
