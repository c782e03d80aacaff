"""The memory plan of a region: which arrays there are, when they live, and where they lie.

A region's temporary arrays share one frame. An array that dies may be written over by the result of
the node that reads it last, where every element is read before it is written. Results are written
to the caller's memory, never to the frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from weft.compiler.ir import dims
from weft.compiler.ir.alignment import aligned
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.graph import Constant, Op, Parameter, Region, Result, Value
from weft.compiler.ir.index.affine import are_apart, row_major, total
from weft.compiler.ir.index.references import references
from weft.compiler.loops.arena import Buffer, assign_offsets
from weft.compiler.loops.counters import counters_of
from weft.compiler.loops.estimates import bytes_of as bytes_of
from weft.compiler.loops.fusion import Fusion
from weft.compiler.loops.group import (
    FusionGroup,
    Node,
    OpaqueNode,
    PiecewiseNode,
    Reduction,
    needs_row_major,
    targets_of,
)
from weft.compiler.loops.kernel import Layout
from weft.compiler.loops.memory import ControlPlan, Copy, Purpose, RegionPlan
from weft.compiler.loops.order import Order
from weft.compiler.loops.origins import Origins, carried_operand, carry_of
from weft.compiler.loops.parallel import steps_at_once
from weft.compiler.loops.row_fusion import contract_of


def plan_memory(
    region: Region,
    orders: Mapping[Region, tuple[Fusion, Order]],
    *,
    strided: Mapping[Value, tuple[Size, ...]] | None = None,
    carried: Mapping[int, int] | None = None,
) -> RegionPlan:
    """The memory of a region, and of those inside of it, whose nodes are given in order. `strided`
    gives the strides of parameters that are not row-major; `carried` tells which result takes the
    place of which parameter in the next step of a loop.
    """
    return _Context(orders, Origins()).plan(region, carried or {}, strided or {})


@dataclass
class _Context:
    """What the plans of a region and of those inside of it share.

    Branches are planned again where one of them cannot work in place; `plans` keeps those inside
    of them, so that the work does not double with every level of nesting.
    """

    orders: Mapping[Region, tuple[Fusion, Order]]
    origins: Origins
    plans: dict[tuple[Region, frozenset[tuple[int, int]]], RegionPlan] = field(default_factory=dict)

    def plan(
        self,
        region: Region,
        carried: Mapping[int, int],
        strided: Mapping[Value, tuple[Size, ...]] | None = None,
    ) -> RegionPlan:
        key = region, frozenset(carried.items())
        if key not in self.plans:
            plan = RegionPlan(region, *self.orders[region])
            plan.late = {
                symbol.name
                for op in region.ops
                if op.definition.defines is not None
                for symbol in dims.symbols(op.attributes[op.definition.defines])
            }
            _Planner(plan, self, dict(strided or {}), dict(carried)).run()
            self.plans[key] = plan
        return self.plans[key]


class _Planner:
    def __init__(
        self,
        made: RegionPlan,
        context: _Context,
        strided: dict[Value, tuple[Size, ...]],
        carried: dict[int, int],
    ) -> None:
        self.made = made
        self.context = context
        self.fusion = made.fusion
        self.nodes = made.order.nodes
        followers = made.order.consumers
        self.led: dict[Node, Node] = {
            node: product for product, chain in followers.items() for node in chain.nodes
        }
        self.last = self._last_uses()
        self.result_of: dict[Value, int] = {}
        self.placed: dict[Value, Buffer] = {}
        self.destined: set[Buffer] = set()  # results' memory that begins as something else
        parameters = made.region.parameters
        self.carried = {parameters[p]: number for number, p in carried.items()}
        for number, parameter in enumerate(parameters):
            if parameter.type.rank:
                buffer = self._outside("parameter", number, parameter)
                if parameter in strided:
                    made.strided[parameter] = Layout(buffer, 0, strided[parameter])
        for number, result in enumerate(made.region.results):
            held = self.fusion.resolve(result)
            if isinstance(held, Result) and held.type.rank and held not in self.result_of:
                self.result_of[held] = number

    def run(self) -> None:
        plan = self.made
        for position, node in enumerate(self.nodes):
            for value in self._constants(node):
                if value not in plan.holders:
                    self._outside("constant", -1, value)
            if isinstance(node, OpaqueNode) and node.op.definition.memory.has_branches:
                self._plan_switch(node.op, position)
            for target in targets_of(node):
                if target.type.rank and target not in plan.holders:
                    self._hold(node, position, target)
            if isinstance(node, OpaqueNode) and node.op.regions and node.op not in plan.controls:
                self._plan_control(node.op, position)
            if needs_row_major(node):
                assert isinstance(node, OpaqueNode)
                self._pack_operands(node.op, position)
        for result in plan.region.results:
            held = self.fusion.resolve(result)
            if isinstance(held, Constant) and held.type.rank and held not in plan.holders:
                self._outside("constant", -1, held)
        self._keep_for_chains()
        for number, result in enumerate(plan.region.results):
            if isinstance(result, Parameter) and self.carried.get(result) == number:
                plan.in_place.add(number)  # passed on as it is
        self._plan_copies()
        plan.bytes = assign_offsets(plan.temporaries)

    def _pack_operands(self, op: Op, position: int) -> None:
        """Copies of operands that are not row-major, for ops that take them in no other way."""
        _, count, first = carry_of(op)
        counters = counters_of(op)
        for number, value in enumerate(op.operands):
            if not value.type.rank or first <= number < first + count or number in counters:
                continue
            layout, wanted = self.made.layout(value), row_major(value.type.shape)
            if (layout.offset == 0 and layout.strides == wanted) or self._has_copy(op, value):
                continue
            kind = "late" if self._is_late(bytes_of(value)) else "temporary"
            buffer = Buffer(kind, -1, bytes_of(value), position, position, value)
            self.made.buffers.append(buffer)
            self.made.copies["operand", op, value] = Copy(value, layout, Layout(buffer, 0, wanted))

    def _has_copy(self, op: Op, value: Value) -> bool:
        return ("operand", op, value) in self.made.copies

    def _plan_copies(self) -> None:
        """Copies to where a result, an updated array or a loop's carry has to be."""
        plan = self.made
        for node in self.nodes:
            if isinstance(node, PiecewiseNode) and node.base is not None:
                self._copy_to(("base", node), node.base, plan.layout(node.result))
        for op in plan.controls:
            _, count, first = carry_of(op)
            for number, operand in enumerate(op.operands[first : first + count]):
                if operand.type.rank:
                    home = plan.layout(op.results[number]).storage
                    target = Layout(home, 0, row_major(operand.type.shape))
                    self._copy_to(("carry", op, number), operand, target)
        for number, result in enumerate(plan.region.results):
            if not result.type.rank or number in plan.in_place:
                continue
            buffer = plan.holders.get(self.fusion.resolve(result))
            if buffer is not None and buffer.kind == "result" and buffer.number == number:
                continue
            buffer = Buffer("result", number, bytes_of(result), 0, len(self.nodes), result)
            target = Layout(buffer, 0, row_major(result.type.shape))
            plan.copies["result", number] = Copy(result, plan.layout(result), target)

    def _copy_to(self, purpose: Purpose, value: Value, target: Layout) -> None:
        source = self.made.layout(value)
        if source.storage is not target.storage:
            self.made.copies[purpose] = Copy(value, source, target)

    def _outside(self, kind: str, number: int, value: Value) -> Buffer:
        buffer = Buffer(kind, number, bytes_of(value), -1, len(self.nodes), value)
        self.made.buffers.append(buffer)
        self._give(value, buffer)
        return buffer

    def _give(self, value: Value, buffer: Buffer) -> None:
        self.made.holders[value] = buffer
        buffer.held.append(value)

    def _constants(self, node: Node) -> Iterable[Value]:
        for value in self.fusion.reads(node):
            held = self.fusion.resolve(value)
            if isinstance(held, Constant) and held.type.rank:
                yield held

    def _last_uses(self) -> dict[Value, int]:
        last: dict[Value, int] = {}
        for position, node in enumerate(self.nodes):
            for value in self._read_by(node):
                last[self.fusion.resolve(value)] = position
        for result in self.made.region.results:
            last[self.fusion.resolve(result)] = len(self.nodes)
        return last

    def _read_by(self, node: Node) -> list[Value]:
        """What a node reads; for a consumer also what its product reads, which is still at work
        on later rows.
        """
        mine = self.fusion.reads(node)
        return [*mine, *self.fusion.reads(self.led[node])] if node in self.led else mine

    def _keep_for_chains(self) -> None:
        """The nodes of a consumer chain run at the same time: what one of them reads or writes
        stays alive until all of them have ended.
        """
        holders = self.made.holders
        position = {node: number for number, node in enumerate(self.nodes)}
        for chain in self.made.order.consumers.values():
            end = position[chain.nodes[-1]]
            for node in chain.nodes:
                for value in (*self.fusion.reads(node), *targets_of(node)):
                    buffer = holders.get(self.fusion.resolve(value))
                    if buffer is not None:
                        buffer.last = max(buffer.last, end)

    # --- one array ---

    def _hold(self, node: Node, position: int, target: Value) -> None:
        plan = self.made
        if target in self.placed:
            self._give(target, self.placed[target])
            return
        number = self.result_of.get(target)
        dying = self._dying(node, position, target)
        end = self.last.get(target, position)
        shared = self._result_of_follower(node, position, target)
        if shared is not None:
            buffer = shared
        elif number is not None and (begun := self._begun(dying, number)) is not None:
            self._give(target, begun)
            return
        elif number is not None:
            paired = [b for b in dying if self._is_carried_to(b, number)]
            if paired:
                plan.in_place.add(number)
                self._give(target, paired[0])
                return
            buffer = Buffer("result", number, bytes_of(target), position, end, target)
        elif dying:
            self._give(target, dying[0])
            dying[0].last = max(dying[0].last, end)
            return
        elif (destination := self._destination(target)) is not None:
            last = len(self.nodes)
            buffer = Buffer("result", destination, bytes_of(target), position, last, target)
            self.destined.add(buffer)
        else:
            kind = "late" if self._is_late(bytes_of(target)) else "temporary"
            buffer = Buffer(kind, -1, bytes_of(target), position, end, target)
        plan.buffers.append(buffer)
        self._give(target, buffer)

    def _begun(self, dying: list[Buffer], number: int) -> Buffer | None:
        """The memory of a result that already holds what the result is made from."""
        for buffer in dying:
            if buffer in self.destined and buffer.number == number:
                return buffer
        return None

    def _destination(self, value: Value) -> int | None:
        """The result of the region that an array becomes, changed in place by loops and updates, so
        that it may be where that result has to be from the beginning.
        """
        end = len(self.nodes)
        while (position := self.last.get(value, end)) < end:
            following = self._next(value, position)
            if following is None or following.type != value.type or not value.type.is_static:
                return None
            number = self.result_of.get(following)
            if number is not None:
                return None if number in self.carried.values() else number
            value = following
        return None

    def _next(self, value: Value, position: int) -> Value | None:
        """What the node that reads an array last makes of it in place."""
        node = self.nodes[position]
        if isinstance(node, PiecewiseNode):
            may = _may_overwrite(self.fusion, node, value, node.result)
            return node.result if may and node not in self.led else None
        if not isinstance(node, OpaqueNode) or value not in node.op.operands:
            return None
        if [self.fusion.resolve(operand) for operand in node.op.operands].count(value) != 1:
            return None
        _, count, first = carry_of(node.op)
        number = node.op.operands.index(value) - first
        return node.op.results[number] if 0 <= number < count else None

    def _result_of_follower(self, node: Node, position: int, target: Value) -> Buffer | None:
        """The memory of a result that a consumer writes over a product that nothing else reads."""
        chain = self.made.order.consumers.get(node) if isinstance(node, OpaqueNode) else None
        group = chain.nodes[0] if chain is not None else None
        if target in self.result_of or self.last.get(target) != position + 1:
            return None
        if not isinstance(group, FusionGroup):
            return None
        for written in group.targets:
            number = self.result_of.get(written)
            is_free = number is not None and number not in self.carried.values()
            if not is_free or bytes_of(written) != bytes_of(target):
                continue
            if _may_overwrite(self.fusion, group, target, written):
                assert number is not None
                end = len(self.nodes)
                self.placed[written] = Buffer(
                    "result", number, bytes_of(written), position, end, written
                )
                return self.placed[written]
        return None

    def _is_carried_to(self, buffer: Buffer, number: int) -> bool:
        return self.carried.get(buffer.value) == number and buffer.kind == "parameter"  # type: ignore[call-overload]

    def _is_late(self, size: Size) -> bool:
        return isinstance(size, Dim) and any(
            symbol.name in self.made.late for symbol in dims.symbols(size)
        )

    def _dying(self, node: Node, position: int, target: Value) -> list[Buffer]:
        """The buffers that a node reads last and may write its result over."""
        if isinstance(node, OpaqueNode):
            return self._carried_over(node.op, position, target)
        buffers = []
        candidates = dict.fromkeys(self.fusion.resolve(value) for value in self.fusion.reads(node))
        for value in candidates:
            buffer = self.made.holders.get(value)
            if buffer is None or value in self.made.strided or self._is_kept(node, value):
                continue
            if not self._is_mutable(buffer) or buffer.bytes != bytes_of(target):
                continue
            if self.last.get(value, -1) != position or self._lives_on(buffer, value, position):
                continue
            if _may_overwrite(self.fusion, node, value, target):
                buffers.append(buffer)
        return buffers

    def _carried_over(self, op: Op, position: int, target: Value) -> list[Buffer]:
        """The buffer that a loop begins with, for what it carries from there on."""
        index = carried_operand(op, target)
        if index is None:
            return []
        operand = op.operands[index]
        buffer = self.made.holders.get(operand)
        if buffer is None or operand.type != target.type:
            return []
        return [buffer] if self._is_free(operand, buffer, position, op) else []

    def _is_mutable(self, buffer: Buffer) -> bool:
        """Whether an array that dies may be written over."""
        if buffer.kind == "parameter":
            return buffer.value in self.carried
        return buffer.kind == "temporary" or buffer in self.destined

    def _is_kept(self, node: Node, value: Value) -> bool:
        """Whether a consumer must leave an array as it is: it was written before, and others read
        it for later rows. Where rows may be handed out again, consumers run again too, so they
        leave all arrays that were written before.
        """
        product = self.led.get(node)
        if not isinstance(product, OpaqueNode):
            return False
        chain = self.made.order.consumers[product].nodes
        if any(value in targets_of(other) for other in (product, *chain)):
            return False
        others = [other for other in (product, *chain) if other is not node]
        return contract_of(product.op).may_restart or any(
            self.fusion.resolve(read) is value
            for other in others
            for read in self.fusion.reads(other)
        )

    def _lives_on(self, buffer: Buffer, value: Value, position: int) -> bool:
        """Whether the buffer is already taken by another result of this node, or needed later."""
        return any(
            other is not value and self.last.get(other, -1) >= position for other in buffer.held
        )

    # --- control flow ---

    def _plan_switch(self, op: Op, position: int) -> None:
        """Branches that change an array which nothing else reads do so in place, if all of them
        can.
        """
        shared = self._overwritten(op, position)
        while True:
            carried = {number: index for number, (index, _) in shared.items()}
            bodies = tuple(self.context.plan(region, carried) for region in op.regions)
            refused = [n for n in shared if any(n not in body.in_place for body in bodies)]
            if not refused:
                break
            shared = {n: entry for n, entry in shared.items() if n not in refused}
        for number, (_, buffer) in shared.items():
            result = op.results[number]
            self._give(result, buffer)
            buffer.last = max(buffer.last, self.last.get(result, position))
            if result in self.result_of:
                self.made.in_place.add(self.result_of[result])
        self._add_control(op, position, bodies, {}, 0)

    def _overwritten(self, op: Op, position: int) -> dict[int, tuple[int, Buffer]]:
        """Results of branches that may take the place of an operand: which, and its memory."""
        shared: dict[int, tuple[int, Buffer]] = {}
        taken: set[Buffer] = set()
        for number, result in enumerate(op.results):
            for index in self.context.origins.of_branches(op, number) if result.type.rank else ():
                operand = op.operands[1 + index]
                buffer = self.made.holders.get(operand)
                if operand.type != result.type or buffer is None or buffer in taken:
                    continue
                if self._is_free(operand, buffer, position, op) and self._fits(result, buffer):
                    shared[number] = index, buffer
                    taken.add(buffer)
                    break
        return shared

    def _is_free(self, value: Value, buffer: Buffer, position: int, op: Op) -> bool:
        """Whether an operand is read here for the last time, and only as this one."""
        uses = [other for other in op.operands if self.made.holders.get(other) is buffer]
        return (
            self._is_mutable(buffer)
            and len(uses) == 1
            and value not in self.made.strided
            and not any(self.fusion.resolve(o) is value for o in op.operands if o is not value)
            and self.last.get(value, -1) == position
            and not self._lives_on(buffer, value, position)
        )

    def _fits(self, result: Value, buffer: Buffer) -> bool:
        """Whether a result may lie there: one of the region has to be where it is carried."""
        number = self.result_of.get(result)
        return number is None or self._is_carried_to(buffer, number)

    def _plan_control(self, op: Op, position: int) -> None:
        carried, count, first = carry_of(op)
        bodies = tuple(
            self.context.plan(region, carried if number == len(op.regions) - 1 else {})
            for number, region in enumerate(op.regions)
        )
        body = bodies[-1]
        spare: dict[int, Size] = {}
        offset: Size = 0
        for number in range(count):
            operand = op.operands[first + number]
            if operand.type.rank and number not in body.in_place:
                spare[number] = offset
                offset = offset + aligned(bytes_of(operand))
        self._add_control(op, position, bodies, spare, offset)

    def _add_control(
        self,
        op: Op,
        position: int,
        bodies: tuple[RegionPlan, ...],
        spare: dict[int, Size],
        offset: Size,
    ) -> None:
        frame: Size = 0
        for each in bodies if steps_at_once(op) is None else ():  # threads have frames of their own
            frame = dims.maximum(frame, each.bytes)
        control = ControlPlan(bodies, carry_of(op)[1], spare, offset, offset + frame)
        if control.bytes != 0:
            kind = "late" if self._is_late(control.bytes) else "temporary"
            value = (*op.results, *op.operands)[0]  # what it is for, or by what it is chosen
            control.buffer = Buffer(kind, -1, control.bytes, position, position, value)
            self.made.buffers.append(control.buffer)
        self.made.controls[op] = control


