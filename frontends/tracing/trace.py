"""Tracing: a builder that knows the user's values.

A `Tracer` stands for an array whose value is not known while the user's function runs; a `Trace`
records what is done to it. Traces nest, one per region; a tracer of an enclosing trace that is used
inside becomes an input of the inner region (a capture). This file holds the data only; operators
and NumPy's functions come with the `Surface` that a trace is started with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from weft.compiler.ir.ambient import active
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Dim
from weft.compiler.ir.dtypes import DType, i64, is_supported
from weft.compiler.ir.errors import ArgumentError, TraceError, WeftError
from weft.compiler.ir.graph import Constant, Parameter, Region, Result, Value
from weft.compiler.ir.location import Location
from weft.compiler.ir.types import ArrayType, Shape
from weft.compiler.ops.shape import dim_value
from weft.compiler.record import record
from weft.frontends.tracing.caller import Locator
from weft.frontends.tracing.scalars import Scalar, lost_meaning, scalar_dtype

ArrayLike: TypeAlias = "Tracer | np.ndarray[Any, Any] | np.generic | Scalar | Dim | Sequence[Any]"


@record
class TracerView:
    """How a tracer shares memory with another, as NumPy's views do.

    Not `certain` means that NumPy may have made a copy.
    """

    base: Tracer
    get: Callable[[Value], Value]
    put: Callable[[Value, Value], Value] | None
    certain: bool = True


class Tracer:
    """An array whose value is not known while the user's function is traced.

    `weak` marks values that come from Python scalars and promote as those do. A tracer made as a
    view of another follows writes to it, and writes through to it.
    """

    __slots__ = ("region_trace", "weak", "_value", "_view", "_root", "_version", "_owner")

    def __init__(
        self,
        trace: Trace,
        value: Value,
        *,
        weak: bool = False,
        view: TracerView | None = None,
        owner: str = "",
    ) -> None:
        self.region_trace = trace
        self.weak = weak
        self._value = value
        self._view = view
        shares = view is not None and view.base.home is trace
        self._root: Tracer | None = view.base._family() if view is not None and shares else None
        self._version: int = 0 if self._root is None else self._root._version
        self._owner = owner

    @property
    def type(self) -> ArrayType:
        return self._value.type

    @property
    def home(self) -> Trace:
        """The trace in which the array is: that of the one which this is a view of."""
        return self._family().region_trace

    @property
    def value(self) -> Value:
        """The graph value as of now: read again if the array that this is a view of, at the root of
        all its views, was written to since.
        """
        root = self._root
        if root is None or self._version == root._version:
            return self._value
        for tracer, view in reversed(self._chain()):
            if tracer._version == root._version:
                continue
            if not view.certain:
                raise _unknown_sharing(tracer, "has since been written to")
            with root.region_trace.active():
                tracer._value = view.get(view.base._value)
            tracer._version = root._version
        return self._value

    def assign(self, value: Value, spelling: str) -> None:
        """Write in place, as far as a trace can: this name, its views and its base see the new
        value.

        `spelling` is the functional form to show when the write is refused.
        """
        self._require_writable(spelling)
        written: list[tuple[Tracer, Value]] = [(self, value)]
        for tracer, view in self._chain():
            if not view.certain:
                raise _unknown_sharing(tracer, f"might change, or write {spelling}")
            if view.put is None:
                raise self.region_trace.error(
                    "a write through this view of another array is not supported in a trace; write "
                    f"to that array, or take a .copy() first and write {spelling}"
                )
            written.append((view.base, view.put(view.base.value, written[-1][1])))
        version = self._family()._version + 1
        for tracer, new in written:
            tracer._value = new
            tracer._version = version

    def _family(self) -> Tracer:
        """The array with memory of its own that this one is, or is a view of."""
        return self if self._root is None else self._root

    def _chain(self) -> list[tuple[Tracer, TracerView]]:
        """This tracer and the views it is made of, up to the root, which is none."""
        tracer: Tracer = self
        chain = []
        while tracer._view is not None:
            chain.append((tracer, tracer._view))
            tracer = tracer._view.base
        return chain

    def _require_writable(self, spelling: str) -> None:
        if self._owner:
            raise self.region_trace.error(
                f"{self._owner} is written to in place, which would change the caller's array; "
                f"write {spelling}"
            )
        if self._view is not None and self._root is None:
            raise OuterWrite(self._view.base._family(), spelling)
        if self.home is not active.get():
            raise OuterWrite(self._family(), spelling)

    @contextmanager
    def moved(self, trace: Trace, value: Value) -> Iterator[None]:
        """Let the array be one of another trace, of a body that writes to it; views follow."""
        home, before = self.region_trace, self._value
        self.region_trace, self._value = trace, value
        self._version += 1
        try:
            yield
        finally:
            self.region_trace, self._value = home, before
            self._version += 1


@record
class Surface:
    """What the arrays of a trace can do: the class they are of, and what else is made of arrays.

    `frontends.numpy.array` owns the one there is and starts every outermost trace with it, so that
    nothing here has to know NumPy's functions, which are written in terms of traces.
    """

    array: type[Tracer]
    stacked: Callable[[Any, DType | None], Value]
    """The value of nested lists that hold traced arrays."""
    sparse: Callable[[], Any]
    """The operations on sparse arrays (`tracing.sparse_array.Operations`), loaded when needed."""
    masked: Callable[[], Any]
    """NumPy's functions of `x[mask]` with a traced mask, loaded when needed."""


