"""Building kernels: every fusion group of a program as a loop nest over the buffers of the memory
plan.

A kernel knows positions in buffers and nothing of values, so a target that writes it as code has
nothing left to decide about what is computed and where it goes. Copies that the plan asks for are
kernels too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from weft.compiler.ir.graph import Constant, Op, Value
from weft.compiler.ir.index.affine import Loop, Place, over, total
from weft.compiler.ir.index.expression import (
    Apply,
    Choose,
    Combined,
    Expression,
    Literal,
    Position,
    Quotient,
    Ref,
    Resolved,
    Start,
)
from weft.compiler.ir.index.references import references
from weft.compiler.loops.collapse import collapse
from weft.compiler.loops.equal_groups import GroupSignature, LayoutOf, Template, signature
from weft.compiler.loops.group import FusionGroup, PiecewiseNode, Reduction, Store
from weft.compiler.loops.kernel import (
    Argument,
    Entry,
    Kernel,
    Layout,
    Load,
    Source,
    Stage,
    Write,
    computing_cost,
)
from weft.compiler.loops.memory import Copy, RegionPlan
from weft.compiler.loops.rebase import rebase
from weft.compiler.loops.row_fusion import rows_of

_TELLING: Final = frozenset((0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, math.inf, -math.inf))


@dataclass(eq=False, slots=True)
class Kernels:
    """The kernels of a program: of groups, of groups that consume a product row by row, together
    with the loops that go through the rows, and of copies.
    """

    of_group: dict[FusionGroup, Kernel] = field(default_factory=dict)
    in_rows: dict[FusionGroup, tuple[Kernel, tuple[Loop, ...]]] = field(default_factory=dict)
    of_copy: dict[Copy, Kernel] = field(default_factory=dict)


def build_kernels(plan: RegionPlan) -> Kernels:
    """The kernels of a planned region and of all regions inside of it."""
    builder = _Builder(Kernels())
    for region in plan.all_regions():
        builder.region(region)
    return builder.kernels


class _Builder:
    """Builds the kernels of a program: one for all groups that are equal but for their arrays."""

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels
        self.forms: dict[Hashable, int] = {}  # signatures are long: they are looked up once
        self.templates: dict[int, Template] = {}
        self.in_rows: dict[Hashable, tuple[Template, tuple[Loop, ...]]] = {}

    def region(self, plan: RegionPlan) -> None:
        kernels = self.kernels
        layouts: dict[Value, Layout] = {}
        signatures: dict[FusionGroup, GroupSignature | None] = {}

        def layout_of(value: Value, written: bool) -> Layout | None:
            if not value.type.rank:
                return Layout(("slot", value), 0, ()) if written else None
            if value not in layouts:
                layouts[value] = plan.layout(value)
            return layouts[value]

        @functools.cache
        def built(group: FusionGroup) -> Kernel:
            return build(group, layout_of, plan.fusion.position)

        for node in plan.nodes:
            groups = node.groups if isinstance(node, PiecewiseNode) else [node]
            for group in groups:
                if isinstance(group, FusionGroup):
                    signed = signature(group, layout_of, plan.fusion.position, _is_literal)
                    if signed is not None:
                        signed.form = self.forms.setdefault(signed.key, len(self.forms))
                    signatures[group] = signed
                    kernels.of_group[group] = self._group(signed, group, built)
        for producer, chain in plan.order.consumers.items():
            row_values: list[Value] = list(producer.op.results)
            for each in chain.nodes:
                if isinstance(each, FusionGroup):
                    rows = rows_of(plan.fusion, chain.rows, row_values, each)
                    assert rows is not None
                    signed = signatures[each]
                    kernels.in_rows[each] = self._rows(signed, each, rows, built)
                    row_values += each.targets
                else:
                    row_values += each.op.results
        for copy in plan.copies.values():
            kernels.of_copy[copy] = _copy_kernel(copy)

    def _group(
        self,
        signed: GroupSignature | None,
        group: FusionGroup,
        built: Callable[[FusionGroup], Kernel],
    ) -> Kernel:
        template = self.templates.get(signed.form) if signed is not None else None
        if signed is not None and template is not None:
            return template.on(signed)
        kernel = rebase(collapse(built(group))[0])
        if signed is not None:
            self.templates[signed.form] = Template.of(kernel, signed)
        return kernel

    def _rows(
        self,
        signed: GroupSignature | None,
        group: FusionGroup,
        rows: tuple[Loop, ...],
        built: Callable[[FusionGroup], Kernel],
    ) -> tuple[Kernel, tuple[Loop, ...]]:
        """The kernel of a group that takes rows, and its loops through these."""
        key = None if signed is None else (signed.form, *[signed.loops[row] for row in rows])
        if signed is not None and key in self.in_rows:
            template, loops = self.in_rows[key]
            whole = self.kernels.of_group[group]
            if whole.like is template.kernel:
                return whole, loops
            return template.on(signed), loops
        collapsed, loops = collapse(built(group), rows)
        kernel = rebase(collapsed)
        if signed is not None:
            self.in_rows[key] = Template.of(kernel, signed), loops
        return kernel, loops


def _copy_kernel(copy: Copy) -> Kernel:
    """An array from one layout to another."""
    loops = tuple(Loop(size) for size in copy.value.type.shape)
    group = FusionGroup(loops)
    ref = Ref(copy.value, over(loops))
    group.stores.append(Store(ref, copy.value, ref.place))
    kernel = build(group, lambda _, written: copy.target if written else copy.source, {})
    return rebase(collapse(kernel)[0])


def build(group: FusionGroup, layout_of: LayoutOf, order: Mapping[Op, int]) -> Kernel:
    """The kernel of a group. `layout_of(value, written)` gives the layout of a value (None: it is
    a number, passed as an argument); `order` numbers the ops.
    """
    return _GroupBuilder(group, layout_of, order).kernel()


class _GroupBuilder:
    def __init__(self, group: FusionGroup, layout_of: LayoutOf, order: Mapping[Op, int]) -> None:
        self.group = group
        self.layout_of = layout_of
        self.order = order
        self.arrays: dict[object, list[bool]] = {}
        self.numbers: dict[object, int] = {}
        self.arguments: dict[Value, int] = {}
        self.entries: dict[Ref, Entry] = {}

    def kernel(self) -> Kernel:
        group = self.group
        computed = sorted(group.entries, key=lambda ref: self.order[ref.value.op])  # type: ignore[attr-defined]
        for ref in computed:
            self._add(ref)
        for store in group.stores:
            for read in (store.source, *_in_place(store.place)):
                self._add(read)
        outer = _outer_loops(group)
        stages = self._stages(outer)
        arrays = [(storage, written[0]) for storage, written in self.arrays.items()]
        weight = sum(_cost(entry) for entry in self.entries.values()) + len(group.stores)
        return Kernel(
            outer, self.entries, stages, arrays, list(self.arguments), weight, group.in_order
        )

    def _add(self, ref: Ref) -> None:
        """Add an entry after those it reads; chains of computed ones come in order already, so the
        depth of this recursion is that of loads whose positions are loaded.
        """
        if ref in self.entries:
            return
        computed = self.group.entries.get(ref)
        if computed is None:
            for read in _in_place(ref.place):
                self._add(read)
            source = self._leaf(ref)
            reads = list(_in_place(ref.place)) if isinstance(source, Load) else []
        else:
            source = computed
            reads = list(references(computed))
            for read in reads:
                self._add(read)
        level = max((self.entries[read].level for read in reads), default=0)
        loops: frozenset[Loop] = frozenset()
        if isinstance(source, Reduction):
            level += 1
            loops = ref.loops
        elif isinstance(source, Load):
            loops = ref.loops
        elif not isinstance(source, Argument):
            loops = _dependence(source, self.entries)
        self.entries[ref] = Entry(ref, source, loops, level)

    def _leaf(self, ref: Ref) -> Source:
        value = ref.value
        if isinstance(value, Constant) and not value.type.rank and _is_literal(value):
            return Literal(value.array, value.type.dtype)
        layout = self.layout_of(value, False)
        if layout is None:
            return Argument(self.arguments.setdefault(value, len(self.arguments)), value.type.dtype)
        array = self._array(layout.storage, written=False)
        position = total(ref.place.indices, layout.strides, layout.offset)
        return Load(array, position, ref.place.guards, value.type.dtype)

    def _array(self, storage: object, *, written: bool) -> int:
        flags = self.arrays.setdefault(storage, [False])
        flags[0] |= written
        return self.numbers.setdefault(storage, len(self.numbers))

    def _stages(self, outer: tuple[Loop, ...]) -> list[Stage]:
        inside = [loop for loop in self.group.loops if loop not in outer]
        inside += [
            loop
            for loops in self.group.reduce_loops.values()
            for loop in loops
            if loop not in inside and loop not in outer
        ]
        stages: dict[tuple[int, tuple[Loop, ...]], Stage] = {}

        def stage(level: int, loops: Iterable[Loop]) -> Stage:
            wanted = set(loops)
            chosen = tuple(loop for loop in inside if loop in wanted)
            return stages.setdefault((level, chosen), Stage(level, chosen))

        for entry in self.entries.values():
            if isinstance(entry.source, Reduction):
                stage(entry.level - 1, entry.source.over).reductions.append(entry)
        for store in self.group.stores:
            layout = self.layout_of(store.target, True)
            assert layout is not None
            reads = [store.source, *_in_place(store.place)]
            level = max(self.entries[read].level for read in reads)
            array = self._array(layout.storage, written=True)
            position = total(store.place.indices, layout.strides, layout.offset)
            dtype = store.target.type.dtype
            write = Write(store.source, array, position, store.place.guards, dtype, store.kind)
            stage(level, store.place.loops | store.source.loops).writes.append(write)
        return sorted(stages.values(), key=lambda s: (s.level, bool(s.writes)))


def _is_literal(value: Constant) -> bool:
    """Whether a number is written into the kernel, as one that makes code simpler is. Others are
    arguments, so that kernels that differ only in them are one.
    """
    return not value.type.dtype.is_float or float(value.array) in _TELLING


def _outer_loops(group: FusionGroup) -> tuple[Loop, ...]:
    """The loops whose steps are independent of each other."""
    if group.outer is not None:
        return group.outer
    if not group.in_order:
        return group.loops
    plain = {index.plain_loop for store in group.stores for index in store.place.indices}
    return tuple(loop for loop in group.loops if loop in plain)


def _in_place(place: Place) -> Iterator[Ref]:
    """What the indices and guards of a place read."""
    for index in (*place.indices, *(guard.index for guard in place.guards)):
        for _, extra in index.extras:
            yield from references(extra)


def _dependence(source: Expression, entries: Mapping[Ref, Entry]) -> frozenset[Loop]:
    """The loops in which a computed entry varies."""
    match source:
        case Ref():
            return entries[source].loops
        case Apply() | Combined():
            loops: frozenset[Loop] = frozenset()
            for operand in source.operands:
                loops |= entries[operand].loops
            return loops
        case Choose() | Position() | Resolved() | Start() | Quotient() | Literal():
            return source.loops


def _cost(entry: Entry) -> int:
    return 1 if isinstance(entry.source, Load) else computing_cost(entry)