def _leaves_alone(fusion: Fusion, node: PiecewiseNode, group: FusionGroup, value: Value) -> bool:
    """Whether a piece reads nothing of an array but what its own steps write afterwards."""
    if all(fusion.resolve(read) is not value for read in fusion.reads(group)):
        return True
    if len(node.groups) > 1 or value.type.shape != node.result.type.shape:
        return False
    (store,) = group.stores
    reads = [ref for ref in fusion.leaves(group) if fusion.resolve(ref.value) is value]
    return all(
        ref.value.type.shape == value.type.shape and are_apart(ref.place, store.place, group.loops)
        for ref in reads
    ) and not any(
        fusion.resolve(ref.value) is value
        for index in store.place.indices
        for _, extra in index.extras
        for ref in references(extra)
    )


def _may_overwrite(fusion: Fusion, node: Node, value: Value, target: Value) -> bool:
    """Whether a node reads each element of an array before it writes the same place."""
    if isinstance(node, PiecewiseNode):
        if node.base is None or fusion.resolve(node.base) is not value:
            return False
        return all(_leaves_alone(fusion, node, group, value) for group in node.groups)
    if not isinstance(node, FusionGroup) or node.in_order:
        return False
    reduces = any(isinstance(computed, Reduction) for computed in node.entries.values())
    if reduces and len(node.stores) > 1:
        return False
    if value.type.dtype.itemsize != target.type.dtype.itemsize:
        return False
    stores = [store for store in node.stores if store.target is target]
    if len(stores) != 1 or stores[0].place.guards:
        return False
    store_index = total(stores[0].place.indices, row_major(target.type.shape))
    return all(
        not ref.place.guards
        and total(ref.place.indices, row_major(ref.value.type.shape)) == store_index
        for ref in fusion.leaves(node)
        if fusion.resolve(ref.value) is value
    )
