"""Arrays that a branch or loop body writes to: they belong to its trace meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from weft.compiler.ir.graph import Value
from weft.frontends.tracing.trace import Trace, Tracer


@contextmanager
def moved(arrays: Sequence[Tracer], trace: Trace, values: Sequence[Value]) -> Iterator[None]:
    """Let arrays be of another trace, of a body that writes to them; their views follow."""
    before = [
        (array, array.region_trace, array._value, [(one, one.seen) for one in array.aliases or ()])
        for array in arrays
    ]
    for array, value in zip(arrays, values, strict=True):
        array.region_trace = trace
        array._value = value
        array._version += 1
    for array in arrays:
        array.settle()
    try:
        yield
    finally:
        for array, home, value, aliases in before:
            array.region_trace, array._value = home, value
            array._version += 1
            for alias, seen in aliases:
                alias.seen = seen


def store(arrays: Sequence[Tracer], values: Sequence[Value]) -> None:
    """Let arrays have the values that a branch or loop has left in them."""
    for array in arrays:
        array.require_writable("x = x.at[...].set(...)")
    for array, value in zip(arrays, values, strict=True):
        array._value = value
        array._version += 1
    for array in arrays:
        array.settle()
