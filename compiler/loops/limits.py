"""Which steps of a kernel's loops are for nothing: beyond a bound that is a number of the run, all
that they would write is there already, and all that they would add to a sum is zero.

What `x[:i]` and the like choose is written as masks; so a loop over a triangle goes through half of
the square only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from weft.compiler.ir.dtypes import i64
from weft.compiler.ir.index.affine import Loop
from weft.compiler.ir.index.expression import Apply, Literal, Position, Ref
from weft.compiler.loops.kernel import Argument, Entry, Kernel, Load, Stage, Write, read_by
from weft.compiler.loops.stage_values import stage_values
from weft.compiler.ops.arithmetic import add, mul, neg, sub
from weft.compiler.ops.conversion import cast
from weft.compiler.ops.logic import and_, ge, le, lt, select
from weft.compiler.ops.logic import gt as greater
from weft.compiler.ops.logic import not_ as inverted
from weft.compiler.record import record


@record
class Limit:
    """Steps of a loop from `bound - constant` on (`is_upper`), or before it, do nothing."""

    loop: Loop
    bound: Ref
    constant: int
    is_upper: bool


Limits: TypeAlias = frozenset[Limit]
_NONE: Limits = frozenset()


@record
class KernelLimits:
    """The limits of outer loops, and of the inner loops of each stage that has some."""

    outer: Limits
    inner: dict[Stage, Limits]


def limits_of(kernel: Kernel, identity: Callable[[str, Entry], object]) -> KernelLimits:
    """Which steps of a kernel do nothing. `identity(kind, entry)` is what changes no reduction of
    that kind and dtype.
    """
    return _Finder(kernel, identity).find()


class _Finder:
    def __init__(self, kernel: Kernel, identity: Callable[[str, Entry], object]) -> None:
        self.kernel = kernel
        self.identity = identity
        self.masks: dict[tuple[Ref, bool], Limits] = {}

    def find(self) -> KernelLimits:
        stages = self.kernel.stages
        kept = {stage: [self._kept(write) for write in stage.writes] for stage in stages}
        of_writes = _common([limits for each in kept.values() for limits in each])
        outer = frozenset([limit for limit in of_writes if limit.loop in self.kernel.outer])
        inner: dict[Stage, Limits] = {}
        if not stage_values(self.kernel).kept:  # rows that another stage reads have no gaps
            for stage in stages:
                sums = [self._added(entry) for entry in stage.reductions]
                found = _common([*kept[stage], *sums])
                own = frozenset([limit for limit in found if limit.loop in stage.loops])
                if own:
                    inner[stage] = own
        return KernelLimits(outer, inner)

    # --- what steps leave as it is ---

    def _kept(self, write: Write) -> Limits:
        """Limits beyond which a write writes what it finds."""
        if write.guards or write.kind not in ("set", "add"):
            return _NONE
        if write.kind == "add":
            return self._zero(write.source)

        def is_old(ref: Ref) -> bool:
            source = self._source(ref)
            return (
                isinstance(source, Load)
                and not source.guards
                and (source.array, source.position) == (write.array, write.position)
            )

        source = self._source(write.source)
        if not isinstance(source, Apply) or source.op.definition is not select:
            return _NONE
        mask, on_true, on_false = source.operands
        if is_old(on_false):
            return self._holds(mask)
        return self._holds(mask, negated=True) if is_old(on_true) else _NONE

    def _added(self, entry: Entry) -> Limits:
        """Limits beyond which a reduction takes nothing that changes it."""
        reduction = entry.source
        kind = reduction.kind  # type: ignore[union-attr]
        body = reduction.body  # type: ignore[union-attr]
        if kind in ("argmax", "argmin"):
            return _NONE
        neutral = self.identity(kind, self.kernel.entries[body])
        return self._neutral(body, lambda literal: bool((literal.array == neutral).all()), kind)

    def _zero(self, ref: Ref) -> Limits:
        return self._neutral(ref, lambda literal: not literal.array.any(), "sum")

    def _neutral(self, ref: Ref, is_neutral: Callable[[Literal], bool], kind: str) -> Limits:
        """Limits beyond which a value is a certain number."""
        source = self._source(ref)
        if not isinstance(source, Apply):
            return _NONE
        parts = source.operands
        if source.op.definition is select:
            mask, on_true, on_false = parts
            for chosen, other, negated in ((on_true, on_false, False), (on_false, on_true, True)):
                literal = self._source(other)
                if isinstance(literal, Literal) and is_neutral(literal):
                    return self._holds(mask, negated) | self._neutral(chosen, is_neutral, kind)
        if kind == "sum" and source.op.definition in (add, sub, mul, neg, cast):
            return _common([self._neutral(part, is_neutral, kind) for part in parts])
        return _NONE

    # --- masks ---

    def _holds(self, mask: Ref, negated: bool = False) -> Limits:
        """Limits beyond which a mask is false (or true)."""
        key = mask, negated
        if key not in self.masks:
            self.masks[key] = self._of_mask(mask, negated)
        return self.masks[key]

    def _of_mask(self, mask: Ref, negated: bool) -> Limits:
        source = self._source(mask)
        if not isinstance(source, Apply):
            return _NONE
        definition, parts = source.op.definition, source.operands
        if definition is inverted:
            return self._holds(parts[0], not negated)
        if definition is and_ and not negated:
            return self._holds(parts[0]) | self._holds(parts[1])
        if definition in (lt, ge):
            return self._compared(parts[0], parts[1], (definition is lt) != negated)
        if definition in (greater, le):
            return self._compared(parts[1], parts[0], (definition is greater) != negated)
        return _NONE

    def _compared(self, left: Ref, right: Ref, is_less: bool) -> Limits:
        """`left < right`, or `left >= right`, where the left side is a counter."""
        position = self._source(left)
        if not isinstance(position, Position) or position.dtype is not i64:
            return _NONE
        index = position.index
        if len(index.terms) != 1 or index.extras or not isinstance(index.constant, int):
            return _NONE
        ((loop, factor),) = index.terms
        if not isinstance(factor, int) or factor != 1 or not self._is_number(right):
            return _NONE
        return frozenset([Limit(loop, right, index.constant, is_less)])

    def _is_number(self, ref: Ref) -> bool:
        """Whether a value is the same in all steps, and no array is read for it."""
        stack = [ref]
        while stack:
            entry = self.kernel.entries[stack.pop()]
            is_plain = isinstance(entry.source, Apply | Argument | Literal | Ref)
            if entry.loops or not is_plain or entry.ref.value.type.dtype is not i64:
                return False
            stack.extend(read_by(entry.source))
        return True

    def _source(self, ref: Ref) -> object:
        """How a value is computed, behind names for it."""
        source: object = ref
        while isinstance(source, Ref):
            source = self.kernel.entries[source].source
        return source


def _common(found: list[Limits]) -> Limits:
    """The limits of all."""
    return frozenset.intersection(*found) if found else _NONE
