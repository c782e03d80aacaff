"""Large products and what is made of them, block of rows by block of rows: attention without its
matrix of scores, the loss over a large vocabulary without its logits.

Where values of a cluster (see `block_cluster`) would take much more memory than all that enters and
leaves it, they are computed in loops over blocks that stay in the cache. What the backward part
needs of the forward one is computed again. Results are as before but for the order of sums over
rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from weft.compiler.ir.build import Builder
from weft.compiler.ir.edit import Editor, with_region, without_dead_ops
from weft.compiler.ir.graph import Constant, Graph, Op, Region, Result, Value
from weft.compiler.ir.walk import has_effect, topological_order, users
from weft.compiler.ops.branch import switch
from weft.compiler.ops.contraction import dot_general
from weft.compiler.passes.blocking import emit as block_emit
from weft.compiler.passes.blocking.cluster import (
    DTYPES,
    Cluster,
    ClusterStage,
    Member,
    candidates,
    grow,
    stages,
)
from weft.compiler.passes.blocking.columns import (
    Dropped,
    KnownColumns,
    Mask,
    find_mask,
    live_columns,
    with_columns,
)
from weft.compiler.passes.blocking.emit import Lookup, Plan, Segment
from weft.compiler.passes.blocking.guard import emit_guard
from weft.compiler.passes.blocking.views import is_plain
from weft.compiler.record import record


@record
class RowBlockLimits:
    """When it pays, and how large blocks are; measured on attention with its gradients.

    Below 8 columns per term what is saved no longer outweighs computing scores twice. Blocks of 96
    to 128 rows are fastest as long as a value of a block fits into the second cache.
    """

    least_bytes: int = 4 << 20  # of all values that would be stored otherwise
    least_gain: float = 2.0  # how many times what enters and leaves these have to be
    least_ratio: int = 8  # rows and columns of a product per term of its sums
    block_bytes: int = 1 << 20  # of a value in a block
    least_rows: int = 48
    most_rows: int = 128
    most_parts: int = 8  # loops with columns of their own, where a mask leaves out some
    most_left: float = 0.85  # of all elements, for that to pay
    lanes: int = 16  # columns that are left out or computed together: a vector of f32 at its widest


DEFAULT: Final = RowBlockLimits()


def block_rows(
    graph: Graph, fired: Counter[str] | None = None, *, limits: RowBlockLimits = DEFAULT
) -> Graph:
    """The graph with clusters around large products in loops over blocks of rows."""
    counts = fired if fired is not None else Counter()
    return with_region(graph, _block_region(graph.region, limits, counts))


def _block_region(region: Region, limits: RowBlockLimits, counts: Counter[str]) -> Region:
    region = _with_inner(region, limits, counts)
    tried: set[Op] = set()
    while True:
        seeds = (op for op in region.ops if op not in tried and _is_seed(op, limits))
        seed = next(seeds, None)
        if seed is None:
            return region
        tried.add(seed)
        best = _best(region, seed, limits)
        if best is not None:
            region = _rewrite(region, *best, counts, limits)


def _with_inner(region: Region, limits: RowBlockLimits, counts: Counter[str]) -> Region:
    """The region with this done in the regions of its ops."""
    if not any(op.regions for op in region.ops):
        return region
    editor = Editor(region)
    changed = False
    for op in region.ops:
        current = editor.current(op, [_block_region(r, limits, counts) for r in op.regions])
        editor.keep(op, current)
        changed |= current is not op
    if not changed:
        return region
    return editor.builder.region([editor.value(v) for v in region.results])


def _is_seed(op: Op, limits: RowBlockLimits) -> bool:
    """Whether a product is much larger than its operands. One that sums up nothing is computed
    where it is read.
    """
    if op.definition is not dot_general or not op.attributes["lhs_contract"] or not is_plain(op):
        return False
    (result,) = op.results
    if result.type.dtype not in DTYPES or _bytes(result) * 2 < limits.least_bytes:
        return False
    axes = op.attributes["lhs_contract"]
    terms = math.prod([_int(op.operands[0].type.shape[axis]) for axis in axes])
    batch = math.prod(
        [_int(op.operands[0].type.shape[axis]) for axis in op.attributes["lhs_batch"]]
    )
    free = [_int(operand.type.size) // max(terms * batch, 1) for operand in op.operands]
    return min(free) >= limits.least_ratio * terms


def _int(size: object) -> int:
    assert isinstance(size, int)
    return size


def _bytes(value: Value) -> int:
    return _int(value.type.size) * value.type.dtype.itemsize


# --- whether it pays ------------------------------------------------------------------------------


def _best(
    region: Region, seed: Op, limits: RowBlockLimits
) -> tuple[Cluster, list[ClusterStage]] | None:
    """The better of the clusters that grow from a product, if it pays."""
    used = users(region)
    best: tuple[Cluster, list[ClusterStage]] | None = None
    most = limits.least_gain
    for cluster, view in candidates(seed):
        grown = grow(region, seed, cluster, view, used)
        if grown is None:
            continue
        cluster_stages = stages(region, grown, used)
        gain = _gain(grown, cluster_stages, limits)
        if gain > most and all(_plan(grown, stage, limits).has_loops for stage in cluster_stages):
            best, most = (grown, cluster_stages), gain
            exits = [member.result for stage in cluster_stages for member in stage.exits]
            if not any(map(grown.is_wide, exits)):
                break
    return best


def _gain(cluster: Cluster, found: Sequence[ClusterStage], limits: RowBlockLimits) -> float:
    """How many times what enters and leaves the stages the values are that are no longer stored:
    operands and results of products.
    """
    exits = {member.op.results[0] for stage in found for member in stage.exits}
    stored: dict[Value, None] = {}
    for op in cluster.dependent:
        member = cluster.members[op]
        if op.definition is not dot_general:
            continue
        makers = map(cluster.maker, op.operands, member.operands)
        for maker in (member, *makers):
            if maker is not None and not maker.summed and cluster.is_wide(maker.result):
                stored[maker.op.results[0]] = None
    saved = sum([_bytes(value) for value in stored if value not in exits])
    if saved < limits.least_bytes:
        return 0.0
    passed = {value for stage in found for value, _ in stage.inputs} | exits
    passed |= {member.op.results[0] for stage in found for member in stage.sums}
    return saved / max(sum([_bytes(value) for value in passed]), 1)


# --- loops ----------------------------------------------------------------------------------------


def _plan(cluster: Cluster, stage: ClusterStage, limits: RowBlockLimits) -> Plan:
    loops = [loop for loop in range(len(cluster.sizes)) if loop != cluster.row]
    scanned = [loop for loop in loops if _is_scanned(loop, cluster, stage)]
    wide = [member for member in stage.members if cluster.is_wide(member.result)]
    widest = max([_row_bytes(cluster, member) for member in wide], default=1)
    segments = _segments(cluster.sizes[cluster.row], _rows(cluster, stage, widest, limits))
    mapped = tuple([loop for loop in loops if loop not in scanned])
    location = stage.own[0].op.location
    return Plan(cluster, stage, mapped, tuple(scanned), segments, location)


def _row_bytes(cluster: Cluster, member: Member) -> int:
    return cluster.row_size(member.result) * member.op.results[0].type.dtype.itemsize


def _is_scanned(loop: int, cluster: Cluster, stage: ClusterStage) -> bool:
    """Whether steps of a loop follow each other, since sums over them would be large in parts."""
    if not stage.sums or not all(loop in member.summed for member in stage.sums):
        return False
    parts = sum([_bytes(member.op.results[0]) for member in stage.sums])
    return cluster.sizes[loop] * parts > sum([_bytes(value) for value, _ in stage.inputs])


def _rows(cluster: Cluster, stage: ClusterStage, row_bytes: int, limits: RowBlockLimits) -> int:
    """The rows of a block: as many as stay in the cache, or, where that is out of reach, so many
    that reading and writing sums counts less than reading and writing the block.
    """
    size = cluster.sizes[cluster.row]
    cached = limits.block_bytes // max(row_bytes, 1)
    if cached >= limits.least_rows:
        return min(cached, limits.most_rows, size)
    sums = 0
    for member in stage.sums:
        steps = math.prod([cluster.sizes[loop] for loop in member.result.used])
        sums += _bytes(member.op.results[0]) // steps
    wanted = min(4 * sums // row_bytes, 2 * limits.most_rows, size // 8)
    return min(max(wanted, limits.least_rows), size)


def _segments(size: int, rows: int) -> tuple[Segment, ...]:
    """Blocks of about so many rows: equal ones if there is a divisor that will do, else with a
    smaller block at the end.
    """
    if size <= rows * 4 // 3:
        return (Segment(0, size, 1),)
    divisors = [n for n in range(rows * 2 // 3, rows * 4 // 3 + 1) if n and size % n == 0]
    if divisors:
        rows = max(divisors, key=lambda n: (n % 16 == 0, n))
        return (Segment(0, rows, size // rows),)
    rows -= rows % 16 if rows > 16 else 0
    count = size // rows
    return (Segment(0, rows, count), Segment(rows * count, size - rows * count, 1))


# --- the region with a cluster as loops -----------------------------------------------------------


def _rewrite(
    region: Region,
    cluster: Cluster,
    found: Sequence[ClusterStage],
    counts: Counter[str],
    limits: RowBlockLimits,
) -> Region:
    plans = {stage: _plan(cluster, stage, limits) for stage in found}
    editor = Editor(region)
    with editor.builder.active():
        for item in _order(region, cluster, found):
            if isinstance(item, Op):
                editor.keep(item, editor.current(item, item.regions))
                continue
            plan = plans[item]
            replacements, is_cut = _emit(plan, editor.value, limits)
            editor.substitution.update(replacements)
            counts[_description(plan, is_cut)] += 1
    return without_dead_ops(editor.builder.region([editor.value(v) for v in region.results]))


def _description(plan: Plan, is_cut: bool) -> str:
    size, blocks = plan.cluster.sizes[plan.cluster.row], plan.segments
    batches = math.prod(plan.sizes(plan.mapped))
    over = f"{batches} x " if batches > 1 else ""
    without = " without masked columns" if is_cut else ""
    return f"{over}{size} rows in blocks of {blocks[0].rows}{without}"


def _emit(plan: Plan, lookup: Lookup, limits: RowBlockLimits) -> tuple[dict[Value, Value], bool]:
    """Emit a stage, without the columns that a mask leaves no part in where that can be; whether
    it can.
    """
    known = KnownColumns()
    cut = _without_masked(plan, known, limits)
    guard = None if cut is None else emit_guard(cut[0].stage, cut[1], known, lookup)
    if cut is None or guard is None:
        return block_emit.emit(plan, lookup), False
    results: list[Value] = [m.op.results[0] for m in (*plan.stage.exits, *plan.stage.sums)]
    inputs = dict.fromkeys([value for value, _ in plan.stage.inputs])
    operands = [value for value in inputs if not isinstance(value, Constant)]
    branches = [_branch(chosen, operands, results) for chosen in (plan, cut[0])]
    outputs = switch.emit(guard, *[lookup(value) for value in operands], regions=branches)
    return dict(zip(results, outputs, strict=True)), True


def _branch(plan: Plan, operands: Sequence[Value], results: Sequence[Value]) -> Region:
    """The loops of a stage as a region of what they read."""
    builder = Builder()
    parameters: dict[Value, Value] = {v: builder.parameter(v.type) for v in operands}
    with builder.active():
        replacements = block_emit.emit(plan, lambda value: parameters.get(value, value))
    return without_dead_ops(builder.region([replacements[value] for value in results]))


def _without_masked(
    plan: Plan, known: KnownColumns, limits: RowBlockLimits
) -> tuple[Plan, Mask] | None:
    """The plan with blocks of rows that have only the columns which some of their rows see."""
    if plan.scanned:
        return None
    marked = with_columns(plan.cluster, plan.stage)
    mask = None if marked is None else find_mask(*marked, known)
    if marked is None or mask is None or mask.dead.all(axis=1).any():
        return None
    cluster, stage = marked
    segments = _cut_segments(plan.segments, mask, limits)
    left = sum([_area(segment, cluster) for segment in segments])
    if left > limits.most_left * mask.dead.size:
        return None
    parts = [((s.start, s.stop), s.columns or (0, cluster.columns)) for s in segments]
    if not Dropped(cluster, stage, known, mask, parts).is_zero():
        return None
    return replace(plan, cluster=cluster, stage=stage, segments=segments), mask


def _cut_segments(
    segments: Sequence[Segment], mask: Mask, limits: RowBlockLimits
) -> tuple[Segment, ...]:
    """Segments in a few parts, each with the columns that its rows see."""
    parts: list[Segment] = []
    for segment in segments:
        blocks = -(-segment.count // limits.most_parts)
        for first in range(0, segment.count, blocks):
            count = min(blocks, segment.count - first)
            start = segment.start + first * segment.rows
            stop = start + count * segment.rows
            seen = live_columns(mask.dead, start, stop, limits.lanes)
            parts.append(Segment(start, segment.rows, count, seen))
    return tuple(parts)


def _area(segment: Segment, cluster: Cluster) -> int:
    begin, end = segment.columns or (0, cluster.columns)
    return (segment.stop - segment.start) * (end - begin)


Item = Op | ClusterStage


def _order(region: Region, cluster: Cluster, found: Sequence[ClusterStage]) -> list[Item]:
    """The ops that stay and the stages, each after what it needs, near the order of the region."""
    home: dict[Op, Item] = {op: op for op in region.ops if op not in cluster.dependent}
    for stage in found:
        home.update(dict.fromkeys([member.op for member in stage.own], stage))
    position = {op: number for number, op in enumerate(region.ops)}
    items: dict[Item, int] = {}
    for op in region.ops:
        items[home[op]] = position[op]
    sources = {item: set(_sources(item, home)) - {item} for item in items}
    effects = [op for op in region.ops if has_effect(op)]
    for before, after in pairwise(effects):
        sources[after].add(before)
    return topological_order(sources, items.__getitem__)


def _sources(item: Item, home: dict[Op, Item]) -> Iterable[Item]:
    values = (
        [value for value, _ in item.inputs] if isinstance(item, ClusterStage) else item.operands
    )
    for value in values:
        if isinstance(value, Result):
            yield home[value.op]
