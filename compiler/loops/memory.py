"""Memory plans as data: where the arrays of a region lie, and what has to be copied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op, Region, Result, Value
from weft.compiler.ir.index.affine import row_major
from weft.compiler.loops.arena import Buffer
from weft.compiler.loops.fusion import Fusion
from weft.compiler.loops.group import Node
from weft.compiler.loops.kernel import Layout
from weft.compiler.loops.maps import view_base
from weft.compiler.loops.order import Order


@dataclass(eq=False, slots=True)
class ControlPlan:
    """Memory of a control-flow op while it runs: a frame for its regions, and a second buffer for
    every array that a loop carries and cannot change in place.
    """

    bodies: tuple[RegionPlan, ...]
    carried: int  # results that a loop carries, which come first
    spare: dict[int, Size]
    frame: Size
    bytes: Size
    buffer: Buffer | None = None


@dataclass(eq=False, slots=True)
class Copy:
    """An array that has to be copied from one layout to another."""

    value: Value
    source: Layout
    target: Layout


# What a copy is for: ("result", number), ("base", node), ("carry", op, number) or ("operand", op,
# value).
Purpose: TypeAlias = "tuple[object, ...]"


@dataclass(eq=False, slots=True)
class RegionPlan:
    """The memory of a region while it runs.

    `holders` gives the buffer of each array; `strided` the layout of parameters that are not
    row-major; `in_place` the results that are already where they are carried to; `late` the symbols
    whose values are known only at run time; `copies` what is copied, by its purpose.
    """

    region: Region
    fusion: Fusion
    order: Order
    buffers: list[Buffer] = field(default_factory=list)
    holders: dict[Value, Buffer] = field(default_factory=dict)
    controls: dict[Op, ControlPlan] = field(default_factory=dict)
    strided: dict[Value, Layout] = field(default_factory=dict)
    in_place: set[int] = field(default_factory=set)
    late: set[str] = field(default_factory=set)
    copies: dict[Purpose, Copy] = field(default_factory=dict)
    bytes: Size = 0
    _operands: dict[Value, Layout] = field(default_factory=dict)

    @property
    def temporaries(self) -> list[Buffer]:
        """The buffers of the frame."""
        return [buffer for buffer in self.buffers if buffer.kind == "temporary"]

    @property
    def nodes(self) -> list[Node]:
        return self.order.nodes

    def all_regions(self) -> Iterator[RegionPlan]:
        """This plan and those of all regions inside."""
        stack = [self]
        while stack:
            plan = stack.pop()
            yield plan
            stack += [body for control in plan.controls.values() for body in control.bodies]

    def layout(self, value: Value) -> Layout:
        """Where an array lies."""
        if value in self.strided:
            return self.strided[value]
        held = self.fusion.resolve(value)
        if held in self.strided:
            return self.strided[held]
        if held in self.holders:
            return Layout(self.holders[held], 0, row_major(value.type.shape))
        raise AssertionError(f"{value} has no memory")

    def operand_strides(self, op: Op) -> tuple[tuple[Size, ...], ...]:
        """The strides by which a routine reads its operands; a number has none."""
        return tuple([self.operand_layout(v).strides if v.type.rank else () for v in op.operands])

    def operand_layout(self, value: Value) -> Layout:
        """Where a routine reads an operand: through all views by strides, also those that others
        have as arrays, as these may be made later. Asked once all has its place, and kept.
        """
        if value not in self._operands:
            self._operands[value] = self._operand_layout(value)
        return self._operands[value]

    def _operand_layout(self, value: Value) -> Layout:
        views: list[Op] = []
        base = view_base(value)
        while value is not base:
            assert isinstance(value, Result)
            views.append(value.op)
            value = value.op.operands[0]
        layout = self.layout(base)
        for op in reversed(views):
            assert op.definition.view is not None
            moved = op.definition.view.strides(op, layout.offset, layout.strides)
            layout = Layout(layout.storage, *moved)
        return layout
