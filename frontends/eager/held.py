"""The values of arrays outside of traces, and how these share memory: which one an array is a view
of, and how writes travel.

A view reads its base again after the family was written to, and writes through to it, as views in a
trace do (`tracing.trace`). Whether a reshape is a view or a copy depends on strides: those that
NumPy's array would have are known here from a stand-in without elements.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Final, TypeAlias

import numpy as np

from weft.compiler.ir.ambient import sealed
from weft.compiler.ir.errors import WeftError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import type_of
from weft.compiler.record import record
from weft.frontends.eager import recording
from weft.frontends.eager.recording import NumPyArray, Recording
from weft.frontends.eager.stand_ins import GivenAway
from weft.frontends.tracing.trace import Tracer

Place: TypeAlias = tuple[int, int]
_HERE: Final = "weft.frontends.eager."


def _place() -> Place:
    """The instruction of somebody else that asks an array for something."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_HERE):
        frame = frame.f_back
    return (0, 0) if frame is None else (id(frame), frame.f_lasti)


class Held:
    """An array's value: computed, or waiting in a recording; and what it is a view of, if it is."""

    __slots__ = (
        "_data",
        "_own",
        "_recording",
        "_value",
        "_view",
        "_version",
        "_failed",
        "__weakref__",
    )
    __weft_holds__ = ("_own", "data")  # where call stubs find the value, and what computes it

    _data: NumPyArray | None
    _own: NumPyArray | None  # the same unless this is a view, which may be out of date
    _recording: Recording | None
    _value: Value | GivenAway | None
    _view: ArrayView | None
    _version: int  # how often the family was written to when the value was right
    _failed: tuple[Place, BaseException] | None  # what was raised where a buffer was asked for

    @property
    def data(self) -> NumPyArray:
        """The value as a read-only NumPy array."""
        if isinstance(self._value, GivenAway):
            raise self._value.error()
        self._follow_writes()
        if self._data is None:
            assert self._recording is not None and isinstance(self._value, Value)
            self.settle(self._recording.compute(self._value))
        assert self._data is not None
        view = self._data.view()
        view.flags.writeable = False
        return view

    @property
    def _buffer(self) -> NumPyArray:
        """The value for who asks for a buffer. NumPy does, and where it gets none it asks for other
        things, whatever was raised: an interrupt must not be lost.
        """
        self._failed = None
        try:
            return self.data
        except WeftError:
            raise  # by whatever is asked next, too
        except BaseException as error:
            self._failed = _place(), error
            raise

    def _require_nothing_lost(self) -> None:
        """Raise again what was raised where the same call asked for a buffer before."""
        failed = getattr(self, "_failed", None)
        if failed is not None and failed[0] == _place():
            raise failed[1]

    def settle(self, data: NumPyArray) -> None:
        """Take on a computed value."""
        self._data, self._recording, self._value = np.asarray(data), None, None
        self._own = self._data if self._view is None else None

    def __weft_give_away__(self, to: str) -> None:
        """Let go of the value, which was donated: the array cannot be used any more, nor can views
        of it.
        """
        given = GivenAway(type_of(self.data), to)
        self._data, self._own, self._recording, self._value = None, None, None, given
        if self._view is None:
            self._version += 1

    def tracer(self, record: Recording) -> Tracer:
        """What stands for the array in a recording."""
        self._follow_writes()
        if self._recording is record and not record.is_closed:
            assert isinstance(self._value, Value)
            return record.trace.wrap(self._value)
        _ = self.data
        assert self._data is not None
        return record.input(self._data)

    @property
    def shape(self) -> tuple[int, ...]:
        if self._data is not None:
            return tuple(self._data.shape)
        assert self._value is not None
        return tuple([int(size) for size in self._value.type.shape])

    @property
    def dtype(self) -> np.dtype[Any]:
        if self._data is not None:
            return np.dtype(self._data.dtype)
        assert self._value is not None
        return self._value.type.dtype.numpy

    def _wait(self, record: Recording, value: Value) -> None:
        """Take on a value that is computed later."""
        if self._recording is not None:
            self._recording.forget(self)
        self._data, self._own, self._recording, self._value = None, None, record, value
        record.wait(self, value)

    # --- views ---

    def _family(self) -> Held:
        """The array with memory of its own that this one is, or is a view of."""
        array = self
        while array._view is not None:
            array = array._view.base
        return array

    def _follow_writes(self) -> None:
        """Read a view again if its family was written to since."""
        view, version = self._view, self._family()._version
        if view is None or self._version == version:
            return
        view.base._follow_writes()
        if view.base._data is not None and self._settle_like(view, view.base._data):
            self._version = version
            return
        record = recording.current()
        with record.lock, record.trace.active():
            self._wait(record, view.get(view.base.tracer(record).value))
        self._version = version

    def _settle_like(self, view: ArrayView, base: NumPyArray) -> bool:
        """Take on NumPy's view of the base, if that is one."""
        try:
            made = np.array(view.like(base), order="C", copy=None)
        except ValueError:
            return False
        if self._recording is not None:
            self._recording.forget(self)
        self.settle(made)
        return True

    @sealed
    def _store(self, new: Held) -> None:
        """Take on the value of another array, and hand it on to what this one is a view of."""
        self._require_writable()
        record = recording.current()
        with record.lock, record.trace.active():
            array, made = self, [(self, new.tracer(record).value)]
            while array._view is not None:
                view = array._view
                array = view.base
                made.append((array, view.put(array.tracer(record).value, made[-1][1])))
        array._version += 1
        for written, value in made:
            written._wait(record, value)
            written._version = array._version

    def _require_writable(self) -> None:
        array = self
        while array._view is not None:
            if array._view.is_read_only:
                raise ValueError(
                    "the array that is written to is a read-only view, as a diagonal or what "
                    "broadcast_to makes; write to the array that it is of, or to a .copy()"
                )
            array = array._view.base


