"""The statements `while` and `for`: run by Python where what decides is known and short, and loops
of the program where it is traced or long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from weft.compiler.ir.errors import TraceError, WeftError
from weft.compiler.ir.graph import Constant, Value
from weft.frontends.flow.branches import Branching
from weft.frontends.flow.identity import drop_ties, forgetting_ties
from weft.frontends.flow.iteration import LoopRequest, Steps, steps
from weft.frontends.flow.logic import and_
from weft.frontends.flow.parts import conditional, conversion_state, is_traced, truth
from weft.frontends.flow.rolling import RolledLoop
from weft.frontends.flow.saved import Consumed, require_free
from weft.frontends.flow.scope import Part, ScopeNames, StatementScope
from weft.frontends.flow.visiting import NDIter, OnlyOnce
from weft.frontends.numpy.flat import Flat
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import OuterWrite, Tracer, user_line

MOST_UNROLLED: Final = 16  # steps, of all loops around together
MOST_UNROLLED_AROUND_LOOPS: Final = 4
SHORT_BODY: Final = 64  # nodes of a syntax tree; of a short body twice as many steps are unrolled
MOST_UNROLLED_IF_NEEDED: Final = 512  # steps that need numbers which are known
MOST_WHILE_STEPS: Final = 10_000


def while_(test: Part, body: Part, names: Any) -> None:
    """The statement `while test: body`."""
    listed = ScopeNames(*names)
    for done in range(MOST_WHILE_STEPS):
        goes_on = test()
        if is_traced(goes_on):
            _while(test, body, listed, is_sure=False)
            drop_ties()
            return
        if not goes_on:
            return
        if done == MOST_UNROLLED and _is_possible(lambda: _while(test, body, listed, True)):
            return
        body()
    raise core.trace_error(
        f"this loop ran {MOST_WHILE_STEPS:,} steps while it was traced, as its condition does not "
        "depend on traced values"
    )


def _while(test: Part, body: Part, names: ScopeNames, is_sure: bool) -> None:
    def goes_on(_: Any) -> Value:
        tested = truth(test(), "the condition of this `while`")
        if isinstance(tested, Constant):
            raise core.trace_error("the condition of this loop does not depend on what it does")
        return tested

    loop = RolledLoop(StatementScope((body, test), names), is_sure)
    with conditional(str(user_line())):
        loop.while_loop(goes_on, lambda _: body(), with_number=False)


def for_(iterable: Any, body: Part, more: Part | None, names: Any) -> None:
    """The statement `for item in iterable: body(item)`; `more` says whether to go on."""
    listed = ScopeNames(*names)
    wish = iterable.is_loop if isinstance(iterable, LoopRequest) else None
    given = iterable.part if isinstance(iterable, LoopRequest) else iterable
    if isinstance(given, Flat | OnlyOnce | NDIter):
        given = given.taken()
    made = None if wish is False else steps(given)
    if made is None:
        require_free(given)
        _unrolled(given, None, body, more, listed)
        return
    count = made.count
    if wish or not isinstance(count, int):
        _rolled(made, body, more, listed)
        drop_ties()
        return
    limit = MOST_UNROLLED_AROUND_LOOPS if listed.has_loop else MOST_UNROLLED
    if count * conversion_state().copies <= limit * (2 if listed.size <= SHORT_BODY else 1):
        _unrolled(given, made, body, more, listed)
    elif not _is_possible(lambda: _rolled(made, body, more, listed), count):
        _unrolled(given, made, body, more, listed)


def _is_possible(run: Callable[[], None], count: int = 0) -> bool:
    """Whether a loop could be made one of the program; what was tried leaves no trace."""
    try:
        with forgetting_ties():
            run()
        drop_ties()
    except OuterWrite:
        raise  # the loop or branch around will make the array one of its results
    except Consumed:
        raise  # a further attempt would find less
    except Exception as error:
        if count <= MOST_UNROLLED_IF_NEEDED:
            return False
        reason = error.message if isinstance(error, WeftError) else repr(error)
        place = error.location if isinstance(error, WeftError) else user_line()
        raise TraceError(
            f"a `for` of {count} steps has to become a loop, in which this cannot be done: "
            f"{reason}; or unroll it all the same: for ... in wf.unrolled(...)",
            location=place,
        ) from error
    return True


def _rolled(made: Steps, body: Part, more: Part | None, names: ScopeNames) -> None:
    count = made.count
    if isinstance(count, int) and count <= 0:
        return
    parts = (body,) if more is None else (body, more)
    loop = RolledLoop(StatementScope(parts, names), is_sure=isinstance(count, int))
    if more is None and not isinstance(count, Tracer):
        loop.scan(body, made)
        return

    def goes_on(number: Any) -> Value:
        tests = [lambda: number < count] + ([] if more is None else [more])
        return truth(and_(*tests), "the condition of this loop")

    with conditional(str(user_line())):
        loop.while_loop(goes_on, lambda number: body(made.at(number)), with_number=True)


def _unrolled(
    iterable: Iterable[Any], made: Steps | None, body: Part, more: Part | None, names: ScopeNames
) -> None:
    """Step by step, as Python does. Once a traced value decides whether the loop goes on, the rest
    is a loop, or each step runs under that condition.
    """
    state = conversion_state()
    copies = state.copies
    if made is not None and isinstance(made.count, int):
        state.copies = copies * max(made.count, 1)
    try:
        for done, item in enumerate(iterable):
            goes_on = True if more is None else more()
            if is_traced(goes_on):
                rest = None if made is None else _rest(made, done)
                if rest is not None and _is_rolled(rest, body, more, names):
                    return
                _guarded(goes_on, body, item, names)
            elif goes_on:
                body(item)
            else:
                return
    finally:
        state.copies = copies


def _is_rolled(made: Steps, body: Part, more: Part | None, names: ScopeNames) -> bool:
    return _is_possible(lambda: _rolled(made, body, more, names))


def _rest(made: Steps, done: int) -> Steps:
    count: Any = made.count
    return replace(made, count=count - done, at=lambda k: made.at(k + done))


def _guarded(goes_on: Any, body: Part, item: Any, names: ScopeNames) -> None:
    scope = StatementScope((body,), names._replace(is_guard=True))
    Branching(goes_on, (lambda: None, lambda: body(item)), scope).run()
