"""Arrays whose sizes are only known when the program runs: `x[mask]` with a traced mask, `x[:i]`
with a traced bound.

A `Selected` is an array of static sizes that holds the elements, and for each axis which of them
are chosen (`choice`). Functions of elements compute all of them, reductions leave out those that
were not chosen, and writes go to those that were. A slice is a view: it sees what is written to its
array, and writes to it. Returned from a program it has its true size.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import numpy as np

from weft.compiler.ir.errors import ShapeError, TraceError
from weft.compiler.ops import logic
from weft.compiler.ops.conversion import stop_gradient
from weft.frontends.numpy.functions.axis_ops import iota
from weft.frontends.numpy.masked.choice import Choice, Mask
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import current_trace, located, user_line


@dataclass(eq=False, repr=False)
class Selected:
    """The elements of `whole` that are chosen along its axes; None: all along that axis."""

    whole: Any
    chosen: tuple[Choice | None, ...]

    __array_priority__ = 3000.0
    __hash__ = None  # type: ignore[assignment]

    # --- what is known ---

    @property
    def dtype(self) -> np.dtype[Any]:
        kind: np.dtype[Any] = self.whole.dtype
        return kind

    @property
    def ndim(self) -> int:
        return len(self.chosen)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes; those along chosen axes are traced numbers."""
        return tuple(
            [
                size if choice is None else choice.count()
                for size, choice in zip(self.whole.shape, self.chosen, strict=True)
            ]
        )

    @property
    def size(self) -> Any:
        """How many elements there are: a traced number."""
        made: Any = 1
        for size in self.shape:
            made = made * size
        return made

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes along which elements are chosen."""
        return tuple([axis for axis, choice in enumerate(self.chosen) if choice is not None])

    @property
    def T(self) -> Selected:  # noqa: N802
        return Selected(self.whole.T, self.chosen[::-1])

    def __repr__(self) -> str:
        chosen = [type(choice).__name__ for choice in self.chosen if choice is not None]
        return f"Selected({self.whole!r} by {', '.join(chosen)})"

    def __of_children__(self) -> Any:
        """What users see: the elements, where they are known."""
        parts = [
            part
            for choice in self.chosen
            if choice is not None
            for part in (
                (choice.flags,) if isinstance(choice, Mask) else (choice.start, choice.stop)
            )
        ]
        if getattr(self.whole, "ndim", self.ndim) != self.ndim:
            raise ShapeError(
                "an array whose size is only known when the program runs cannot be one of a "
                "batch, as each would have a size of its own: return a reduction of it, or the "
                "whole array and a mask or a count"
            )
        if not all(isinstance(part, np.ndarray | np.generic) for part in (self.whole, *parts)):
            return self
        made = np.asarray(self.whole)
        for axis, choice in enumerate(self.chosen):
            if choice is not None:
                made = made[(slice(None),) * axis + (_known_key(choice),)]
        return made

    # --- the whole, with something harmless where elements were not chosen ---

    def mask(self, axes: tuple[int, ...] | None = None) -> Any:
        """Whether elements are chosen along some of the axes (None: all), to broadcast to the
        whole.
        """
        masks = [
            condition
            for axis in (self.axes if axes is None else axes)
            if (choice := self.chosen[axis]) is not None
            for condition in choice.conditions(tuple(self.whole.shape), axis)
        ]
        return functools.reduce(operator.and_, masks) if masks else None

    def gated(self) -> Any:
        """The whole; no derivative flows through elements that were not chosen, so that no NaN of
        theirs reaches it.
        """
        if self.__dict__.get("_is_gated"):
            return self.whole
        return gate(self.whole, self.mask())

    def replaced(self, other: Any, axes: tuple[int, ...] | None = None) -> Any:
        """The whole with a number in place of what was not chosen."""
        mask = self.mask(axes)
        return (
            self.whole
            if mask is None
            else np.where(mask, self.whole, np.asarray(other, self.dtype))
        )

    @classmethod
    def of_gated(cls, whole: Any, chosen: tuple[Choice | None, ...]) -> Any:
        """What functions of elements made of gated arrays; a plain array if nothing is chosen."""
        if not any(chosen):
            return whole
        made = cls(whole, chosen)
        made.__dict__["_is_gated"] = True
        return made

    # --- parts ---

    def note_origin(self, array: Any, key: Any) -> None:
        """Note that it is a view, which this key gave of an array."""
        self.__dict__["_origin"] = array, key

    def is_from(self, array: Any, key: Any) -> bool:
        """Whether it is the view that this key, the same object, gave of an array."""
        origin = self.__dict__.get("_origin")
        return origin is not None and origin[0] is array and origin[1] is key

    def __getitem__(self, key: Any) -> Any:
        return located(_functions().item, self, key)

    def __setitem__(self, key: Any, new: Any) -> None:
        located(_functions().set_item, self, key, new)

    def assign(self, new: Any) -> None:
        """Write to the chosen elements, as far as NumPy could."""
        self.whole[...] = _functions().written_over(self, new)

    # --- methods ---

    def astype(self, dtype: Any, **_: Any) -> Selected:
        """As `numpy.ndarray.astype`."""
        return Selected(self.whole.astype(dtype), self.chosen)

    def copy(self, order: str = "C") -> Selected:
        """As `numpy.ndarray.copy`."""
        return Selected(self.whole.copy(), self.chosen)

    __copy__ = copy

    def ravel(self, order: str = "C") -> Selected:
        """As `numpy.ndarray.ravel`, of one axis."""
        return self if self.ndim == 1 else refuse("np.ravel of more than one axis of it")

    def flatten(self, order: str = "C") -> Selected:
        """As `numpy.ndarray.flatten`, of one axis."""
        return self.ravel().copy()

    def fill(self, value: Any) -> None:
        """As `numpy.ndarray.fill`: a write in place."""
        located(self.assign, value)

    def transpose(self, *axes: Any) -> Selected:
        """As `numpy.ndarray.transpose`."""
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order = core.normalize_axes(given or tuple(range(self.ndim))[::-1], self.ndim)
        return Selected(self.whole.transpose(order), tuple([self.chosen[a] for a in order]))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return located(_functions().apply_ufunc, ufunc, method, inputs, kwargs)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        return located(_functions().apply_function, function, args, kwargs)

    # --- what needs the number of elements ---

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        refuse("a NumPy array of it")

    def __len__(self) -> int:
        refuse("len()", "np.count_nonzero(mask), or .size of it")

    def __iter__(self) -> NoReturn:
        refuse("a Python `for` over it", "a `for` over all elements, with an `if`")

    def __bool__(self) -> bool:
        refuse("a Python bool of it", ".any() or .all() of it")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f".{name} is no attribute of arrays")
        refuse(f".{name}")


def _functions() -> Any:
    """NumPy's functions of arrays of such sizes."""
    return current_trace().surface.masked()


