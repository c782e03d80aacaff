"""Checks of memory plans: what is alive at once lies apart, and what is read is there."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING

from weft.compiler.ir.alignment import ALIGNMENT
from weft.compiler.ir.graph import Op, Value
from weft.compiler.loops.arena import Buffer
from weft.compiler.loops.fault import Fault
from weft.compiler.loops.group import Node, OpaqueNode, targets_of
from weft.compiler.loops.memory import ControlPlan, RegionPlan
from weft.compiler.loops.parallel import steps_at_once

if TYPE_CHECKING:
    from weft.compiler.loops.program import LoopProgram


def verify_memory(program: LoopProgram) -> None:
    """Check the plans of all regions."""
    for plan in program.plan.all_regions():
        _verify_held(plan)
        _verify_frame(plan)
        _verify_apart(plan)
        _verify_lifetimes(plan)
        _verify_results(plan)
        _verify_controls(plan)
        for copy in plan.copies.values():
            rank = copy.value.type.rank
            if len(copy.source.strides) != rank or len(copy.target.strides) != rank:
                raise Fault(f"has other strides than an array of rank {rank}", copy)


def _verify_held(plan: RegionPlan) -> None:
    """Buffers and the table of who is where say the same."""
    for buffer in plan.buffers:
        for value in buffer.held:
            if plan.holders.get(value) is not buffer:
                raise Fault(f"holds {value!r}, which is held elsewhere", buffer)
    known = set(plan.buffers)
    for value, buffer in plan.holders.items():
        if buffer not in known or value not in buffer.held:
            raise Fault(f"{value!r} is in a buffer that does not hold it")


def _verify_frame(plan: RegionPlan) -> None:
    for buffer in plan.temporaries:
        offset, bytes = buffer.offset, buffer.bytes
        if isinstance(offset, int) and (offset < 0 or offset % ALIGNMENT):
            raise Fault(f"lies at {offset}, which is not aligned to {ALIGNMENT} bytes", buffer)
        sizes = (offset, bytes, plan.bytes)
        if all(isinstance(size, int) for size in sizes) and offset + bytes > plan.bytes:
            raise Fault(f"ends behind the frame of {plan.bytes} bytes", buffer)


def _verify_apart(plan: RegionPlan) -> None:
    """Temporaries that are alive at once do not overlap: neighbours in memory are enough."""
    known = [
        (buffer.offset, int(buffer.bytes), number)
        for number, buffer in enumerate(plan.temporaries)
        if isinstance(buffer.offset, int) and isinstance(buffer.bytes, int) and buffer.bytes
    ]
    temporaries = plan.temporaries
    ends = sorted(known, key=lambda item: temporaries[item[2]].last)
    live: list[tuple[int, int, int]] = []
    ended = 0
    for item in sorted(known, key=lambda item: temporaries[item[2]].first):
        buffer = temporaries[item[2]]
        while temporaries[ends[ended][2]].last < buffer.first:
            del live[bisect_left(live, ends[ended])]
            ended += 1
        position = bisect_left(live, item)
        for offset, bytes, number in live[max(position - 1, 0) : position + 1]:
            if offset < item[0] + item[1] and item[0] < offset + bytes:
                raise Fault(
                    "overlaps another buffer while both are alive", buffer, temporaries[number]
                )
        insort(live, item)


def _verify_lifetimes(plan: RegionPlan) -> None:
    """What a node reads and writes is alive, and not written over before it is read last."""
    fusion = plan.fusion
    written: dict[Value, int] = {}
    read: dict[Value, int] = {}
    for position, node in enumerate(plan.nodes):
        for value in fusion.reads(node):
            held = fusion.resolve(value)
            if held.type.rank:
                _verify_alive(plan, node, held, position)
                read[held] = position
        for target in targets_of(node):
            if target.type.rank:
                _verify_alive(plan, node, target, position)
                written[target] = position
    for result in plan.region.results:
        read[fusion.resolve(result)] = len(plan.nodes)
    for buffer in plan.buffers:
        held_in_turn = sorted(buffer.held, key=lambda value: written.get(value, -1))
        for before, after in zip(held_in_turn, held_in_turn[1:], strict=False):
            if read.get(before, -1) > written.get(after, -1):
                raise Fault(f"{before!r} is written over before it is read last", buffer)


def _verify_alive(plan: RegionPlan, node: Node, value: Value, position: int) -> None:
    buffer = plan.holders.get(value)
    if buffer is None:
        raise Fault(f"reads or writes {value!r}, which no buffer holds", node)
    if not buffer.first <= position <= buffer.last:
        raise Fault(f"is not alive at position {position}, where {value!r} is used", buffer, node)


def _verify_results(plan: RegionPlan) -> None:
    for number, result in enumerate(plan.region.results):
        if not result.type.rank or number in plan.in_place or ("result", number) in plan.copies:
            continue
        buffer = plan.holders.get(plan.fusion.resolve(result))
        if buffer is None or (buffer.kind, buffer.number) != ("result", number):
            raise Fault(f"result {number} is neither where it belongs nor copied there")


def _verify_controls(plan: RegionPlan) -> None:
    for position, node in enumerate(plan.nodes):
        if isinstance(node, OpaqueNode) and node.op.regions:
            control = plan.controls.get(node.op)
            if control is None:
                raise Fault("has regions and no memory for them", node)
            _verify_control(node, node.op, control, position)


def _verify_control(node: OpaqueNode, op: Op, control: ControlPlan, position: int) -> None:
    if [body.region for body in control.bodies] != list(op.regions):
        raise Fault("has memory for other regions than its own", node)
    needed = [control.frame, *(body.bytes for body in control.bodies), control.bytes]
    has_frame = steps_at_once(op) is None  # or else each of its threads has one
    if has_frame and all(isinstance(size, int) for size in needed):
        if max(body.bytes for body in control.bodies) + control.frame > control.bytes:
            raise Fault("has too little memory for its regions", node)
    if not set(control.spare) <= set(range(control.carried)):
        raise Fault("has spare memory for something that it does not carry", node)
    if control.bytes == 0:
        return
    buffer: Buffer | None = control.buffer
    if buffer is None or buffer.bytes != control.bytes:
        raise Fault("has a buffer of another size for its regions", node)
    if not buffer.first <= position <= buffer.last:
        raise Fault(f"is not alive at position {position}, where its loop runs", buffer, node)
