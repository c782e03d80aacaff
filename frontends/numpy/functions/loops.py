"""Loops of the graph, for functions of values that no fixed number of ops computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.compiler.ir.graph import Region, Value
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops.control import scan, while_
from weft.frontends.tracing.trace import current_trace


def region_of(build: Callable[..., Sequence[Value]], types: Sequence[ArrayType]) -> Region:
    """The region of a function of values that uses nothing from outside."""
    trace = current_trace().nested()
    with trace.active():
        results = build(*[trace.parameter(type) for type in types])
    region, _ = trace.closed_region(list(results))
    return region


def repeat_while(
    condition: Callable[..., Value], body: Callable[..., Sequence[Value]], *start: Value
) -> tuple[Value, ...]:
    """`carry = body(*carry)` as long as the condition, a bool of rank 0, holds."""
    types = [value.type for value in start]
    regions = region_of(lambda *carry: [condition(*carry)], types), region_of(body, types)
    return tuple(while_.emit(*start, regions=regions, n_consts=0))


def scan_rows(
    body: Callable[[Value, tuple[Value, ...]], tuple[Value, Sequence[Value]]],
    start: Value,
    *rows: Value,
) -> tuple[Value, tuple[Value, ...]]:
    """`carry, outputs = body(carry, row)` over the first axes: the last carry, and all outputs."""
    types = [start.type, *[row.type.with_shape(row.type.shape[1:]) for row in rows]]

    def step(carry: Value, *parts: Value) -> list[Value]:
        following, outputs = body(carry, parts)
        return [following, *outputs]

    results = scan.emit(
        start,
        *rows,
        regions=(region_of(step, types),),
        n_consts=0,
        n_carry=1,
        length=rows[0].type.shape[0],
        reverse=False,
    )
    return results[0], tuple(results[1:])