@record
class ArrayView:
    """How an array shares memory with its base: by steps, the first of which sees the base."""

    base: Held
    gets: tuple[Callable[[Value], Value], ...]
    puts: tuple[Callable[[Value, Value], Value] | None, ...]
    likes: tuple[Callable[[Any], Any], ...]
    stand_in: NumPyArray

    @property
    def is_read_only(self) -> bool:
        return None in self.puts

    def get(self, base: Value) -> Value:
        """The view's value; emits into the trace in force."""
        return self._values(base)[-1]

    def put(self, base: Value, new: Value) -> Value:
        """The base's value once the view has another one."""
        for value, put in zip(self._values(base)[-2::-1], self.puts[::-1], strict=True):
            assert put is not None, "a view that is only read is not written to"
            new = put(value, new)
        return new

    def like(self, array: NumPyArray) -> NumPyArray:
        """NumPy's view of an array; a ValueError where that would be a copy."""
        for like in self.likes:
            array = like(array)
        return array

    def _values(self, base: Value) -> list[Value]:
        values = [base]
        for get in self.gets:
            values.append(get(values[-1]))
        return values


def view_of(made: Tracer, arrays: Mapping[int, Held]) -> ArrayView | None:
    """How what a call made shares memory with one of the arrays that it was given, by the tracers
    that stood for them; None if it has memory of its own.
    """
    steps = [view for _, view in reversed(made._chain())]
    base = arrays.get(id(steps[0].base)) if steps else None
    if base is None or not base.shape:
        return None
    stand_in = stand_in_of(base)
    try:
        for step in steps:
            stand_in = step.like(stand_in)
    except ValueError:  # NumPy makes a copy
        return None
    gets, puts = [step.get for step in steps], [step.put for step in steps]
    return ArrayView(base, tuple(gets), tuple(puts), tuple(step.like for step in steps), stand_in)


def stand_in_of(array: Held) -> NumPyArray:
    """An array with the shape and strides that NumPy's would have, whose elements nobody may read;
    arrays with memory of their own are row-major.
    """
    if array._view is not None:
        return array._view.stand_in
    element = np.empty(1, array.dtype)
    strides, step = [], element.itemsize
    for size in array.shape[::-1]:
        strides.append(step)
        step *= max(size, 1)
    return np.lib.stride_tricks.as_strided(element, array.shape, strides[::-1])
