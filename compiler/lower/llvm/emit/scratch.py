"""Memory that the plan of a program has set aside for a routine, handed out part by part.

A routine that says beforehand how much memory it works in (`routines.scratch_bytes`) is given so
much; it never asks the heap then. Parts are handed out one behind the other and given back from the
last to the first, or all together. What tasks work in is divided into as many slots as threads can
be at work: a task claims a free one.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.lower.llvm.emit import atomics, workspace
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I64
from weft.compiler.record import record

ALIGNMENT: Final = 64  # bytes, of all parts
FLAG_BYTES: Final = 8  # with which a slot is claimed


class Scratch:
    """What is left of a routine's memory, in one function."""

    def __init__(self, f: Function, start: V) -> None:
        self._next = f.variable(start)

    @property
    def next(self) -> V:
        """The first byte that is free."""
        return self._next.get()

    def take(self, f: Function, bytes: Operand) -> V:
        """A part, aligned."""
        start = self.next
        self._next.set(f.offset(start, rounded(f, bytes)))
        return start

    def give_back(self, f: Function, part: V) -> None:
        """Free a part and what was taken after it; null is nothing."""
        here = self.next
        is_before = part.ne(0) & f.compare("lt", self._address(f, part), self._address(f, here))
        self._next.set(f.select(is_before, part, here))

    @staticmethod
    def _address(f: Function, pointer: V) -> V:
        return f.instruction(f"ptrtoint ptr {pointer.ref} to i64", I64)


def rounded(f: Function, bytes: Operand) -> Operand:
    """The bytes that a part takes."""
    if isinstance(bytes, V):
        return (bytes + (ALIGNMENT - 1)) & -ALIGNMENT
    return -(-int(bytes) // ALIGNMENT) * ALIGNMENT


@record
class Slots:
    """Memory for tasks: flags that say which slots are claimed, the slots, how many, how long."""

    flags: V
    room: V
    count: V
    step: V

    @property
    def values(self) -> tuple[V, ...]:
        return self.flags, self.room, self.count, self.step

    def claim(self, f: Function, run: V) -> V:
        """The number of a slot that is nobody else's: there are as many as threads at work. One
        that failed may have kept its slot, so that nobody waits for that.
        """
        number, is_claimed = f.variable(0, I64), f.variable(0, I64)
        with f.loop_while() as loop:
            workspace.leave_if_failed(f, run)
            flag = f.element(self.flags, I64, number.get())
            is_claimed.set(atomics.exchange(f, flag, f.const(0, I64), 1).to(I64))
            loop.stop_if(is_claimed.get().ne(0))
            number.set(f.remainder(number.get() + 1, self.count))
        return number.get()

    def part(self, f: Function, number: V) -> V:
        """The memory of a slot."""
        return f.offset(self.room, number * self.step)

    def give_back(self, f: Function, number: V) -> None:
        atomics.store(f, f.const(0, I64), f.element(self.flags, I64, number))


def slots_of(f: Function, scratch: Scratch, count: V, bytes: Operand) -> Slots:
    """So many slots, none of them claimed; `Scratch.give_back` of their flags gives all back."""
    flags = scratch.take(f, count * FLAG_BYTES)
    step = f.const(rounded(f, bytes), I64)
    room = scratch.take(f, count * step)
    with f.range(0, count) as number:
        f.store(f.const(0, I64), f.element(flags, I64, number))
    return Slots(flags, room, count, step)
