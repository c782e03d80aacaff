"""The stages of the compiler, and the one place where what they should never raise is caught.

`with stage(PASS, "simplify", graph):` makes a CompilerError of an exception that is the compiler's
own fault. What is the user's passes as it is: refusals (a `LoweringError`, a wrong index that is
known already), want of memory, interrupts, and what the system says of files and libraries. The
innermost stage tells; those around it let its error pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from weft.compiler.ir.errors import (
    BoundsError,
    CompilerError,
    EvaluationError,
    LoweringError,
    VerifyError,
    WeftError,
)
from weft.compiler.record import record

# Loaded when something has failed: programs that are found on disk need none of it.
if TYPE_CHECKING:
    from weft.compiler.ir.graph import Graph, Op


@record
class Stage:
    """A stage and how messages name it, from its step or the op that it failed at. Where it `hears`
    the user, refusals are about the user's program; elsewhere that was accepted before.
    """

    name: str
    title: str
    hears_user: bool = False


TYPE_RULE: Final = Stage("type rule", "the type rule of {step}", hears_user=True)
DERIVATIVE: Final = Stage("derivative", "the derivative of {op}", hears_user=True)
BATCHING: Final = Stage("batching", "the batching of {op}", hears_user=True)
PASS: Final = Stage("pass", "the pass {step}")
LOOP_STEP: Final = Stage("loop step", "the step {step} to the loop program")
LOWERING: Final = Stage("lowering", "the lowering of {op}")
LLVM: Final = Stage("LLVM", "LLVM's {step}")
PARSER: Final = "parser"  # the step of LLVM that text may fail at, before all work on it
LINKING: Final = Stage("linking", "the linking of its code")
STUB: Final = Stage("call stub", "making its call stub")
KEEPING: Final = Stage("keeping", "keeping it on disk")

# What a program may be refused for at any stage.
_REFUSALS: Final = (LoweringError, BoundsError, EvaluationError)
# What is no fault of anybody: there is no memory, no file, no library; a warning that somebody
# wants to be an error.
_CIRCUMSTANCES: Final = (MemoryError, OSError, ImportError, Warning)
_NO_THREAD: Final = "start new thread"  # Python says so where there is no memory for one


def is_fault(error: BaseException, of: Stage) -> bool:
    """Whether an exception in this stage is the compiler's own fault."""
    if not isinstance(error, Exception) or isinstance(error, (*_CIRCUMSTANCES, CompilerError)):
        return False
    if isinstance(error, RuntimeError) and _NO_THREAD in str(error):
        return False
    if isinstance(error, WeftError):
        return isinstance(error, VerifyError) if of.hears_user else not isinstance(error, _REFUSALS)
    return True


class stage:
    """A part of a stage: `with stage(...)` makes a CompilerError of a fault in it.

    `op` is what it is about, if the traceback does not tell better.
    """

    __slots__ = ("stage", "step", "graph", "op")

    def __init__(
        self, stage: Stage, step: str = "", graph: Graph | None = None, op: Op | None = None
    ) -> None:
        self.stage = stage
        self.step = step
        self.graph = graph
        self.op = op

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None and is_fault(error, self.stage):
            raise self.failure(error) from error

    def failure(self, error: BaseException) -> CompilerError:
        """The fault in words, with the op that is nearest to it."""
        op = nearest_op(error.__traceback__) or self.op
        name = self.step or ("the program" if op is None else op.name)
        title = self.stage.title.format(step=self.step, op=name)
        said = str(error.message if isinstance(error, WeftError) else error).strip()
        what = f"{type(error).__name__}: {said}" if said else type(error).__name__
        location = op.location if op is not None else None
        if location is None and isinstance(error, WeftError):
            location = error.location
        failed = CompilerError(
            f"{title} failed with {what}",
            stage=self.stage.name,
            step=self.step,
            location=location,
            graph=self.graph,
        )
        failed.op = op
        return failed if op is None else failed.at(location, _described(op))


def _described(op: Op) -> str:
    from weft.compiler.ir.infer import describe

    return describe(op.definition, op.operands)


# --- what a traceback tells -----------------------------------------------------------------------


def nearest_op(trace: TracebackType | None) -> Op | None:
    """The op that the innermost function which has one was about: stages work op by op, with the op
    in a variable of its own.
    """
    import traceback

    for frame, _ in reversed(list(traceback.walk_tb(trace))):
        ops = _ops_among(frame.f_locals.values())
        if ops:
            placed = [op for op in ops if op.location is not None]
            return (placed or ops)[0]
    return None


def _ops_among(values: Any) -> list[Op]:
    """The ops that variables hold; else those whose results, or whose nodes, they hold."""
    from weft.compiler.ir.graph import Op

    held = list(values)
    ops = [value for value in held if isinstance(value, Op)]
    return ops or list(_ops_behind(held))


def _ops_behind(held: list[Any]) -> Iterator[Op]:
    from weft.compiler.ir.graph import Op, Result

    for value in held:
        behind = value.op if isinstance(value, Result) else _slot(value, "op")
        if isinstance(behind, Op):
            yield behind


def _slot(value: Any, name: str) -> Any:
    """A field of one of the compiler's records; nothing of any other object is touched."""
    is_ours = type(value).__module__.startswith("weft.")
    return getattr(value, name, None) if is_ours and name in _fields(type(value)) else None


def _fields(kind: type) -> Any:
    return getattr(kind, "__dataclass_fields__", ())


# --- the same failure -----------------------------------------------------------------------------

_FRAMES: Final = 2  # a helper that many call fails in many ways
_VARYING: Final = re.compile(r"'[^']*'|\"[^\"]*\"|[%@]?\S*\d\S*")


@record
class Signature:
    """What two failures have in common that are the same: stage, exception, and place in the
    compiler.
    """

    stage: str
    step: str
    exception: str
    place: tuple[str, ...]


def signature(failure: CompilerError) -> Signature:
    """What tells a failure from others, but not the program that it was met with."""
    cause = failure.__cause__
    return Signature(failure.stage, failure.step, type(cause).__name__, _place(failure, cause))


def _place(failure: CompilerError, cause: BaseException | None) -> tuple[str, ...]:
    if cause is None or isinstance(cause, RecursionError):  # a stack may end anywhere
        return ()
    if failure.stage in (LLVM.name, LINKING.name):  # the places that matter are in the text
        return (_VARYING.sub("?", str(cause)).partition("\n")[0], _error_line(str(cause)))
    import traceback

    frames = traceback.extract_tb(cause.__traceback__)[-_FRAMES:]
    return tuple(f"{frame.filename}:{frame.lineno}" for frame in frames)


def _error_line(text: str) -> str:
    """The line of LLVM's message that says what is wrong, without names and numbers."""
    match = re.search(r"error: (.*)", text)
    return _VARYING.sub("?", match[1]) if match else ""
