"""Parts of a statement (branches, loop bodies, conditions) traced into regions, and the arrays that
they write to in place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from weft.compiler.ir.dtypes import is_supported
from weft.compiler.ir.errors import AmbiguousTruthError
from weft.compiler.ir.graph import Constant, Region, Value
from weft.compiler.ir.location import Location
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import logic
from weft.frontends.flow import variables
from weft.frontends.flow.identity import checked_ties
from weft.frontends.flow.scope import AttributeSlot, ScopeNames, Slot
from weft.frontends.flow.variables import State, VariableLeaf
from weft.frontends.flow.written import moved
from weft.frontends.tracing import core
from weft.frontends.tracing.conversion import Conversion, conversion
from weft.frontends.tracing.trace import OuterWrite, Trace, Tracer, current_trace, user_line

_SOLE_REFERENCES: Final = 3  # the variable, the parameter here, and that of `getrefcount`
SPELLING = "x = x.at[...].set(...)"
Doubt: TypeAlias = "tuple[Tracer, Location | bool]"


def is_traced(value: Any) -> bool:
    """Whether a value is only known when the program runs."""
    if not isinstance(value, Tracer) or value.known is not None:
        return False
    return not isinstance(value.value, Constant) or value.type.size != 1


def truth(value: Any, what: str) -> Value:
    """The value of a condition as a rank-0 bool."""
    if not isinstance(value, Tracer):
        return core.lift(bool(value))
    condition = core.lift(value)
    if condition.type.size != 1:
        raise AmbiguousTruthError(
            f"{what} is {condition.type}: the truth of an array with more than one element is "
            "ambiguous; use x.any() or x.all(), or np.where to choose by element",
            location=user_line(),
        )
    condition = core.reshape(condition, ())
    if condition.type.dtype.is_bool:
        return condition
    return logic.ne(condition, core.full((), 0, condition.type.dtype))


@dataclass
class TracedPart:
    """What tracing a part gave; the trace is still open, so that results can be cast."""

    trace: Trace
    states: list[State]
    returned: State
    written: list[Value]
    doubts: list[Doubt]

    def close(
        self,
        results: Sequence[VariableLeaf],
        types: Sequence[ArrayType],
        more: Sequence[Value] = (),
    ) -> tuple[Region, list[Value]]:
        """The region with these results and what was written, and what it captured."""
        with self.trace.active():
            cast = [
                core.cast(leaf.lifted(), type.dtype)
                for leaf, type in zip(results, types, strict=True)
            ]
        return self.trace.closed_region([*cast, *self.written, *more])


def trace_part(
    part: Callable[..., Any],
    slots: Sequence[Slot],
    written: Sequence[Tracer],
    trace: Trace | None = None,
    entering: Sequence[Value] | None = None,
) -> TracedPart:
    """Run a part in a trace of its own; variables are read afterwards. The arrays in `written` are
    arrays of that trace meanwhile, with the values `entering`, or those that they have.
    """
    trace = trace or current_trace().nested()
    with trace.active(), ExitStack() as stack:
        values = entering if entering is not None else [trace.read(array) for array in written]
        stack.enter_context(moved(written, trace, values))
        doubts = stack.enter_context(_doubts(trace))
        stack.enter_context(checked_ties())
        returned = variables.take(part(), trace, written)
        states = [variables.take(slot.get(), trace, written) for slot in slots]
        results = [array.peek() for array in written]
    return TracedPart(trace, states, returned, results, doubts)


@contextmanager
def _doubts(trace: Trace) -> Iterator[list[Doubt]]:
    """The doubts about arrays that come up in a trace, which are none afterwards: what is traced
    next may be the other branch, or another attempt.
    """
    found: list[Doubt] = []
    try:
        yield found
    finally:
        found += [(array, array.doubt) for array in trace.doubted]
        for array in trace.doubted:
            array.doubt = False


def resume(doubts: Iterable[Doubt]) -> None:
    """Go on after parts with the doubts that came up in them."""
    trace = current_trace()
    for array, line in doubts:
        array.cast_doubt(line, trace)


def add_written(written: list[Tracer], error: OuterWrite) -> None:
    """Let an array be a result of the part that wrote to it; raises if it is one already."""
    if any(array is error.array for array in written):
        raise error
    written.append(error.array)


def adopt_arrays(slots: Sequence[Slot], names: ScopeNames) -> None:
    """Make NumPy's arrays that a part writes to arrays of the trace."""
    for slot in slots:
        if slot.name in names.changed and is_array(slot.get()):
            slot.set(adopted(slot.get(), slot.name))


def is_array(value: Any) -> bool:
    """Whether it is an array of NumPy that can be one of the trace."""
    return isinstance(value, np.ndarray) and value.ndim > 0 and is_supported(value.dtype)


def adopted(value: Any, name: str) -> Any:
    """An array that a trace can write to, for one of NumPy's that a variable holds; refused if
    others hold it too, who would not see the writes.
    """
    is_shared = sys.getrefcount(value) > _SOLE_REFERENCES
    if value.base is not None and sys.getrefcount(value.base) > 2:
        is_shared = True
    if is_shared:
        raise core.trace_error(
            f"a traced value is written to {name or 'an array'}, a NumPy array to which other "
            "variables refer as well, and these would not see it; make it with weft.numpy.zeros or "
            "weft.numpy.array, or take a .copy()"
        )
    return core.wrap(core.lift(value.copy()))


def written_arrays(slots: Sequence[Slot], names: ScopeNames) -> list[Tracer]:
    """The arrays that a part writes to as far as its text tells: `x[i] = v` and `x += v`."""
    found: list[Tracer] = []
    for slot in slots:
        value = slot.get()
        if is_written_in_place(slot, value, names):
            value.become_traced()
            root = value._family()
            if not any(root is other for other in found):
                found.append(root)
    return found


def is_written_in_place(slot: Slot, value: Any, names: ScopeNames) -> bool:
    """Whether a variable keeps its array, to which a part writes."""
    is_kept = slot.name in names.changed and slot.name not in names.rebound
    return is_kept and isinstance(value, Tracer) and bool(value.type.shape)


def note_undefined(slot: Slot, reason: str) -> None:
    """Remember why a variable has no value, for the message when somebody reads it."""
    state = conversion.get()
    if state is None:
        return
    state.undefined[slot.name] = reason
    if isinstance(slot, AttributeSlot):
        state.undefined[attribute_key(slot.owner, slot.attribute)] = reason


def attribute_key(owner: Any, attribute: str) -> str:
    """What stands for an attribute of an object among what has no value."""
    return f"{id(owner)}.{attribute}"


def require_defined(owner: Any, attribute: str) -> None:
    """Raise if somebody asks whether there is an attribute, which depends on values."""
    state = conversion.get()
    if state is None or hasattr(owner, attribute):
        return
    reason = state.undefined.get(attribute_key(owner, attribute))
    if reason is not None:
        raise core.trace_error(f"whether there is {attribute} here is not known: {reason}")


@contextmanager
def conditional(what: str) -> Iterator[None]:
    """What runs inside depends on a traced condition."""
    state = conversion_state()
    state.conditions.append(what)
    try:
        yield
    finally:
        state.conditions.pop()


def conversion_state() -> Conversion:
    """What holds for the conversion in force; a fresh one for a converted function that outlived
    it.
    """
    return conversion.get() or Conversion(convert=lambda function: function)
