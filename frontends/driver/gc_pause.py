"""The collector of cycles, held back while a program is compiled."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_pausing: Final[dict[object, int]] = {}  # the thread of each pause

LEAST_PROMOTED: Final = 1 << 15
"""Fewer young objects are looked through in a millisecond or two: those of a small function."""

MOST_PROMOTED: Final = 1 << 19
"""Objects that are let through to the old ones between two full collections. Half of what a compile
makes is garbage in cycles, some 90 bytes each: no more than 25 MB of it wait. 200 layers make half
as many."""

MOST_TIMES: Final = 4
"""How often that is done between two full collections: garbage may hold arrays of any size, such as
the constants of functions that were dropped."""


@contextmanager
def gc_paused() -> Iterator[None]:
    """Compiling makes very many objects that stay: looking through them again and again for cycles
    took a tenth of the time.
    """
    if not gc.isenabled() and not _pausing:  # by the user
        yield
        return
    pause, thread = object(), threading.get_ident()
    try:  # an interrupt comes after a call: there is none between a change and what undoes it
        _pausing[pause] = thread
        gc.disable()
        yield
    finally:
        if pause in _pausing:
            del _pausing[pause]
        if not _pausing:
            try:
                _promoted.promote()
            finally:
                gc.enable()


class _Promoted:
    """Lets what was made in a pause pass for old, which half of it is. The first collection after
    the pause would look through all of it at once: 10 % of a first call. A full one finds the rest.
    """

    def __init__(self) -> None:
        self.objects = 0
        self.times = 0
        self.collections = 0  # full ones, when objects were last let through

    def promote(self) -> None:
        """Young objects pass for old if they are many, unless too many did since the last full
        collection.
        """
        collections, young = gc.get_stats()[-1]["collections"], gc.get_count()[0]
        if collections != self.collections:
            self.objects, self.times, self.collections = 0, 0, collections
        if young < LEAST_PROMOTED or self.times == MOST_TIMES:
            return
        if self.objects + young > MOST_PROMOTED or gc.get_freeze_count():
            return  # objects that the user froze stay so
        self.objects += young
        self.times += 1
        try:
            gc.freeze()
        finally:
            gc.unfreeze()


_promoted: Final = _Promoted()


@contextmanager
def gc_resumed() -> Iterator[None]:
    """Work inside of a pause that makes much and keeps little."""
    is_paused = bool(_pausing) and not gc.isenabled()
    try:
        if is_paused:
            gc.enable()
        yield
    finally:
        if is_paused and _pausing:
            gc.disable()


def _in_child() -> None:
    """Let go of it for the threads that are not there in the child of a fork."""
    thread = threading.get_ident()
    others = [pause for pause, other in _pausing.items() if other != thread]
    for pause in others:
        del _pausing[pause]
    if others and not _pausing:
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
