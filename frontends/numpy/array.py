"""The traced array: what a user's function holds while it is traced.

It behaves as `numpy.ndarray` does (operators, methods, indexing, NumPy's functions by its two
protocols) and explains itself where it cannot, because its value is not known yet.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

import numpy as np

from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.dtypes import dtype as as_dtype
from weft.compiler.ir.errors import ShapeError, TraceError
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ir.types import Shape
from weft.frontends.numpy import python_values, views
from weft.frontends.numpy.functions import indexing
from weft.frontends.numpy.functions.axis_ops import as_value
from weft.frontends.numpy.functions.namespace import BY_NUMPY, GENERALISED, MAIN
from weft.frontends.numpy.functions.operators import apply_operator, is_list_of_another
from weft.frontends.numpy.functions.refusals import attribute_refusal, refusal
from weft.frontends.numpy.functions.ufuncs import apply_ufunc, emitter
from weft.frontends.numpy.handing_on import call_in_place_of_numpy
from weft.frontends.numpy.keys import has_ellipsis, is_basic, key_text, with_known
from weft.frontends.numpy.masked import indexing as masked_indexing
from weft.frontends.numpy.masked.array import Selected
from weft.frontends.numpy.ufunc_methods import apply_ufunc_method
from weft.frontends.numpy.updates import TracedUpdates
from weft.frontends.numpy.views import Viewed
from weft.frontends.tracing import core, tree
from weft.frontends.tracing.conversion import conversion
from weft.frontends.tracing.hints import (
    CONVERTED,
    INTO_NUMPY,
    array_needed_by,
    describe,
    is_store,
    statement_at,
)
from weft.frontends.tracing.showing import ShownArray
from weft.frontends.tracing.trace import (
    ArrayLike,
    Surface,
    Trace,
    Tracer,
    current_trace,
    find_trace,
    leaked,
    located,
    user_line,
)

IN_PLACE: Final = frozenset(
    ("fill_diagonal", "put_along_axis", "copyto", "place", "put", "putmask")
)
"""NumPy functions that write to their first argument."""

_OPERANDS: Final = (Tracer, np.ndarray, np.generic, bool, int, float, complex, Dim, list, tuple)


def _binary(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def method(self: TracedArray, other: Any) -> Any:
        if not isinstance(other, _OPERANDS) or is_list_of_another(ufunc, self, other):
            return _by_the_other_operand(ufunc, self, other)
        return located(apply_operator, ufunc, self, other)

    return method


def _reflected(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def method(self: TracedArray, other: Any) -> Any:
        if not isinstance(other, _OPERANDS) or is_list_of_another(ufunc, self, other):
            return _by_the_other_operand(ufunc, other, self)
        return located(apply_operator, ufunc, other, self)

    return method


def _yields_to(operand: Any) -> bool:
    """Whether an operand knows better what to do: sparse arrays, SciPy's too."""
    priority: float = getattr(operand, "__array_priority__", 0.0)
    return priority > TracedArray.__array_priority__ or tree.is_scipy(operand)


def _by_the_other_operand(ufunc: np.ufunc, *operands: Any) -> Any:
    """An operator with something that is no array to us."""
    return (
        ufunc(*map(tree.as_sparse_array, operands))
        if any(map(_yields_to, operands))
        else NotImplemented
    )


def _in_place(ufunc: np.ufunc, symbol: str) -> Callable[[Any, Any], Any]:
    """`x += y`: a write to the same array, as in NumPy; a scalar is replaced, as it shares no
    memory.
    """

    def method(self: TracedArray, other: Any) -> Any:
        if not isinstance(other, _OPERANDS) or is_list_of_another(ufunc, self, other):
            return NotImplemented
        result = located(apply_operator, ufunc, self, other)
        if not self.type.shape and self._view is None:
            return result
        new = located(_same_kind, result, self, ufunc)
        self.assign(new, f"x = x {symbol} ...")
        return self

    return method


