"""`x[mask]` with a traced mask: the elements at which it is true, whose number is only known when
the program runs.

Nothing is moved: a `Selected` is the whole array and the mask. Functions of elements compute all of
them, reductions leave out those that were not chosen, and `y[mask] = x[mask] + 1` writes by mask.
What would need the elements side by side in memory is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NoReturn

import numpy as np

from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.graph import Constant, Result, Value
from weft.frontends.numpy.functions.axis_ops import iota
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import Tracer, current_trace, located, user_line

_SAME_DEPTH: Final = 1000

ELEMENTWISE: Final = frozenset(
    "angle around clip cbrt conj fix i0 imag interp iscomplex isclose isneginf isposinf isreal "
    "nan_to_num real round sinc where isin digitize polyval searchsorted".split()
)
"""Functions of elements that are no ufuncs."""


class Selected:
    """The elements of `whole` along one axis at which `mask`, of that axis's size, is true."""

    __slots__ = ("whole", "mask", "axis", "_is_filled", "_place")
    __array_priority__ = 3000.0
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, whole: Any, mask: Any, axis: int = 0, *, is_filled: bool = False) -> None:
        self.whole = whole
        self.mask = mask
        self.axis = axis
        self._is_filled = is_filled
        self._place = user_line()

    # --- what is known ---

    @property
    def dtype(self) -> np.dtype[Any]:
        kind: np.dtype[Any] = self.whole.dtype
        return kind

    @property
    def ndim(self) -> int:
        rank: int = self.whole.ndim
        return rank

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes; that along the chosen axis is a traced number."""
        sizes = list(self.whole.shape)
        sizes[self.axis] = self.count
        return tuple(sizes)

    @property
    def size(self) -> Any:
        """How many elements there are: a traced number."""
        others = [size for axis, size in enumerate(self.whole.shape) if axis != self.axis]
        return self.count * core.product(others) if others else self.count

    @property
    def count(self) -> Any:
        """How often the mask is true."""
        return np.count_nonzero(self.mask)

    @property
    def T(self) -> Selected:  # noqa: N802
        return self._moved(self.whole.T, self.ndim - 1 - self.axis)

    def __repr__(self) -> str:
        return f"Selected({self.whole.type} by {self.mask.type})"

    # --- the whole, with something harmless where elements were not chosen ---

    def filled(self) -> Any:
        """The whole with a chosen element in place of all others: what is finite for those that
        count is finite everywhere, so that no NaN reaches a derivative.
        """
        if self._is_filled or self.mask.shape[0] == 0:
            return self.whole
        first = np.expand_dims(np.take(self.whole, np.argmax(self.mask), axis=self.axis), self.axis)
        self.whole = np.where(self.wide_mask, self.whole, first)
        self._is_filled = True
        return self.whole

    def replaced(self, other: Any) -> Any:
        """The whole with a number in place of what was not chosen."""
        number = np.asarray(other, self.dtype)
        return np.where(self.wide_mask, self.whole, number)

    @property
    def wide_mask(self) -> Any:
        """The mask with axes of size 1 beside the chosen one."""
        return self.mask.reshape(*[-1 if a == self.axis else 1 for a in range(self.ndim)])

    def _moved(self, whole: Any, axis: int) -> Selected:
        return Selected(whole, self.mask, axis, is_filled=self._is_filled)

    # --- parts ---

    def __getitem__(self, key: Any) -> Any:
        return located(self._item, key)

    def _item(self, key: Any) -> Any:
        if isinstance(key, Selected):
            return self._chosen_again(key)
        items = list(key) if isinstance(key, tuple) else [key]
        if Ellipsis in [item for item in items if not isinstance(item, Tracer)]:
            place = next(i for i, item in enumerate(items) if item is Ellipsis)
            items[place : place + 1] = [slice(None)] * (self.ndim - len(items) + 1)
        items += [slice(None)] * (self.ndim - len(items))
        along = items[self.axis] if len(items) == self.ndim else None
        others = [item for axis, item in enumerate(items) if axis != self.axis]
        if any(not isinstance(item, slice | int | np.integer) for item in others):
            refuse("this index of it")
        if isinstance(along, slice) and along == slice(None):
            before = sum(isinstance(item, slice) for item in items[: self.axis])
            return self._moved(self.whole[tuple(items)], before)
        if isinstance(along, int | np.integer) or (
            isinstance(along, Tracer) and not along.type.rank
        ):
            items[self.axis] = self._index(along)
            return self.whole[tuple(items)]
        refuse("a slice or list of it")

    def _index(self, number: Any) -> Any:
        """Where the element of that number is in the whole; behind its end if there is none."""
        running = np.cumsum(self.mask)
        wanted = np.where(number < 0, number + running[-1], number)
        found = np.searchsorted(running, wanted + 1)
        return np.where(wanted < 0, self.mask.shape[0], found)

    def _chosen_again(self, key: Selected) -> Selected:
        if key.dtype != np.bool_ or key.ndim != 1 or self.axis != 0:
            refuse("this index of it")
        require_same((self, key))
        return Selected(self.whole, self.mask & key.whole, 0)

    # --- methods ---

    def astype(self, dtype: Any, **_: Any) -> Selected:
        """As `numpy.ndarray.astype`."""
        return self._moved(self.whole.astype(dtype), self.axis)

    def copy(self, order: str = "C") -> Selected:
        """As `numpy.ndarray.copy`."""
        return self._moved(self.whole, self.axis)

    def ravel(self, order: str = "C") -> Selected:
        """As `numpy.ndarray.ravel`, of one axis."""
        return self.copy() if self.ndim == 1 else refuse("np.ravel of more than one axis of it")

    flatten = ravel

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        functions = current_trace().surface.masked()
        return located(functions.apply_ufunc, ufunc, method, inputs, kwargs)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        functions = current_trace().surface.masked()
        return located(functions.apply_function, function, args, kwargs)

    # --- what needs the number of elements ---

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise _needed("an array of it (as a result, or in np.array)").at(self._place)

    def __len__(self) -> int:
        refuse("len()", "np.count_nonzero(mask), or x[mask].size")

    def __iter__(self) -> NoReturn:
        refuse("a Python `for` over it", "a `for` over all elements, with an `if`")

    def __bool__(self) -> bool:
        refuse("a Python bool of it", "x[mask].any() or x[mask].all()")

    def __setitem__(self, key: Any, new: Any) -> None:
        refuse("a write to it, which would change a copy,", "x[i] = v on the whole array")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f".{name} is no attribute of arrays")
        refuse(f".{name}")


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
        return made.astype(self.dtype)

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
    "sum prod mean var std max min any all argmax argmin cumsum cumprod clip round dot".split()
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


# --- agreement ------------------------------------------------------------------------------------


def require_same(selections: Iterable[Selected]) -> None:
    """Refuse arrays that were chosen by different masks."""
    first, *others = selections
    for other in others:
        if not _is_same(core.lift(first.mask), core.lift(other.mask)):
            raise core.trace_error(
                "x[a] and y[b] are combined, and that the masks a and b are the same is not plain "
                "while tracing; keep the mask in a variable and use it for both"
            )


def _is_same(left: Value, right: Value) -> bool:
    """Whether two values are made in the same way of the same."""
    pairs, steps = [(left, right)], 0
    while pairs:
        one, other = pairs.pop()
        steps += 1
        if one is other:
            continue
        if isinstance(one, Constant) and isinstance(other, Constant):
            if one.type == other.type and np.array_equal(one.array, other.array):
                continue
            return False
        if not (isinstance(one, Result) and isinstance(other, Result)) or steps > _SAME_DEPTH:
            return False
        if not _are_alike(one, other):
            return False
        pairs += zip(one.op.operands, other.op.operands, strict=True)
    return True


def _are_alike(one: Result, other: Result) -> bool:
    return (
        one.op.definition is other.op.definition
        and one.index == other.index
        and not one.op.regions
        and one.op.attributes == other.op.attributes
        and len(one.op.operands) == len(other.op.operands)
    )


def refuse(what: str, instead: str = "") -> NoReturn:
    """Refuse something that the number of elements would have to be known for."""
    raise _needed(what, instead).at(user_line())


def _needed(what: str, instead: str = "") -> TraceError:
    ways = "np.where(mask, x, other), which keeps the shape, a reduction such as x[mask].sum(), "
    return TraceError(
        f"the number of elements of x[mask] is only known when the program runs, and {what} needs "
        f"it; use {instead or ways + 'or weft.numpy.compress(mask, x, size=n, fill_value=v)'}"
    )


def positions(condition: Any) -> tuple[Selected, ...]:
    """What `numpy.nonzero` gives: where a traced array is true, along each axis."""
    if not condition.shape:
        raise core.trace_error("nonzero needs an array of rank 1 or more; use atleast_1d first")
    mask = condition.reshape(-1) != 0 if condition.dtype != np.bool_ else condition.reshape(-1)
    sizes = condition.shape
    found = [core.reshape(iota(sizes, axis), mask.type.shape) for axis in range(len(sizes))]
    return tuple([Selected(core.wrap(axis), mask) for axis in found])


def rows_of(found: tuple[Selected, ...]) -> Selected:
    """What `numpy.argwhere` gives of these positions."""
    return Selected(np.stack([axis.whole for axis in found], axis=1), found[0].mask)
