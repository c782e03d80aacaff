"""The loop program: a graph as kernels, routines and control flow over planned memory.

It is the same for all targets: what fuses, the order of nodes, buffers, reduction trees, which rows
are consumed as they are computed, what is on the stack and what is written in line are decided
here, by the steps of `pipeline`, and no target decides them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Graph, Region, Value
from weft.compiler.loops.build_kernels import Kernels
from weft.compiler.loops.fusion import Fusion
from weft.compiler.loops.memory import RegionPlan
from weft.compiler.loops.order import Order
from weft.compiler.loops.schedule import Schedule
from weft.compiler.loops.workspace import RoutineBytes, no_bytes


@dataclass(eq=False, slots=True)
class LoopProgram:
    """A program as far as it is decided; each step of the column fills in one field. Of its target
    it knows the width of vectors, and what routines work in.
    """

    graph: Graph
    vector_bytes: int
    strides: Mapping[int, tuple[Size, ...]] = field(default_factory=dict)
    donated: Mapping[int, int] = field(default_factory=dict)
    routine_bytes: RoutineBytes = no_bytes
    fusions: Mapping[Region, Fusion] = field(default_factory=dict)
    orders: Mapping[Region, Order] = field(default_factory=dict)
    memory: RegionPlan | None = None
    kernels: Kernels | None = None
    schedule: Schedule | None = None

    @property
    def strided(self) -> dict[Value, tuple[Size, ...]]:
        """The strides of parameters that are not row-major."""
        return {self.graph.parameters[n]: strides for n, strides in self.strides.items()}

    @property
    def plan(self) -> RegionPlan:
        """The memory plan; its step must have run."""
        assert self.memory is not None, "memory is not planned yet"
        return self.memory

    @property
    def scheduled(self) -> Schedule:
        """The schedule; its step must have run."""
        assert self.schedule is not None, "the program has no schedule yet"
        return self.schedule

    def summary(self, step: str) -> str:
        """What a step decided, in a few words."""
        match step:
            case "specialise":
                return f"{sum(len(region.ops) for region in self.graph.regions())} ops"
            case "fuse":
                nodes = sum(len(fusion.nodes) for fusion in self.fusions.values())
                refused = sum(len(fusion.refusals) for fusion in self.fusions.values())
                return f"{nodes} nodes, {refused} refusals"
            case "order":
                consumers = [c for each in self.orders.values() for c in each.consumers.values()]
                return f"{sum(len(chain.nodes) for chain in consumers)} nodes consume rows"
            case "plan_memory":
                return f"{len(self.plan.buffers)} buffers, arena of {self.plan.bytes} bytes"
            case "build_kernels":
                assert self.kernels is not None
                return f"{len(self.kernels.of_group)} kernels, {len(self.kernels.of_copy)} copies"
            case _:
                schedule = self.scheduled
                kernels = f"{len(schedule.cases)} distinct kernels, {len(schedule.inlined)} in line"
                return f"{kernels}, workspace of {schedule.workspace_bytes} bytes"

    def text(self, *, locations: bool = False, embed_constants: bool = False) -> str:
        """The program as text, as far as it is made, which `parse_program` reads back.

        `locations` and `embed_constants` are those of `Graph.text`.
        """
        from weft.compiler.loops.text import program_text

        return program_text(self, locations=locations, embed_constants=embed_constants)

    def __str__(self) -> str:
        return self.text()

    def verify(self, step: str | None = None) -> None:
        """Check what the steps so far have decided, or what one step has; raises VerifyError."""
        from weft.compiler.loops.verify import verify

        verify(self, step)
