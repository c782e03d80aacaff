"""Which ops become one loop nest, and which values are arrays in memory in between.

Ops are visited from last to first. When an op is met, everything that reads its result is placed
already, so all places where its elements are wanted are known: by which groups, and where. From
these the choice follows: compute it where it is read, or once into an array, in a group of its own
or as a further result of one that reads it. A producer is computed more than once only where that
is bounded and cheaper than memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from weft.compiler.ir import dims
from weft.compiler.ir.graph import Constant, Op, Region, Result, Value
from weft.compiler.ir.index.affine import ZERO, Loop, Place, over
from weft.compiler.ir.index.expression import Ref
from weft.compiler.ir.index.references import references
from weft.compiler.ir.walk import has_effect
from weft.compiler.loops import maps
from weft.compiler.loops.costs import is_free, own_cost
from weft.compiler.loops.counters import array_operands
from weft.compiler.loops.dependencies import DependencyOrder
from weft.compiler.loops.estimates import LIMITS as ESTIMATES
from weft.compiler.loops.estimates import (
    bytes_of,
    is_at_most,
    is_far_smaller,
    is_repeated,
    leaves,
    spread,
    weights,
)
from weft.compiler.loops.fusion import Fusion
from weft.compiler.loops.group import (
    Computed,
    FusionGroup,
    Node,
    OpaqueNode,
    PiecewiseNode,
    Reduction,
    Refusal,
    Store,
    needs_row_major,
)
from weft.compiler.loops.maps import view_base
from weft.compiler.loops.reductions import (
    POSITIONS,
    choices,
    combiner_of,
    fits_row,
    goes_down_columns,
    has_long_columns,
    reduced_sizes,
    rows_within,
    short_axes,
    unrolled,
    whole_place,
)
from weft.compiler.loops.siblings import Kind, ReductionIndex
from weft.compiler.loops.updates import (
    Update,
    first_updates,
    is_constant_fill,
    is_selected_over,
    is_small_part,
    meets,
    update_of,
)
from weft.compiler.record import record


@record
class FusionLimits:
    """How large groups get, and how much is computed again rather than stored.

    Chosen with the first native compiler, the columns with consumers of products; measurements are
    not on record.
    """

    entries: int = 500  # of a group, at most: compile time and registers
    repeated_cost: int = 4  # additions per element that may be repeated rather than stored
    pairwise_cost: int = 400  # the same of values far larger than what they are made of, in all
    pairwise_groups: int = 6  # groups that compute such a value again, at most
    updates: int = 8  # of one array: all but one of many begin with a copy of it
    column_bytes: int = 1 << 18  # of an array that may be written column by column, at most


LIMITS: Final = FusionLimits()


def fuse(region: Region, strided: Iterable[Value] = ()) -> Fusion:
    """Which ops of a region become one loop nest. `strided` are the parameters that are not
    row-major.
    """
    fuser = _Fuser(Fusion(region, frozenset(strided)))
    for op in reversed(region.ops):
        fuser.place(op)
    return fuser.fusion


class _Fuser:
    """The state of fusion: which values are needed as arrays, and where groups read others."""

    def __init__(self, fusion: Fusion) -> None:
        region = fusion.region
        self.fusion = fusion
        self.nodes = fusion.nodes
        self.homes = fusion.homes
        self.aliases = fusion.aliases
        self.position = fusion.position
        self.position.update((op, number) for number, op in enumerate(region.ops))
        self.needed: set[Value] = set(region.results)
        self.accesses: dict[Value, dict[FusionGroup, dict[Place, None]]] = {}
        self._order = DependencyOrder()
        self._array_users: dict[Value, list[Node]] = {}
        self._updates: dict[Value, list[PiecewiseNode]] = {}  # that begin with an array
        self._first_update = first_updates(region)
        self._weights = weights(region)
        self._siblings = ReductionIndex(lambda v: self._weights.get(v, 0) > LIMITS.repeated_cost)
        self._wherever_read = {op.operands[0] for op in region.ops if _is_stored(op) is False}

    # --- one op ---

    def place(self, op: Op) -> None:
        wanted = [r for r in op.results if r in self.needed or r in self.accesses]
        if not wanted and not has_effect(op):
            return
        update = update_of(op, self._is_read)
        if op.definition.combiner is not None and not maps.has_map(op):
            self._place_reduction(op, op.results[0])
        elif update is not None and self._is_piecewise(op, update):
            self._write_pieces(op, op.results[0], update)
        elif maps.has_map(op):
            for result in wanted:
                self._place_map(op, result)
        else:
            self._place_single(op)

    def _place_single(self, op: Op) -> None:
        node = OpaqueNode(op)
        self._add(node, op.results)
        for operand in array_operands(op):
            self.require(operand, node)

    def require(self, value: Value, node: Node) -> None:
        """A node needs a value as an array: as it is, or a view of one by strides."""
        base = value if needs_row_major(node) else view_base(value)
        self.needed.add(base)
        self._array_users.setdefault(base, []).append(node)
        self._connect(base, node)

    def _place_map(self, op: Op, result: Result) -> None:
        groups = self.accesses.get(result, {})
        keeps_order = op.definition.memory.keeps_order
        if not result.type.rank:
            self._start(op, result, ())
        elif _is_stored(op) and self._is_row_major(op):
            self._alias(op, result)
        elif keeps_order and result in self.needed and self._is_row_major(op):
            self._alias(op, result)
        elif self._is_changed_meanwhile(op, result, groups):
            self._start(op, result, tuple(Loop(size) for size in result.type.shape))
        elif result in self.needed:
            self._store(op, result, groups)
        elif is_free(op) and not (keeps_order and self._divides(op, groups)):
            self._inline_everywhere(op, result, groups)
        elif keeps_order and self._is_row_major(op):
            self._alias(op, result)
        elif keeps_order:
            self._store(op, result, groups)
        elif result in self._wherever_read or self._may_inline(op, result, groups):
            self._inline_everywhere(op, result, groups)
        else:
            self._store(op, result, groups)

    def _is_changed_meanwhile(
        self, op: Op, result: Result, groups: dict[FusionGroup, dict[Place, None]]
    ) -> bool:
        """Whether a small part is read from an array that an update changes, and would be read in
        another step of the update or after it: the update could not be in place.
        """
        for array in map(view_base, op.operands) if self._first_update else ():
            first, updates = self._first_update.get(array), self._updates.get(array, ())
            if first is None or len(updates) > LIMITS.updates or not is_small_part(result, array):
                continue
            # What follows an update in the program may well be read after it.
            if first < self.position[op] or any(
                self._order.precedes([update], home)
                if (home := self._outermost(group)) is not update
                else meets(result, array, group, places)
                for update in updates
                for group, places in groups.items()
            ):
                self._refuse(op, groups, "it is read from an array that is changed in place")
                return True
        return any(is_selected_over(result, group, places) for group, places in groups.items())

    def _is_row_major(self, op: Op) -> bool:
        """Whether the operand's elements lie in order, so that its array can be read as another."""
        (x,) = op.operands
        return x.type.rank > 0 and self.fusion.resolve(x) not in self.fusion.strided

    def _alias(self, op: Op, result: Result) -> None:
        """A reshape of an array, or an array behind a fence, is the same array."""
        (x,) = op.operands
        self.aliases[result] = x
        self.needed.add(x)
        for group in self.accesses.get(result, {}):
            self._array_users.setdefault(x, []).append(group)
            self._connect(x, group)
        for node in self._array_users.get(result, []):
            self._array_users.setdefault(x, []).append(node)
            self._connect(x, node)

    def _divides(self, op: Op, groups: dict[FusionGroup, dict[Place, None]]) -> bool:
        """Whether reading through a reshape would take divisions."""
        return any(maps.divides(op, place) for places in groups.values() for place in places)

    # --- inlining ---

    def _may_inline(
        self, op: Op, result: Result, groups: dict[FusionGroup, dict[Place, None]]
    ) -> bool:
        weight = self._weights[result]
        if len(groups) > 1 and weight > 2 and not self._is_pairwise(result, len(groups)):
            self._refuse(op, groups, "its value is used by several kernels")
            return False
        for group, places in groups.items():
            if len(group.entries) + len(places) > LIMITS.entries:
                self._refuse(op, (group,), "the kernel would become too large")
                return False
            if not self._is_bounded(op, result, group, places):
                return False
        return True

    def _is_bounded(
        self, op: Op, result: Result, group: FusionGroup, places: dict[Place, None]
    ) -> bool:
        """Whether computing a value where a group reads it repeats little."""
        weight = self._weights[result]
        times = len(places) / spread(places)
        if (times - 1) * weight > LIMITS.repeated_cost and not self._is_pairwise(
            result, round(times)
        ):
            self._refuse(op, (group,), f"it would be computed {times:.2g} times per element")
            return False
        if weight > 2 and any(is_repeated(place, group) for place in places):
            self._refuse(op, (group,), "it would be computed again in every step of an outer loop")
            return False
        return True

    def _is_pairwise(self, result: Result, count: int) -> bool:
        """Whether a value is so much larger than what it is made of that memory costs more."""
        weight = self._weights[result]
        if weight * count > LIMITS.pairwise_cost or count > LIMITS.pairwise_groups:
            return False
        sources = leaves(result)
        if sources is None:
            return False
        return all(is_far_smaller(leaf.type.size, result.type.size) for leaf in sources)

    def _inline_everywhere(
        self, op: Op, result: Result, groups: dict[FusionGroup, dict[Place, None]]
    ) -> None:
        for group, places in groups.items():
            for place in places:
                self._enter(group, result, place, maps.expression(op, result.index, place))

    def _enter(self, group: FusionGroup, value: Value, place: Place, computed: Computed) -> Ref:
        """Let a group compute a value at a place."""
        ref = Ref(value, place)
        if ref in group.entries:
            return ref
        group.entries[ref] = computed
        assert isinstance(value, Result)
        group.weight += own_cost(value.op)
        for read in references(computed):
            self._access(read, group)
        self._siblings.changed(group)
        return ref

    def _access(self, ref: Ref, group: FusionGroup) -> None:
        value = ref.value
        if isinstance(value, Constant) and not value.type.rank:
            return
        self.accesses.setdefault(value, {}).setdefault(group, {})[ref.place] = None
        group.wanted[ref] = None

    # --- storing ---

    def _store(self, op: Op, result: Result, groups: dict[FusionGroup, dict[Place, None]]) -> None:
        """Compute a value once into an array: in a group that reads it, or in one of its own."""
        for group, places in groups.items():
            hosts = self._can_host(op, result, group, places)
            if not hosts and self._can_host(op, result, group, places, joins=True):
                # A group that has one of it for each of its rows goes by rows from now on.
                rows = rows_within(group, next(iter(places)))
                hosts, group.outer = rows is not None, rows or group.outer
            if hosts:
                (place,) = places
                self._enter(group, result, place, maps.expression(op, result.index, place))
                self._write(group, Ref(result, place))
                self._connect_others(result, group)
                return
        self._start(op, result, tuple(Loop(size) for size in result.type.shape))

    def _start(self, op: Op, result: Result, loops: tuple[Loop, ...]) -> None:
        group = FusionGroup(loops)
        place = over(loops)
        self._add(group, [result])
        self._enter(group, result, place, maps.expression(op, result.index, place))
        self._write(group, Ref(result, place))

    def _write(self, group: FusionGroup, ref: Ref) -> None:
        group.stores.append(Store(ref, ref.value, ref.place))
        self.homes[ref.value] = group

    def _can_host(
        self,
        op: Op,
        result: Result,
        group: FusionGroup,
        places: dict[Place, None],
        *,
        joins: bool = False,
    ) -> bool:
        """Whether a group that reads a value can also store it: each element once, and nothing that
        reads the array must run before the group. A reduction that `joins` has its indices as the
        group's outer loops.
        """
        if len(places) != 1 or group.is_piece or not group.loops:
            return False
        if len(group.entries) >= LIMITS.entries:
            return False
        (place,) = places
        loops = [index.plain_loop for index in place.indices]
        fitting = [
            loop is not None or (index == ZERO and size == 1)
            for loop, index, size in zip(loops, place.indices, result.type.shape, strict=True)
        ]
        if place.guards or not all(fitting):
            return False
        plain = {loop for loop in loops if loop is not None}
        repeated = () if joins else group.outer or group.loops
        several = [loop for loop in repeated if loop.size != 1]
        if len(plain) != sum(loop is not None for loop in loops) or not plain >= set(several):
            return False
        sizes = [
            loop is None or loop.size == size
            for loop, size in zip(loops, result.type.shape, strict=True)
        ]
        if not all(sizes) or self._would_wait_for_itself(result, group):
            return False
        if goes_down_columns(group, loops) and not is_at_most(
            bytes_of(result), LIMITS.column_bytes
        ):
            self._refuse(op, (group,), "the kernel goes through it column by column")
            return False
        return True

    def _would_wait_for_itself(self, result: Result, group: FusionGroup) -> bool:
        """Whether something that reads the value's array must run before the group does."""
        if group in self._array_users.get(result, []):
            return True  # it reads the array too, as what a reshape or a fence made of it
        return self._order.precedes(
            [node for node in self._users_of(result) if node is not group], group
        )

    # --- reductions ---

    def _place_reduction(self, op: Op, result: Result) -> None:
        groups = self.accesses.get(result, {})
        if result not in self.needed and len(groups) == 1 and result.type.rank:
            ((group, places),) = groups.items()
            if len(places) == 1 and self._join_row(op, result, group, next(iter(places))):
                return
        if result not in self.needed and groups and self._may_unroll(op, result, groups):
            for group, places in groups.items():
                for place in places:
                    self._enter(group, result, place, unrolled(op, place))
            return
        for group, places in groups.items():
            if (
                result.type.rank
                and self._can_host(op, result, group, places, joins=True)
                and self._join_row(op, result, group, next(iter(places)))
            ):
                self._write(group, Ref(result, next(iter(places))))
                self._connect_others(result, group)
                return
        self._reduce_alone(op, result)

    def _join_row(self, op: Op, result: Result, group: FusionGroup, place: Place) -> bool:
        """Reduce inside of a group, before the rest of each of its rows."""
        loops = [index.plain_loop for index in place.indices if index != ZERO]
        if place.guards or group.in_order or not group.loops or len(set(loops)) != len(loops):
            return False
        if any(loop is None or loop not in group.loops for loop in loops):
            return False
        outer = tuple(loop for loop in group.loops if loop in loops or loop.size == 1)
        if group.outer is not None and group.outer != outer:
            self._refuse(op, (group,), "the kernel reduces over other axes already")
            return False
        sizes = reduced_sizes(op)
        if (
            short_axes(result.type.shape)
            and self._weights.get(op.operands[0], 0) > LIMITS.repeated_cost
        ):
            self._refuse(op, (group,), "its short last axis is written out in a kernel of its own")
            return False
        if not fits_row(sizes, [loop.size for loop in outer]):
            self._refuse(op, (group,), "its rows are too long to go through twice, or too few")
            return False
        if (group.reduce_loops or len(outer) < len(group.loops)) and has_long_columns(op):
            self._refuse(op, (group,), "its columns are too long to go through twice")
            return False
        if any(store.place.loops.isdisjoint(outer) and outer for store in group.stores):
            return False
        group.outer = outer
        inner = group.inner
        if tuple(loop.size for loop in inner) == sizes:
            group.reduce_loops.setdefault(sizes, inner)
        self._reduce_in(op, result, group, place)
        return True

    def _reduce_in(self, op: Op, result: Result, group: FusionGroup, place: Place) -> None:
        sizes = reduced_sizes(op)
        if sizes not in group.reduce_loops:
            group.reduce_loops[sizes] = tuple(Loop(size) for size in sizes)
        loops = group.reduce_loops[sizes]
        body = Ref(op.operands[0], whole_place(op, place, loops))
        self._enter(group, result, place, Reduction(combiner_of(op), body, loops, op))

    def _reduce_alone(self, op: Op, result: Result) -> None:
        """A group of its own. A short last axis that stays is written out, so that the steps share
        what they have in common.
        """
        written_out = short_axes(result.type.shape)
        kept = [size for axis, size in enumerate(result.type.shape) if axis not in written_out]
        outer = tuple(Loop(size) for size in kept)
        kind = tuple(kept), reduced_sizes(op)
        group = self._sibling(op, result, kind, outer)
        if group is None:
            group = FusionGroup(outer, outer=outer)
            self._siblings.add(kind, group)
            self._add(group, [result])
        for place in _places(result, group.outer or ()):
            self._reduce_in(op, result, group, place)
            self._write(group, Ref(result, place))
        self._connect_others(result, group)

    def _sibling(
        self, op: Op, result: Result, kind: Kind, outer: tuple[Loop, ...]
    ) -> FusionGroup | None:
        """The first group that computes in part what a reduction needs, and can wait for it: it
        does not read the result, all of which is known only when the group has ended.
        """
        inner, readers = tuple(Loop(size) for size in kind[1]), self.accesses.get(result, {})
        body = self._reduced(op, result, outer, inner)
        for group in self._siblings.candidates(kind, body, (*outer, *inner)):
            if len(group.entries) > LIMITS.entries // 2 or group.outer is None or group in readers:
                continue
            own = self._reduced(op, result, group.outer, group.reduce_loops[kind[1]])
            if self._siblings.shares(own, group) and not self._would_wait_for_itself(result, group):
                return group
        return None

    def _reduced(
        self, op: Op, result: Result, outer: tuple[Loop, ...], inner: tuple[Loop, ...]
    ) -> Ref:
        """What a reduction combines over inner loops, in a step of outer ones."""
        return Ref(op.operands[0], whole_place(op, _places(result, outer)[0], inner))

    def _may_unroll(
        self, op: Op, result: Result, groups: dict[FusionGroup, dict[Place, None]]
    ) -> bool:
        steps = dims.product(reduced_sizes(op))
        if not isinstance(steps, int) or not 0 < steps <= ESTIMATES.unrolled:
            return False
        if combiner_of(op) in POSITIONS:
            return False
        return self._may_inline(op, result, groups)

    # --- arrays that are written piece by piece ---

    def _is_read(self, value: Value) -> bool:
        """Whether something that was placed reads a value."""
        return value in self.needed or value in self.accesses

    def _is_piecewise(self, op: Op, update: Update) -> bool:
        """Whether a result is written piece by piece, rather than element by element."""
        if not maps.has_map(op):
            return True
        if update.base is not None:
            # Where half of an array or more is new, one pass over all is best.
            return not is_at_most(update.base.type.size - 2 * update.written, 0)
        return op.results[0] in self.needed or len(op.operands) > 3

    def _write_pieces(self, op: Op, result: Result, update: Update) -> None:
        node = PiecewiseNode(result, [], update.base)
        self._add(node, [result])
        for value, target in update.pieces:
            loops = tuple(Loop(size) for size in value.type.shape)
            group = self._piece(node, value, loops, target(over(loops)), update.kind)
            group.in_order = update.meet
        if update.base is not None:
            self.require_base(node, update.base)

    def _piece(
        self,
        node: PiecewiseNode,
        source: Value,
        loops: tuple[Loop, ...],
        target: Place,
        kind: str,
    ) -> FusionGroup:
        group = FusionGroup(loops, is_piece=True)
        ref = Ref(source, over(loops))
        group.stores.append(Store(ref, node.result, target, kind))
        node.groups.append(group)
        self._access(ref, group)
        for index in target.indices:
            for _, extra in index.extras:
                for read in references(extra):
                    self._access(read, group)
        return group

    def require_base(self, node: PiecewiseNode, base: Value) -> None:
        """The array an update starts from: written out where it is cheap to make, else copied."""
        if isinstance(base, Result) and is_constant_fill(base):
            loops = tuple(Loop(size) for size in base.type.shape)
            group = FusionGroup(loops, is_piece=True)
            ref = Ref(base, over(loops))
            group.stores.append(Store(ref, node.result, ref.place))
            node.groups.insert(0, group)
            node.base = None
            self._access(ref, group)
            return
        self.needed.add(base)
        self._array_users.setdefault(base, []).append(node)
        self._updates.setdefault(base, []).append(node)
        self._connect(base, node)

    # --- the graph of nodes ---

    def _add(self, node: Node, results: Sequence[Value]) -> None:
        self.nodes.append(node)
        self._order.add(node)
        for result in results:
            self.homes[result] = node
            self._connect_others(result, node)

    def _users_of(self, value: Value) -> Iterator[Node]:
        """The nodes that read a value, as far as they are known."""
        for group in self.accesses.get(value, {}):
            yield self._outermost(group)
        for node in self._array_users.get(value, []):
            yield self._outermost(node) if isinstance(node, FusionGroup) else node

    def _connect_others(self, result: Value, node: Node) -> None:
        for user in self._users_of(result):
            if user is not node:
                self._order.connect(node, user)

    def _connect(self, value: Value, node: Node) -> None:
        home = self.homes.get(value)
        user = self._outermost(node) if isinstance(node, FusionGroup) else node
        if home is not None and home is not user:
            self._order.connect(home, user)

    def _outermost(self, group: FusionGroup) -> Node:
        for store in group.stores:
            home = self.homes.get(store.target)
            if isinstance(home, PiecewiseNode):
                return home
        return group

    def _refuse(self, producer: Op, groups: Iterable[FusionGroup], reason: str) -> None:
        targets = [group.stores[0].target for group in groups if group.stores]
        consumers = dict.fromkeys(t.op for t in targets if isinstance(t, Result))
        self.fusion.refusals.append(Refusal(producer, tuple(consumers), reason))


# --- helpers ------------------------------------------------------------------------------------


def _places(result: Result, outer: Sequence[Loop]) -> list[Place]:
    """The places of a reduction's result: one, or one per step of a short axis."""
    shape = result.type.shape
    written_out, loops = short_axes(shape), iter(outer)
    chosen = [None if axis in written_out else next(loops) for axis in range(len(shape))]
    return [Place(tuple(indices)) for indices in choices(shape, chosen)]


def _is_stored(op: Op) -> bool | None:
    """Whether the user wants an operand in memory, or never there; None: does not say."""
    stored = op.definition.memory.stored
    return None if stored is None else stored(op)
