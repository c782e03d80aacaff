"""Whole programs written for NumPy, compiled as they are, against NumPy.

Bar: each is faster than NumPy. The programs are those of tests/programs, on larger inputs.
"""

from __future__ import annotations

import argparse

import weft as wf
from benchmarks.common import compare, start
from tests.programs.table import PROGRAMS, Program


def run(program: Program, options: argparse.Namespace) -> float | None:
    """The program compiled against the program; loops of Python take long, so one turn has to do
    for those.
    """
    given = program.arguments(large=True)
    compiled = wf.jit(
        program.function, static_argnums=program.static, control_flow=program.control_flow
    )
    contenders = {"weft": lambda: compiled(*given), "numpy": lambda: program.function(*given)}
    times = compare(program.name, contenders, options, tolerance=max(program.rtol, 1e-6))
    if times is None:
        return None
    print(f"  first call {times['weft'].first:.2f} s", flush=True)
    return times["numpy"].best / times["weft"].best


def main() -> None:
    options = start(__doc__ or "")
    ratios = {program.name: run(program, options) for program in PROGRAMS}
    measured = {name: ratio for name, ratio in ratios.items() if ratio is not None}
    print("times as fast as NumPy")
    for name, ratio in sorted(measured.items(), key=lambda pair: pair[1]):
        print(f"  {name:24} {ratio:8.2f}")


if __name__ == "__main__":
    main()