def gate(array: Any, mask: Any) -> Any:
    """The array; derivatives pass only where the mask, which broadcasts to it, is true."""
    value = core.lift(array)
    if mask is None or not value.type.dtype.is_inexact:
        return array
    shape = core.broadcast_shapes(value.type.shape, mask.type.shape)
    value = core.broadcast_value(value, shape)
    chosen = core.broadcast_value(core.lift(mask), shape)
    return core.wrap(logic.select(chosen, value, stop_gradient(value)))


def _known_key(choice: Choice) -> Any:
    if isinstance(choice, Mask):
        return np.asarray(choice.flags)
    return slice(int(choice.start), int(choice.stop), choice.step)


def _operator(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    return lambda self, other: ufunc(self, other)


def _reflected(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    return lambda self, other: ufunc(other, self)


def _in_place(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def method(self: Selected, other: Any) -> Any:
        made = ufunc(self, other)
        if not np.can_cast(made.dtype, self.dtype, "same_kind"):
            raise core.trace_error(
                f"an in-place {ufunc.__name__} makes {made.dtype}, which does not fit into "
                f"{self.dtype}"
            )
        located(self.assign, made)
        return self

    return method


def _method(name: str) -> Callable[..., Any]:
    function = getattr(np, name)
    return lambda self, *args, **kwargs: function(self, *args, **kwargs)


_OPERATORS: Final = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "matmul": np.matmul,
}
_COMPARISONS: Final = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
_UNARY: Final = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
_METHODS: Final = (
    "sum prod mean var std max min any all argmax argmin cumsum cumprod clip round dot nonzero "
    "searchsorted argsort".split()
)

for _name, _ufunc in _OPERATORS.items():
    setattr(Selected, f"__{_name}__", _operator(_ufunc))
    setattr(Selected, f"__r{_name}__", _reflected(_ufunc))
    if _name != "matmul":
        setattr(Selected, f"__i{_name}__", _in_place(_ufunc))
for _name, _ufunc in _COMPARISONS.items():
    setattr(Selected, f"__{_name}__", _operator(_ufunc))
for _name, _ufunc in _UNARY.items():
    setattr(Selected, f"__{_name}__", lambda self, ufunc=_ufunc: ufunc(self))
for _name in _METHODS:
    setattr(Selected, _name, _method(_name))


def refuse(what: str, instead: str = "") -> NoReturn:
    """Refuse something that the number of elements would have to be known for."""
    ways = "np.where(mask, x, other), which keeps the shape, a reduction such as x[mask].sum(), "
    raise TraceError(
        "the number of elements of this array (x[mask] or a slice with traced bounds) is only "
        f"known when the program runs, and {what} needs it; use "
        f"{instead or ways + 'or weft.numpy.compress(mask, x, size=n, fill_value=v)'}"
    ).at(user_line())


def positions(condition: Any) -> tuple[Selected, ...]:
    """What `numpy.nonzero` gives: where a traced array is true, along each axis."""
    if not condition.shape:
        raise core.trace_error("nonzero needs an array of rank 1 or more; use atleast_1d first")
    flat = condition.reshape(-1)
    flags = Mask(flat != 0 if condition.dtype != np.bool_ else flat.copy())
    sizes = condition.shape
    found = [core.reshape(iota(sizes, axis), flat.type.shape) for axis in range(len(sizes))]
    return tuple([Selected(core.wrap(axis), (flags,)) for axis in found])


def rows_of(found: tuple[Selected, ...]) -> Selected:
    """What `numpy.argwhere` gives of these positions."""
    return Selected(np.stack([axis.whole for axis in found], axis=1), (found[0].chosen[0], None))
