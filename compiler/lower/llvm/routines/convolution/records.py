"""Records of numbers that native code passes on: i64 words in memory, declared as fields.

The code of convolutions is compiled once and serves all sizes, so everything that it is to know is
in memory. A class derived from `Record` declares what there is:

    class Box(Record):
        count = Word()      # one number
        size = PerAxis()    # and one for each axis

    box = Box(f)            # on the stack of a function
    box.count = 3           # emits a store
    box.size[2] = box.count * 2
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Self, overload

from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I64, Type

AXES: Final = 3  # spatial axes; inputs with fewer have axes of size 1 in front


class Record:
    """Words in memory. Those that are declared one for each axis behind each other lie together,
    axis after axis.
    """

    words: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        words = list(cls.words)
        together: list[PerAxis] = []
        for field in [*cls.__dict__.values(), None]:
            if isinstance(field, PerAxis):
                together.append(field)
                continue
            if together:
                for number, of_axis in enumerate(together):
                    of_axis.first, of_axis.step = len(words) + number, len(together)
                words += [f"{x.name}{axis}" for axis in range(AXES) for x in together]
                together = []
            if isinstance(field, Word):
                field.position = len(words)
                words.append(field.name)
        cls.words = tuple(words)

    def __init__(self, f: Function, pointer: V | None = None) -> None:
        """At an address, or on the stack of the function."""
        self.f: Final = f
        self.pointer: Final = pointer or f.stack(I64, len(self.words), align=8)

    def at(self, position: int) -> V:
        """The address of a word."""
        return self.f.element(self.pointer, I64, position)

    def load(self, position: int, type: Type = I64) -> V:
        return self.f.load(self.at(position), type)

    def store(self, position: int, value: Operand) -> None:
        self.f.store(self.f.const(value, I64), self.at(position))

    def copy_from(self, other: Record) -> None:
        """The words that both have, which are the first ones of both."""
        for position, (own, word) in enumerate(zip(self.words, other.words, strict=False)):
            if own != word:
                return
            self.store(position, other.load(position))


class Word:
    """One number of a record."""

    name = ""
    position = -1

    def __set_name__(self, owner: type[Record], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, record: None, owner: type[Record]) -> Self: ...
    @overload
    def __get__(self, record: Record, owner: type[Record]) -> V: ...
    def __get__(self, record: Record | None, owner: type[Record]) -> Self | V:
        return self if record is None else record.load(self.position)

    def __set__(self, record: Record, value: Operand) -> None:
        record.store(self.position, value)


class Axes:
    """The numbers of all axes, in one record."""

    __slots__ = ("_record", "_first", "_step")

    def __init__(self, record: Record, first: int, step: int) -> None:
        self._record = record
        self._first = first
        self._step = step

    def __getitem__(self, axis: int) -> V:
        return self._record.load(self._position(axis))

    def __setitem__(self, axis: int, value: Operand) -> None:
        self._record.store(self._position(axis), value)

    def _position(self, axis: int) -> int:
        assert 0 <= axis < AXES
        return self._first + axis * self._step

    def values(self) -> list[V]:
        return [self[axis] for axis in range(AXES)]

    def set(self, values: Sequence[Operand]) -> None:
        for axis, value in enumerate(values):
            self[axis] = value


class PerAxis:
    """One number for each axis."""

    name = ""
    first = -1
    step = 1

    def __set_name__(self, owner: type[Record], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, record: None, owner: type[Record]) -> Self: ...
    @overload
    def __get__(self, record: Record, owner: type[Record]) -> Axes: ...
    def __get__(self, record: Record | None, owner: type[Record]) -> Self | Axes:
        return self if record is None else Axes(record, self.first, self.step)
