"""What `with` blocks of the emitter are given to end loops and to change sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.emit.function import Function
    from weft.compiler.lower.llvm.emit.value import V

TIGHT: Final = "tight"  # how the labels of loops begin whose steps are short, see `machine`


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
