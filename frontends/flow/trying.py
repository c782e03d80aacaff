"""`try` with handlers of what numbers raise: where the program raises in the body, by a condition
that only it knows, the statement is a branch between the handler and the body.

The body is traced once to find these conditions, and again as the branch in which none of them
holds. What the body has done before it raises is done in Python when the handler runs, so it has to
be nothing that is seen then.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from weft.compiler.ir.edit import inline
from weft.compiler.ir.errors import EvaluationError, TraceError
from weft.compiler.ir.graph import Graph, Op, Region, Result, Value
from weft.compiler.ir.walk import live_ops, walk
from weft.compiler.ops import logic, reduction
from weft.frontends.flow import state
from weft.frontends.flow.branches import Branching
from weft.frontends.flow.identity import drop_ties
from weft.frontends.flow.jumps import is_internal
from weft.frontends.flow.parts import add_written, conversion_state, trace_part
from weft.frontends.flow.raising import OF_LINALG, handled
from weft.frontends.flow.saved import Consumed, Saved, parts_of
from weft.frontends.flow.scope import Part, ScopeNames, Slot, StatementScope
from weft.frontends.tracing import core
from weft.frontends.tracing.conversion import Unseen
from weft.frontends.tracing.failing import fail_where, require_no_handler
from weft.frontends.tracing.handlers import Catcher
from weft.frontends.tracing.trace import (
    OuterWrite,
    Trace,
    Tracer,
    current_trace,
    find_trace,
    user_line,
)

_MOST_LOOKED_AT: Final = 1000
_Handler: TypeAlias = "tuple[Callable[[], Any], Part]"


class _DoneBefore(Unseen):
    """A refusal of what is done before the body may raise."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is changed before this statement may raise what its `except` catches, which "
            "is only known when the program runs; compute in variables of their own, and assign "
            "after",
            location=user_line(),
        )


def try_(body: Part, handlers: Sequence[_Handler], names: Any) -> None:
    """The statement `try: body`, with an `except` for each of the handlers."""
    parts, listed = (body, *[handler for _, handler in handlers]), ScopeNames(*names)
    jumps = any(map(is_internal, listed.rebound))
    scope = StatementScope(parts, listed._replace(is_guard=jumps))
    if find_trace() is None or not _sees_traced(scope.variables(listed.read)):
        _as_python(body, handlers)
        return
    attempt = _Attempt(body, handlers, scope)
    when = attempt.find()
    if when is None:
        _as_python(body, handlers)
    else:
        attempt.branch(when)


def _sees_traced(slots: Sequence[Slot]) -> bool:
    """Whether a traced value can be reached from variables in a few steps. Where it can only be
    reached in more, what a handler would catch is refused.
    """
    queue: list[Any] = [slot.get() for slot in slots]
    seen: set[int] = set()
    while queue and len(seen) < _MOST_LOOKED_AT:
        value = queue.pop()
        if isinstance(value, Tracer):
            return True
        if id(value) not in seen and not state.is_immutable(value):
            seen.add(id(value))
            queue += [part for _, part in parts_of("", value)]
            queue += (state.attributes_of(value) or {}).values()
    return False


def _as_python(body: Part, handlers: Sequence[_Handler]) -> None:
    try:
        with handled(lambda: tuple([kind for kinds, _ in handlers for kind in _listed(kinds)])):
            body()
    except Exception as error:
        for kinds, handler in handlers:
            if isinstance(error, kinds()):
                handler()
                return
        raise


def _listed(kinds: Callable[[], Any]) -> tuple[Any, ...]:
    found = kinds()
    return found if type(found) is tuple else (found,)


