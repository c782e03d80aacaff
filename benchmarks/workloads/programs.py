"""Whole programs written for NumPy, compiled as they are: those of tests/programs, larger. Sweeps
in place are compared with Numba, which compiles them as they are, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.peers import compiles_itself
from benchmarks.workload import Function, Make, Workload
from tests.programs.table import PROGRAMS, SWEEPS, Program

TABLE = {program.name: program for program in PROGRAMS}
WRITTEN_FOR_NUMPY = "the programs are written for NumPy"


def plain(xp: Any, size: tuple[str, bool]) -> Function:
    return TABLE[size[0]].function


def compiled(xp: Any, size: tuple[str, bool]) -> Function:
    import weft as wf

    program = TABLE[size[0]]
    function = wf.jit(program.function, static_argnums=program.static)
    return compiles_itself(lambda *arguments: function(*arguments))


def arguments(size: tuple[str, bool]) -> tuple[Any, ...]:
    name, is_large = size
    return TABLE[name].arguments(large=is_large)


def compiled_by_numba(xp: Any, size: tuple[str, bool]) -> Function:
    import numba

    function: Function = numba.njit(TABLE[size[0]].function)
    return function


def workload(name: str, about: str, programs: Sequence[Program], **own: Make) -> Workload:
    names = [program.name for program in programs]
    return Workload(
        name,
        "programs",
        about,
        plain,
        arguments,
        {name: (name, True) for name in names},
        (names[0], False),
        own={"weft": compiled, **own},
        without={name: WRITTEN_FOR_NUMPY for name in ("jax", "torch", "torch.compile", "pytensor")},
        tolerance=1e-6,
        cold=False,
    )


WORKLOADS = (
    workload(
        "programs",
        "NumPy programs with loops and branches, as they are",
        [program for program in PROGRAMS if program not in SWEEPS],
    ),
    workload(
        "sweeps",
        "NumPy programs that go through arrays in place, as they are",
        SWEEPS,
        numba=compiled_by_numba,
    ),
)
