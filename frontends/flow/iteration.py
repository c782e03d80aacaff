"""What `for` runs over: ranges, arrays, and these zipped, enumerated or reversed.

A `Steps` can be a loop of the program: it knows how many steps there are, and the item of a step
whose number is traced. All other iterables run as in Python.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.dims import Dim
from weft.compiler.ir.dtypes import is_supported
from weft.compiler.ops import shape
from weft.compiler.ops.arithmetic import add, mul
from weft.frontends.numpy.masked.array import Selected
from weft.frontends.numpy.masked.parts import packed
from weft.frontends.tracing import core
from weft.frontends.tracing.bounds import is_same, note_bounds
from weft.frontends.tracing.intervals import note_interval
from weft.frontends.tracing.trace import Tracer

Count: TypeAlias = "int | Dim | Tracer"


@dataclass(frozen=True)
class TracedRange:
    """`range` with bounds of which some are traced."""

    start: Any
    stop: Any
    step: Any

    def __iter__(self) -> Iterator[Any]:
        raise _only_in_for("range(...) with traced bounds")

    def __len__(self) -> NoReturn:
        raise core.trace_error("the length of a range with traced bounds is traced too")

    @property
    def count(self) -> Tracer:
        """How many numbers it has."""
        start, stop, step = [_integer(part) for part in (self.start, self.stop, self.step)]
        if isinstance(self.step, int):
            away = 1 if self.step > 0 else -1
            steps = (stop - start + (self.step - away)) // self.step
        else:
            steps = -((start - stop) // step)
        counted: Tracer = np.maximum(steps, 0)
        return counted


@dataclass(frozen=True)
class SymbolicRange:
    """`range` with bounds of which some are symbolic sizes."""

    start: int | Dim
    stop: int | Dim
    step: int

    @classmethod
    def of(cls, *args: Any) -> SymbolicRange:
        """The range of the arguments of `range`."""
        start, stop = (0, args[0]) if len(args) == 1 else args[:2]
        step = args[2] if len(args) > 2 else 1
        if not isinstance(step, int) or step == 0:
            raise core.trace_error("the step of a range must be a Python int other than 0")
        return cls(start, stop, step)

    def __iter__(self) -> Iterator[Any]:
        raise _only_in_for("range(...) with symbolic sizes")

    @property
    def count(self) -> int | Dim:
        """How many numbers it has."""
        away = 1 if self.step > 0 else -1
        steps = dims.floor_divide(self.stop - self.start + (self.step - away), self.step)
        return dims.maximum(steps, 0)


@dataclass(frozen=True)
class Zipped:
    """`zip` of iterables of which some are arrays or ranges of the trace."""

    parts: tuple[Any, ...]

    def __iter__(self) -> Iterator[Any]:
        return builtins.zip(*self.parts, strict=False)


@dataclass(frozen=True)
class Enumerated:
    """`enumerate` of an array or range of the trace."""

    part: Any
    start: Any

    def __iter__(self) -> Iterator[Any]:
        return builtins.enumerate(self.part, self.start)


@dataclass(frozen=True)
class Indices:
    """The places of an array of a shape, in row-major order."""

    shape: tuple[Any, ...]

    def __iter__(self) -> Iterator[Any]:
        return iter(np.ndindex(self.shape))

    @property
    def count(self) -> int | Dim:
        return dims.product(self.shape)

    def at(self, number: Any) -> tuple[Any, ...]:
        """The place of a traced number."""
        place: list[Any] = []
        left = core.wrap(core.lift(number), weak=True)
        for axis in reversed(range(len(self.shape))):
            size: Any = self.shape[axis]
            place.append(left % size if axis else left)
            left = left // size
        return tuple(place[::-1])


@dataclass(frozen=True)
class LoopRequest:
    """An iterable with the user's word on whether it is to be a loop."""

    part: Any
    is_loop: bool

    def __iter__(self) -> Iterator[Any]:
        return iter(self.part)

    def __len__(self) -> int:
        return len(self.part)


def rolled(iterable: Any) -> Any:
    """The iterable; a `for` over it becomes a loop of the program, however short, where control
    flow is converted.

    >>> import weft as wf
    >>> f = wf.jit(lambda x: sum(x for _ in wf.unrolled(range(3))))
    >>> float(f(2.0))
    6.0
    """
    return LoopRequest(iterable, True)


def unrolled(iterable: Any) -> Any:
    """The iterable; a `for` over it is unrolled, however long, where control flow is converted."""
    return LoopRequest(iterable, False)


@dataclass(frozen=True)
class Steps:
    """A sequence that a loop can run over.

    `rows` is what a scan takes along its first axis, if `count` is known; `item` makes the item of
    a step from a row, `at` from the number of the step.
    """

    count: Count
    rows: Callable[[], Any]
    item: Callable[[Any], Any]
    at: Callable[[Any], Any]


