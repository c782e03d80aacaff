"""Whole programs written for NumPy, compiled as they are: those of tests/programs, larger."""

from __future__ import annotations

from typing import Any

from benchmarks.peers import compiles_itself
from benchmarks.workload import Function, Workload
from tests.programs.table import PROGRAMS

TABLE = {program.name: program for program in PROGRAMS}
WRITTEN_FOR_NUMPY = "the programs are written for NumPy"


def plain(xp: Any, size: tuple[str, bool]) -> Function:
    return TABLE[size[0]].function


def compiled(xp: Any, size: tuple[str, bool]) -> Function:
    import weft as wf

    program = TABLE[size[0]]
    function = wf.jit(
        program.function, static_argnums=program.static, control_flow=program.control_flow
    )
    return compiles_itself(lambda *arguments: function(*arguments))


def arguments(size: tuple[str, bool]) -> tuple[Any, ...]:
    name, is_large = size
    return TABLE[name].arguments(large=is_large)


WORKLOADS = (
    Workload(
        "programs",
        "programs",
        "NumPy programs with loops and branches, as they are",
        plain,
        arguments,
        {name: (name, True) for name in TABLE},
        (next(iter(TABLE)), False),
        own={"weft": compiled},
        without={name: WRITTEN_FOR_NUMPY for name in ("jax", "torch", "torch.compile", "pytensor")},
        tolerance=1e-6,
        cold=False,
    ),
)
