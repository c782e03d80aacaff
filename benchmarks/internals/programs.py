"""Whole programs written for NumPy, compiled as they are, against NumPy.

Bar: each is faster than NumPy. The programs are those of tests/programs, on larger inputs.
"""

from __future__ import annotations

import argparse

import weft as wf
from benchmarks.internals.turns import compare, is_wanted, options
from benchmarks.measure import as_numpy, difference
from tests.programs.table import PROGRAMS, Program


def run(program: Program, given: argparse.Namespace) -> float:
    """How many times as fast as NumPy's the compiled program is."""
    arguments = program.arguments(large=True)
    compiled = wf.jit(
        program.function, static_argnums=program.static, control_flow=program.control_flow
    )
    error = difference(as_numpy(compiled(*arguments)), as_numpy(program.function(*arguments)))
    assert error <= max(program.rtol, 1e-6), f"{program.name} differs by {error}"
    contenders = {
        "weft": lambda: compiled(*arguments),
        "numpy": lambda: program.function(*arguments),
    }
    times = compare(program.name, contenders, given)
    return times["numpy"].best / times["weft"].best


def main() -> None:
    given = options(__doc__ or "")
    ratios = {p.name: run(p, given) for p in PROGRAMS if is_wanted(p.name, given)}
    print("times as fast as NumPy")
    for name, ratio in sorted(ratios.items(), key=lambda pair: pair[1]):
        print(f"  {name:24} {ratio:8.2f}")


if __name__ == "__main__":
    main()
