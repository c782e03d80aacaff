"""In what order reductions go through memory, and into what parts they are divided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.compiler.loops.test_fuse import planned
from weft.compiler.ir.index.affine import row_major
from weft.compiler.loops.build_kernels import build
from weft.compiler.loops.collapse import collapse
from weft.compiler.loops.group import FusionGroup
from weft.compiler.loops.kernel import Layout
from weft.compiler.loops.reduction_tiling import LIMITS, ReductionPlan
from weft.compiler.loops.vectorise import vectorise


def walk_of(spec: str, axes: tuple[int, ...] | int, kind: str = "sum") -> ReductionPlan | None:
    """How the sum of squares, or another reduction, of an array along axes walks."""
    plan = planned(lambda x: getattr(x * x, kind)(axis=axes), spec)
    (group,) = plan.nodes
    assert isinstance(group, FusionGroup)

    def layout(value: Any, written: bool) -> Layout:
        return Layout(value, 0, row_major(value.type.shape))

    kernel, _ = collapse(build(group, layout, plan.fusion.position))
    return vectorise(kernel, 512).tiling


def sizes(loops: Any) -> list[Any]:
    return [loop.size for loop in loops]


def test_axes_on_both_sides_are_walked_in_the_order_of_memory() -> None:
    walk = walk_of("f32[64, 512, 256]", (0, 2))
    assert walk is not None and sizes(walk.order) == [64, 512, 256]
    assert sizes(walk.kept) == [512] and walk.tile == 512
    assert walk.split is walk.order[0] and walk.parts == 64


def test_all_positions_of_five_axes() -> None:
    walk = walk_of("f32[8, 16, 32, 6, 64]", (0, 2, 4))
    assert walk is not None and sizes(walk.order) == [8, 32, 6, 64] and sizes(walk.kept) == [6]
    walk = walk_of("f32[8, 16, 32, 6, 64]", (1, 3))
    assert walk is not None and sizes(walk.order) == [16, 32, 6, 64]
    assert sizes(walk.kept) == [32, 64]


def test_columns_are_walked_some_at_a_time() -> None:
    walk = walk_of("f32[64, 131072]", 0)
    assert walk is not None and walk.split is None and walk.together == 4
    assert 131072 // walk.tile >= LIMITS.enough_items and walk.tile * 4 <= LIMITS.held_bytes


def test_few_columns_are_done_in_parts() -> None:
    walk = walk_of("f32[32768, 256]", 0)
    assert walk is not None and walk.parts == 64 and walk.each == 512


def test_few_rows_are_done_in_parts() -> None:
    walk = walk_of("f32[4, 1000000]", 1)
    assert walk is not None and walk.parts == 16


@pytest.mark.parametrize("axes", [2, (1, 2)])
def test_rows_in_one_piece_have_no_walk(axes: Any) -> None:
    assert walk_of("f32[64, 512, 256]", axes) is None


def test_what_is_small_has_no_walk() -> None:
    assert walk_of("f32[16, 256, 16]", (0, 2)) is None


def test_places_of_extremes_are_found_in_parts_too() -> None:
    walk = walk_of("f32[32768, 256]", 0, "argmax")
    assert walk is not None and walk.parts == 64


def test_an_unknown_number_of_rows_is_divided_into_parts() -> None:
    walk = walk_of("f32[n, 256]", 0)
    assert walk is not None and walk.split is not None and not isinstance(walk.parts, int)


def test_what_is_shown_is_compiled() -> None:
    f = wf.jit(lambda x: (x * x).sum(axis=(0, 2)))
    assert "kernel0.finish" in f.lower(np.ones((64, 64, 64), "f4")).llvm
