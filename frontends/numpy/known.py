"""Arrays that a converted function makes with NumPy: known while nothing traced was written to
them, and arrays of the trace from then on, under all their names.

While it is known such an array computes as NumPy's, at once: it can be a shape, an index or a
condition. Once a traced value is written to it, or a branch or loop body of the program writes to
it, it becomes a traced array, and so do the arrays that share memory with it. That is refused where
somebody else holds the memory, who would not see the writes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, Self
from weakref import ref

import numpy as np

from weft.compiler.ir.dtypes import dtype as as_dtype
from weft.compiler.ir.dtypes import is_supported
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ir.types import ArrayType
from weft.frontends.numpy import views
from weft.frontends.numpy.array import IN_PLACE, TracedArray
from weft.frontends.numpy.functions import indexing
from weft.frontends.numpy.keys import is_basic
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import Trace, Tracer, TracerView, current_trace

_ABSENT: Final = Constant(np.zeros(()))
_ROOT_REFERENCES: Final = 3  # the attribute, a variable here, and that of `getrefcount`
_LARGE: Final = 1024  # elements; larger arrays of one number become a fill, not a constant


class KnownArray(TracedArray):
    """An array that is known until something traced is written to it."""

    __slots__ = ("_array", "_frozen", "_origin", "_views")

    def __init__(self, trace: Trace, array: np.ndarray[Any, Any], origin: Self | None = None):
        super().__init__(trace, _ABSENT)
        self._array: np.ndarray[Any, Any] | None = array
        self._frozen: Constant | None = None
        self._origin = origin
        self._views: list[ref[KnownArray]] = []
        if origin is not None:
            origin._views.append(ref(self))

    # --- what traces ask for ---

    @property
    def type(self) -> ArrayType:
        if self._array is None:
            return self._value.type
        return ArrayType(as_dtype(self._array.dtype), self._array.shape)

    @property
    def value(self) -> Value:
        return self._constant if self._array is not None else super().value

    @property
    def known(self) -> np.ndarray[Any, Any] | None:
        return None if self._array is None else self._constant.array

    @property
    def _constant(self) -> Constant:
        """The elements as of now."""
        assert self._array is not None
        if self._frozen is None:
            self._frozen = Constant(self._array)
        return self._frozen

    def assign(self, value: Value, spelling: str) -> None:
        self.become_traced()
        super().assign(value, spelling)

    def require_writable(self, spelling: str) -> None:
        self.become_traced()
        super().require_writable(spelling)

    def become_traced(self) -> None:
        """Be an array of the trace, and all that share memory with it."""
        root = self if self._origin is None else self._origin
        if root._array is None:
            return
        shared = [view for view in root._family_of_views()[1:] if view._array is not None]
        root._require_sole_owner(shared)
        home = root._home_now()
        memory, root._array, root._frozen = root._array, None, None
        root.region_trace = home
        root._value = _content(memory, home)
        for view in shared:
            view._follow(root, memory)

    def _require_sole_owner(self, shared: list[KnownArray]) -> None:
        """Raise if the memory is held by others than arrays of this kind."""
        held = self._array
        others = sys.getrefcount(held) - _ROOT_REFERENCES - len(shared)
        for view in shared:
            part = view._array
            others += sys.getrefcount(part) - _ROOT_REFERENCES
        if others > 0:
            raise core.trace_error(
                "a traced value is written to a NumPy array to which others than the function's "
                "variables refer as well (an iterator over it, a library, an object that took its "
                "memory), and these would not see it; take a .copy() or make it with "
                "weft.numpy.array"
            )

    def _follow(self, root: KnownArray, memory: np.ndarray[Any, Any]) -> None:
        """Be a view of an array that has become traced."""
        part = self._array
        assert part is not None
        if part.dtype != memory.dtype:
            raise core.trace_error(
                "a traced value is written to an array whose memory is read as another dtype too; "
                "take a .copy()"
            )
        self._value, self._array, self._frozen = Constant(part), None, None
        self._view = _view_by_place(root, memory, part)
        self._root, self._version = root, -1
        self.region_trace = root.region_trace

    def _home_now(self) -> Trace:
        """The trace that the array belongs to: the innermost one around where it was made that is
        not done.
        """
        here = current_trace()
        home: Trace | None = (self if self._origin is None else self._origin).region_trace
        while home is not None and (home.finished or not here.is_inside(home)):
            home = home.parent
        return here if home is None else home

    def _is_written_now(self, *operands: Any) -> np.ndarray[Any, Any] | None:
        """The memory for a write that happens for certain, of known values; None if it is one of
        the program, for which this has become a traced array.
        """
        if self._array is not None:
            if not holds_unknown(operands) and self._home_now() is current_trace():
                for each in (self, *self._family_of_views()):
                    each._frozen = None
                return self._array
            self.become_traced()
        return None

    def _family_of_views(self) -> list[KnownArray]:
        root = self if self._origin is None else self._origin
        alive = [view for view in [each() for each in root._views] if view is not None]
        root._views = [ref(view) for view in alive]
        return [root, *alive]

    # --- reading and writing ---

    def __getitem__(self, key: Any) -> Any:
        if self._array is None:
            return super().__getitem__(key)
        if not holds_unknown(key):
            return _result(self._array[plain(key)], (self,))
        if is_basic(key) and _leaves_axes(key, self._array.ndim):
            self.become_traced()
        return super().__getitem__(key)

    def __setitem__(self, key: Any, new: Any) -> None:
        memory = self._is_written_now(key, new)
        if memory is None:
            super().__setitem__(key, new)
        else:
            memory[plain(key)] = plain(new)

    def __iter__(self) -> Iterator[Any]:
        if self._array is None:
            return super().__iter__()
        if not self._array.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[number] for number in range(len(self)))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        if self._array is None:
            return super().__array__(dtype, copy)
        array = self._constant.array
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __getattr__(self, name: str) -> Any:
        if self._array is not None and name in _LAYOUT:
            return getattr(self._array, name)
        return super().__getattr__(name)

    # --- NumPy's protocols ---

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out", ())
        targets = [*out, *(inputs[:1] if method == "at" else ())]
        if _is_known_write(targets, (inputs, kwargs)):
            made = getattr(ufunc, method)(*plain(inputs), **_with_memory(kwargs, out))
            return _result(made, (*inputs, *out)) if method != "at" else made
        return super().__array_ufunc__(ufunc, method, *_frozen(inputs, targets), **kwargs)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        name = getattr(function, "__name__", "")
        writes = name in IN_PLACE or views.keeps_array(name, args, kwargs)
        out = kwargs.get("out")
        outs = out if isinstance(out, tuple) else (out,)
        targets = [each for each in (*outs, *(args[:1] if writes else ())) if each is not None]
        if _is_known_write(targets, (args, kwargs)):
            made = function(*plain(args), **plain(kwargs))
            return _result(made, (*leaves(args), *leaves(kwargs)))
        if name in views.FUNCTIONS:
            shared = args if name in _OF_SEVERAL else args[:1]
            targets += [each for each in leaves(shared) if isinstance(each, KnownArray)]
            for each in targets:
                if isinstance(each, KnownArray):
                    each.become_traced()
        return super().__array_function__(
            function, types, _frozen(args, targets), _frozen(kwargs, targets)
        )


def born(made: Any, given: Any) -> Any:
    """What NumPy has made, arrays that nobody else holds as known arrays of the trace."""
    if isinstance(made, tuple) and type(made) is tuple:
        parts = list(made)
        del made
        return tuple([_born(parts, number, given) for number in range(len(parts))])
    if type(made) is list:
        return [_born(made, number, given) for number in range(len(made))]
    parts = [made]
    del made
    return _born(parts, 0, given)


def _born(parts: list[Any], number: int, given: Any) -> Any:
    array = parts[number]
    if type(array) is not np.ndarray or not array.ndim or not is_supported(array.dtype):
        return array
    if any(array is each or array.base is each for each in leaves(given)):
        return array
    if array.base is not None:
        if type(array.base) is not np.ndarray or sys.getrefcount(array.base) > 2:
            return array
        return KnownArray(current_trace(), array.copy())
    return KnownArray(current_trace(), array) if array.flags.c_contiguous else array


def call_on_memory(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A function that takes NumPy's own arrays only, and may write to them, as `rng.shuffle(x)`."""
    given = [leaf for leaf in leaves((args, kwargs)) if isinstance(leaf, KnownArray)]
    if all(array._is_written_now() is not None for array in given):
        return born(function(*plain(args), **plain(kwargs)), (plain(args), plain(kwargs)))
    return function(*args, **kwargs)


