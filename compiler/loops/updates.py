"""Updates of arrays as pieces that are written to them: what `fuse` makes piecewise nodes of.

An update of a window that is itself an update of what was in the window, as in `x[i, 1:] = v` or
`x[2:][mask] = v`, changes the array only where the inner one does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op, Region, Result, Value
from weft.compiler.ir.index.affine import Loop, Place, are_apart, over
from weft.compiler.ir.index.expression import Ref
from weft.compiler.ir.index.references import references
from weft.compiler.loops import maps
from weft.compiler.loops.costs import is_free
from weft.compiler.loops.estimates import is_at_most
from weft.compiler.loops.group import FusionGroup
from weft.compiler.ops.logic import select
from weft.compiler.ops.strided_updates import strided_update
from weft.compiler.record import record

Target: TypeAlias = Callable[[Place], Place]


@record
class Update:
    """The pieces of an array: values, and where in the array the places of each are. `base` is what
    the array begins as, `kind` how a piece is combined with it; where pieces `meet`, several
    elements may go to one place.
    """

    pieces: tuple[tuple[Value, Target], ...]
    base: Value | None
    kind: str
    meet: bool

    @property
    def written(self) -> Size:
        """How many elements are written."""
        return sum((value.type.size for value, _ in self.pieces), start=0)


def update_of(op: Op, is_read: Callable[[Value], bool]) -> Update | None:
    """What an op writes piece by piece; None if it does not. `is_read` says of values whether
    something else reads them.
    """
    update = _own_update(op)
    if update is None:
        return None
    inner = _inner(update, is_read) if update.kind == "set" and not update.meet else None
    return update if inner is None else _composed(update, inner)


def _own_update(op: Op) -> Update | None:
    """The same of an op by itself."""
    writes = op.definition.memory.writes
    if writes is None:
        strided = strided_update(op)
        if strided is None:
            return None
        return Update(((strided.value, strided.target),), strided.base, "set", meet=False)
    kind = "set" if writes.combine is None else str(op.attributes[writes.combine])
    base = None if writes.base is None else op.operands[writes.base]
    return Update(tuple(writes.pieces(op)), base, kind, writes.may_meet)


def _inner(outer: Update, is_read: Callable[[Value], bool]) -> Update | None:
    """The update that the only piece of another one is, of what was there before."""
    if outer.base is None or len(outer.pieces) != 1:
        return None
    ((value, target),) = outer.pieces
    if not isinstance(value, Result) or is_read(value):
        return None
    inner = update_of(value.op, is_read)
    if inner is None or inner.base is None:
        return None
    loops = tuple(Loop(size) for size in value.type.shape)
    before = _array_place(Ref(inner.base, over(loops)))
    is_same = before.value is outer.base and before.place == target(over(loops))
    return inner if is_same else None


def _composed(outer: Update, inner: Update) -> Update:
    ((_, window),) = outer.pieces

    def inside(target: Target) -> Target:
        return lambda place: window(target(place))

    pieces = tuple((value, inside(target)) for value, target in inner.pieces)
    return Update(pieces, outer.base, inner.kind, inner.meet)


def _array_place(ref: Ref) -> Ref:
    """Where in an array a place of a view of it is."""
    base = maps.view_base(ref.value)
    while ref.value is not base:
        assert isinstance(ref.value, Result)
        read = maps.expression(ref.value.op, ref.value.index, ref.place)
        assert isinstance(read, Ref)
        ref = read
    return ref


def base_of(op: Op) -> Value | None:
    """What the array begins as that an op writes to."""
    writes = op.definition.memory.writes
    if writes is not None:
        return None if writes.base is None else op.operands[writes.base]
    strided = strided_update(op)
    return None if strided is None else strided.base


def first_updates(region: Region) -> dict[Value, int]:
    """Which arrays updates begin with, and the place of the first update of each in the program."""
    positions: dict[Value, int] = {}
    for position, op in enumerate(region.ops):
        base = base_of(op)
        if base is not None:
            positions.setdefault(base, position)
    return positions


def is_small_part(result: Result, array: Value) -> bool:
    """Whether a copy of a part of an array costs far less than one of the array."""
    if result.type.rank < array.type.rank:
        return True
    return is_at_most(2 * result.type.size - array.type.size, 0)


def meets(result: Result, array: Value, group: FusionGroup, places: Iterable[Place]) -> bool:
    """Whether a piece that is written to an array, and needs a value at some places, would compute
    it from what other steps of the piece write.
    """
    return not all(
        are_apart(_array_place(ref).place, store.place, group.loops)
        for place in places
        for ref in references(maps.expression(result.op, result.index, place))
        if maps.view_base(ref.value) is array
        for store in group.stores
    )


def is_selected_over(result: Result, group: FusionGroup, places: Iterable[Place]) -> bool:
    """Whether a group selects between elements of an array and new ones, for which it needs a small
    part of the array from elsewhere in it: such as a row and a column, in a step of an elimination.
    """
    arrays = {maps.view_base(operand) for operand in result.op.operands}
    for store in group.stores:
        made = store.target
        if not isinstance(made, Result) or made.op.definition is not select:
            continue
        for old in made.op.operands[1:]:
            if old in arrays and old.type == made.type and is_small_part(result, old):
                return meets(result, old, group, places)
    return False


def is_constant_fill(value: Result) -> bool:
    """Whether every element is one number, as of zeros."""
    op = value.op
    return is_free(op) and not any(operand.type.rank for operand in op.operands)
