"""What `with` blocks of the emitter are given to end loops and to change sides, and what holds in
some of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.emit.function import Function
    from weft.compiler.lower.llvm.emit.value import V

TIGHT: Final = "tight"  # how the labels of loops begin whose steps are short, see `machine`


@contextmanager
def flagged(f: Function, flags: str) -> Iterator[None]:
    """What floats may be done to in the `with` block, in LLVM's words: `contract`."""
    before, f.flags = f.flags, flags
    yield
    f.flags = before


@contextmanager
def constant_memory(f: Function, is_constant: bool) -> Iterator[None]:
    """Whether nothing writes, as long as the program runs, to what the `with` block loads: then
    what is loaded once need not be loaded again.
    """
    before = f.load_suffix
    f.load_suffix = ", !invariant.load !{}" if is_constant else ""
    yield
    f.load_suffix = before


class EmittedLoop:
    """What ends a `loop_while`."""

    __slots__ = ("f", "done")

    def __init__(self, f: Function, done: str) -> None:
        self.f = f
        self.done = done

    def stop_unless(self, condition: V) -> None:
        following = self.f.label("next")
        self.f.branch(condition, following, self.done)
        self.f.begin(following)

    def stop_if(self, condition: V) -> None:
        following = self.f.label("next")
        self.f.branch(condition, self.done, following)
        self.f.begin(following)


class Otherwise:
    """The switch to the second block of `Function.otherwise`."""

    __slots__ = ("f", "other", "done", "was_used")

    def __init__(self, f: Function, other: str, done: str) -> None:
        self.f = f
        self.other = other
        self.done = done
        self.was_used = False

    def otherwise(self) -> None:
        self.was_used = True
        self.f.jump(self.done)
        self.f.begin(self.other)
