"""Columns that a mask leaves no part in: in causal attention, rows see what is before them only.

Where a mask that is known now adds or selects a very low number before a softmax, all that is made
of these columns is exactly zero, and blocks are computed without them. That holds as long as no
score outweighs the mask and nothing is infinite or NaN, which `block_guard` checks when the program
runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from weft.compiler.ir.errors import WeftError
from weft.compiler.ir.graph import Constant, Op, Result, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops.arithmetic import add, div, mul, neg, sub
from weft.compiler.ops.conversion import cast, rounded, stop_gradient
from weft.compiler.ops.logic import and_, eq, not_, select
from weft.compiler.ops.random import threefry2x32
from weft.compiler.ops.reduction import reduce_max, reduce_min
from weft.compiler.ops.shape import broadcast, iota, reshape, transpose
from weft.compiler.ops.special import exp, exp2
from weft.compiler.passes.blocking.cluster import Cluster, ClusterStage, Member
from weft.compiler.passes.blocking.views import BlockView, operand_views, summed
from weft.compiler.record import record

Array = np.ndarray[Any, Any]

_COMPUTED: Final = (broadcast, transpose, reshape, iota)  # next to elementwise ops


@record
class MaskLimits:
    """What counts as a mask, and when it outweighs everything else.

    exp underflows to zero below -104 in f32 and below -745 in f64; what is left out lies well
    below, to spare something for rounding. Masks in use are -1e9, -inf or the least number of a
    dtype, the smallest of which is -65504 in f16.
    """

    lowest: float = -1e4  # numbers below this are masks
    most_bytes: int = 64 << 20  # of a mask that is computed to be looked at
    nothing_f32: float = -200.0  # the exponential of less is zero
    nothing: float = -1000.0  # the same in f64
    large: float = 1e12  # numbers up to this can be multiplied a few times
    large_score: float = 1e6  # a number from here on is another mask, and rows may see nothing
    share: float = 1e-3  # of a mask that other numbers may reach


LIMITS: Final = MaskLimits()


# --- which axis is columns ------------------------------------------------------------------------


def with_columns(cluster: Cluster, stage: ClusterStage) -> tuple[Cluster, ClusterStage] | None:
    """Cluster and stage with the axis of columns as one more loop, over which nothing loops; None
    if there is no such axis that all ops treat alike.
    """
    column = len(cluster.sizes)
    sizes = {_column_size(m.result) for m in stage.members if cluster.is_wide(m.result)}
    if len(sizes) != 1 or None in sizes:
        return None
    members: dict[Op, Member] = {}
    for member in stage.members:
        marked = _marked(cluster, member, column)
        if marked is None:
            return None
        members[member.op] = marked
    (size,) = sizes
    assert size is not None
    new = Cluster(cluster.sizes, cluster.row, cluster.width, members, cluster.dependent, size)
    inputs: dict[tuple[Value, BlockView], None] = {}
    for member in members.values():
        for operand, view in zip(member.op.operands, member.operands, strict=True):
            maker = members.get(operand.op) if isinstance(operand, Result) else None
            if maker is not None and not maker.summed and new.maker(operand, view) is None:
                return None
            if maker is None and (operand.type.rank or not isinstance(operand, Constant)):
                inputs[operand, view] = None
    own, exits = [members[m.op] for m in stage.own], [members[m.op] for m in stage.exits]
    return new, ClusterStage(own, list(members.values()), inputs, exits)


def _column_size(view: BlockView) -> int | None:
    sizes = [s for s, loop in zip(view.shape, view.loops, strict=True) if loop is None and s > 1]
    return sizes[0] if len(sizes) == 1 else None


def _with_column(view: BlockView, column: int) -> BlockView:
    loops = [
        column if loop is None and size > 1 else loop
        for size, loop in zip(view.shape, view.loops, strict=True)
    ]
    return BlockView(view.shape, tuple(loops))


def _marked(cluster: Cluster, member: Member, column: int) -> Member | None:
    """A member with its columns marked."""
    op = member.op
    if not member.summed and cluster.is_wide(member.result):
        result = _with_column(member.result, column)
        operands = operand_views(op, result)
        return None if operands is None else Member(op, tuple(operands), result)
    wide = [number for number, view in enumerate(member.operands) if cluster.is_wide(view)]
    if not wide:
        return member
    view = _with_column(member.operands[wide[0]], column)
    total = summed(op, wide[0], view)
    if total is not None:
        return Member(op, total.operands, total.result, total.loops - {column})
    is_extreme = op.definition in (reduce_max, reduce_min)
    if is_extreme and op.attributes["axes"] == _axes_of(view, column):
        return replace(member, operands=(view,))
    return None


def _axes_of(view: BlockView, loop: int) -> tuple[int, ...]:
    return tuple([axis for axis, own in enumerate(view.loops) if own == loop])


# --- what is known now ----------------------------------------------------------------------------


class KnownColumns:
    """Values that are made of constants alone, as arrays that can be stretched to their shapes."""

    def __init__(self) -> None:
        self._found: dict[Value, Array | None] = {}

    def get(self, value: Value) -> Array | None:
        if isinstance(value, Constant):
            return value.array
        if value not in self._found:
            self._found[value] = None
            if isinstance(value, Result) and len(value.op.results) == 1:
                self._found[value] = self._compute(value.op)
        return self._found[value]

    def _compute(self, op: Op) -> Array | None:
        is_elementwise = op.definition.is_elementwise and op.definition is not threefry2x32
        if not is_elementwise and op.definition not in _COMPUTED:
            return None
        operands: list[Array] = []
        for operand in op.operands:
            known = self.get(operand)
            if known is None:
                return None
            operands.append(known)
        shape = op.results[0].type.shape
        match op.name:
            case "broadcast":
                return _stretchable(operands[0], op.attributes["dims"], len(shape))
            case "transpose":
                return operands[0].transpose(op.attributes["permutation"])
            case "reshape":
                whole = operands[0].shape == op.operands[0].type.shape
                return operands[0].reshape(op.attributes["shape"]) if whole else None
            case "iota":
                return _counted(op)
        size = np.broadcast_shapes(*[operand.shape for operand in operands])
        if math.prod(size) * op.results[0].type.dtype.itemsize > LIMITS.most_bytes:
            return None
        with np.errstate(all="ignore"):
            try:
                return np.asarray(op.definition.reference(*operands, **op.attributes))
            except WeftError:
                return None


def _counted(op: Op) -> Array | None:
    shape, axis, dtype = op.results[0].type.shape, op.attributes["axis"], op.attributes["dtype"]
    count = shape[axis]
    if not isinstance(count, int) or count * dtype.itemsize > LIMITS.most_bytes:
        return None
    return _stretchable(np.arange(count).astype(dtype.numpy), [axis], len(shape))


def _stretchable(array: Array, dims: Sequence[int], rank: int) -> Array:
    sizes = [1] * rank
    for size, target in zip(array.shape, dims, strict=True):
        sizes[target] = size
    return array.reshape(sizes)


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """An op that makes scores very low. `dead` says where, by row and column; there they are at
    most `low`, plus a score if `is_added`; elsewhere at least `live` plus a score.
    """

    member: Member
    scores: Value
    is_added: bool
    dead: Array
    low: float
    live: float


def find_mask(cluster: Cluster, stage: ClusterStage, known: KnownColumns) -> Mask | None:
    """The mask that most columns are dead by."""
    masks = []
    for member in stage.members:
        if cluster.is_wide(member.result) and member.op in cluster.dependent:
            mask = _mask(cluster, member, known)
            if mask is not None and mask.dead.any():
                masks.append(mask)
    return max(masks, key=lambda mask: int(mask.dead.sum()), default=None)


def _mask(cluster: Cluster, member: Member, known: KnownColumns) -> Mask | None:
    op = member.op
    if not op.results[0].type.dtype.is_float:
        return None
    if op.definition is add:
        for number in (0, 1):
            values = known.get(op.operands[number])
            if values is not None and values.ndim == len(member.result.shape):
                is_low = values <= LIMITS.lowest
                return _of(cluster, member, op.operands[1 - number], True, values, is_low)
    if op.definition is select:
        chosen = known.get(op.operands[0])
        for number in (1, 2):
            values = known.get(op.operands[number])
            if chosen is None or values is None or chosen.ndim != len(member.result.shape):
                continue
            is_low = (chosen if number == 1 else ~chosen) & (values <= LIMITS.lowest)
            return _of(cluster, member, op.operands[3 - number], False, values, is_low)
    return None


def _of(
    cluster: Cluster, member: Member, scores: Value, is_added: bool, values: Array, is_low: Array
) -> Mask:
    view = member.result
    both = (cluster.row, len(cluster.sizes))
    axis_of = {loop: axis for axis, loop in enumerate(view.loops) if loop in both}
    order = [axis_of[loop] for loop in both]
    rest = tuple([axis for axis in range(len(view.shape)) if axis not in order])
    dead: Array = np.all(is_low, axis=rest, keepdims=True)
    dead = np.transpose(dead, (*order, *rest))
    shape = [view.shape[axis] for axis in order]
    whole = np.broadcast_to(dead.reshape(dead.shape[:2]), shape)
    each, is_low = np.broadcast_arrays(values, is_low)
    low = float(np.max(each, initial=-np.inf, where=is_low))
    live = float(np.min(each, initial=0.0, where=~is_low)) if values.ndim else 0.0
    return Mask(member, scores, is_added, whole, low, live)


# --- what is left ---------------------------------------------------------------------------------


def live_columns(dead: Array, begin: int, end: int, step: int) -> tuple[int, int]:
    """The first and the last column, rounded outwards, that some of the rows see."""
    seen = np.flatnonzero(~dead[begin:end].all(axis=0))
    if not seen.size:
        return 0, dead.shape[1]
    first, last = int(seen[0]) // step * step, -(-(int(seen[-1]) + 1) // step) * step
    return first, min(last, dead.shape[1])


Rows = tuple[int, int]
Part = tuple[Rows, Rows]
"""Rows, and the columns that are computed for them."""


class Dropped:
    """Checks that all that is made of columns left out is zero, by what each value is there:
    `zero`, `one`, `never` (minus infinity), `low` (so far below the largest of its row that its
    exponential is 0), `row` (the same in all columns), or None: anything.
    """

    def __init__(
        self,
        cluster: Cluster,
        stage: ClusterStage,
        known: KnownColumns,
        mask: Mask,
        parts: Sequence[Part],
    ) -> None:
        self.cluster = cluster
        self.stage = stage
        self.known = known
        self.mask = mask
        self.parts = parts
        self.column = len(cluster.sizes)
        self._kinds: dict[Value, str | None] = {}

    def is_zero(self) -> bool:
        """Whether the columns left out have no part in anything outside of themselves."""
        for member in self.stage.members:
            op = member.op
            if self.column in member.result.used and not member.summed:
                self._kinds[op.results[0]] = self._kind(member)
                continue
            for operand, view in zip(op.operands, member.operands, strict=True):
                if self.cluster.row in view.used and self.column in view.used:
                    wanted = ("low", "never") if op.definition is reduce_max else ("zero",)
                    if self._operand(operand, view) not in wanted or op.definition is reduce_min:
                        return False
        return not any(self.column in member.result.used for member in self.stage.exits)

    def _operand(self, value: Value, view: BlockView) -> str | None:
        if value in self._kinds and self.cluster.maker(value, view) is not None:
            return self._kinds[value]
        array = self.known.get(value)
        if array is not None and array.ndim in (0, len(view.shape)):
            for kind, test in _TESTS.items():
                if all(test(piece) for piece in self._pieces(array, view)):
                    return kind
        return None if self.column in view.used else "row"

    def _pieces(self, array: Array, view: BlockView) -> list[Array]:
        """What an array has where columns are left out."""
        if not array.ndim:
            return [array]
        pieces = []
        for (first, last), (begin, end) in self.parts:
            rows = _taken(array, _axes_of(view, self.cluster.row), slice(first, last))
            axes = _axes_of(view, self.column)
            pieces += [_taken(rows, axes, slice(0, begin)), _taken(rows, axes, slice(end, None))]
        return pieces

    def _kind(self, member: Member) -> str | None:
        op = member.op
        if member is self.mask.member:
            return "never" if self.mask.low == -np.inf else "low"
        if op not in self.cluster.dependent and self.known.get(op.results[0]) is not None:
            return self._operand(op.results[0], member.result)
        kinds = [self._operand(o, v) for o, v in zip(op.operands, member.operands, strict=True)]
        rule = _KINDS.get(op.definition)
        by_rule = None if rule is None else rule(kinds)
        if by_rule is None and op.definition.is_elementwise:
            return "row" if all(kind in ("row", "zero", "one") for kind in kinds) else None
        return by_rule


def _taken(array: Array, axes: Sequence[int], part: slice) -> Array:
    """A part along an axis, if the array is not stretched along it."""
    if not axes or array.shape[axes[0]] == 1:
        return array
    return array[(slice(None),) * axes[0] + (part,)]


_TESTS: Final[dict[str, Callable[[Array], bool]]] = {
    "zero": lambda array: not array.any(),
    "one": lambda array: bool((array == 1).all()),
    "never": lambda array: bool((array == -np.inf).all()),
}

Kinds = Sequence[str | None]
_FINITE: Final = ("zero", "one", "row", None)


def _add(kinds: Kinds) -> str | None:
    for kind, other in (kinds, kinds[::-1]):
        if kind == "never" and other in (*_FINITE, "low"):
            return "never"
        if kind == "low" and other in ("zero", "one", "row"):
            return "low"
    return "zero" if tuple(kinds) == ("zero", "zero") else None


def _sub(kinds: Kinds) -> str | None:
    left, right = kinds
    if left == "never" and right in _FINITE:
        return "never"
    if left == "low" and right in ("zero", "one", "row"):
        return "low"
    return "zero" if left == right == "zero" else None


def _mul(kinds: Kinds) -> str | None:
    return "zero" if "zero" in kinds and all(kind in _FINITE for kind in kinds) else None


def _div(kinds: Kinds) -> str | None:
    return "zero" if kinds[0] == "zero" and kinds[1] in ("one", "row", None) else None


def _select(kinds: Kinds) -> str | None:
    """Which mask is chosen by what is not known must not matter: rows could see nothing at all."""
    chosen, on_true, on_false = kinds
    if chosen in ("zero", "one"):
        return on_false if chosen == "zero" else on_true
    return "zero" if on_true == on_false == "zero" else None


def _equal(kinds: Kinds) -> str | None:
    """A score that is low is not the largest of its row."""
    is_low = [kind in ("low", "never") for kind in kinds]
    return "zero" if sum(is_low) == 1 and "row" in kinds else None


_KINDS: Final[Mapping[OpDef, Callable[[Kinds], str | None]]] = {
    add: _add,
    sub: _sub,
    mul: _mul,
    div: _div,
    select: _select,
    eq: _equal,
    neg: lambda kinds: "zero" if kinds[0] == "zero" else None,
    **dict.fromkeys((exp, exp2), lambda kinds: "zero" if kinds[0] in ("low", "never") else None),
    and_: lambda kinds: "zero" if "zero" in kinds else None,
    not_: lambda kinds: {"zero": "one", "one": "zero"}.get(str(kinds[0])),
    **dict.fromkeys(
        (cast, stop_gradient, rounded, reshape, transpose, broadcast), lambda kinds: kinds[0]
    ),
}
