"""How a kernel that reduces goes through what it reads: in the order of memory, and in parts.

Reduced axes may lie on both sides of kept ones. A work item goes along all of them as they lie in
memory, for some of the results at a time, and holds the running results of these in the cache.
Where there are few results, the outermost reduced axis is divided into parts; how many there are
depends on sizes only, and so does every bit of the results.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.index.affine import Loop
from weft.compiler.loops.costs import LIMITS as COSTS
from weft.compiler.loops.group import Reduction
from weft.compiler.loops.kernel import Entry, Kernel, Load, Stage
from weft.compiler.record import record


@record
class TilingLimits:
    """Tiles and parts of reductions. They depend on sizes only, and so do the bits of results.

    Chosen when reductions came to go along memory, on sums along all positions of axes
    (docs/compiling.md, "Reductions"); measurements of the single numbers are not on record.
    """

    held_bytes: int = 1 << 16  # of running results of a work item, at most
    piece_bytes: int = 1 << 13  # that are read in one piece, at least
    enough_items: int = 16  # work items that are shared out well without parts
    most_items: int = 64  # work items of a reduction that is divided into parts
    results: int = 1 << 16  # running results of all parts, at most
    part_steps: int = 1 << 13  # of a part, at least
    part_terms: int = 32  # of each running result of a part, at least
    together: int = 4  # vectors that enter a running result each time it is loaded
    light: int = 12  # additions of a kernel whose step is written out several times


LIMITS: Final = TilingLimits()


@record
class ReductionPlan:
    """A work item goes along `order`, the outermost loop first. `kept` are those of its loops that
    the results vary in: `tile` steps of the first, all of the others. Of the reduced loop before
    them, `together` steps are taken before the next result. `split` is a reduced loop that is
    divided into `parts` of `each` steps.
    """

    stage: Stage
    order: tuple[Loop, ...]
    kept: tuple[Loop, ...]
    tile: int
    together: int
    split: Loop | None
    parts: Size
    each: Size

    @property
    def gathered(self) -> Loop | None:
        """The reduced loop of which several steps are taken together."""
        return self.order[self.order.index(self.kept[0]) - 1] if self.together > 1 else None


@record
class _Tiles:
    """Part of a plan: which results a work item has."""

    order: tuple[Loop, ...]
    kept: tuple[Loop, ...]
    tile: int
    together: int


def tile_reduction(kernel: Kernel, vector: Loop | None, lanes: int) -> ReductionPlan | None:
    """The plan of a kernel whose lanes go along a loop; None if results are reduced one by one."""
    stage = _reducing(kernel)
    if stage is None:
        return None
    cost = kernel.additions(lanes)
    if isinstance(cost, int) and cost < COSTS.shared:
        return None
    tiles = _in_memory_order(kernel, stage, vector, lanes)
    is_ordered = tiles is not None
    if tiles is None:
        kept = (vector,) if vector in kernel.outer and vector is not None else ()
        tiles = _Tiles((*kept, *stage.loops), kept, max(lanes, 1), 1)
    split, parts, each = _parts(kernel, stage, tiles, vector, lanes)
    if split is None and not is_ordered:
        return None
    return ReductionPlan(
        stage, tiles.order, tiles.kept, tiles.tile, tiles.together, split, parts, each
    )


def _reducing(kernel: Kernel) -> Stage | None:
    """The only stage with loops, if it reduces and comes first."""
    stages = [stage for stage in kernel.stages if stage.loops]
    if kernel.in_order or len(stages) != 1 or stages[0].level:
        return None
    (stage,) = stages
    return stage if stage.reductions and any(loop.size != 1 for loop in stage.loops) else None


# --- the order of memory ------------------------------------------------------------------------


def _in_memory_order(
    kernel: Kernel, stage: Stage, vector: Loop | None, lanes: int
) -> _Tiles | None:
    """The results that a work item along memory has at a time; None where one result after the
    other is as good.
    """
    load = _largest_load(kernel, stage)
    order = None if load is None else _by_stride(load, (*kernel.outer, *stage.loops))
    if load is None or order is None:
        return None
    kept = _kept(kernel, order, vector, load.dtype.itemsize)
    if not kept or not set(order[: order.index(kept[0])]) & set(stage.loops):
        return None
    if vector in stage.loops and vector in order[: order.index(kept[-1])]:
        return None
    tile = _tile(kernel, stage, order, kept, vector, lanes, load.dtype.itemsize)
    if tile is None:
        return None
    own = tuple(loop for loop in order if loop in kept or loop in stage.loops)
    inner = dims.product(loop.size for loop in own[own.index(kept[0]) + 1 :])
    is_long = not _is_below(inner * tile * load.dtype.itemsize, LIMITS.piece_bytes)
    together = _together(kernel, own, kept, vector, lanes) if is_long else 1
    return _Tiles(own, kept, tile, together)


def _largest_load(kernel: Kernel, stage: Stage) -> Load | None:
    """What is read at a place of its own in every step."""
    loops = {loop for loop in (*kernel.outer, *stage.loops) if loop.size != 1}
    loads = [
        entry.source
        for entry in kernel.entries.values()
        if isinstance(entry.source, Load) and not entry.source.position.extras
    ]
    whole = [load for load in loads if {loop for loop, _ in load.position.terms} >= loops]
    return max(whole, key=lambda load: load.dtype.itemsize, default=None)


def _by_stride(load: Load, loops: Sequence[Loop]) -> list[Loop] | None:
    """Loops by the distance between their steps, the farthest first; None if that is known only at
    run time.
    """
    ordered: list[Loop] = []
    for loop in loops:
        stride, position = _distance(load, loop), len(ordered)
        while position:
            room = _distance(load, ordered[position - 1]) - stride
            least, most = dims.lower(room), dims.upper(room)
            if least is not None and least >= 0:
                break
            if most is None or most > 0:
                return None
            position -= 1
        ordered.insert(position, loop)
    return ordered


def _distance(load: Load, loop: Loop) -> Size:
    """How far apart steps lie; those of a loop that has one may lie anywhere."""
    stride = load.position.factor(loop)
    if loop.size == 1:
        return 1 << 62
    return abs(stride) if isinstance(stride, int) else stride


def _kept(
    kernel: Kernel, order: Sequence[Loop], vector: Loop | None, itemsize: int
) -> tuple[Loop, ...]:
    """The innermost kept loops, as many as it takes to read pieces of some length."""
    kept: list[Loop] = []
    piece: Size = itemsize
    held: Size = itemsize
    for loop in reversed(order):
        if loop in kernel.outer:
            is_wanted = vector in kernel.outer and vector not in kept
            if kept and not is_wanted and not _is_below(piece, LIMITS.piece_bytes):
                break
            if not _is_below(held, LIMITS.held_bytes):
                return () if is_wanted else tuple(kept)
            kept.insert(0, loop)
            held = held * loop.size
        piece = piece * loop.size
    return tuple(kept)


def _is_below(size: Size, limit: int) -> bool:
    return isinstance(size, int) and size < limit


def _tile(
    kernel: Kernel,
    stage: Stage,
    order: Sequence[Loop],
    kept: Sequence[Loop],
    vector: Loop | None,
    lanes: int,
    itemsize: int,
) -> int | None:
    """Steps of the first kept loop in a work item; None if no more than without a plan."""
    first, *others = kept
    row = dims.product(loop.size for loop in order[order.index(first) + 1 :])
    piece = -(-LIMITS.piece_bytes // max(row * itemsize, 1)) if isinstance(row, int) else 1
    least = max(lanes, 1) if first is vector else 1
    most = LIMITS.held_bytes // _held_bytes(stage, others)
    units = dims.product(loop.size for loop in kernel.outer if loop not in kept)
    split = next(loop for loop in order if loop in stage.loops and loop.size != 1)
    parts = _most_parts(kernel, stage, split)
    if isinstance(first.size, int) and isinstance(units, int):
        wanted = max(first.size * units * parts // LIMITS.enough_items, piece)
        most = min(most, max(wanted, 1))
    most = most // least * least
    if most <= least:
        return None
    if not isinstance(first.size, int):
        return most
    tiles = max(-(-first.size // most), 1)
    tile = -(-first.size // (tiles * least)) * least
    return tile if tile > least else None


def _most_parts(kernel: Kernel, stage: Stage, split: Loop) -> int:
    """Into how many parts a reduction may be divided along a loop."""
    results = dims.product(loop.size for loop in kernel.outer)
    terms = dims.product(loop.size for loop in stage.loops)
    if not isinstance(results, int):
        return 1
    most = LIMITS.results // max(results, 1)
    if isinstance(terms, int) and isinstance(split.size, int):
        most = min(most, split.size, terms // LIMITS.part_terms)
    return max(most, 1)


def _held_bytes(stage: Stage, loops: Sequence[Loop]) -> int:
    """The bytes of running results for one step of the first kept loop."""
    sizes = [loop.size for loop in loops]
    each = [_state_bytes(entry) for entry in stage.reductions]
    return math.prod(size for size in sizes if isinstance(size, int)) * sum(each)


def _state_bytes(entry: Entry) -> int:
    """Of what a reduction holds: for the place of an extreme also that and whether there is one."""
    assert isinstance(entry.source, Reduction)
    itemsize = max(entry.source.body.value.type.dtype.itemsize, 4)
    return itemsize + 9 if entry.source.kind.startswith("arg") else itemsize


def _together(
    kernel: Kernel, order: Sequence[Loop], kept: Sequence[Loop], vector: Loop | None, lanes: int
) -> int:
    """How many steps of the reduced loop before the kept ones are done for each running result:
    each reads a piece of its own, and pieces have to be long for that.
    """
    inner = dims.product(loop.size for loop in order[order.index(kept[-1]) + 1 :])
    if kernel.weight > LIMITS.light or not isinstance(inner, int):
        return 1
    vectors = -(-inner // lanes) if lanes and vector not in kept else inner
    return max(LIMITS.together // max(vectors, 1), 1)


# --- parts --------------------------------------------------------------------------------------


def _parts(
    kernel: Kernel, stage: Stage, tiles: _Tiles, vector: Loop | None, lanes: int
) -> tuple[Loop | None, Size, Size]:
    """The loop that is shared out, to how many parts, and how many steps of it each has."""
    whole: tuple[Loop | None, Size, Size] = (None, 1, 0)
    results = dims.product(loop.size for loop in kernel.outer)
    if not isinstance(results, int) or not results:
        return whole
    units = _units(kernel, tiles)
    terms = dims.product(loop.size for loop in stage.loops)
    most = min(LIMITS.most_items // units, LIMITS.results // results)
    if units >= LIMITS.enough_items or most < 2:
        return whole
    wanted = dims.minimum(
        dims.floor_divide(terms * results, LIMITS.part_steps),
        dims.floor_divide(terms, LIMITS.part_terms),
    )
    wanted = dims.maximum(dims.minimum(wanted, most), 1)
    split = next(loop for loop in tiles.order if loop in stage.loops and loop.size != 1)
    unit = max(lanes, 1) if split is vector else tiles.together
    each = _ceil(_ceil(split.size, wanted), unit) * unit
    each = dims.maximum(each, unit)
    parts = _ceil(split.size, each)
    return whole if parts == 1 else (split, parts, each)


def _units(kernel: Kernel, tiles: _Tiles) -> int:
    """Work items without parts, where all sizes of results are known."""
    count = 1
    for loop in kernel.outer:
        assert isinstance(loop.size, int)
        if loop in tiles.kept[:1]:
            count *= -(-loop.size // tiles.tile)
        elif loop not in tiles.kept:
            count *= loop.size
    return count


def _ceil(size: Size, divisor: Size) -> Size:
    return dims.floor_divide(size + divisor - 1, divisor)