def plain(value: Any) -> Any:
    """A value with NumPy's arrays in place of known ones, the memory itself."""
    return _mapped(value, lambda each: each._array)


def _frozen(value: Any, targets: list[Any]) -> Any:
    """A value with copies of known arrays in place of them, but of those that are written to."""
    kept = [id(target) for target in targets]
    for target in targets:
        if isinstance(target, KnownArray):
            target.become_traced()
    return _mapped(value, lambda each: each if id(each) in kept else each.known)


def _mapped(value: Any, change: Callable[[KnownArray], Any]) -> Any:
    if isinstance(value, KnownArray):
        return value if value._array is None else change(value)
    if type(value) in (list, tuple):
        return type(value)([_mapped(part, change) for part in value])
    if type(value) is dict:
        return {name: _mapped(part, change) for name, part in value.items()}
    if isinstance(value, slice):
        parts = [_mapped(part, change) for part in (value.start, value.stop, value.step)]
        return slice(*parts)
    return value


def leaves(value: Any) -> list[Any]:
    """What lists, tuples, dicts and slices hold."""
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in leaves(part)]
    if isinstance(value, dict):
        return leaves(list(value.values()))
    if isinstance(value, slice):
        return [value.start, value.stop, value.step]
    return [value]


def holds_unknown(value: Any) -> bool:
    """Whether something of the trace is in a value whose elements are not known."""
    return any(_is_unknown(leaf) for leaf in leaves(value))