def _same_kind(result: Tracer, target: Tracer, ufunc: np.ufunc) -> Value:
    made, wanted = result.type.dtype, target.type.dtype
    if not np.can_cast(made.numpy, wanted.numpy, "same_kind"):
        raise core.trace_error(
            f"an in-place {ufunc.__name__} makes {made}, which does not fit into {wanted}"
        )
    if result.type.shape != target.type.shape:
        raise ShapeError(
            f"an in-place {ufunc.__name__} makes {result.type}, which does not fit into "
            f"{target.type}"
        )
    return core.cast(result.value, wanted)


def _unary(ufunc: np.ufunc) -> Callable[[Any], Any]:
    return lambda self: located(apply_operator, ufunc, self)


def _method(name: str) -> Callable[..., Any]:
    function = MAIN[name]

    def method(self: TracedArray, *args: Any, **kwargs: Any) -> Any:
        return call_in_place_of_numpy(function, (self, *args), kwargs)

    method.__name__ = name
    method.__doc__ = f"As `numpy.ndarray.{name}`."
    return method


class TracedArray(ShownArray, Viewed):
    """A traced array; see `Tracer` for what it holds."""

    __slots__ = ()
    __array_priority__ = 1000.0

    # --- what is known ---

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @shape.setter
    def shape(self, new: Any) -> None:
        located(views.set_shape, self, new)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.type.dtype.numpy

    @property
    def ndim(self) -> int:
        return self.type.rank

    @property
    def size(self) -> Size:
        return self.type.size

    @property
    def itemsize(self) -> int:
        return self.type.dtype.itemsize

    @property
    def nbytes(self) -> Size:
        return self.type.size * self.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a rank-0 array")
        if isinstance(self.shape[0], Dim):
            raise self.region_trace.error(
                f"len() needs the size {self.shape[0]}, which is only known when the program runs; "
                "use x.shape[0]"
            )
        return self.shape[0]

    # --- indexing ---

    def __getitem__(self, key: Any) -> Any:
        key = with_known(key)
        if masked_indexing.is_sized_key(key):
            return located(masked_indexing.select, self, key)
        value = located(indexing.getitem, self, key)
        return self.part(key, value) if is_basic(key) else current_trace().wrap(value)

    def part(self, key: Any, value: Value) -> Any:
        """What `x[key]` gives for a basic key, of which the value is there already."""
        if not (value.type.shape or has_ellipsis(key)):
            return current_trace().wrap(value)
        return self._view_of(
            lambda base: indexing.getitem(core.wrap(base), key),
            lambda base, new: indexing.update(core.wrap(base), key, core.wrap(new)),
            value,
            like=lambda array: array[key],
        )

    def __setitem__(self, key: Any, new: ArrayLike) -> None:
        key = with_known(key)
        self.require_writable(f"x = x.at[{key_text(key)}].set(...)")
        write = masked_indexing.written if masked_indexing.is_sized_key(key) else indexing.update
        value = located(write, self, key, new)
        self.assign(value, f"x = x.at[{key_text(key)}].set(...)")

    @property
    def at(self) -> TracedUpdates:
        """Functional updates: `x.at[i].set(v)` is `x` with `x[i]` replaced; also add, multiply,
        min, max, ...
        """
        return TracedUpdates(self)

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a rank-0 array")
        if isinstance(self.shape[0], Dim):
            raise self.region_trace.error(
                f"a Python `for` over {self.type} needs the size {self.shape[0]}, which is only "
                "known when the "
                "program runs; use wf.scan or wf.map"
            )
        return map(self.__getitem__, range(self.shape[0]))  # each when it is asked for

    def __contains__(self, item: Any) -> NoReturn:
        self._refuse("`in`", "np.any(x == item)")

    # --- methods that are not functions of the same name ---

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", copy: bool = True, **_: Any
    ) -> Any:
        """As `numpy.ndarray.astype`."""
        if not copy and located(as_dtype, dtype) is self.type.dtype:
            return self
        return current_trace().wrap(core.cast(core.lift(self), located(as_dtype, dtype)))

    def copy(self, order: str = "C") -> Any:
        """A copy: writes to it leave this array as it is."""
        return current_trace().wrap(core.lift(self), weak=self.weak)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def flatten(self, order: str = "C") -> Any:
        """As `numpy.ndarray.flatten`: always a copy."""
        return self.ravel(order).copy()

    def fill(self, value: ArrayLike) -> None:
        """As `numpy.ndarray.fill`: a write in place."""
        self[...] = value

    def sort(self, axis: int = -1, **_: Any) -> None:
        """As `numpy.ndarray.sort`: a write in place."""
        self.assign(located(MAIN["sort"], self, axis).value, "x = np.sort(x)")

    def partition(self, kth: Any, axis: int = -1, **_: Any) -> None:
        """As `numpy.ndarray.partition`, by a full sort: a write in place."""
        self.assign(located(MAIN["partition"], self, kth, axis).value, "x = np.partition(x, k)")

    # --- NumPy's protocols ---

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(map(_yields_to, inputs)):
            return NotImplemented
        if ufunc in GENERALISED and method == "__call__":
            return call_in_place_of_numpy(GENERALISED[ufunc], inputs, kwargs)
        if emitter(ufunc) is None:
            if hasattr(np, ufunc.__name__):
                raise core.trace_error(refusal(ufunc.__name__))
            raise core.trace_error(
                f"the ufunc {ufunc.__name__} is not supported on traced arrays; write it with "
                "functions of NumPy, or call it with wf.callback"
            )
        return located(apply_ufunc_method, ufunc, method, inputs, kwargs)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        if Selected in types:
            return NotImplemented  # it knows what sizes it has
        ours = BY_NUMPY.get(function)
        name = getattr(function, "__name__", str(function))
        if ours is None:
            raise core.trace_error(refusal(name, function.__module__))
        if name in IN_PLACE and args and not isinstance(args[0], TracedArray):
            raise core.trace_error(
                f"numpy.{name} writes to a NumPy array from inside a trace; make it with "
                f"weft.numpy.zeros or np.zeros_like(x), or use the result of weft.numpy.{name}"
            )
        base = args[0] if args and isinstance(args[0], TracedArray) else None
        if base is not None and name in views.FUNCTIONS:
            view_by = functools.partial(base.view_by, ours, name)
            return call_in_place_of_numpy(view_by, (args[1:], kwargs), {})
        if name == "einsum" and views.is_of_one(args, kwargs):
            return call_in_place_of_numpy(views.einsum_by, (args[1], ours, args[0]), {})
        result = call_in_place_of_numpy(ours, args, kwargs)
        if base is not None and (name in IN_PLACE or views.keeps_array(name, args, kwargs)):
            base.assign(result.value, f"x = weft.numpy.{name}(x, ...)")
            return None if name in IN_PLACE else base
        return result

    # --- what needs the value, which is not known ---

    def __bool__(self) -> bool:
        if isinstance(self._value, Constant) and self.size == 1:
            return bool(self._value.array)
        construct = statement_at(user_line())
        hint = {
            "if": "wf.cond(p, f, g, *args), or np.where(p, a, b) for arrays",
            "while": "wf.while_loop(condition, body, carry)",
            "assert": "a check on the result outside of the traced function",
        }.get(construct, "np.where, np.logical_and/or/not or wf.cond")
        what = f"a Python `{construct}`" if construct else "a Python bool"
        self._refuse(what, hint + ("" if construct == "assert" else CONVERTED))

    def __index__(self) -> int:
        self._refuse(
            "an int (in range(), a shape, or a Python list index)",
            "wf.fori_loop or wf.scan for a loop, weft.numpy.stack(items)[i] or wf.switch for a "
            "list, or make the argument static (static_argnames=...)" + CONVERTED,
        )

    def __int__(self) -> int:
        self._refuse_number("int()", 'x.astype("int64")')

    def __float__(self) -> float:
        self._refuse_number("float()", 'x.astype("float64"), or leave it an array')

    def __complex__(self) -> complex:
        self._refuse_number("complex()", 'x.astype("complex128")')

    def _refuse_number(self, what: str, instead: str) -> NoReturn:
        place = user_line()
        if place is not None and is_store(place):
            self._refuse(
                f"the write to {place.expression}, of a NumPy array,", INTO_NUMPY + CONVERTED
            )
        self._refuse(what, instead + CONVERTED)

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            return self._refuse_number("round()", "np.rint(x)")
        return current_trace().wrap(self.round(digits).value, weak=self.weak)

    def item(self, *place: Any) -> Any:
        """A number of the trace where control flow is converted, else refused."""
        if conversion.get() is not None:
            return located(python_values.item, self, place)
        self._refuse(".item()", "the array itself: rank-0 arrays compute like numbers")

    def tolist(self) -> Any:
        """Numbers of the trace where control flow is converted, else refused."""
        if conversion.get() is not None:
            return located(python_values.to_list, self)
        self._refuse(".tolist()", "the array itself")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        asking = sys._getframe(1)
        if asking.f_globals.get("__name__", "").startswith("scipy.sparse"):
            if asking.f_code.co_name == "_matmul_dispatch":
                # What is a mere object to NumPy, SciPy leaves to its own operator.
                return np.empty((), object)
            self._refuse("an operator of SciPy's sparse array", "wf.sparse.asarray(S) in its place")
        self._refuse(*array_needed_by(user_line(), asking))

    def _refuse(self, what: str, instead: str) -> NoReturn:
        trace = find_trace()
        if trace is None or self.home.finished:
            raise leaked(self)
        location, state = user_line(), conversion.get()
        if state is not None:
            instead = instead.removesuffix(CONVERTED) + state.why_plain(sys._getframe(1))
        raise TraceError(
            f"{what} needs the value of {self.type} ({describe(self._value)}), which is only "
            "known when the "
            f"program runs; use {instead}",
            location=location,
        )

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.ndarray, name):
            raise AttributeError(attribute_refusal(name))
        raise AttributeError(f".{name} is no attribute of arrays")

    # --- operators ---

    __add__ = _binary(np.add)
    __radd__ = _reflected(np.add)
    __iadd__ = _in_place(np.add, "+")
    __sub__ = _binary(np.subtract)
    __rsub__ = _reflected(np.subtract)
    __isub__ = _in_place(np.subtract, "-")
    __mul__ = _binary(np.multiply)
    __rmul__ = _reflected(np.multiply)
    __imul__ = _in_place(np.multiply, "*")
    __truediv__ = _binary(np.true_divide)
    __rtruediv__ = _reflected(np.true_divide)
    __itruediv__ = _in_place(np.true_divide, "/")
    __floordiv__ = _binary(np.floor_divide)
    __rfloordiv__ = _reflected(np.floor_divide)
    __ifloordiv__ = _in_place(np.floor_divide, "//")
    __mod__ = _binary(np.remainder)
    __rmod__ = _reflected(np.remainder)
    __imod__ = _in_place(np.remainder, "%")
    __divmod__ = _binary(np.divmod)
    __rdivmod__ = _reflected(np.divmod)
    __and__ = _binary(np.bitwise_and)
    __rand__ = _reflected(np.bitwise_and)
    __iand__ = _in_place(np.bitwise_and, "&")
    __or__ = _binary(np.bitwise_or)
    __ror__ = _reflected(np.bitwise_or)
    __ior__ = _in_place(np.bitwise_or, "|")
    __xor__ = _binary(np.bitwise_xor)
    __rxor__ = _reflected(np.bitwise_xor)
    __ixor__ = _in_place(np.bitwise_xor, "^")
    __lshift__ = _binary(np.left_shift)
    __rlshift__ = _reflected(np.left_shift)
    __ilshift__ = _in_place(np.left_shift, "<<")
    __rshift__ = _binary(np.right_shift)
    __rrshift__ = _reflected(np.right_shift)
    __irshift__ = _in_place(np.right_shift, ">>")
    __lt__ = _binary(np.less)
    __le__ = _binary(np.less_equal)
    __gt__ = _binary(np.greater)
    __ge__ = _binary(np.greater_equal)
    __eq__ = _binary(np.equal)
    __ne__ = _binary(np.not_equal)
    __hash__ = None  # type: ignore[assignment]
    __neg__ = _unary(np.negative)
    __pos__ = _unary(np.positive)
    __abs__ = _unary(np.absolute)
    __invert__ = _unary(np.invert)
    __pow__ = _binary(np.power)
    __rpow__ = _reflected(np.power)
    __ipow__ = _in_place(np.power, "**")

    def __matmul__(self, other: Any) -> Any:
        if _yields_to(other):
            return _by_the_other_operand(np.matmul, self, other)
        return located(MAIN["matmul"], self, other)

    def __rmatmul__(self, other: Any) -> Any:
        if _yields_to(other):
            return _by_the_other_operand(np.matmul, other, self)
        return located(MAIN["matmul"], other, self)

    def __imatmul__(self, other: Any) -> Any:
        self.assign(located(_same_kind, self @ other, self, np.matmul), "x = x @ ...")
        return self

    sum = _method("sum")
    prod = _method("prod")
    mean = _method("mean")
    var = _method("var")
    std = _method("std")
    max = _method("max")
    min = _method("min")
    any = _method("any")
    all = _method("all")
    argmax = _method("argmax")
    argmin = _method("argmin")
    argsort = _method("argsort")
    argpartition = _method("argpartition")
    cumsum = _method("cumsum")
    cumprod = _method("cumprod")
    clip = _method("clip")
    round = _method("round")
    dot = _method("dot")
    repeat = _method("repeat")
    take = _method("take")
    trace = _method("trace")
    searchsorted = _method("searchsorted")
    nonzero = _method("nonzero")

    def diagonal(self, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.ndarray.diagonal`: it follows writes to this array, and is not written to."""
        return located(self.view_by, MAIN["diagonal"], "diagonal", args, kwargs)

    def put(self, indices: ArrayLike, values: ArrayLike, mode: str = "raise") -> None:
        """As `numpy.ndarray.put`: a write in place."""
        made = located(MAIN["put"], self, indices, values, mode)
        self.assign(made.value, "x = weft.numpy.put(x, i, v)")

    def compress(self, condition: ArrayLike, axis: int | None = None) -> Any:
        """As `numpy.ndarray.compress`."""
        return located(MAIN["compress"], condition, self, axis)

    def choose(self, choices: Any, mode: str = "raise") -> Any:
        """As `numpy.ndarray.choose`."""
        return located(MAIN["choose"], self, choices, mode=mode)

    def conj(self) -> Any:
        """As `numpy.ndarray.conj`: real numbers stay as they are, bools too."""
        if not self.type.dtype.is_complex:
            return self
        made = located(apply_ufunc, np.conjugate, self)
        return current_trace().wrap(made.value, weak=self.weak)

    conjugate = conj


def _sparse_operations() -> Any:
    from weft.frontends.numpy.sparse.operations import OPERATIONS

    return OPERATIONS


def _masked_functions() -> Any:
    from weft.frontends.numpy.masked import functions

    return functions


SURFACE: Final = Surface(
    array=TracedArray, stacked=as_value, sparse=_sparse_operations, masked=_masked_functions
)


def start_trace(parent: Trace | None = None) -> Trace:
    """A new trace whose arrays are `TracedArray`s."""
    return Trace(SURFACE, parent)
