"""The names that the text of a loop program gives to what it is made of: values as in the graph's
text, then regions r0, nodes n0, loops i0 of each node, buffers b0, copies copy0 and kernels k0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weft.compiler.ir.graph import Constant, Graph, Op, Region, Value
from weft.compiler.ir.index.affine import Loop
from weft.compiler.ir.text import INLINE_ELEMENTS, format_constant
from weft.compiler.loops.arena import Buffer
from weft.compiler.loops.build_kernels import Kernels
from weft.compiler.loops.fusion import Fusion
from weft.compiler.loops.group import FusionGroup, Node, PiecewiseNode
from weft.compiler.loops.kernel import Kernel
from weft.compiler.loops.memory import Copy, RegionPlan

if TYPE_CHECKING:
    from weft.compiler.loops.program import LoopProgram


def named_constants(graph: Graph) -> dict[Constant, str]:
    """The small constants that a loop program's text names: arrays, which are read at places, and
    numbers that look like another one, so that a reader can tell which is which.
    """
    named: dict[Constant, str] = {}
    seen: set[str] = set()
    for constant in graph.constants:
        if constant.array.size > INLINE_ELEMENTS:
            continue
        text = format_constant(constant)
        if constant.type.rank or text in seen:
            named[constant] = f"k{len(named)}"
        seen.add(text)
    return named


@dataclass(eq=False, slots=True)
class Names:
    """Everything in a program that its text refers to, with its name."""

    values: dict[Value, str]
    regions: dict[Region, str] = field(default_factory=dict)
    ops: dict[Op, str] = field(default_factory=dict)
    nodes: dict[Node, str] = field(default_factory=dict)
    loops: dict[Loop, str] = field(default_factory=dict)
    buffers: dict[Buffer, str] = field(default_factory=dict)
    copies: dict[Copy, str] = field(default_factory=dict)
    kernels: dict[Kernel, str] = field(default_factory=dict)
    own_loops: dict[Kernel, list[Loop]] = field(default_factory=dict)  # that no group has


def names_of(program: LoopProgram, values: dict[Value, str]) -> Names:
    """The names in a program whose values are written like this."""
    names = Names(values)
    unnamed = 0
    for number, region in enumerate(program.graph.regions()):
        names.regions[region] = f"r{number}"
        for op in region.ops:
            names.ops[op] = values[op.results[0]] if op.results else f"!{unnamed}"
            unnamed += not op.results
    _name_nodes(names, program.fusions.values())
    if program.memory is not None:
        for plan in plans(program):
            for buffer in (*plan.buffers, *targets_of_copies(plan)):
                names.buffers[buffer] = f"b{len(names.buffers)}"
            for copy in plan.copies.values():
                names.copies[copy] = f"copy{len(names.copies)}"
    if program.kernels is not None:
        _name_kernels(names, program.kernels)
    return names


def plans(program: LoopProgram) -> list[RegionPlan]:
    """The plans of all regions that run, in the order of the graph's text."""
    plan_of = {plan.region: plan for plan in program.plan.all_regions()}
    return [plan_of[region] for region in program.graph.regions() if region in plan_of]


def targets_of_copies(plan: RegionPlan) -> list[Buffer]:
    """The buffers of results that are only copied to: no array is held in them."""
    known = set(plan.buffers)
    targets = [copy.target.storage for copy in plan.copies.values()]
    return [b for b in dict.fromkeys(targets) if isinstance(b, Buffer) and b not in known]


def groups_of(node: Node) -> list[FusionGroup]:
    """The loop nests of a node."""
    if isinstance(node, PiecewiseNode):
        return node.groups
    return [node] if isinstance(node, FusionGroup) else []


def loops_of_group(group: FusionGroup) -> list[Loop]:
    """The loops of a group, in the order in which they were made, which is that of terms."""
    inner = [loop for loops in group.reduce_loops.values() for loop in loops]
    return in_order_of_making((*group.loops, *inner))


def loops_of_kernel(kernel: Kernel) -> list[Loop]:
    """All loops that a kernel speaks of, those of the places that it was built from included."""
    loops = [*kernel.outer, *kernel.inner]
    for ref, entry in kernel.entries.items():
        loops += [*ref.loops, *entry.loops]
    return in_order_of_making(loops)


def in_order_of_making(loops: Iterable[Loop]) -> list[Loop]:
    return sorted(dict.fromkeys(loops), key=lambda loop: loop.number)


def _name_nodes(names: Names, fusions: Iterable[Fusion]) -> None:
    """Nodes are numbered in the order of the program, in which fusion finds them last to first."""
    nodes = [node for fusion in fusions for node in reversed(fusion.nodes)]
    for number, node in enumerate(nodes):
        names.nodes[node] = f"n{number}"
        for piece, group in enumerate(groups_of(node)):
            names.nodes.setdefault(group, f"n{number}.{piece}")
            for index, loop in enumerate(loops_of_group(group)):
                names.loops[loop] = f"i{index}"


def _name_kernels(names: Names, kernels: Kernels) -> None:
    """Kernels go by the loops of their groups, and by some that were made of several of these."""
    in_rows = [kernel for kernel, _ in kernels.in_rows.values()]
    for prefix, built in (
        ("j", (*kernels.of_group.values(), *in_rows)),
        ("i", kernels.of_copy.values()),
    ):
        for kernel in dict.fromkeys(built):
            if kernel in names.kernels:
                continue
            names.kernels[kernel] = f"k{len(names.kernels)}"
            if kernel.like is not None:
                continue  # it has the other's loops
            own = [loop for loop in loops_of_kernel(kernel) if loop not in names.loops]
            names.own_loops[kernel] = own
            names.loops.update((loop, f"{prefix}{number}") for number, loop in enumerate(own))