class OuterWrite(TraceError):
    """A write in place to an array of the function around a loop body or branch.

    Where control flow is converted, the array then becomes a result of the body.
    """

    def __init__(self, array: Tracer, spelling: str) -> None:
        super().__init__(
            "a value of the enclosing function is written to in place inside a loop body or "
            f"branch; make it a carry or a result, and write {spelling}",
            location=user_line(),
        )
        self.array = array


class Trace(Builder):
    """A region while it is traced."""

    __slots__ = ("parent", "surface", "make_tracer", "captures", "finished", "rule", "_constants")

    def __init__(self, surface: Surface, parent: Trace | None = None) -> None:
        super().__init__(locate=Locator() if parent is None else parent.locate)
        self.parent = parent
        self.surface = surface
        self.make_tracer = surface.array
        self.captures: dict[Value, Parameter] = {}
        self.finished = False
        self.rule: tuple[Any, Sequence[Any], Any] | None = None
        self._constants: dict[int, tuple[np.ndarray[Any, Any], Constant]] = {}
        if parent is not None:
            self.location = parent.location

    def nested(self) -> Trace:
        """A trace for a region inside this one."""
        return Trace(self.surface, self)

    def argument(
        self, type: ArrayType, name: str = "", *, weak: bool = False, owner: str = ""
    ) -> Tracer:
        """A new input and the tracer that stands for it."""
        return self.make_tracer(self, self.parameter(type, name), weak=weak, owner=owner)

    def wrap(self, value: Value, *, weak: bool = False) -> Tracer:
        """The tracer that stands for a value of this trace."""
        return self.make_tracer(self, value, weak=weak)

    def closed_region(self, results: Sequence[Value]) -> tuple[Region, list[Value]]:
        """The region with its captures as first parameters, and the parent's values to pass for
        them.
        """
        self.finished = True
        captured = list(self.captures.values())
        own = [p for p in self.parameters if p not in self.captures.values()]
        return Region((*captured, *own), tuple(self.ops), tuple(results)), list(self.captures)

    def read(self, tracer: Tracer) -> Value:
        """The value of a tracer in this trace; one of an enclosing trace is captured."""
        root = tracer._root
        home = tracer.region_trace if root is None else root.region_trace
        if home is self:
            return tracer.value
        if home.finished or not self._is_inside(home):
            raise leaked(tracer)
        assert self.parent is not None
        outer = self.parent.read(tracer)
        if isinstance(outer, Constant):
            return outer
        if outer not in self.captures:
            self.captures[outer] = self.parameter(outer.type)
        return self.captures[outer]

    def lift(self, operand: ArrayLike, dtype: DType | None = None) -> Value:
        """The value for anything array-like; numbers and arrays become constants, of `dtype` if
        given.
        """
        if isinstance(operand, Tracer):
            return self.read(operand)
        if isinstance(operand, Dim):
            return dim_value(dim=operand)
        if isinstance(operand, bool | int | float | complex):
            element = scalar_dtype(operand) if dtype is None else dtype
            return Constant(np.array(operand, element.numpy))
        if isinstance(operand, np.ndarray | np.generic):
            lost = lost_meaning(operand)
            if lost is not None:
                raise self.error(f"an array in a traced function {lost}")
            return self._constant(np.asarray(operand), dtype)
        return self._lift_sequence(operand, dtype)

    def error(self, message: str) -> TraceError:
        """A TraceError at the user's line."""
        return TraceError(message, location=self.locate() if self.locate is not None else None)

    def _is_inside(self, other: Trace) -> bool:
        trace: Trace | None = self
        while trace is not None:
            if trace is other:
                return True
            trace = trace.parent
        return False

    def _constant(self, array: np.ndarray[Any, Any], dtype: DType | None) -> Constant:
        """A constant for an array the user holds; used twice and unchanged in between, it is one
        constant.
        """
        if not is_supported(array.dtype):
            raise ArgumentError(
                f"an array of dtype {array.dtype} cannot be used in a traced function",
                location=self.locate() if self.locate is not None else None,
            )
        if dtype is not None and array.dtype != dtype.numpy:
            return Constant(array.astype(dtype.numpy))
        if array.size <= 16:
            return Constant(array)
        known = self._constants.get(id(array))
        if known is not None and np.array_equal(known[1].array, array):
            return known[1]
        constant = Constant(array, self.locate() if self.locate is not None else None)
        self._constants[id(array)] = array, constant
        return constant

    def _lift_sequence(self, operand: Any, dtype: DType | None) -> Value:
        if _holds_tracer(operand):
            return self.surface.stacked(operand, dtype)
        try:
            array = np.asarray(operand)
        except WeftError:
            raise
        except (ValueError, TypeError):
            array = np.asarray(None)
        if not is_supported(array.dtype):
            raise ArgumentError(
                f"expected an array or a number, got {type(operand).__name__}",
                location=self.locate() if self.locate is not None else None,
            )
        return Constant(array if dtype is None else array.astype(dtype.numpy))


