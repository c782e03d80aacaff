"""Which loops run their steps on several threads at once: maps, which are scans that carry nothing,
whose work is worth it.

Costs are rough, in nanoseconds on one thread. Parallel work inside of a step runs on the step's
thread, so a few long steps stay in order, with all threads at work on each.
"""

from __future__ import annotations

import math
from typing import Final

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op, Region
from weft.compiler.ir.walk import has_effect
from weft.compiler.loops import maps
from weft.compiler.loops.costs import own_cost
from weft.compiler.record import record


@record
class ParallelLimits:
    """When steps of a loop run on several threads, in nanoseconds on one thread.

    `work` is above what waking a worker costs: a region of 40 microseconds gains nothing if its
    worker has to be woken, and tasks of 20 are shared out at nearly no cost
    (docs/decisions/threads.md). The others were chosen without a measurement on record; costs are
    rough, as only the order of magnitude of their sum matters.
    """

    work: float = 100_000.0  # of all steps, at least
    task: float = 20_000.0  # of the steps that a thread takes at a time, at least
    long_step: float = 1_000_000.0  # all threads work on each of so long steps, if there are few
    few_steps: int = 4
    unknown_size: int = 1000  # what a size counts as that is known only at run time
    addition: float = 0.1  # with others in vectors
    multiply_add: float = 0.02  # of a matrix product
    routine: float = 5.0  # an element of the result of another routine, such as sorting
    call: float = 5.0


LIMITS: Final = ParallelLimits()


def steps_at_once(op: Op) -> int | None:
    """How many steps of a scan a thread takes at a time; None if steps run in order."""
    iteration = op.definition.memory.iteration
    length = None if iteration is None else iteration.steps(op)
    if iteration is None or length is None or iteration.carried(op)[1] or _calls_host(op):
        return None
    steps, step = _count(length), step_cost(op.regions[0])
    if steps < 2 or steps * step < LIMITS.work:
        return None
    if steps < LIMITS.few_steps and step > LIMITS.long_step:
        return None
    return max(math.ceil(LIMITS.task / step), 1)


def step_cost(region: Region) -> float:
    """What one run of a region costs."""
    return sum([_cost(op) for op in region.ops]) + LIMITS.call


def _cost(op: Op) -> float:
    if op.regions:
        inner = [step_cost(region) for region in op.regions]
        iteration = op.definition.memory.iteration
        if iteration is None:
            return max(inner)
        length = iteration.steps(op)
        return (LIMITS.unknown_size if length is None else _count(length)) * sum(inner)
    elements = sum([_count(result.type.size) for result in op.results])
    if op.definition.consumers is not None:
        *_, terms = op.definition.consumers.rows(op)
        return LIMITS.call + elements * _count(terms) * LIMITS.multiply_add
    if op.definition.is_reduction:
        return _count(op.operands[0].type.size) * LIMITS.addition
    if maps.has_map(op):
        return elements * own_cost(op) * LIMITS.addition
    return LIMITS.call + elements * LIMITS.routine


def _count(size: Size) -> int:
    """A size as a number."""
    if isinstance(size, int):
        return size
    typical, most = max(LIMITS.unknown_size, dims.lower(size) or 0), dims.upper(size)
    return typical if most is None else min(typical, most)


def _calls_host(op: Op) -> bool:
    """Whether something inside has to run in order, or on the calling thread."""
    stack = list(op.regions)
    while stack:
        region = stack.pop()
        for inner in region.ops:
            if inner.definition.is_host or has_effect(inner):
                return True
            stack.extend(inner.regions)
    return False