def _is_unknown(leaf: Any) -> bool:
    if isinstance(leaf, Tracer):
        return leaf.known is None
    return hasattr(type(leaf), "__array_function__") and not isinstance(
        leaf, np.ndarray | np.generic
    )


def _is_known_write(targets: list[Any], operands: Any) -> bool:
    """Whether NumPy can compute, and write, at once."""
    if holds_unknown(operands):
        return False
    known = [target for target in targets if isinstance(target, KnownArray)]
    return all(target._is_written_now() is not None for target in known)


def _with_memory(kwargs: dict[str, Any], out: Any) -> dict[str, Any]:
    made: dict[str, Any] = plain(kwargs)
    return {**made, "out": plain(out)} if out else made


def _result(made: Any, operands: Any) -> Any:
    """What NumPy made of operands: arrays that share memory with one of them are views of it."""
    if isinstance(made, tuple):
        parts = [_result(part, operands) for part in made]
        return type(made)(*parts) if hasattr(made, "_fields") else tuple(parts)
    if type(made) is list:
        return [_result(part, operands) for part in made]
    if type(made) is not np.ndarray or not is_supported(made.dtype):
        return made
    known = [each for each in operands if isinstance(each, KnownArray) and each._array is not None]
    for each in known:
        if each._array is made:
            return each
    base = _memory_of(made)
    for each in known:
        root = each if each._origin is None else each._origin
        if root._array is base:
            return KnownArray(current_trace(), made, root)
    return KnownArray(current_trace(), made.copy() if base is not made else _by_rows(made))


