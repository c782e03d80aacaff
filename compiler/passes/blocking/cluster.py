"""Clusters of ops around large products that can be computed block of rows by block of rows: the
scores of attention with all that is made of them and their gradients, logits of a large vocabulary.

A cluster grows from a product that is much larger than its operands. Everything that is as wide as
its rows and made row by row belongs to it, and what lies between on the way from one such value to
another. Where a cluster waits for something outside that waits for the cluster (a gradient that
comes back), it falls apart into stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from weft.compiler.ir.dtypes import f32, f64
from weft.compiler.ir.graph import Constant, Op, Region, Result, Value
from weft.compiler.ops.contraction import dot_general
from weft.compiler.passes.blocking.views import (
    BlockView,
    is_plain,
    operand_views,
    result_view,
    static_shape,
    summed,
)
from weft.compiler.record import record

DTYPES: Final = (f32, f64)


@record
class ClusterLimits:
    """How far a cluster grows: chosen, not measured. Heads of attention have 64 to 256 terms, whose
    products are computed again for gradients; the other number bounds the time to compile.
    """

    most_terms: int = 256  # of the sums of a product that is computed again rather than kept
    most_steps: int = 16  # ops that are looked at behind a narrow value


LIMITS: Final = ClusterLimits()


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """An op of a cluster: views of its operands and its result, and over which loops the result is
    a sum, of which it is the last term only when these loops are through.
    """

    op: Op
    operands: tuple[BlockView, ...]
    result: BlockView
    summed: frozenset[int] = frozenset()


@dataclass(eq=False, slots=True)
class Cluster:
    """Ops that loops go over: the sizes of the loops, which of them goes over rows, the members in
    the order of the region, and those that depend on a product (others only make masks and such).
    Where the axis of columns is marked as one loop more, `columns` is its size.
    """

    sizes: tuple[int, ...]
    row: int
    width: int
    members: dict[Op, Member] = field(default_factory=dict)
    dependent: set[Op] = field(default_factory=set)
    columns: int = 1

    def row_size(self, view: BlockView) -> int:
        """The elements of a value in one row."""
        return view.width * (self.columns if len(self.sizes) in view.used else 1)

    def is_wide(self, view: BlockView) -> bool:
        """Whether a value is about as large as the product from which the cluster grew."""
        return self.row in view.used and 2 * self.row_size(view) >= self.width

    def maker(self, value: Value, view: BlockView) -> Member | None:
        """The member that makes a value, block by block as it is wanted."""
        member = self.members.get(value.op) if isinstance(value, Result) else None
        if member is None or member.summed or member.result != view:
            return None
        return member


def candidates(seed: Op) -> Iterator[tuple[Cluster, BlockView]]:
    """The clusters that may grow from a product, and its view in each: with the free axes of one
    operand as rows, or of the other.
    """
    shape = static_shape(seed.results[0])
    batch = len(seed.attributes["lhs_batch"])
    middle = seed.operands[0].type.rank - len(seed.attributes["lhs_contract"])
    for begin, end in ((batch, middle), (middle, len(shape))):
        rows = [axis for axis in range(begin, end) if shape[axis] > 1]
        looped = [axis for axis in range(batch) if shape[axis] > 1] + rows
        columns = [axis for axis, size in enumerate(shape) if axis not in looped and size > 1]
        if not rows or not columns:
            continue
        sizes = tuple([shape[axis] for axis in looped])
        loops = [looped.index(axis) if axis in looped else None for axis in range(len(shape))]
        view = BlockView(shape, tuple(loops))
        row = max(range(len(looped) - len(rows), len(looped)), key=lambda loop: (sizes[loop], loop))
        yield Cluster(sizes, row, view.width), view


def grow(
    region: Region, seed: Op, cluster: Cluster, view: BlockView, used: Users
) -> Cluster | None:
    """The cluster with all that belongs to it; None if it does not hold together."""
    growth = _Growth(cluster, used)
    growth.include(seed, view)
    growth.run()
    growth.bridge(region)
    order = [op for op in region.ops if op in cluster.members]
    cluster.members = {op: cluster.members[op] for op in order}
    full = frozenset(range(len(cluster.sizes)))
    for op in cluster.dependent:
        member = cluster.members[op]
        if member.result.used | member.summed != full:
            return None
    return cluster


Users = Mapping[Value, Sequence[Op]]


class _Growth:
    """A cluster while it grows: members whose neighbours are still to be looked at."""

    def __init__(self, cluster: Cluster, used: Users) -> None:
        self.cluster = cluster
        self.used = used
        self.waiting: list[Op] = []

    def run(self) -> None:
        while self.waiting:
            op = self.waiting.pop()
            member = self.cluster.members[op]
            for operand, view in zip(op.operands, member.operands, strict=True):
                if isinstance(operand, Result) and self._is_made_of_wide(operand.op, view):
                    self.include(operand.op, view)
            if self._depends(member):
                self._mark(op)

    def _is_made_of_wide(self, op: Op, view: BlockView) -> bool:
        """Whether a value is wide, or a narrow one for which a wide one would have to be made."""
        stack, steps = [(op, view)], 0
        while stack and steps < LIMITS.most_steps:
            steps += 1
            op, view = stack.pop()
            if self.cluster.is_wide(view):
                return True
            if op in self.cluster.members or self.cluster.row not in view.used:
                continue
            operands = operand_views(op, view) or ()
            for operand, needed in zip(op.operands, operands, strict=False):
                if isinstance(operand, Result):
                    stack.append((operand.op, needed))
        return False

    def include(self, op: Op, view: BlockView) -> bool:
        """Let an op make its result block by block, if it can."""
        cluster = self.cluster
        if op in cluster.members:
            return cluster.members[op].result == view
        operands = operand_views(op, view)
        if operands is None or cluster.row not in view.used:
            return False
        if op.definition is dot_general and not self._is_whole(op, view):
            return False
        self._add(Member(op, tuple(operands), view))
        return True

    def _is_whole(self, op: Op, view: BlockView) -> bool:
        """Whether a product has all loops, and a dtype whose sums may be taken in parts."""
        is_full = len(view.used) == len(self.cluster.sizes)
        return is_full and op.results[0].type.dtype in DTYPES

    def _add(self, member: Member) -> None:
        self.cluster.members[member.op] = member
        self.waiting.append(member.op)

    def _depends(self, member: Member) -> bool:
        if member.op.definition is dot_general:
            return True
        makers = map(self.cluster.maker, member.op.operands, member.operands)
        return any(maker is not None and maker.op in self.cluster.dependent for maker in makers)

    def _mark(self, op: Op) -> None:
        """Note that an op depends on a product, and look at what is made of it."""
        stack = [op]
        while stack:
            item = stack.pop()
            if item in self.cluster.dependent:
                continue
            self.cluster.dependent.add(item)
            member = self.cluster.members[item]
            if member.summed or not self.cluster.is_wide(member.result):
                continue
            for user in self.used.get(item.results[0], ()):
                if user not in self.cluster.members:
                    self._follow(user, item.results[0], member.result)
                if user in self.cluster.members and self._depends(self.cluster.members[user]):
                    stack.append(user)

    def _follow(self, user: Op, value: Value, view: BlockView) -> None:
        """Include an op that reads a wide value."""
        number = user.operands.index(value)
        of_result = result_view(user, number, view)
        if of_result is not None and self.include(user, of_result):
            return
        total = summed(user, number, view)
        if total is None or self.cluster.row not in total.loops:
            return
        if user.results[0].type.dtype not in DTYPES:
            return
        if all(map(self._agrees, user.operands, total.operands)):
            self._add(Member(user, total.operands, total.result, total.loops))

    def _agrees(self, operand: Value, view: BlockView) -> bool:
        """Whether an operand of a sum can have a view: it is outside, or made with it."""
        member = self.cluster.members.get(operand.op) if isinstance(operand, Result) else None
        return member is None or member.result == view

    # --- narrow values on the way between wide ones ---

    def bridge(self, region: Region) -> None:
        """Include ops on narrow values that lead from the cluster back into it."""
        cluster = self.cluster
        bridges: dict[Op, Member] = {}
        for op in region.ops:
            if op not in cluster.members:
                member = self._bridging(op, bridges)
                if member is not None:
                    bridges[op] = member
        if not bridges:
            return
        wanted = {
            (operand, view)
            for member in cluster.members.values()
            for operand, view in zip(member.op.operands, member.operands, strict=True)
        }
        for op in reversed(list(bridges)):
            member = bridges[op]
            if (op.results[0], member.result) in wanted:
                self._add(member)
                wanted.update(zip(op.operands, member.operands, strict=True))
        self.run()
        for op in region.ops:
            if op in cluster.members and self._depends(cluster.members[op]):
                cluster.dependent.add(op)

    def _bridging(self, op: Op, found: Mapping[Op, Member]) -> Member | None:
        """The op as a member if it reads something narrow that the cluster, or another such op,
        makes.
        """
        for number, operand in enumerate(op.operands):
            if not isinstance(operand, Result):
                continue
            maker = found.get(operand.op) or self._narrow(operand.op)
            if maker is None or not is_plain(op):
                continue
            view = result_view(op, number, maker.result)
            needed = None if view is None else operand_views(op, view)
            if view is not None and needed is not None and self.cluster.row in view.used:
                return Member(op, tuple(needed), view)
        return None

    def _narrow(self, op: Op) -> Member | None:
        member = self.cluster.members.get(op)
        if member is None or member.summed or op not in self.cluster.dependent:
            return None
        return None if self.cluster.is_wide(member.result) else member


# --- stages ---------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class ClusterStage:
    """Members that are computed in one go: `own` ones, and all in order, with those of earlier
    stages that are computed again. `inputs` come from outside or from earlier stages, `exits` are
    values that others need.
    """

    own: list[Member] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)
    inputs: dict[tuple[Value, BlockView], None] = field(default_factory=dict)
    exits: list[Member] = field(default_factory=list)

    @property
    def sums(self) -> list[Member]:
        return [member for member in self.own if member.summed]


def stages(region: Region, cluster: Cluster, used: Users) -> list[ClusterStage]:
    """The stages of a cluster, first to last."""
    stage_of = _places(region, cluster)
    _move_down(region, cluster, stage_of, used)
    all_stages = [ClusterStage() for _ in range(max(stage_of.values(), default=-1) + 1)]
    for op, number in stage_of.items():
        all_stages[number].own.append(cluster.members[op])
    outside = _used_outside(region, cluster)
    for number, stage in enumerate(all_stages):
        _complete(stage, cluster, stage_of, number)
    kept = {value for stage in all_stages for value, _ in stage.inputs}
    for stage in all_stages:
        stage.exits = [
            member
            for member in stage.own
            if not member.summed
            and (member.op.results[0] in outside or member.op.results[0] in kept)
        ]
    return [stage for stage in all_stages if stage.own]


def _places(region: Region, cluster: Cluster) -> dict[Op, int]:
    """The first stage in which each dependent member can be computed."""
    level: dict[Value, int] = {}
    stage_of: dict[Op, int] = {}
    for op in region.ops:
        member = cluster.members.get(op)
        if member is None or op not in cluster.dependent:
            done = [_level(value, level, stage_of) for value in op.operands]
            level.update(dict.fromkeys(op.results, max(done, default=-1)))
            continue
        earliest = 0
        for operand, view in zip(op.operands, member.operands, strict=True):
            maker = cluster.maker(operand, view)
            is_inside = maker is not None and maker.op in stage_of
            after = _level(operand, level, stage_of) + (not is_inside)
            earliest = max(earliest, after)
        stage_of[op] = earliest
    return stage_of


def _level(value: Value, level: Mapping[Value, int], place: Mapping[Op, int]) -> int:
    """The last stage that a value waits for, -1 for none."""
    if isinstance(value, Result) and value.op in place:
        return place[value.op]
    return level.get(value, -1)


def _move_down(region: Region, cluster: Cluster, place: dict[Op, int], used: Users) -> None:
    """Compute members that only later stages need there."""
    needed = set(region.results)
    for op in reversed(list(place)):
        member, value = cluster.members[op], op.results[0]
        if member.summed or value in needed:
            continue
        numbers = [_reader(user, value, member, cluster, place) for user in used.get(value, ())]
        readers = [number for number in numbers if number is not None]
        if readers and len(readers) == len(numbers):
            place[op] = max(place[op], min(readers))


def _reader(
    user: Op, value: Value, member: Member, cluster: Cluster, place: Mapping[Op, int]
) -> int | None:
    """The stage of a member that reads a value of the cluster inside of it."""
    reader = cluster.members.get(user)
    if reader is None or user not in place:
        return None
    views = [v for o, v in zip(user.operands, reader.operands, strict=True) if o is value]
    return place[user] if all(view == member.result for view in views) else None


def _complete(stage: ClusterStage, cluster: Cluster, place: Mapping[Op, int], number: int) -> None:
    """Find what a stage computes again and what it reads."""
    needed: dict[Op, None] = {}
    stack = [member.op for member in stage.own]
    while stack:
        op = stack.pop()
        if op in needed:
            continue
        needed[op] = None
        member = cluster.members[op]
        for operand, view in zip(op.operands, member.operands, strict=True):
            maker = cluster.maker(operand, view)
            if maker is not None and not (
                place.get(maker.op, number) < number and _is_kept(maker, cluster)
            ):
                stack.append(maker.op)
            elif operand.type.rank or not isinstance(operand, Constant):
                stage.inputs[operand, view] = None
    stage.members = [member for op, member in cluster.members.items() if op in needed]


def _is_kept(member: Member, cluster: Cluster) -> bool:
    """Whether a later stage reads a value rather than to compute it again."""
    if member.op.definition is not dot_general:
        return False
    if not cluster.is_wide(member.result):
        return True
    shape, axes = member.op.operands[0].type.shape, member.op.attributes["lhs_contract"]
    terms = 1
    for axis in axes:
        size = shape[axis]
        terms *= size if isinstance(size, int) else LIMITS.most_terms
    return terms > LIMITS.most_terms


def _used_outside(region: Region, cluster: Cluster) -> set[Value]:
    """Values that something outside of the cluster reads, or a member in another way than block by
    block as they are made.
    """
    outside: set[Value] = set(region.results)
    for op in region.ops:
        member = cluster.members.get(op)
        if member is None:
            outside.update(op.operands)
            continue
        for operand, view in zip(op.operands, member.operands, strict=True):
            if cluster.maker(operand, view) is None:
                outside.add(operand)
    return outside