def current_trace() -> Trace:
    """The trace in force."""
    builder = active.get()
    if not isinstance(builder, Trace):
        raise TraceError(
            "a traced array is used outside of the function that was traced; return it as a result "
            "instead of storing it in an outer variable"
        )
    return builder


def find_trace() -> Trace | None:
    """The trace in force, or None."""
    builder = active.get()
    return builder if isinstance(builder, Trace) else None


def leaked(tracer: Tracer) -> TraceError:
    """The error for a tracer that outlived its trace."""
    origin = _made_at(tracer)
    return TraceError(
        f"a traced array ({tracer.type}) is used outside of the function or loop body that made "
        "it; return it as a result instead of storing it in an outer variable"
        + (". It was made" if origin is not None else ""),
        location=origin,
    )


def _unknown_sharing(tracer: Tracer, what: str) -> TraceError:
    return TraceError(
        f"whether this array ({tracer.type}) shares memory with the one it is made of depends on "
        f"strides, which a trace does not know, and that one {what}; take a .copy() where it is "
        "made",
        location=_made_at(tracer),
    )


def _made_at(tracer: Tracer) -> Location | None:
    return tracer._value.op.location if isinstance(tracer._value, Result) else None


def located(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function; an error it raises names the user's line."""
    try:
        return function(*args, **kwargs)
    except WeftError as error:
        if error.location is None:
            error.at(user_line())
        raise


def user_line() -> Location | None:
    """The user's line that is running, if a trace is in force."""
    trace = find_trace()
    return trace.locate() if trace is not None and trace.locate is not None else None


def type_of_operand(operand: ArrayLike) -> ArrayType:
    """The type that `Trace.lift` would give, without making a value."""
    if isinstance(operand, Tracer):
        return operand.type
    if isinstance(operand, Dim):
        return ArrayType(i64)
    return current_trace().lift(operand).type


def shape_of(operand: ArrayLike) -> Shape:
    """The shape of anything array-like."""
    return type_of_operand(operand).shape


def _holds_tracer(operand: Any) -> bool:
    stack = [operand]
    while stack:
        item = stack.pop()
        if isinstance(item, Tracer | Dim):
            return True
        if isinstance(item, list | tuple):
            stack.extend(item)
    return False