def steps(iterable: Any) -> Steps | None:
    """How a loop runs over an iterable, or None if only Python can."""
    if isinstance(iterable, range):
        return _range(iterable)
    if isinstance(iterable, SymbolicRange):
        return _symbolic_range(iterable)
    if isinstance(iterable, TracedRange):
        return _traced_range(iterable)
    if isinstance(iterable, Tracer) and iterable.type.shape:
        return _array(iterable)
    if isinstance(iterable, Selected):
        return _selected(iterable)
    if isinstance(iterable, np.ndarray) and iterable.ndim and is_supported(iterable.dtype):
        return _array(core.wrap(core.lift(iterable)))
    if isinstance(iterable, Indices):
        count: Any = iterable.count
        numbers = functools.partial(_numbers, count)
        return Steps(count, numbers, iterable.at, iterable.at) if iterable.shape else None
    if isinstance(iterable, Enumerated):
        return _together([TracedRange(iterable.start, None, 1), iterable.part])
    if isinstance(iterable, Zipped):
        return _together(iterable.parts)
    return None


def _range(given: range) -> Steps:
    ends = (given.start, given[-1]) if given else (0, 0)

    def wrapped(number: Any) -> Any:
        note_interval(number, min(ends), max(ends))
        return core.wrap(number, weak=True)

    def number(k: Any) -> Any:
        return wrapped(_affine(core.lift(k), given.start, given.step))

    def rows() -> Tracer:
        iota = shape.iota(dtype=dtypes.i64, shape=(len(given),), axis=0)
        return core.wrap(_affine(iota, given.start, given.step))

    return Steps(len(given), rows, lambda row: wrapped(core.lift(row)), number)


def _symbolic_range(given: SymbolicRange) -> Steps:
    count, first = given.count, core.lift(given.start)

    def numbers(k: Any) -> Any:
        scaled = k if given.step == 1 else mul(k, core.full((), given.step, dtypes.i64))
        return add(scaled, first)

    def item(row: Any) -> Any:
        made = core.wrap(core.lift(row), weak=True)
        if given.step > 0:
            note_bounds(made, given.start, given.stop - 1)
        else:
            note_bounds(made, given.stop + 1, given.start)
        return made

    def rows() -> Any:
        return core.wrap(numbers(shape.iota(dtype=dtypes.i64, shape=(count,), axis=0)))

    return Steps(count, rows, item, lambda k: item(core.wrap(numbers(core.lift(k)))))


def _affine(value: Any, start: int, step: int) -> Any:
    scaled = value if step == 1 else mul(value, core.full((), step, dtypes.i64))
    return scaled if start == 0 else add(scaled, core.full((), start, dtypes.i64))


def _traced_range(given: TracedRange) -> Steps:
    start, step = _integer(given.start), _integer(given.step)

    def number(k: Any) -> Any:
        if given.stop is not None and is_same(given.step, 1):
            note_bounds(k, 0, given.stop - start - 1)
        return core.wrap(core.lift(start + k * step), weak=True)

    count: Any = None if given.stop is None else given.count

    def rows() -> Tracer:
        raise AssertionError("a scan needs a known number of steps")

    return Steps(count, rows, number, number)


def _array(array: Tracer) -> Steps:
    return Steps(array.type.shape[0], lambda: array, lambda row: row, lambda k: array[k])  # type: ignore[index]


def _selected(array: Selected) -> Steps:
    """Elements whose number is traced; those that a mask chose are brought side by side first."""
    near = array if array.chosen[0] is None else packed(array, 0)
    return Steps(near.shape[0], lambda: near, lambda row: row, lambda k: near[k])


def _together(parts: Sequence[Any]) -> Steps | None:
    """Sequences in step; the shortest ends it. A range without an end takes any length."""
    made = [steps(part) for part in parts]
    found = [one for one in made if one is not None]
    if len(found) < len(made):
        return None
    counts: list[Any] = [one.count for one in found if one.count is not None]
    is_known = not any(isinstance(count, Tracer) for count in counts)
    count: Any = functools.reduce(dims.minimum if is_known else _minimum, counts)

    def rows() -> tuple[Any, ...]:
        return (_numbers(count), *[_first(p.rows(), count) for p in found if p.count is not None])

    def item(row: Any) -> tuple[Any, ...]:
        number, given = core.wrap(core.lift(row[0]), weak=True), iter(row[1:])
        return tuple([p.at(number) if p.count is None else p.item(next(given)) for p in found])

    return Steps(count, rows, item, lambda k: tuple([p.at(k) for p in found]))


def _minimum(one: Any, other: Any) -> Any:
    return np.minimum(core.wrap(core.lift(one)), core.wrap(core.lift(other)))  # type: ignore[call-overload]


def _numbers(count: Any) -> Tracer:
    return core.wrap(shape.iota(dtype=dtypes.i64, shape=(count,), axis=0))


def _first(rows: Any, count: Any) -> Any:
    """The first rows of an array, or of each array of a tuple."""
    if isinstance(rows, tuple):
        return tuple([_first(part, count) for part in rows])
    return rows if rows.type.shape[0] == count else rows[:count]


def _integer(part: Any) -> Any:
    value = core.lift(part)
    if value.type.shape or not value.type.dtype.is_integer:
        raise core.trace_error(f"the bounds of a range are integers, got {value.type}")
    return core.wrap(core.cast(value, dtypes.i64))


def _only_in_for(what: str) -> Exception:
    return core.trace_error(
        f"{what} is used by something else than a `for` statement, whose number of steps may be "
        "traced; write a `for` statement, or wf.fori_loop"
    )