def _by_rows(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(array) if array.ndim else array


def _memory_of(array: Any) -> Any:
    """The array that owns the memory of a view."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def _leaves_axes(key: Any, rank: int) -> bool:
    """Whether a basic key gives a view, not a single element."""
    items = key if isinstance(key, tuple) else (key,)
    return len(items) < rank or any(item is None or isinstance(item, slice) for item in items)


def _content(memory: np.ndarray[Any, Any], home: Trace) -> Value:
    if memory.size <= _LARGE or (memory != memory.flat[0]).any():
        return Constant(memory)
    with home.active():
        return core.full(memory.shape, memory.flat[0].item(), as_dtype(memory.dtype))


def _view_by_place(
    root: KnownArray, memory: np.ndarray[Any, Any], part: np.ndarray[Any, Any]
) -> TracerView:
    """How a part of some memory is a view of it, by the places of its elements."""
    size = memory.dtype.itemsize
    start = (part.__array_interface__["data"][0] - memory.__array_interface__["data"][0]) // size
    strides = tuple([stride // size for stride in part.strides])
    places: Any = _at_places(np.arange(memory.size), part.shape, start, strides).copy()
    count = part.size
    is_block = np.array_equal(places.ravel(), np.arange(start, start + count))
    key = slice(start, start + count) if is_block else places
    shape = part.shape

    def get(base: Value) -> Value:
        flat = core.wrap(core.reshape(base, (memory_size,)))
        return core.reshape(indexing.getitem(flat, key), shape)

    def put(base: Value, new: Value) -> Value:
        flat = core.wrap(core.reshape(base, (memory_size,)))
        given = core.wrap(core.reshape(new, (count,)) if is_block else new)
        return core.reshape(indexing.update(flat, key, given), base.type.shape)

    memory_size = memory.size
    return TracerView(
        root,
        get,
        put if part.flags.writeable else None,
        like=lambda array: _at_places(array, shape, start, strides),
    )


def _at_places(array: Any, shape: Any, start: int, strides: Any) -> Any:
    """The elements of an array in one piece from a place on, by strides in elements."""
    if not array.flags.c_contiguous:
        raise ValueError("what does not lie in one piece is copied")
    size = array.dtype.itemsize
    steps = tuple([stride * size for stride in strides])
    return np.ndarray(shape, array.dtype, array, start * size, steps)


_OF_SEVERAL: Final = ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays")
"""NumPy's functions that make views of all their arguments."""
_LAYOUT: Final = frozenset(("strides", "flags", "tobytes"))
_READING: Final = (
    "all any argmax argmin argpartition argsort astype choose clip compress conj conjugate copy "
    "cumprod cumsum diagonal dot flatten item max mean min nonzero prod ravel repeat reshape round "
    "searchsorted squeeze std sum swapaxes take tolist trace transpose var view"
).split()
_OPERATORS: Final = (
    "add sub mul truediv floordiv mod divmod pow and or xor lshift rshift matmul"
).split()
_OTHERS: Final = (
    "lt le gt ge eq ne neg pos abs invert bool int float complex index contains str repr format"
).split()
_WRITING: Final = ("fill", "partition", "put", "sort")


def _reading(name: str) -> Callable[..., Any]:
    """A method that NumPy's array has while the array is known."""
    of_numpy, of_trace = getattr(np.ndarray, name), getattr(TracedArray, name, None)

    def method(self: KnownArray, *args: Any, **kwargs: Any) -> Any:
        if self._array is None or holds_unknown((args, kwargs)):
            assert of_trace is not None
            return of_trace(self, *args, **kwargs)
        return _result(of_numpy(self._array, *plain(args), **plain(kwargs)), (self,))

    method.__name__ = name
    return method


def _writing(name: str) -> Callable[..., Any]:
    """A method that writes to the array."""
    of_numpy, of_trace = getattr(np.ndarray, name), getattr(TracedArray, name)

    def method(self: KnownArray, *args: Any, **kwargs: Any) -> Any:
        memory = self._is_written_now(args, kwargs)
        if memory is None:
            return of_trace(self, *args, **kwargs)
        made = of_numpy(memory, *plain(args), **plain(kwargs))
        return self if made is memory else made

    method.__name__ = name
    return method


def _property(name: str) -> property:
    of_trace: Any = getattr(TracedArray, name)

    def get(self: KnownArray) -> Any:
        if self._array is None:
            return of_trace.fget(self)
        return _result(getattr(self._array, name), (self,))

    return property(get, of_trace.fset)


for _name in _READING:
    setattr(KnownArray, _name, _reading(_name))
for _name in _OPERATORS:
    setattr(KnownArray, f"__{_name}__", _reading(f"__{_name}__"))
    setattr(KnownArray, f"__r{_name}__", _reading(f"__r{_name}__"))
    if _name not in ("divmod",):
        setattr(KnownArray, f"__i{_name}__", _writing(f"__i{_name}__"))
for _name in _OTHERS:
    setattr(KnownArray, f"__{_name}__", _reading(f"__{_name}__"))
for _name in _WRITING:
    setattr(KnownArray, _name, _writing(_name))
for _name in ("T", "mT", "real", "imag"):
    setattr(KnownArray, _name, _property(_name))
