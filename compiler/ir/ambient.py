"""The one piece of ambient state: the builder that ops emit into when they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from weft.compiler.ir.errors import TraceError

if TYPE_CHECKING:
    from weft.compiler.ir.graph import Region, Value
    from weft.compiler.ir.opdef import OpDef


class Emitter(Protocol):
    """What an op needs of a builder."""

    def emit(
        self,
        definition: OpDef,
        operands: Sequence[Value],
        attributes: Mapping[str, object] | None = None,
        regions: Sequence[Region] = (),
    ) -> tuple[Value, ...]:
        """Append an op and return its results."""


active: ContextVar[Emitter | None] = ContextVar("weft_builder", default=None)


def active_builder() -> Emitter:
    """The builder in force."""
    builder = active.get()
    if builder is None:
        raise TraceError("an op was called outside of a trace; there is no graph to add it to")
    return builder
