"""Tracing: a builder that knows the user's values.

A `Tracer` stands for an array whose value is not known while the user's function runs; a `Trace`
records what is done to it. Traces nest, one per region; a tracer of an enclosing trace that is used
inside becomes an input of the inner region (a capture). This file holds the data only; operators
and NumPy's functions come with the `Surface` that a trace is started with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias
from weakref import ref

import numpy as np

from weft.compiler.ir.ambient import active
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Dim
from weft.compiler.ir.dtypes import DType, i64, is_supported
from weft.compiler.ir.errors import ArgumentError, TraceError, WeftError
from weft.compiler.ir.graph import Constant, Parameter, Region, Value
from weft.compiler.ir.location import Location
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops.arithmetic import mul
from weft.compiler.ops.conversion import rounded
from weft.compiler.ops.helpers import is_power_of_two
from weft.compiler.ops.shape import dim_value
from weft.compiler.record import record
from weft.frontends.tracing.alias import (
    Alias,
    Conditions,
    Stamp,
    caller_may_see,
    in_doubt,
    is_named,
    no_one_number,
    no_way_back,
    would_change_callers,
)
from weft.frontends.tracing.caller import Locator
from weft.frontends.tracing.misuse import leaked as leaked
from weft.frontends.tracing.misuse import unknown_sharing
from weft.frontends.tracing.scalars import Scalar, lost_meaning, scalar_dtype

ArrayLike: TypeAlias = "Tracer | np.ndarray[Any, Any] | np.generic | Scalar | Dim | Sequence[Any]"


@record
class TracerView:
    """How a tracer shares memory with another, as NumPy's views do.

    `get` makes the view's value of the base's, `put` the base's of that and the view's (None: it is
    not written to). Not `certain` means that NumPy may have made a copy. `like` makes the same view
    of a NumPy array, and raises a ValueError where that would be a copy. None of them knows a
    trace.
    """

    base: Tracer
    get: Callable[[Value], Value]
    put: Callable[[Value, Value], Value] | None
    certain: bool = True
    like: Callable[[Any], Any] = lambda array: array.view()


class Tracer:
    """An array whose value is not known while the user's function is traced.

    `weak` marks Python numbers, bools among them: they promote as such, and operators on them alone
    are Python's. A tracer made as a view of another follows writes to it, and writes through to it.

    After a branch or loop it may depend on values which array of before this one is: those are its
    `aliases`. It follows writes to them and writes through to them where they are the same. If it
    is not known where, a write to one is a doubt about the other, which can not be read any more.
    One that is `covered` is one of its aliases in any case, so that nothing need be known of it
    itself: what would be an alias of it is one of those.
    """

    __slots__ = (
        "region_trace",
        "weak",
        "aliases",
        "covered",
        "doubt",
        "followers",
        "forked",
        "held",
        "_value",
        "_view",
        "_root",
        "_version",
        "_owner",
        "__weakref__",
    )

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
        self.aliases: list[Alias] | None = None
        self.covered = False
        self.doubt: Location | bool = False
        self.forked = False
        self.followers: list[ref[Tracer]] = []
        self.held = 0

    @property
    def type(self) -> ArrayType:
        return self._value.type

    @property
    def known(self) -> np.ndarray[Any, Any] | None:
        """The elements of an array to which nothing traced was written so far, read-only."""
        return None

    def become_traced(self) -> None:
        """Be an array whose elements are not known, before it has to do with others."""

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
        memory = self if root is None else root
        if memory.aliases is not None:
            memory._agree()
        if memory.doubt is not False:
            raise in_doubt(memory, user_line())
        if root is None or self._version == root._version:
            return self._value
        for tracer, view in reversed(self._chain()):
            if tracer._version == root._version:
                continue
            if not view.certain:
                raise unknown_sharing(tracer, "has since been written to")
            with root.region_trace.active():
                tracer._value = view.get(view.base._value)
            tracer._version = root._version
        return self._value

    def assign(self, value: Value, spelling: str) -> None:
        """Write in place, as far as a trace can: this name, its views and its base see the new
        value.

        `spelling` is the functional form to show when the write is refused.
        """
        self.require_writable(spelling)
        written: list[tuple[Tracer, Value]] = [(self, value)]
        for tracer, view in self._chain():
            if not view.certain:
                raise unknown_sharing(tracer, f"might change, or write {spelling}")
            if view.put is None:
                raise self.region_trace.error(
                    "a write through this view of another array is not supported in a trace; write "
                    f"to that array, or take a .copy() first and write {spelling}"
                )
            written.append((view.base, view.put(view.base.value, written[-1][1])))
        memory = self._family()
        version = memory._version + 1
        for tracer, new in written:
            tracer._value = new
            tracer._version = version
        if memory.aliases is not None:
            memory._write_to_aliases()

    def _family(self) -> Tracer:
        """The array with memory of its own that this one is, or is a view of."""
        return self if self._root is None else self._root

    @property
    def memory(self) -> Tracer:
        """The array whose memory this is, in whatever trace the views of it were made."""
        family = self._family()
        return family if family._view is None else family._view.base.memory

    @property
    def path(self) -> tuple[TracerView, ...]:
        """The views that make this array of its memory."""
        return tuple([view for _, view in reversed(self._chain())])

    @property
    def is_written(self) -> bool:
        """Whether it was written to in place."""
        return self.memory._version > 0

    @property
    def possible(self) -> list[Tracer]:
        """All arrays whose memory this may be, first the one that it is for sure."""
        memory = self.memory
        return [memory, *[found for _, found in memory.alive()]]

    def add_alias(
        self,
        memory: Tracer,
        conditions: Conditions | None = None,
        path: tuple[TracerView, ...] = (),
    ) -> None:
        """Note that this array, which has memory of its own, may be (a view of) another one."""
        if self.aliases is None:
            self.aliases = []
        self.aliases.append(Alias(memory, path, conditions, memory._stamp))
        memory.followers.append(ref(self))

    def overwrite(self, value: Value) -> None:
        """Write to the whole array, whatever may have been written to it by other names."""
        if self._view is None:
            self.doubt = False
        self.assign(value, "x = x.at[...].set(...)")

    def peek(self) -> Value:
        """The value at the end of a part, without asking whether there is a doubt about it."""
        if self.aliases is not None:
            self._agree(asks=False)
        return self._value

    def cast_doubt(self, line: Location | bool | None, trace: Trace) -> None:
        """Note that it was perhaps written to by another name, in a trace."""
        if self.doubt is False:
            self.doubt = line or True
            trace.doubted.append(self)

    @property
    def _stamp(self) -> Stamp:
        return self._value, self.doubt

    def alive(self) -> list[tuple[Alias, Tracer]]:
        """The aliases that matter: somebody holds them, or another array that may be the same."""
        if self.aliases is None:
            return []
        for alias in list(self.aliases):
            memory = alias.memory
            if alias.seen != memory._stamp or is_named(memory):
                continue
            if not memory._is_followed_by_others(self):
                self.aliases.remove(alias)
                self.covered = False
        return [(alias, alias.memory) for alias in self.aliases]

    def _is_followed_by_others(self, than: Tracer) -> bool:
        self.followers = [follower for follower in self.followers if follower() is not None]
        for reference in self.followers:
            follower = reference()
            if follower is not None and follower is not than and is_named(follower):
                return True
        return False

    def _agree(self, asks: bool = True) -> None:
        """See what was written to the aliases since."""
        for alias, memory in self.alive():
            if alias.seen == memory._stamp:
                continue
            if alias.conditions is None or memory.doubt is not False:
                if asks:
                    raise in_doubt(memory if memory.doubt is not False else self, user_line())
                self.cast_doubt(memory.doubt or user_line(), current_trace())
                continue
            home = self.region_trace
            if not home.is_inside(memory.region_trace):
                raise OuterWrite(self, "x = x.at[...].set(...)")
            with home.active():
                changed = alias.get(home.read(memory))
                self._value = alias.choose(home, changed, self._value)
            self._version += 1
            alias.seen = memory._stamp

    def _write_to_aliases(self) -> None:
        trace = current_trace()
        alive = self.alive()
        for alias, memory in alive:
            if alias.conditions is None:
                memory.cast_doubt(user_line(), trace)
                continue
            before = memory.value
            changed = alias.put(before, self._value)
            memory._value = alias.choose(trace, changed, before)
            memory._version += 1
        self.settle()

    def settle(self) -> None:
        """Take note that it agrees with what it may be."""
        for alias, memory in self.alive():
            alias.seen = memory._stamp

    def _chain(self) -> list[tuple[Tracer, TracerView]]:
        """This tracer and the views it is made of, up to the root, which is none."""
        tracer: Tracer = self
        chain = []
        while tracer._view is not None:
            chain.append((tracer, tracer._view))
            tracer = tracer._view.base
        return chain

    def require_writable(self, spelling: str) -> None:
        """Raise if what this is, or may be, must not be written to."""
        seen, stack = {id(self)}, [self]
        while stack:
            array = stack.pop()
            array._require_own(spelling)
            for alias, memory in array._family().alive():
                if memory._owner:
                    raise self.region_trace.error(caller_may_see(memory._owner, spelling))
                if alias.conditions is not None and id(memory) not in seen:
                    if not alias.leads_back:
                        raise self.region_trace.error(no_way_back(spelling))
                    seen.add(id(memory))
                    stack.append(memory)

    def _require_own(self, spelling: str) -> None:
        if self._owner:
            raise self.region_trace.error(would_change_callers(self._owner, spelling))
        own = self._family()
        if own._view is not None:  # a view of an array of another trace
            raise OuterWrite(own._view.base._family(), spelling)
        if self.home is not active.get():
            raise OuterWrite(own, spelling)
        if own.forked:
            raise self.region_trace.error(no_one_number(spelling))


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
    """A region while it is traced. One that `is_rounding` has products of floats rounded, whatever
    is added to them.
    """

    __slots__ = (
        "parent",
        "surface",
        "make_tracer",
        "bounds",
        "captures",
        "doubted",
        "finished",
        "intervals",
        "is_rounding",
        "made",
        "number_types",
        "read_arrays",
        "rule",
        "scalars",
        "_constants",
    )

    def __init__(self, surface: Surface, parent: Trace | None = None) -> None:
        super().__init__(locate=Locator() if parent is None else parent.locate)
        self.parent = parent
        self.surface = surface
        self.make_tracer = surface.array
        self.bounds: dict[Value, tuple[int, tuple[Any, Any]]] = {}  # see `tracing.bounds`
        self.made: dict[Any, Any] = {}  # of integers, the same
        self.captures: dict[Value, Parameter] = {}
        self.doubted: list[Tracer] = []
        self.finished = False
        self.intervals: dict[Value, tuple[int, int]] = {}
        self.is_rounding: bool = parent is not None and parent.is_rounding
        self.number_types: dict[Value, frozenset[type]] = {}
        self.read_arrays: dict[int, Tracer] = {}
        self.rule: tuple[Any, Sequence[Any], Any] | None = None
        self.scalars: dict[Value, bool] = {}
        self._constants: dict[int, tuple[np.ndarray[Any, Any], Constant]] = {}
        if parent is not None:
            self.location = parent.location

    def emit(
        self,
        definition: OpDef,
        operands: Sequence[Value],
        attributes: Mapping[str, object] | None = None,
        regions: Sequence[Region] = (),
        location: Location | None = None,
    ) -> tuple[Value, ...]:
        """Append an op and return its results."""
        made = super().emit(definition, operands, attributes, regions, location)
        if self.is_rounding and definition is mul and made[0].type.dtype.is_float:
            if not any(map(is_power_of_two, operands)):
                return super().emit(rounded, made, location=location)
        return made

    @contextmanager
    def rounding(self) -> Iterator[None]:
        """Have products of floats rounded that are made inside."""
        before, self.is_rounding = self.is_rounding, True
        try:
            yield
        finally:
            self.is_rounding = before

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
        if home is self or tracer.known is not None:
            return tracer.value
        if home.finished or not self.is_inside(home):
            raise leaked(tracer)
        self._note_read(tracer)
        assert self.parent is not None
        outer = self.parent.read(tracer)
        if isinstance(outer, Constant):
            return outer
        if outer not in self.captures:
            self.captures[outer] = self.parameter(outer.type)
        return self.captures[outer]

    def _note_read(self, tracer: Tracer) -> None:
        """Remember the arrays of outside that are read here, and what they may be."""
        if tracer.type.shape:
            self.read_arrays |= {id(memory): memory for memory in tracer.possible}

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

    def is_inside(self, other: Trace) -> bool:
        trace: Trace | None = self
        while trace is not None and trace is not other:
            trace = trace.parent
        return trace is not None

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


def _holds_tracer(operand: Any) -> bool:
    stack = [operand]
    while stack:
        item = stack.pop()
        if isinstance(item, Tracer | Dim):
            return True
        if isinstance(item, list | tuple):
            stack.extend(item)
    return False
