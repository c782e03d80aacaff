"""All sizes that a kernel's code needs, so that it can be given the symbols in them."""

from __future__ import annotations

from collections.abc import Iterable

from weft.compiler.ir.dims import Size
from weft.compiler.ir.index.affine import Guard, Index
from weft.compiler.ir.index.expression import Choose
from weft.compiler.loops.kernel import Entry, Kernel, Load


def sizes_of(kernel: Kernel) -> Iterable[Size]:
    """All sizes that a kernel's code may need."""
    loops = [*kernel.outer, *kernel.inner]
    yield from (loop.size for loop in loops)
    for entry in kernel.entries.values():
        yield from _sizes_of_entry(entry)
    for stage in kernel.stages:
        for write in stage.writes:
            yield from _sizes_of_index(write.position)
            yield from _sizes_of_guards(write.guards)


def _sizes_of_index(index: Index) -> Iterable[Size]:
    yield index.constant
    yield from (size for _, size in index.terms)
    for size, extra in index.extras:
        yield size
        yield from _sizes_of_expression(extra)


def _sizes_of_guards(guards: Iterable[Guard]) -> Iterable[Size]:
    for guard in guards:
        yield guard.low
        yield guard.high
        yield from _sizes_of_index(guard.index)


def _sizes_of_expression(expression: object) -> Iterable[Size]:
    for name in ("size", "limit", "divisor"):
        if hasattr(expression, name):
            yield getattr(expression, name)
    if hasattr(expression, "index"):
        yield from _sizes_of_index(expression.index)
    yield from _sizes_of_guards(getattr(expression, "guards", ()))
    if isinstance(expression, Choose):
        yield from _sizes_of_expression(expression.inside)
        yield from _sizes_of_expression(expression.outside)


def _sizes_of_entry(entry: Entry) -> Iterable[Size]:
    if isinstance(entry.source, Load):
        yield from _sizes_of_index(entry.source.position)
        yield from _sizes_of_guards(entry.source.guards)
    else:
        yield from _sizes_of_expression(entry.source)
