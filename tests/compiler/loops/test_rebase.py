"""Kernels that differ only in where they begin are one, called with other addresses."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as wf
from weft.compiler.loops.kernel import Kernel
from weft.compiler.loops.pipeline import lower_to_loops
from weft.compiler.loops.program import LoopProgram
from weft.compiler.passes.pipeline import optimise


def lowered(function: Any, *specs: str) -> LoopProgram:
    graph = wf.trace(function)(*[wf.spec(text) for text in specs])
    return lower_to_loops(optimise(graph)[0], 32, verify=True)[0]


def kernels(program: LoopProgram) -> list[Kernel]:
    assert program.kernels is not None
    return list(program.kernels.of_group.values())


def joined(*pieces: Any) -> Any:
    return np.concatenate(pieces)


def test_pieces_of_equal_size_are_one_kernel_at_other_addresses() -> None:
    program = lowered(joined, *["f32[16]"] * 5)
    assert len(program.scheduled.cases) == 1
    assert sorted(sum(kernel.offsets) for kernel in kernels(program)) == [0, 64, 128, 192, 256]


def test_pieces_of_other_sizes_are_other_kernels() -> None:
    assert len(lowered(joined, *["f32[16]"] * 4, "f32[20]").scheduled.cases) == 2


def test_arrays_that_are_read_backwards_stay_where_they_are() -> None:
    program = lowered(lambda x: np.exp(x[::-1]), "f64[100]")
    assert not any(any(kernel.offsets) for kernel in kernels(program))


def test_values_are_those_of_numpy() -> None:
    pieces = [np.arange(8.0) + number for number in range(40)]
    np.testing.assert_array_equal(wf.jit(joined)(*pieces), np.concatenate(pieces))
    x = np.arange(100.0)

    def slices(x: Any) -> Any:
        return [np.exp(x[start : start + 10]) for start in range(0, 90, 7)]

    for ours, theirs in zip(wf.jit(slices)(x), slices(x), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-15)
