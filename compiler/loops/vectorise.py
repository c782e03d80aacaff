"""Vector plans: which loop the lanes of a vector go along, how many lanes, and in what blocks."""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.index.affine import Index, Loop
from weft.compiler.ir.index.expression import Apply, Literal
from weft.compiler.loops.costs import own_cost
from weft.compiler.loops.kernel import Argument, Entry, Kernel, Load, Stage, Write
from weft.compiler.loops.reduction_tiling import ReductionPlan, tile_reduction
from weft.compiler.record import record


@record
class VectorLimits:
    """What lanes cost, and how much of a vector loop is a work item.

    Chosen with the first native kernels, `light` with the register transpose; measurements are not
    on record.
    """

    gather_cost: float = 6.0  # of lanes that are read one by one, in vector loads
    block: int = 4096  # steps of a vector loop that are a work item
    tile_block: int = 128  # the same where lanes read far apart
    tile: int = 16  # steps of a tiled loop in a tile
    light: int = 12  # additions of a kernel that is worth a register transpose
    inline_lanes: tuple[int, ...] = (4, 8)  # steps that are written in line as one vector


LIMITS: Final = VectorLimits()


@record
class VectorPlan:
    """`along` is the loop of the lanes (None: no vectors); `lanes` counts them (0: none).

    A kernel that reduces may have a `tiling`, which says what a work item is and in what order it
    goes through memory. Otherwise `block` is how many steps of an outer `along` are a work item.
    `tile` is another outer loop, along which something is contiguous that the lanes read at long
    strides: some of its steps are taken before the next block, while what they read is in the
    cache. Light work goes by `squares`: as many steps of the tiled loop as there are lanes, read
    along it and transposed in registers.
    """

    along: dict[Stage | None, Loop]
    outer: Loop | None
    lanes: int
    block: int
    tile: Loop | None = None
    squares: bool = False
    tiling: ReductionPlan | None = None


