"""From a graph to a loop program, in order, and the machinery that runs, times and shows the steps.

Read `COLUMN` first: it is the column. A step is a pure function in a file of its name; what it
returns is added to the program, so that later steps, targets and inspection all read the
same decisions.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from weft.compiler.ir.dims import Size
from weft.compiler.ir.dump import dump_directory
from weft.compiler.ir.graph import Graph
from weft.compiler.ir.stages import LOOP_STEP, stage
from weft.compiler.loops.build_kernels import build_kernels
from weft.compiler.loops.fuse import fuse
from weft.compiler.loops.order import order
from weft.compiler.loops.plan_memory import plan_memory
from weft.compiler.loops.program import LoopProgram
from weft.compiler.loops.schedule import schedule
from weft.compiler.loops.specialise import specialise
from weft.compiler.loops.workspace import RoutineBytes, no_bytes
from weft.compiler.record import record


@record
class Step:
    """A named step of the column; `run` gives the program with what the step decides."""

    name: str
    run: Callable[[LoopProgram], LoopProgram]
    reason: str


def _specialise(program: LoopProgram) -> LoopProgram:
    return replace(program, graph=specialise(program.graph))


def _fuse(program: LoopProgram) -> LoopProgram:
    strided = program.strided
    fusions = {region: fuse(region, strided) for region in program.graph.regions()}
    return replace(program, fusions=fusions)


def _order(program: LoopProgram) -> LoopProgram:
    orders = {region: order(fusion) for region, fusion in program.fusions.items()}
    return replace(program, orders=orders)


def _plan_memory(program: LoopProgram) -> LoopProgram:
    ordered = {region: (program.fusions[region], each) for region, each in program.orders.items()}
    plan = plan_memory(
        program.graph.region, ordered, strided=program.strided, carried=program.donated
    )
    return replace(program, memory=plan)


def _build_kernels(program: LoopProgram) -> LoopProgram:
    return replace(program, kernels=build_kernels(program.plan))


def _schedule(program: LoopProgram) -> LoopProgram:
    assert program.kernels is not None
    vector_bits, routine_bytes = program.vector_bytes * 8, program.routine_bytes
    scheduled = schedule(program.plan, program.kernels, vector_bits, routine_bytes=routine_bytes)
    return replace(program, schedule=scheduled)


COLUMN: Final[tuple[Step, ...]] = (
    Step("specialise", _specialise, "first: what is fused depends on which ops are routines"),
    Step("fuse", _fuse, "before order: nodes, not ops, are what runs one after the other"),
    Step("order", _order, "before memory: who lives when follows from the order"),
    Step("plan_memory", _plan_memory, "before kernels: they read and write places in buffers"),
    Step("build_kernels", _build_kernels, "before the schedule, which goes by strides and sizes"),
    Step("schedule", _schedule, "last: vectors, tiles and threads of loops that are final"),
)


@record
class LoopReport:
    """What the column did: seconds of each step, and in words what it decided."""

    steps: tuple[tuple[str, float, str], ...]

    def __str__(self) -> str:
        lines = [
            f"   {name:<16} {seconds * 1e3:24.2f} ms  {summary}".rstrip()
            for name, seconds, summary in self.steps
        ]
        return "\n".join(lines)


def lower_to_loops(
    graph: Graph,
    vector_bytes: int,
    strides: Mapping[int, tuple[Size, ...]] | None = None,
    donated: Mapping[int, int] | None = None,
    *,
    routine_bytes: RoutineBytes = no_bytes,
    verify: bool = False,
    dump: str | os.PathLike[str] | None = None,
    is_dumped: bool = True,
) -> tuple[LoopProgram, LoopReport]:
    """The graph as a loop program for vectors of this width, and a report of the steps.

    `strides` gives the strides of parameters that are not row-major, by number; `donated` which
    results may be written over which parameters; `routine_bytes` what the target's routines work
    in. `verify` checks the program after every step; `dump` (or the environment variable WEFT_DUMP)
    is a directory to which it is written as text after every step, unless it is not to be
    `is_dumped`.
    """
    program = LoopProgram(
        graph, vector_bytes, dict(strides or {}), dict(donated or {}), routine_bytes
    )
    steps: list[tuple[str, float, str]] = []
    directory = dump if dump is not None or not is_dumped else dump_directory()
    for number, step in enumerate(COLUMN):
        started = time.perf_counter()
        with stage(LOOP_STEP, step.name, graph):
            program = step.run(program)
        steps.append((step.name, time.perf_counter() - started, program.summary(step.name)))
        if verify:
            program.verify(step.name)
        if directory is not None:
            _write(program, Path(directory), f"{number}-{step.name}")
    return program, LoopReport(tuple(steps))


def _write(program: LoopProgram, directory: Path, name: str) -> None:
    folder = directory / f"{program.graph.name}-{program.graph.content_hash()[:8]}-loops"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.loops").write_text(program.text(locations=True), encoding="utf-8")
