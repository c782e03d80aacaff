"""`weft.Array`: an array outside of traces, whose ops are gathered and compiled together.

It has what a traced array has, plus its value: asking for that (printing it, `float(x)`, `if x:`,
`numpy.asarray(x)`) computes what was gathered. A write (`x[i] = v`, `x += v`) gives the array, and
all that share memory with it in NumPy, another value; memory that was given out stays as it is.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from weft.compiler.ir.ambient import sealed
from weft.compiler.ir.errors import ArgumentError, TraceError
from weft.compiler.ir.graph import Value
from weft.frontends.eager import recording
from weft.frontends.eager.applying import apply_function, apply_ufunc, may_be_static, replaced
from weft.frontends.eager.held import Held, view_of
from weft.frontends.eager.immediate import compute, compute_natively
from weft.frontends.eager.recording import NumPyArray, Recording
from weft.frontends.eager.stand_ins import GivenAway, NumberStandIn
from weft.frontends.numpy import public
from weft.frontends.numpy.array import TracedArray
from weft.frontends.numpy.functions.indexing import getitem
from weft.frontends.numpy.functions.namespace import MAIN
from weft.frontends.numpy.keys import is_basic
from weft.frontends.numpy.masked.array import Selected
from weft.frontends.tracing import tree
from weft.frontends.tracing.conversion import converting
from weft.frontends.tracing.outside import REGISTRATION, OutsideCalls
from weft.frontends.tracing.trace import Trace, Tracer, find_trace, located
from weft.runtime.signatures import Unsupported

# What `weft.numpy` shows of NumPy.
NAMESPACE: Final = public


def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of traced arrays with arrays of any kind: inside a trace their values are
    constants, outside the call is gathered. What needs values to be known gets them. Arrays that it
    writes to, such as `out`, have what was written.
    """
    trace = find_trace()
    if trace is not None:
        return located(function, *_constants(args, trace), **_constants(kwargs, trace))
    record = recording.current()
    with record.lock:
        try:
            if any(map(callable, args)):
                return converting(lambda: _gathered(function, args, kwargs, record))
            return _gathered(function, args, kwargs, record)
        except TraceError:
            values = _values((args, kwargs), lambda array: array.data)
    try:
        return _arrays(_computed_now(function, *values))
    except ValueError as error:
        if "read-only" not in str(error):
            raise
    copies: list[tuple[Array, NumPyArray]] = []

    def copied(array: Array) -> NumPyArray:
        copies.append((array, array.data.copy()))
        return copies[-1][1]

    result = _computed_now(function, *_values((args, kwargs), copied))
    for array, copy in copies:
        if array.data.tobytes() != copy.tobytes():
            array._store(Array(copy))
    owners = {id(copy): array for array, copy in copies}
    return tree.map_tree(lambda leaf: owners.get(id(leaf), _arrays(leaf)), result)


@sealed
def _gathered(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], record: Recording
) -> Any:
    given: list[tuple[Any, Tracer, Value]] = []

    def recorded(leaf: Any) -> Any:
        result = _recorded(leaf, record)
        if isinstance(result, Tracer):
            given.append((leaf, result, result.value))
        return result

    with record.trace.active():
        arguments = replaced((args, kwargs), recorded)
        result = located(function, *arguments[0], **arguments[1])
        if tree.holds(result, Selected):
            raise TraceError("the size of the result depends on values")
        leaves, treedef = tree.flatten(result)
        written = {id(tracer): leaf for leaf, tracer, old in given if tracer.value is not old}
        values = [_waiting(tracer, record) for _, tracer, _ in given if id(tracer) in written]
        arrays = {id(tracer): leaf for leaf, tracer, _ in given if isinstance(leaf, Array)}
        for number, leaf in enumerate(leaves):
            if isinstance(leaf, Tracer):
                known = {**arrays, **written}.get(id(leaf))
                leaves[number] = _made(leaf, record, arrays) if known is None else known
    for array, value in zip(written.values(), values, strict=True):
        if isinstance(array, Array):
            array._store(value)
        else:
            array[...] = value.data
    return tree.unflatten(treedef, leaves)