def vectorise(kernel: Kernel, vector_bits: int) -> VectorPlan:
    """The plan of a kernel for registers of this width."""
    base = max(vector_bits // max(_widest(kernel), 8), 1)
    outer = _best_outer(kernel, base)
    inner = {stage: _best(stage.loops, kernel, stage, base) for stage in kernel.stages}
    hot = max(kernel.stages, key=lambda stage: len(stage.loops), default=None)
    along: dict[Stage | None, Loop] = {}
    chosen: Loop | None = None
    if hot is not None and hot.loops and not kernel.in_order:
        loop, cost = inner[hot]
        if outer is None or cost <= outer[1]:
            along = {stage: pair[0] for stage, pair in inner.items() if pair[0] is not None}
    if not along and outer is not None:
        chosen = outer[0]
    extent = _extent(chosen, along)
    lanes = base * _unroll(kernel.weight, extent, base) if along or chosen else 0
    lanes = lanes if lanes > 1 else 0
    tile = _tile(kernel, chosen)
    block = LIMITS.tile_block if tile is not None else LIMITS.block
    # Few steps in a work item if each has loops of its own inside.
    block = max(lanes, 1) if kernel.inner else max(block, lanes)
    squares = tile is not None and base > 1 and _goes_by_squares(kernel, chosen, tile)
    lanes = base if squares else lanes
    vector = chosen if chosen is not None else along.get(hot)
    tiling = tile_reduction(kernel, vector if lanes else None, lanes)
    return VectorPlan(along, chosen, lanes, block, tile, squares, tiling)


def inline_lanes(kernel: Kernel) -> Loop | None:
    """The loop whose steps are the lanes of one vector, in a kernel that is written in line: all
    that it reads and writes lies in order along it, and its ops are as cheap in lanes as one by
    one. None: its steps are written one after the other.
    """
    loop = kernel.outer[-1] if kernel.outer else None
    if loop is None or loop.size not in LIMITS.inline_lanes or kernel.inner:
        return None
    writes = [write for stage in kernel.stages for write in stage.writes]
    sources = [entry.source for entry in kernel.entries.values()]
    is_plain = all(
        isinstance(source, Load | Argument | Literal)
        or isinstance(source, Apply)
        and own_cost(source.op) <= 1
        for source in sources
    )
    reads = [source for source in sources if isinstance(source, Load)]
    accesses: list[Load | Write] = [*reads, *writes]
    if not is_plain or any(each.dtype.is_complex or each.dtype.bits < 32 for each in accesses):
        return None
    if any(each.guards or each.position.extras for each in accesses):
        return None
    in_order = all(read.position.factor(loop) in (0, 1) for read in reads)
    return loop if in_order and all(_is_set(write, loop) for write in writes) else None


def _is_set(write: Write, loop: Loop) -> bool:
    return write.kind == "set" and write.position.factor(loop) == 1


def crosses(entry: Entry, along: Loop, tile: Loop) -> bool:
    """Whether an entry is read in order along a tiled loop and not along the lanes."""
    source = entry.source
    if not isinstance(source, Load) or source.guards or source.position.extras:
        return False
    position = source.position
    return position.factor(along) not in (0, 1) and position.factor(tile) == 1


def _goes_by_squares(kernel: Kernel, along: Loop | None, tile: Loop) -> bool:
    """Whether all that is read crosswise can be transposed in registers, and the work is light
    enough to be written out for every step.
    """
    entries = list(kernel.entries.values())
    if along is None or kernel.weight > LIMITS.light or any(entry.level for entry in entries):
        return False
    crossing = [entry for entry in entries if _is_crosswise(entry, along)]
    dtypes = {entry.ref.value.type.dtype for entry in crossing}
    if len(dtypes) != 1 or next(iter(dtypes)).is_complex:
        return False
    stores = [write.position for stage in kernel.stages for write in stage.writes]
    turned = all(crosses(entry, along, tile) for entry in crossing)
    return turned and all(position.factor(along) == 1 for position in stores)


def _is_crosswise(entry: Entry, along: Loop) -> bool:
    source = entry.source
    return isinstance(source, Load) and source.position.factor(along) not in (0, 1)


def _tile(kernel: Kernel, along: Loop | None) -> Loop | None:
    """The loop along which elements are contiguous that the lanes read at a stride."""
    if along is None or kernel.inner:
        return None
    for position in kernel.indices():
        if position.factor(along) in (0, 1):
            continue
        for loop in kernel.outer:
            if loop is not along and position.factor(loop) == 1:
                return loop
    return None


def _extent(chosen: Loop | None, along: dict[Stage | None, Loop]) -> Size:
    loops = [chosen] if chosen is not None else list(along.values())
    sizes = [loop.size for loop in loops if loop is not None]
    numbers = [size for size in sizes if isinstance(size, int)]
    return max(numbers) if len(numbers) == len(sizes) and numbers else 1 << 30


def _unroll(weight: int, extent: Size, base: int) -> int:
    """How many registers one step of the vector loop fills: several for light work."""
    wanted = 4 if weight <= 12 else 2
    assert isinstance(extent, int)
    while wanted > 1 and base * wanted > max(extent, base):
        wanted //= 2
    return wanted


def _widest(kernel: Kernel) -> int:
    """The bits of the widest element."""

    def bits(dtype: DType) -> int:
        return dtype.bits // 2 if dtype.is_complex else dtype.bits

    widths = [bits(entry.ref.value.type.dtype) for entry in kernel.entries.values() if entry.loops]
    for stage in kernel.stages:
        widths += [bits(write.dtype) for write in stage.writes]
    return max(widths, default=64)


def _best_outer(kernel: Kernel, lanes: int) -> tuple[Loop, float] | None:
    hot = max(kernel.stages, key=lambda stage: len(stage.loops), default=None)
    loops = kernel.outer
    if kernel.in_order:  # one by one is faster than lanes that write here and there
        writes = [write.position for stage in kernel.stages for write in stage.writes]
        loops = tuple(loop for loop in loops if all(w.factor(loop) == 1 for w in writes))
    best, cost = _best(loops, kernel, hot, lanes)
    return None if best is None else (best, cost)


def _best(
    loops: tuple[Loop, ...], kernel: Kernel, stage: Stage | None, lanes: int
) -> tuple[Loop | None, float]:
    """The loop along which a stage's reads and writes are cheapest in lanes; the last of equal
    ones.
    """
    best: tuple[Loop | None, float] = (None, float("inf"))
    for loop in loops:
        cost = _lane_cost(loop, kernel, stage, lanes)
        if cost <= best[1] * 1.001:
            best = (loop, cost)
    return best


def _lane_cost(loop: Loop, kernel: Kernel, stage: Stage | None, lanes: int) -> float:
    if isinstance(loop.size, int) and loop.size == 1:
        return float("inf")
    inside = set(stage.loops) if stage is not None else set()
    cost = 0.5
    for entry in kernel.entries.values():
        if isinstance(entry.source, Load) and (not inside or entry.loops & inside):
            cost += _access_cost(entry.source.position, entry, loop)
    for write in stage.writes if stage is not None else ():
        cost += 1.5 * _access_cost(write.position, None, loop)
    return cost * _waste(loop.size, lanes)


def _access_cost(position: Index, entry: Entry | None, loop: Loop) -> float:
    if any(loop in extra.loops for _, extra in position.extras):
        return LIMITS.gather_cost
    factor = position.factor(loop)
    if isinstance(factor, int) and factor == 1:
        return 1.0
    if isinstance(factor, int) and factor == 0:
        return 0.5
    return LIMITS.gather_cost


def _waste(size: Size, lanes: int) -> float:
    """The share of lanes that a last, half-filled vector leaves idle."""
    if not isinstance(size, int) or size == 0:
        return 1.0
    return -(-size // lanes) * lanes / size
