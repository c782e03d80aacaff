"""Which way to compute a convolution is taken for the cheapest, by its sizes and the width of
vectors alone: the tests name the machine whose costs they compare.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.compiler.lower import harness
from weft.compiler.ir import dtypes
from weft.compiler.lower.llvm.emit.function import Module
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.routines.convolution.costs import Costs
from weft.compiler.lower.llvm.routines.convolution.geometry import Phase
from weft.compiler.lower.llvm.routines.convolution.records import AXES
from weft.compiler.lower.llvm.target import Target

WAYS = ("points", "taps", "winograd")
WIDE = Target("x86_64-unknown-linux-gnu", "skylake-avx512", "", vector_bytes=64)
NARROW = Target("x86_64-unknown-linux-gnu", "haswell", "", vector_bytes=32)


def costs(
    images: int, channels: int, outputs: int, plane: int, taps: int, target: Target = WIDE
) -> dict[str, int]:
    """What each way costs for square planes and kernels, and whether planes are small."""
    module = Module(target)
    f = module.function("costs", VOID, [("numbers", PTR), ("made", PTR)])
    found = Costs(Phase(f, f.arguments[0]), dtypes.f32)
    values = [getattr(found, f"by_{way}")() for way in WAYS] + [found.is_small().to(I64)]
    for number, value in enumerate(values):
        f.store(value, f.element(f.arguments[1], I64, number))
    f.ret()
    library, address = harness.link(module, "costs")
    given = {"images": images, "channels": channels, "out_channels": outputs}
    for axis, (count, tap) in enumerate([(1, 1)] * (AXES - 2) + [(plane, taps)] * 2):
        given |= {f"out_positions{axis}": count, f"taps{axis}": tap}
    numbers = np.array([given.get(name, 0) for name in Phase.words], np.int64)
    made = np.zeros(len(values), np.int64)
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2)(address)(numbers.ctypes.data, made.ctypes.data)
    assert library is not None  # its code was alive until here
    return dict(zip((*WAYS, "is_small"), made.tolist(), strict=True))


def cheapest(found: dict[str, int]) -> str:
    return min(WAYS, key=lambda way: found[way])


@pytest.mark.parametrize(
    "sizes,way",
    [
        ((1, 512, 512, 7, 3), "taps"),  # transforms of kernels do not pay for 49 windows
        ((1, 512, 512, 4, 3), "taps"),
        ((8, 512, 512, 7, 3), "winograd"),  # but for those of several images
        ((1, 256, 256, 14, 3), "winograd"),
        ((1, 64, 64, 56, 3), "winograd"),
        ((2, 16, 16, 4, 3), "taps"),
        ((64, 16, 32, 28, 3), "winograd"),
    ],
)
def test_cheapest_way_for_three_by_three_kernels(
    sizes: tuple[int, int, int, int, int], way: str
) -> None:
    assert cheapest(costs(*sizes)) == way


def test_costs_depend_on_the_width_of_vectors() -> None:
    sizes = (2, 16, 16, 4, 3)  # eight tiles of windows: half of a wide vector, a whole narrow one
    assert cheapest(costs(*sizes, target=WIDE)) == "taps"
    assert cheapest(costs(*sizes, target=NARROW)) == "winograd"


def test_windows_are_in_lanes_unless_many_lanes_stay_empty() -> None:
    small, even, large = [costs(1, 256, 512, plane, 1) for plane in (7, 16, 28)]
    assert small["taps"] < small["points"] and small["is_small"]
    assert even["points"] < even["taps"]
    assert large["points"] < large["taps"] and not large["is_small"]


def test_few_outputs_leave_lanes_empty_too() -> None:
    found = costs(1, 64, 2, 7, 3)
    assert found["points"] < found["taps"]
