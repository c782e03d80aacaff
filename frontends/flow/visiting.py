"""NumPy's iterators over the places of arrays: `np.ndindex`, `np.ndenumerate`, `np.nditer` and the
shape of `np.broadcast`.

The first two are sequences that loops of the program can run over, the third is one if it only
reads. In which order `np.nditer` comes by, NumPy itself says, of arrays with the same strides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Final, NoReturn, Self

import numpy as np

from weft.frontends.flow.iteration import Indices, Zipped
from weft.frontends.numpy.flat import Flat
from weft.frontends.numpy.functions.namespace import BY_NUMPY
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import Tracer

_FLAGS: Final = frozenset(("multi_index", "c_index", "f_index", "refs_ok", "zerosize_ok"))
_OPERAND_FLAGS: Final = frozenset(
    ("readonly", "readwrite", "writeonly", "allocate", "no_broadcast", "no_subtype")
)
MOST_VISITED: Final = 4096
"""Steps of an `np.nditer` that writes, each of which becomes ops of its own."""


def ndindex(*shape: Any) -> Any:
    """What `np.ndindex(...)` is: its steps can be a loop of the program."""
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    return OnlyOnce(Indices(core.as_shape(sizes)), "np.ndindex(...)")


def ndenumerate(arr: Any) -> Any:
    """What `np.ndenumerate(x)` is for a traced array."""
    if not isinstance(arr, Tracer):
        return np.ndenumerate(arr)
    pairs = Zipped((Indices(arr.type.shape), Flat(arr).elements()))
    return OnlyOnce(pairs, "np.ndenumerate(x)")


class OnlyOnce:
    """An iterator over a sequence that a loop can run over; as how far it has come is not kept, it
    is run over once.
    """

    def __init__(self, sequence: Any, what: str) -> None:
        self._sequence = sequence
        self._what = what
        self._started: Iterator[Any] | None = None
        self._is_used = False

    def taken(self) -> Any:
        """What a `for` statement runs over."""
        if self._is_used or self._started is not None:
            raise core.trace_error(
                f"{self._what} is an iterator, and this one was used before; write it again"
            )
        self._is_used = True
        return self._sequence

    def __iter__(self) -> Iterator[Any]:
        if self._started is None:
            self._started = iter(self.taken())
        return self._started

    def __next__(self) -> Any:
        return next(iter(self))


class Broadcast:
    """What `np.broadcast(...)` tells of traced arrays: their common shape."""

    def __init__(self, *arrays: Any) -> None:
        parts: list[Any] = [core.lift(array).type.shape for array in arrays]
        self.shape = core.broadcast_shapes(*parts)
        self.nd = self.ndim = len(self.shape)
        self.size = core.product(self.shape)
        self.numiter = len(arrays)

    def __iter__(self) -> NoReturn:
        raise core.trace_error(
            "np.broadcast of traced arrays is not run over; use zip of np.broadcast_arrays"
        )


class NDIter:
    """`np.nditer` of arrays of which some are traced."""

    def __init__(
        self,
        op: Any,
        flags: Sequence[str] | None = None,
        op_flags: Any = None,
        op_dtypes: Any = None,
        order: str = "K",
        casting: str = "safe",
        op_axes: Any = None,
        itershape: Any = None,
        buffersize: int = 0,
    ) -> None:
        given = list(op) if isinstance(op, list | tuple) else [op]
        _require(set(flags or ()) <= _FLAGS, f"flags={flags}")
        _require(op_dtypes is op_axes is itershape is None, "op_dtypes, op_axes or itershape")
        wanted = _operand_flags(op_flags, given)
        self._is_written = [not {"readwrite", "writeonly"}.isdisjoint(each) for each in wanted]
        models = [_model(operand) for operand in given]
        chosen = ["multi_index", "zerosize_ok", *[f for f in flags or () if f.endswith("_index")]]
        plain = np.nditer(models, sorted({*chosen}), wanted, order=order)  # type: ignore[call-overload]
        self._has_index = any(flag in ("c_index", "f_index") for flag in flags or ())
        self._has_places = "multi_index" in (flags or ())
        self.shape: tuple[int, ...] = plain.shape
        self.ndim, self.nop = len(self.shape), len(given)
        self.itersize = math.prod(self.shape)
        _require(
            not any(self._is_written) or self.itersize <= MOST_VISITED,
            f"writes at more than {MOST_VISITED:,} places",
        )
        self._places: list[tuple[int, ...]] = []
        self._indices: list[int] = []
        while not plain.finished:
            self._places.append(plain.multi_index)
            self._indices.append(plain.index if self._has_index else 0)
            plain.iternext()
        common = core.result_dtype(*[each for each in given if each is not None]).numpy
        self.operands = tuple(
            BY_NUMPY[np.zeros](self.shape, common) if each is None else each for each in given
        )
        self.position: int = 0

    def move_to(self, position: int) -> None:
        """Be at another step."""
        self.position = position

    def taken(self) -> Any:
        """What a `for` statement runs over: arrays, if nothing is written and asked for."""
        if self.position or any(self._is_written) or self._has_index or self._has_places:
            return self
        self.position = self.itersize
        arrays = [self._in_order(operand) for operand in self.operands]
        return arrays[0] if len(arrays) == 1 else Zipped(tuple(arrays))

    def _in_order(self, operand: Any) -> Any:
        """The elements of an operand as they come."""
        spread = BY_NUMPY[np.broadcast_to](operand, self.shape)
        flat = BY_NUMPY[np.reshape](spread, -1)
        numbers = [int(np.ravel_multi_index(place, self.shape)) for place in self._places if place]
        if numbers == list(range(len(numbers))):
            return flat
        return flat[np.array(numbers)]

    @property
    def finished(self) -> bool:
        return self.position >= len(self._places)

    @property
    def multi_index(self) -> tuple[int, ...]:
        _require(self._has_places, "multi_index without the flag")
        return self._places[self.position]

    @property
    def index(self) -> int:
        _require(self._has_index, "index without the flag")
        return self._indices[self.position]

    @property
    def iterindex(self) -> int:
        return self.position

    @property
    def value(self) -> Any:
        values = tuple([self[number] for number in range(self.nop)])
        return values[0] if self.nop == 1 else values

    def __len__(self) -> int:
        return self.nop

    def __getitem__(self, number: int) -> Any:
        operand = self.operands[number]
        place = self._places[self.position]
        sizes = operand.shape
        inner = place[len(place) - len(sizes) :]
        key = [0 if size == 1 else k for k, size in zip(inner, sizes, strict=True)]
        return operand[(*key, ...)] if self._is_written[number] else operand[tuple(key)]

    def __setitem__(self, number: int, new: Any) -> None:
        self[number][...] = new

    def iternext(self) -> bool:
        self.position += 1
        return not self.finished

    def reset(self) -> None:
        self.position = 0

    def __iter__(self) -> Iterator[Any]:
        while not self.finished:
            yield self.value
            self.iternext()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def close(self) -> None:
        return None


def nditer(op: Any, *args: Any, **kwargs: Any) -> Any:
    """What `np.nditer(...)` is."""
    parts = op if isinstance(op, list | tuple) else (op,)
    is_traced = any(isinstance(part, Tracer) for part in parts)
    return (NDIter if is_traced else np.nditer)(op, *args, **kwargs)


def broadcast(*arrays: Any) -> Any:
    """What `np.broadcast(...)` is."""
    is_traced = any(isinstance(array, Tracer) for array in arrays)
    return (Broadcast if is_traced else np.broadcast)(*arrays)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise core.trace_error(
            f"np.nditer of traced arrays: {what} is not traced; use np.ndindex, np.ndenumerate or "
            "x.flat"
        )


def _operand_flags(op_flags: Any, given: Sequence[Any]) -> list[list[str]]:
    """The flags of each operand."""
    if op_flags is None:
        return [["writeonly", "allocate"] if each is None else ["readonly"] for each in given]
    listed = list(op_flags)
    if all(isinstance(flag, str) for flag in listed):
        return [listed] * len(given)
    _require(all(set(each) <= _OPERAND_FLAGS for each in listed), f"op_flags={op_flags}")
    return [list(each) for each in listed]


def _model(operand: Any) -> Any:
    """An array of NumPy with the shape and strides of an operand."""
    if not isinstance(operand, Tracer):
        return operand
    sizes = operand.memory.type.shape
    _require(all(isinstance(size, int) for size in sizes), "a size that is not known")
    model: Any = np.empty(sizes, np.bool_)
    try:
        for view in operand.path:
            model = view.like(model)
    except ValueError:
        _require(False, "an array that is a copy in NumPy")
    return model
