"""Fusion groups, ops that become one loop nest: filled in by `fuse`, made kernels by
`build_kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.index.affine import Loop, Place
from weft.compiler.ir.index.expression import Computed as Computed
from weft.compiler.ir.index.expression import Reduction as Reduction
from weft.compiler.ir.index.expression import Ref
from weft.compiler.record import record


@record
class Store:
    """A value at a place of the loops is written to a place of another value's array; `kind` is
    set, or how it is combined with what is there.
    """

    source: Ref
    target: Value
    place: Place
    kind: str = "set"


@dataclass(eq=False, slots=True)
class FusionGroup:
    """A loop nest under construction.

    `loops` is the space of what is stored. With reductions, `outer` is the part of it in which each
    reduction is done once per step, and all other loops are inside.
    """

    loops: tuple[Loop, ...]
    outer: tuple[Loop, ...] | None = None
    entries: dict[Ref, Computed] = field(default_factory=dict)
    stores: list[Store] = field(default_factory=list)
    reduce_loops: dict[tuple[Size, ...], tuple[Loop, ...]] = field(default_factory=dict)
    wanted: dict[Ref, None] = field(default_factory=dict)
    weight: int = 0
    in_order: bool = False
    is_piece: bool = False  # of a piecewise node, on which others depend in its place

    @property
    def inner(self) -> tuple[Loop, ...]:
        """The loops of the space that are inside of `outer`."""
        if self.outer is None:
            return ()
        return tuple(loop for loop in self.loops if loop not in self.outer)

    @property
    def targets(self) -> tuple[Value, ...]:
        """The values whose arrays the group writes."""
        return tuple(dict.fromkeys(store.target for store in self.stores))


@dataclass(eq=False, slots=True)
class OpaqueNode:
    """An op that is a node of its own: a routine, control flow, a call to the host."""

    op: Op


@dataclass(eq=False, slots=True)
class PiecewiseNode:
    """An array written piece by piece by several groups, in order: concatenate and updates."""

    result: Value
    groups: list[FusionGroup]
    base: Value | None


Node: TypeAlias = "FusionGroup | OpaqueNode | PiecewiseNode"


def needs_row_major(node: Node) -> bool:
    """Whether a node takes its operands in row-major order only: control flow, the host."""
    if not isinstance(node, OpaqueNode):
        return False
    return bool(node.op.regions) or node.op.definition.is_host


def targets_of(node: Node) -> Sequence[Value]:
    """The values whose arrays a node writes."""
    match node:
        case OpaqueNode():
            return node.op.results
        case PiecewiseNode():
            return (node.result,)
        case FusionGroup():
            return node.targets


@record
class Refusal:
    """Why an op was not fused into those that read it."""

    producer: Op
    consumers: tuple[Op, ...]
    reason: str
