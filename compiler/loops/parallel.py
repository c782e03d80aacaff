"""Which loops run their steps on several threads at once: maps, which are scans that carry nothing,
whose work is worth it.

Costs are rough, in nanoseconds on one thread. Work inside of a step that could be shared out itself
runs on the step's thread, so few long steps stay in order, where all threads work on each.
"""

from __future__ import annotations

import math
from typing import Final

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op, Region
from weft.compiler.ir.opdef import Trait
from weft.compiler.ir.walk import has_effect
from weft.compiler.loops import maps
from weft.compiler.loops.costs import own_cost
from weft.compiler.loops.memory import RegionPlan

LEAST_WORK: Final = 100_000.0  # of all steps, for which threads are woken
LEAST_TASK: Final = 20_000.0  # of the steps that a thread takes at a time
LONG_STEP: Final = 1_000_000.0  # in which other threads are better used if there are few steps
FEW_STEPS: Final = 4
UNKNOWN_SIZE: Final = 1000  # what a size that the run tells counts as

_ADDITION: Final = 0.1
_MULTIPLY_ADD: Final = 0.02
_ROUTINE: Final = 5.0  # an element of a result that a routine makes, such as sorting
_CALL: Final = 5.0


def steps_at_once(op: Op) -> int | None:
    """How many steps of a scan a thread takes at a time; None if one step follows the other."""
    iteration = op.definition.memory.iteration
    length = None if iteration is None else iteration.steps(op)
    if iteration is None or length is None or iteration.carried(op)[1] or _calls_host(op):
        return None
    steps, step = _count(length), step_cost(op.regions[0])
    if steps < 2 or steps * step < LEAST_WORK:
        return None
    if steps < FEW_STEPS and step > LONG_STEP:
        return None
    return max(math.ceil(LEAST_TASK / step), 1)


def frame_of_thread(plan: RegionPlan) -> Size:
    """The memory that each further thread needs for intermediate values of its steps."""
    most: Size = 0
    for op, control in plan.controls.items():
        is_shared = steps_at_once(op) is not None
        for body in control.bodies:
            most = dims.maximum(most, body.bytes if is_shared else frame_of_thread(body))
    return most


def step_cost(region: Region) -> float:
    """What one run of a region costs."""
    return sum([_cost(op) for op in region.ops]) + _CALL


def _cost(op: Op) -> float:
    if op.regions:
        inner = [step_cost(region) for region in op.regions]
        iteration = op.definition.memory.iteration
        if iteration is None:
            return max(inner)
        length = iteration.steps(op)
        return (UNKNOWN_SIZE if length is None else _count(length)) * sum(inner)
    made = sum([_count(result.type.size) for result in op.results])
    if op.definition.consumers is not None:
        *_, terms = op.definition.consumers.rows(op)
        return _CALL + made * _count(terms) * _MULTIPLY_ADD
    if Trait.REDUCTION in op.definition.traits:
        return _count(op.operands[0].type.size) * _ADDITION
    if maps.has_map(op):
        return made * own_cost(op) * _ADDITION
    return _CALL + made * _ROUTINE


def _count(size: Size) -> int:
    """A size as a number."""
    if isinstance(size, int):
        return size
    typical, most = max(UNKNOWN_SIZE, dims.lower(size) or 0), dims.upper(size)
    return typical if most is None else min(typical, most)


def _calls_host(op: Op) -> bool:
    """Whether something inside has to run in order, or on the thread that called."""
    stack = list(op.regions)
    while stack:
        region = stack.pop()
        for inner in region.ops:
            if Trait.HOST in inner.definition.traits or has_effect(inner):
                return True
            stack.extend(inner.regions)
    return False
