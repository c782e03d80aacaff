"""The exceptions users see, and how a message gains the op and the source line it is about.

Code that notices a fault raises with the plain fact; whoever knows more (the builder knows the op,
the tracer knows the user's line) adds it with `at`, so that no rule has to carry locations around.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from weft.compiler.ir.location import Location

if TYPE_CHECKING:
    from weft.compiler.ir.graph import Graph, Op


class WeftError(Exception):
    """The base of every exception that Weft raises on purpose."""

    def __init__(self, message: str, *, location: Location | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.about: str | None = None

    def at(self, location: Location | None, about: str | None = None) -> Self:
        """Add what is known of the place; what an inner call has said already stays."""
        if self.location is None:
            self.location = location
        if self.about is None:
            self.about = about
        return self

    def __str__(self) -> str:
        text = self.message if self.about is None else f"{self.about}: {self.message}"
        return text if self.location is None else f"{text}\n  {self.location}"


class ShapeError(WeftError, ValueError):
    """Shapes, axes or symbolic dims that do not fit together."""


class DTypeError(WeftError, TypeError):
    """A dtype that an operation does not accept, or dtypes that do not promote to a common one."""


class TraceError(WeftError, TypeError):
    """Something that cannot be done with a traced value: a Python branch on it, a side effect,
    `float(x)`.
    """


class AmbiguousTruthError(TraceError, ValueError):
    """The truth of an array with more elements than one, which NumPy does not know either."""


class FrozenValueError(TraceError):
    """A value that a trace freezes and that no guard can watch, where `check="strict"` forbids it:
    a draw, a clock, a file.
    """


class FrozenValueWarning(UserWarning):
    """A value that a trace froze: all calls get what the trace got."""


class RetraceWarning(UserWarning):
    """A function is traced and compiled again and again, for one value after the other."""


class ArgumentError(WeftError, TypeError):
    """An argument of a traced or compiled function that is no array, scalar or pytree of them."""


class BoundsError(WeftError, IndexError):
    """An index outside its axis."""


class ParseError(WeftError, ValueError):
    """Text that is no graph; the message starts with line and column."""


class VerifyError(WeftError, ValueError):
    """A graph that breaks a rule of the IR."""


class OutOfMemoryError(WeftError, MemoryError):
    """A program that found no memory to work in."""


class EvaluationError(WeftError, RuntimeError):
    """A graph that failed while it ran, such as a host callback that raised or is not bound."""


class LoweringError(WeftError, NotImplementedError):
    """An op that a backend has no code for."""

    def __init__(self, message: str, op: Op) -> None:
        super().__init__(message)
        self.op = op


class CompilerError(WeftError, RuntimeError):
    """A fault of Weft itself: a stage of the compiler raised what it never should.

    `stage` and `step` say which, such as "pass" and "simplify"; the exception itself is the
    `__cause__`. `graph` is what the stage was given, and `op` what it was at, if they are known;
    `notes` are lines on what became of the graph: where a small one that fails in the same way was
    written.
    """

    def __init__(
        self,
        message: str,
        *,
        stage: str = "",
        step: str = "",
        location: Location | None = None,
        graph: Graph | None = None,
    ) -> None:
        super().__init__(message, location=location)
        self.stage = stage
        self.step = step
        self.graph = graph
        self.op: Op | None = None
        self.notes: list[str] = []

    def __str__(self) -> str:
        what = "" if self.about is None else f"{self.about} "
        location = "" if self.location is None else str(self.location)
        nearest = [f"{what}{location}".rstrip()] if what or location else []
        advice = "This is a fault in Weft, not in your program: please report it."
        return "\n  ".join([self.message, *nearest, *self.notes, advice])

    def __reduce__(self) -> tuple[Any, ...]:
        """Without graph and op, which have functions that do not pickle."""
        return CompilerError, (self.message,), {**self.__dict__, "graph": None, "op": None}


class CompilerWarning(UserWarning):
    """A program that Weft failed to compile, by a fault of its own, and that runs more slowly."""
