"""`x.flat` of a traced array: its elements in row-major order, read, written and iterated over.

As in NumPy it is an iterator, no array: what is read is a copy, what is written goes to the array,
whatever it is a view of. How far an iterator has come is not kept, so it can be used once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

import numpy as np

from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Value
from weft.frontends.numpy.functions import indexing, manipulation, resizing
from weft.frontends.numpy.keys import with_known
from weft.frontends.numpy.masked import indexing as masked_indexing
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import ArrayLike, Tracer, current_trace, located

_SPELLING: Final = "x = x.reshape(-1).at[...].set(...).reshape(x.shape)"


class Flat:
    """What `x.flat` is."""

    __slots__ = ("base", "_is_used")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, base: Tracer) -> None:
        self.base = base
        self._is_used = False

    def __len__(self) -> int:
        size: Size = self.base.type.size
        if not isinstance(size, int):
            raise core.trace_error(f"len() needs the size {size}; use x.size")
        return size

    def elements(self) -> Any:
        """The elements as an array of rank 1, which shares nothing with the array."""
        return core.wrap(_raveled(self.base))

    copy = elements

    def taken(self) -> Any:
        """The elements for somebody who iterates over them, which is done once."""
        if self._is_used:
            raise core.trace_error(
                "x.flat is an iterator, and this one was used before; write x.flat again, or take "
                "x.ravel()"
            )
        self._is_used = True
        return self.elements()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.taken())

    def __next__(self) -> NoReturn:
        raise core.trace_error("next() of x.flat is not traced; write a `for`, or x.flat[i]")

    def __getitem__(self, key: Any) -> Any:
        elements, key = self.elements(), with_known(key)
        if masked_indexing.is_sized_key(key):
            return elements[key]
        return current_trace().wrap(located(indexing.getitem, elements, key))

    def __setitem__(self, key: Any, new: ArrayLike) -> None:
        value = located(self._written, with_known(key), new)
        self.base.assign(value, _SPELLING)

    def _written(self, key: Any, new: ArrayLike) -> Value:
        """The array after a write; too few values are taken in turn, those too many are left."""
        flat = self.elements()
        values = core.wrap(_raveled(core.wrap(core.lift(_of(new)))))
        if masked_indexing.is_sized_key(key):
            made = masked_indexing.written(flat, key, values)
        else:
            target = indexing.getitem(flat, key).type.shape
            made = indexing.update(flat, key, _fitted(values, target))
        return core.reshape(made, self.base.type.shape)

    def __eq__(self, other: object) -> Any:
        return self.elements() == _of(other)

    def __ne__(self, other: object) -> Any:
        return self.elements() != _of(other)

    def __lt__(self, other: Any) -> Any:
        return self.elements() < _of(other)

    def __le__(self, other: Any) -> Any:
        return self.elements() <= _of(other)

    def __gt__(self, other: Any) -> Any:
        return self.elements() > _of(other)

    def __ge__(self, other: Any) -> Any:
        return self.elements() >= _of(other)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        given = {name: _of(value) for name, value in kwargs.items()}
        return function(*[_of(arg) for arg in args], **given)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        made: np.ndarray[Any, Any] = self.elements().__array__(dtype, copy)
        return made

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("index", "coords"):
            raise core.trace_error(f"x.flat.{name} is not traced; use np.ndenumerate(x)")
        raise AttributeError(f".{name} is no attribute of x.flat; use x.ravel()")


def _of(value: Any) -> Any:
    return value.elements() if isinstance(value, Flat) else value


def _raveled(array: Tracer) -> Value:
    return manipulation.reshape(core.wrap(core.lift(array)), -1).value


def _fitted(values: Any, target: Any) -> Any:
    """Values for a target of rank 0 or 1."""
    (count,) = values.type.shape
    if not target:
        if count != 1:
            raise core.trace_error(f"one element of x.flat is set to {values.type}")
        return values.reshape(())
    if count in (1, target[0]):
        return values
    if count == 0:
        raise core.trace_error("x.flat is set to no values")
    return resizing.resize(values, target)
