"""The work items of a kernel: what threads take, in which order, and whether there are several.

A work item is a step of the outer loops; or a block of steps of the loop that vectors go along; or,
of a tiled reduction, a tile of its results for a part of what is reduced. Items are numbered in
row-major order of the shapes given here.
"""

from __future__ import annotations

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.index.affine import Loop
from weft.compiler.loops.costs import LIMITS
from weft.compiler.loops.kernel import Kernel
from weft.compiler.loops.vectorise import LIMITS as VECTORS
from weft.compiler.loops.vectorise import VectorPlan


def item_count(kernel: Kernel, vectors: VectorPlan) -> Size:
    """How many work items a kernel has."""
    return dims.product(item_shape(kernel, vectors))


def item_shape(kernel: Kernel, vectors: VectorPlan) -> list[Size]:
    """The axes that work items are numbered along: steps of single loops, then blocks of the loop
    of the lanes; a tiled loop has its tiles before the blocks and the steps of a tile after them.
    Of a tiled reduction: parts, steps of single loops, tiles.
    """
    shape = [loop.size for loop in single_loops(kernel, vectors)]
    tiling = vectors.tiling
    if tiling is not None:
        kept = tiling.kept[0].size if tiling.kept else 1
        return [tiling.parts, *shape, _blocks(kept, tiling.tile)]
    if vectors.outer is None:
        return shape
    blocks = _blocks(vectors.outer.size, vectors.block)
    if vectors.tile is None:
        return [*shape, blocks]
    if vectors.squares:
        return [*shape[:-1], _blocks(shape[-1], vectors.lanes), blocks]
    return [*shape[:-1], _blocks(shape[-1], VECTORS.tile), blocks, VECTORS.tile]


def single_loops(kernel: Kernel, vectors: VectorPlan) -> list[Loop]:
    """The outer loops of which a work item is one step: those beside the loop of the lanes, a tiled
    one last; of a tiled reduction those that are not kept.
    """
    if vectors.tiling is not None:
        return [loop for loop in kernel.outer if loop not in vectors.tiling.kept]
    rest = [loop for loop in kernel.outer if loop not in (vectors.outer, vectors.tile)]
    return [*rest, vectors.tile] if vectors.tile is not None else rest


def is_shared(kernel: Kernel, vectors: VectorPlan) -> bool:
    """Whether a kernel may be worth several threads, which sizes decide when it runs."""
    cost = kernel.additions(vectors.lanes)
    return not isinstance(cost, int) or cost >= LIMITS.shared


def _blocks(size: Size, block: int) -> Size:
    return dims.floor_divide(size + (block - 1), block)
