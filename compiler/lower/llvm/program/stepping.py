"""How loops of a program step, and ask the runtime now and then whether to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from weft.compiler.abi import Run
from weft.compiler.ir.graph import Op
from weft.compiler.loops.polling import asks_inside, has_short_steps
from weft.compiler.lower.llvm.emit.blocks import TIGHT, EmittedLoop
from weft.compiler.lower.llvm.emit.function import V
from weft.compiler.lower.llvm.emit.types import I64, VOID

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.program.region import RegionCode


@contextmanager
def counted(code: RegionCode, op: Op, start: V, end: V) -> Iterator[V]:
    """A loop over the steps of a scan. Where it asks and its steps do not, nothing is asked in an
    inner loop, so that LLVM sees how many steps that has.
    """
    f, every = code.f, code.schedule.asking.get(op)
    counter = f.variable(start)
    if every is None or _steps_ask(code, op):
        with f.loop_while(label(code, op)) as loop:
            step = counter.get()
            loop.stop_unless(step.lt(end))
            _ask_between(code, loop, op, step)
            yield step
            counter.set(step + 1)
        return
    with f.loop_while() as chunks:
        first = counter.get()
        chunks.stop_unless(first.lt(end) & _goes_on(code))
        last = f.minimum(first + every, end)
        with f.loop_while(label(code, op)) as loop:
            step = counter.get()
            loop.stop_unless(step.lt(last))
            yield step
            counter.set(step + 1)
        with f.when(last.lt(end), seldom=True):
            _ask(code)


@contextmanager
def repeated(code: RegionCode, op: Op, condition: Callable[[], V], length: V | None) -> Iterator[V]:
    """A loop that goes on as long as its condition holds, which `condition` writes; one whose
    length is known when it begins is like a scan.
    """
    f = code.f
    if length is not None:
        with counted(code, op, f.const(0, I64), length) as step:
            yield step
        return
    counter = f.variable(f.const(0, I64))
    with f.loop_while(label(code, op)) as loop:
        step = counter.get()
        _ask_between(code, loop, op, step)
        loop.stop_unless(condition())
        yield step
        counter.set(step + 1)


def _ask_between(code: RegionCode, loop: EmittedLoop, op: Op, step: V) -> None:
    """Ask the runtime now and then whether to stop, and end the loop if so. Where steps ask
    themselves, look at each what they were told. A loop that has few steps does not ask.
    """
    f, every = code.f, code.schedule.asking.get(op)
    if every is None:
        return
    with f.when((step & (every - 1)).eq(every - 1), seldom=True):
        _ask(code)
        if not _steps_ask(code, op):
            loop.stop_unless(_goes_on(code))
    if _steps_ask(code, op):
        loop.stop_unless(_goes_on(code))


def label(code: RegionCode, op: Op) -> str:
    """How the label of a loop begins, which says what LLVM is to do."""
    control = code.plan.controls[op]
    return TIGHT if has_short_steps(control, code.built, code.schedule) else "while"


def _steps_ask(code: RegionCode, op: Op) -> bool:
    return any(asks_inside(body, code.schedule) for body in code.plan.controls[op].bodies)


def _ask(code: RegionCode) -> None:
    code.f.call(code.program.poll(), VOID, [code.run])


def _goes_on(code: RegionCode) -> V:
    """Whether nobody has said that the run is to stop."""
    f = code.f
    return f.load(f.element(code.run, I64, int(Run.STOP)), I64).eq(0)