def _computed_now(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A call that needs values. Where even known ones do not tell the size of the result to a
    trace, as of the distinct elements of an array, it is NumPy's function that computes.
    """
    try:
        return compute(function, args, kwargs)
    except TraceError:
        name = getattr(function, "__name__", "")
        if MAIN.get(name) is not function or not hasattr(np, name):
            raise
        return getattr(np, name)(*args, **kwargs)


def _recorded(leaf: Any, record: Recording) -> Any:
    if isinstance(leaf, Array):
        return leaf.tracer(record)
    if isinstance(leaf, np.ndarray) and not may_be_static(leaf):
        return record.input(leaf.copy())
    if isinstance(leaf, NumberStandIn):
        return record.input(np.asarray(leaf.value), weak=True)
    return leaf


def _made(tracer: Tracer, record: Recording, arrays: dict[int, Array]) -> Array:
    """What a call made, as a view of an array that it was given if it is one."""
    array = _waiting(tracer, record)
    view = view_of(tracer, arrays)
    if view is not None:
        array._view, array._version = view, view.base._family()._version
    return array


def _waiting(tracer: Tracer, record: Recording) -> Array:
    _offer_buffers()
    array = Array.__new__(Array)
    array._view, array._version, array._recording = None, 0, None
    array._wait(record, record.trace.read(tracer))
    return array


def _constants(arguments: Any, trace: Trace) -> Any:
    def known(leaf: Any) -> Any:
        return trace.wrap(trace.lift(leaf.data)) if isinstance(leaf, Array) else leaf

    return replaced(arguments, known)


def _values(arguments: Any, data: Callable[[Array], NumPyArray]) -> Any:
    def known(leaf: Any) -> Any:
        if isinstance(leaf, Array):
            return data(leaf)
        return leaf.value if isinstance(leaf, NumberStandIn) else leaf

    return replaced(arguments, known)


def _arrays(result: Any) -> Any:
    return tree.map_tree(
        lambda leaf: Array(leaf) if isinstance(leaf, np.ndarray | np.generic) else leaf, result
    )


def holds_array(arguments: Any) -> bool:
    """Whether there is a `weft.Array` among arguments."""
    if isinstance(arguments, tuple | list):
        return any(map(holds_array, arguments))
    if isinstance(arguments, dict):
        return any(map(holds_array, arguments.values()))
    return isinstance(arguments, Array)


def _deferred(name: str) -> Callable[..., Any]:
    """A method of traced arrays on an array with a value."""
    function = getattr(TracedArray, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call(function, self, *args, **kwargs)

    method.__name__, method.__doc__ = name, function.__doc__
    return method


def _element(array: Array, key: Any) -> Any:
    """`array[key]`. Where that is a view, computed integers are numbers to it: it may be read again
    when they are gone.
    """

    def known(item: Any) -> Any:
        is_integer = isinstance(item, Array) and not item.shape and item.dtype.kind in "iu"
        return int(item) if is_integer else item

    numbers = replaced(key, known)
    if find_trace() is None and is_basic(numbers):
        return call(_part, array, key, numbers)
    return call(TracedArray.__getitem__, array, key)


def _part(tracer: Any, key: Any, numbers: Any) -> Any:
    return tracer.part(numbers, located(getitem, tracer, key))


def _operator(name: str) -> Callable[..., Any]:
    """An operator: a number on the other side is an input, so that another one is no new program,
    but for exponents, which decide how powers are computed.
    """
    function = getattr(TracedArray, name)
    is_power = "pow" in name

    def method(self: Any, *others: Any) -> Any:
        if others and not is_power and find_trace() is None:
            others = tuple([NumberStandIn(x) if type(x) in (float, complex) else x for x in others])
        return call(function, self, *others)

    method.__name__ = name
    return method


def _writing(name: str) -> Callable[..., Any]:
    """A method that writes to the array: it takes on the value that the tracer has afterwards."""
    function = getattr(TracedArray, name)

    def written(tracer: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(tracer, np.ndarray):  # it needs values, as writing under a mask does
            known = tracer.copy()
            result = getattr(known, name)(*args, **kwargs)
            return known if result is None else result
        own = tracer.region_trace.wrap(tracer.value)
        result = function(own, *args, **kwargs)
        if result is NotImplemented:
            raise ArgumentError(f"an operand of {name} is no array or number")
        return result if isinstance(result, Tracer) else own

    is_operator = name.startswith("__i")

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if find_trace() is not None:
            raise TraceError(
                "an array from outside is written to inside of a traced function; make a copy with "
                "weft.numpy.array(x), or write x.at[i].set(v)"
            )
        if is_operator and not self.shape and self._view is None:
            return call(written, self, *args, **kwargs)  # NumPy's scalars are not written to
        self._require_writable()
        self._store(call(written, self, *args, **kwargs))
        return self if is_operator else None

    method.__name__, method.__doc__ = name, function.__doc__
    return method


def _converting(convert: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        return convert(self.data)

    method.__name__ = name
    return method


def _property(name: str) -> property:
    """An attribute that is a view; parts of complex numbers can be given others."""

    def write(self: Array, new: Any) -> None:
        part = getattr(self, name)
        part[...] = new

    read = functools.partial(call, operator.attrgetter(name))
    return property(lambda self: read(self), write if name in ("real", "imag") else None)


@functools.cache
def _offer_buffers() -> None:
    """See to it that arrays are buffers, which Python code alone can do from Python 3.12 on only.
    Where native code cannot either, `memoryview(numpy.asarray(x))` remains.
    """
    if sys.version_info < (3, 12):
        from weft.frontends.driver.machine_code import caller

        with contextlib.suppress(Unsupported):
            caller().offer_buffers(Array)


class Array(Held):
    """An array whose value is computed when it is needed.

    >>> import weft as wf
    >>> x = wf.numpy.arange(4.0)
    >>> y = x * x + 1  # gathered, not computed yet
    >>> y
    Array([ 1.,  2.,  5., 10.])
    >>> float(y.sum())
    18.0
    """

    __slots__ = ()
    __array_priority__ = 900.0

    def __init__(self, data: Any, dtype: Any = None) -> None:
        _offer_buffers()
        self._view, self._version = None, 0
        self.settle(np.array(data, dtype))

    # --- the value ---

    def block_until_ready(self) -> Array:
        """Compute the value now."""
        _ = self.data
        return self

    # --- what is known without the value ---

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def device(self) -> str:
        return "cpu"

    def to_device(self, device: str, /, *, stream: Any = None) -> Array:
        """The array itself: it is on the CPU, and so is everything else."""
        if device != "cpu" or stream is not None:
            raise ArgumentError(f"arrays are on the device 'cpu', not on {device!r}")
        return self

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a rank-0 array")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        return iter([self[i] for i in range(len(self))])

    @property
    def at(self) -> ArrayUpdates:
        """Functional updates: `x.at[i].set(v)` is `x` with `x[i]` replaced; also add, multiply,
        min, max, ...
        """
        return ArrayUpdates(self)

    # --- exchange ---

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NumPyArray:
        self._require_nothing_lost()
        data = self.data
        if dtype is not None and np.dtype(dtype) != data.dtype:
            if copy is False:
                raise ValueError(f"{data.dtype} becomes {np.dtype(dtype)} by a copy only")
            return data.astype(dtype)
        return data.copy() if copy else data

    @property
    def __array_interface__(self) -> dict[str, Any]:
        self._require_nothing_lost()
        if self.dtype.kind == "V":  # bfloat16 would arrive as two bytes without a meaning
            raise AttributeError(f"arrays of {self.dtype} have no __array_interface__")
        return self.data.__array_interface__

    def __buffer__(self, flags: int) -> memoryview:  # older Pythons do as `_offer_buffers` says
        return memoryview(self._buffer)  # type: ignore[arg-type]

    def __dlpack__(self, **options: Any) -> Any:
        """Read-only; whoever speaks a DLPack that cannot say so gets a copy."""
        data = self.data
        if (options.get("max_version") or (0,))[0] < 1 and options.get("copy") is None:
            data = data.copy()
        return data.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, number = self.data.__dlpack_device__()
        return int(kind), int(number)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ArgumentError(f"there is no version {api_version!r} of the array API here")
        return importlib.import_module("weft.numpy")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return call(apply_ufunc, ufunc, method, inputs, kwargs)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        return call(apply_function, function, args, kwargs)

    def __reduce__(self) -> Any:
        return Array, (np.asarray(self.data),)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    # --- what needs the value ---

    def __repr__(self) -> str:
        if isinstance(self._value, GivenAway):
            return f"<Array {self._value}>"
        return np.array_repr(self.data).replace("array(", "Array(", 1)

    def __str__(self) -> str:
        return str(self.data)

    def __format__(self, spec: str) -> str:
        return format(self.data[()], spec)

    def __contains__(self, item: Any) -> bool:
        return bool(np.any(self.data == item))

    def item(self, *index: Any) -> Any:
        """An element as a Python number."""
        return self.data.item(*index)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.data.tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The bytes of the elements."""
        return self.data.tobytes(order)

    __bool__ = _converting(bool, "__bool__")
    __int__ = _converting(int, "__int__")
    __float__ = _converting(float, "__float__")
    __complex__ = _converting(complex, "__complex__")
    __index__ = _converting(operator.index, "__index__")
    __hash__ = None  # type: ignore[assignment]

    # --- operators and methods of traced arrays ---

    __add__ = _operator("__add__")
    __radd__ = _operator("__radd__")
    __iadd__ = _writing("__iadd__")
    __sub__ = _operator("__sub__")
    __rsub__ = _operator("__rsub__")
    __isub__ = _writing("__isub__")
    __mul__ = _operator("__mul__")
    __rmul__ = _operator("__rmul__")
    __imul__ = _writing("__imul__")
    __truediv__ = _operator("__truediv__")
    __rtruediv__ = _operator("__rtruediv__")
    __itruediv__ = _writing("__itruediv__")
    __floordiv__ = _operator("__floordiv__")
    __rfloordiv__ = _operator("__rfloordiv__")
    __ifloordiv__ = _writing("__ifloordiv__")
    __mod__ = _operator("__mod__")
    __rmod__ = _operator("__rmod__")
    __imod__ = _writing("__imod__")
    __divmod__ = _operator("__divmod__")
    __rdivmod__ = _operator("__rdivmod__")
    __pow__ = _operator("__pow__")
    __rpow__ = _operator("__rpow__")
    __ipow__ = _writing("__ipow__")
    __matmul__ = _operator("__matmul__")
    __rmatmul__ = _operator("__rmatmul__")
    __imatmul__ = _writing("__imatmul__")
    __and__ = _operator("__and__")
    __rand__ = _operator("__rand__")
    __iand__ = _writing("__iand__")
    __or__ = _operator("__or__")
    __ror__ = _operator("__ror__")
    __ior__ = _writing("__ior__")
    __xor__ = _operator("__xor__")
    __rxor__ = _operator("__rxor__")
    __ixor__ = _writing("__ixor__")
    __lshift__ = _operator("__lshift__")
    __rlshift__ = _operator("__rlshift__")
    __ilshift__ = _writing("__ilshift__")
    __rshift__ = _operator("__rshift__")
    __rrshift__ = _operator("__rrshift__")
    __irshift__ = _writing("__irshift__")
    __lt__ = _operator("__lt__")
    __le__ = _operator("__le__")
    __gt__ = _operator("__gt__")
    __ge__ = _operator("__ge__")
    __eq__ = _operator("__eq__")
    __ne__ = _operator("__ne__")
    __neg__ = _deferred("__neg__")
    __pos__ = _deferred("__pos__")
    __abs__ = _deferred("__abs__")
    __invert__ = _deferred("__invert__")
    __getitem__ = _element
    __setitem__ = _writing("__setitem__")
    sum = _deferred("sum")
    prod = _deferred("prod")
    mean = _deferred("mean")
    var = _deferred("var")
    std = _deferred("std")
    max = _deferred("max")
    min = _deferred("min")
    any = _deferred("any")
    all = _deferred("all")
    argmax = _deferred("argmax")
    argmin = _deferred("argmin")
    argsort = _deferred("argsort")
    argpartition = _deferred("argpartition")
    cumsum = _deferred("cumsum")
    cumprod = _deferred("cumprod")
    clip = _deferred("clip")
    round = _deferred("round")
    dot = _deferred("dot")
    repeat = _deferred("repeat")
    take = _deferred("take")
    trace = _deferred("trace")
    diagonal = _deferred("diagonal")
    searchsorted = _deferred("searchsorted")
    nonzero = _deferred("nonzero")
    compress = _deferred("compress")
    choose = _deferred("choose")
    conj = _deferred("conj")
    conjugate = _deferred("conjugate")
    astype = _deferred("astype")
    copy = _deferred("copy")
    flatten = _deferred("flatten")
    transpose = _deferred("transpose")
    swapaxes = _deferred("swapaxes")
    reshape = _deferred("reshape")
    ravel = _deferred("ravel")
    squeeze = _deferred("squeeze")
    sort = _writing("sort")
    fill = _writing("fill")
    partition = _writing("partition")
    put = _writing("put")
    T = _property("T")
    mT = _property("mT")
    real = _property("real")
    imag = _property("imag")

    def __getattr__(self, name: str) -> Any:
        known = hasattr(np.ndarray, name)
        about = "is not supported on weft.Array" if known else "is no attribute of arrays"
        raise AttributeError(f".{name} {about}")


class ArrayUpdates:
    """`x.at`: index it, then choose what happens to the elements; the result is a new array."""

    __slots__ = ("_array", "_key")

    def __init__(self, array: Array, key: Any = None) -> None:
        self._array = array
        self._key = key

    def __getitem__(self, key: Any) -> ArrayUpdates:
        return ArrayUpdates(self._array, key)

    def __getattr__(self, kind: str) -> Callable[..., Any]:
        def update(*args: Any, **kwargs: Any) -> Any:
            return call(_update, self._array, self._key, kind, args, kwargs)

        return update


def _update(tracer: Any, key: Any, kind: str, args: Any, kwargs: Any) -> Any:
    return getattr(tracer.at[key], kind)(*args, **kwargs)


OUTSIDE: Final = OutsideCalls(Array, holds_array, call, compute, compute_natively)
REGISTRATION.hand_in(OUTSIDE)
