"""Errors that say how traced arrays were used where they have no meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.graph import Result
from weft.compiler.ir.location import Location

if TYPE_CHECKING:
    from weft.frontends.tracing.trace import Tracer


def leaked(tracer: Tracer) -> TraceError:
    """The error for a tracer that outlived its trace."""
    origin = made_at(tracer)
    return TraceError(
        f"a traced array ({tracer.type}) is used outside of the function or loop body that made "
        "it; return it as a result instead of storing it in an outer variable"
        + (". It was made" if origin is not None else ""),
        location=origin,
    )


def unknown_sharing(tracer: Tracer, what: str) -> TraceError:
    """The error for one of two arrays that may share memory; `what` the other one does."""
    return TraceError(
        f"whether this array ({tracer.type}) shares memory with the one it is made of depends on "
        f"strides, which a trace does not know, and that one {what}; take a .copy() where it is "
        "made",
        location=made_at(tracer),
    )


def made_at(tracer: Tracer) -> Location | None:
    """The line that an array comes from."""
    made = tracer._value
    return made.op.location if isinstance(made, Result) else None
