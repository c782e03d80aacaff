"""Memory that the plan of a program has set aside for a routine, handed out part by part.

The plan has as much as a routine says beforehand (`routines.scratch_bytes`). Parts are handed out
one behind the other and given back from the last to the first, or all together; where the memory
does not last, parts come from the heap. What tasks work in is divided into as many slots as threads
can be at work: a task claims a free one.

A routine that finds out at run time what it works in is asked for that before there is memory: its
code runs with a record that only measures, notes in it how much it would take, and returns.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

from weft.compiler.ir.alignment import ALIGNMENT
from weft.compiler.lower.llvm.emit import atomics, workspace
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I64, PTR
from weft.compiler.record import record


@record
class Scratch:
    """The record of such memory, which tells what is left of it; it may be null where there is
    none. Functions share it that call each other.
    """

    record: V

    @classmethod
    def of(cls, f: Function, start: V, end: V, threads: Operand) -> Scratch:
        """Memory between two addresses, in which so many threads may work at once."""
        held = f.stack(I64, workspace.WORDS, align=8)
        words = {
            workspace.START: start,
            workspace.NEXT: start,
            workspace.END: end,
            workspace.THREADS: f.const(threads, I64),
        }
        for number, word in words.items():
            f.store(word, f.element(held, I64, number))
        return cls(held)

    @classmethod
    def measuring(cls, f: Function, threads: Operand) -> Scratch:
        """No memory, but a record of how much would be taken where so many threads may work. Its
        memory begins at null, as no other does.
        """
        nothing = f.const(0, PTR)
        return cls.of(f, nothing, nothing, threads)

    def is_measuring(self, f: Function) -> V:
        """Whether it is such a record."""
        start = f.variable(1, I64)
        with f.when(self.record.ne(0)):
            start.set(f.load(f.element(self.record, I64, workspace.START), I64))
        return start.get().eq(0)

    def note(self, f: Function, bytes: V) -> None:
        """Note in it that so many bytes would be taken; the largest number counts."""
        most = f.element(self.record, I64, workspace.END)
        f.store(f.maximum(f.load(most, I64), bytes), most)

    def measured(self, f: Function) -> V:
        """How many bytes would be taken."""
        return f.load(f.element(self.record, I64, workspace.END), I64)

    @classmethod
    def none(cls, f: Function) -> Scratch:
        """No memory."""
        return cls(f.const(0, PTR))


def rounded(bytes: Operand) -> Operand:
    """The bytes that a part takes."""
    if isinstance(bytes, V):
        return (bytes + (ALIGNMENT - 1)) & -ALIGNMENT
    return -(-int(bytes) // ALIGNMENT) * ALIGNMENT


@record
class Slots:
    """Memory for tasks: flags that say which slots are claimed, the slots, how many, how long. If
    there `may_be_none`, the flags are null then, and slots are of no bytes.
    """

    flags: V
    room: V
    count: V
    step: V
    may_be_none: bool = False

    @classmethod
    def of(cls, values: Iterable[V], may_be_none: bool = False) -> Slots:
        """Those of another function, which handed on their values."""
        flags, room, count, step = values
        return cls(flags, room, count, step, may_be_none)

    @property
    def values(self) -> tuple[V, ...]:
        return self.flags, self.room, self.count, self.step

    def when_any(self, f: Function) -> AbstractContextManager[None]:
        """What is done only where there are slots."""
        return f.when(self.flags.ne(0)) if self.may_be_none else nullcontext()

    def claimed(self, f: Function, run: V) -> tuple[Scratch, V]:
        """The memory of a slot, and its number; no bytes if there are no slots."""
        number = f.variable(0, I64)
        with self.when_any(f):
            number.set(self.claim(f, run))
        return self.part(f, number.get()), number.get()

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

    def bounds(self, f: Function, number: V) -> tuple[V, V]:
        """Where a slot begins and ends."""
        start = f.offset(self.room, number * self.step)
        return start, f.offset(start, self.step)

    def part(self, f: Function, number: V) -> Scratch:
        """The memory of a slot; parallel loops inside of a task run on its thread."""
        return Scratch.of(f, *self.bounds(f, number), 1)

    def give_back(self, f: Function, number: V) -> None:
        atomics.store(f, f.const(0, I64), f.element(self.flags, I64, number))