class _Attempt:
    """A `try` on its way to a branch."""

    def __init__(self, body: Part, handlers: Sequence[_Handler], scope: StatementScope) -> None:
        self._body = body
        self._handlers = handlers
        self._scope = scope
        self._saved = Saved(
            scope.assigned(),
            scope.variables([*scope.names.read, *scope.names.changed]),
            scope.parts,
        )
        self._before: list[tuple[Slot, Any, int]] = []
        self._conditions: list[Value] = []
        self._chosen: set[int] = set()
        self._done: dict[str, Slot] = {}

    def find(self) -> Value | None:
        """The condition under which the body raises what a handler catches; None if there is none
        that only the program knows.
        """
        written: list[Tracer] = []
        while True:
            self._conditions, self._chosen = [], set()
            try:
                with self._saved.frozen():
                    made = trace_part(self._gathering, (), written)
                break
            except OuterWrite as error:
                self._saved.restore()
                try:
                    add_written(written, error)
                except OuterWrite:
                    return None
            except (_DoneBefore, Consumed):
                self._saved.restore()
                raise
            except Exception:  # as it is, it will be raised again
                self._saved.restore()
                return None
        self._saved.restore()
        if not self._conditions:
            return None
        if len(self._chosen) > 1:
            raise Unseen(
                "which `except` of this statement runs is only known when the program runs; make "
                "it one, or test with an `if`",
                location=user_line(),
            )
        return _outside(made.trace, self._conditions)

    def _gathering(self) -> None:
        self._before = [(slot, slot.get(), _version(slot.get())) for slot in self._scope.assigned()]
        self._run(self._note)

    def _run(self, found: Callable[..., None]) -> None:
        """The body, with what its handlers catch told of."""
        around, trace = conversion_state(), current_trace()
        catcher = Catcher(
            lambda: tuple([kind for kinds, _ in self._handlers for kind in _listed(kinds)]), found
        )
        catcher.trace = trace
        around.handlers.append(catcher)
        start = len(trace.ops)
        try:
            self._body()
            if issubclass(np.linalg.LinAlgError, catcher()):
                _find_linalg(list(trace.ops), start, found)
        finally:
            around.handlers.pop()

    def _note(self, when: Value, error: BaseException, place: int | None = None) -> None:
        """Take note of a condition, which comes up at a place among the ops; now if that is None.
        What the body has assigned by then has to be nothing that is seen.
        """
        self._conditions.append(when)
        kinds = [kinds() for kinds, _ in self._handlers]
        self._chosen.add(next(n for n, kind in enumerate(kinds) if isinstance(error, kind)))
        for slot, value, version in self._before:
            now = slot.get()
            if now is not value and not is_internal(slot.name) and not _is_after(now, place):
                self._done[slot.name] = slot
            elif now is value and _version(value) != version:
                raise _DoneBefore(slot.name)
        try:
            self._saved.require_unchanged(but=[slot for slot, _, _ in self._before])
        except TraceError as refusal:
            raise _DoneBefore("something") from refusal

    def branch(self, when: Value) -> None:
        """Run the handler where the condition holds, and the body elsewhere."""
        (chosen,) = self._chosen
        parts = (lambda: self._run(lambda *_: None), lambda: self._handle(chosen))
        try:
            Branching(core.wrap(when), parts, self._scope).run()
            drop_ties()
        except (OuterWrite, Consumed):
            raise
        except TraceError as error:  # traced as it is, no handler would be seen
            raise Unseen(error.message, location=error.location) from error

    def _handle(self, chosen: int) -> None:
        before = {name: slot.get() for name, slot in self._done.items()}
        self._handlers[chosen][1]()
        for name, slot in self._done.items():
            if slot.get() is before[name] and name in self._scope.names.live:
                raise _DoneBefore(name)


def _version(value: Any) -> int:
    return value.memory._version if isinstance(value, Tracer) else 0


def _outside(trace: Trace, conditions: Sequence[Value]) -> Value:
    """Whether one of the conditions of a trace holds, in the one around it."""
    with trace.active():
        some = functools.reduce(logic.or_, conditions)
    region, captured = trace.closed_region([some])
    ops = live_ops(region.ops, region.results, effects=False)
    around = current_trace()
    (value,) = inline(Region(region.parameters, tuple(ops), region.results), captured, around)
    return value


def _is_after(value: Any, place: int | None) -> bool:
    """Whether a variable holds what was computed after a place among the ops of its trace."""
    if place is None or not isinstance(value, Tracer) or not isinstance(value.value, Result):
        return False
    return value.value.op in value.region_trace.ops[place:]


def _find_linalg(ops: Sequence[Op], start: int, found: Callable[..., None]) -> None:
    """What NumPy would raise a LinAlgError for: finite matrices for which there is no result. What
    it does with others nobody knows.
    """
    for place, op in enumerate(ops[start:], start):
        of_linalg = [one.name in OF_LINALG for one in walk(Graph("", Region((), (op,), ())))]
        if any(of_linalg[1:]) or (of_linalg[0] and not _is_real(op)):
            require_no_handler(np.linalg.LinAlgError, "linear algebra")
        elif of_linalg[0]:
            given = _are_finite(op.operands)
            fail_where(logic.not_(given), _unknown())
            failed = logic.and_(given, logic.not_(_are_finite(op.results)))
            found(failed, np.linalg.LinAlgError(), place)


def _unknown() -> EvaluationError:
    return EvaluationError(
        "linear algebra is asked of NaN or infinity in a `try` that catches LinAlgError: whether "
        "NumPy raises it then depends on where they stand; test with np.isfinite before"
    )


def _is_real(op: Op) -> bool:
    return all(value.type.dtype.is_float for value in (*op.operands, *op.results))


def _are_finite(values: Sequence[Value]) -> Value:
    axes = [tuple(range(value.type.rank)) for value in values]
    pairs = zip(values, axes, strict=True)
    parts = [reduction.reduce_all(logic.is_finite(value), axes=own) for value, own in pairs]
    return functools.reduce(logic.and_, parts)
