"""Entries of kernels as LLVM values: loads, indices, guards and applied ops in a scope."""

from __future__ import annotations

from collections.abc import Container, Sequence

from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.index.affine import Guard, Index
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
from weft.compiler.loops.group import Reduction
from weft.compiler.loops.kernel import Argument, Entry, Load, Source, Write
from weft.compiler.lower.llvm import scalar
from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.arrays import Element, Env, plus, times
from weft.compiler.lower.llvm.emit.blocks import constant_memory
from weft.compiler.lower.llvm.emit.dimensions import Sizes, floor_divide
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.memory import Address, both
from weft.compiler.lower.llvm.emit.types import I1, I32, I64, U64
from weft.compiler.lower.llvm.kernels.scope import Scope, alike, select, splat
from weft.compiler.lower.llvm.scalar import conversion


class Values:
    """Emits entries into a function, given its arrays, numbers and sizes."""

    def __init__(
        self,
        f: Function,
        env: Env,
        sizes: Sizes,
        pointers: Sequence[V],
        arguments: Sequence[Element],
        constant: Container[int] = (),
    ) -> None:
        """`constant` says which of the arrays nothing writes to while the program runs."""
        self.f = f
        self.constant = constant
        self.env = env
        self.sizes = sizes
        self.pointers = list(pointers)
        self.arguments = list(arguments)

    def emit(self, scope: Scope, entry: Entry) -> Element:
        """Compute an entry in a scope and remember it there."""
        result = self._source(scope, entry.source)
        scope.values[entry.ref] = result
        return result

    def get(self, scope: Scope, ref: Ref) -> Element:
        found = scope.find(ref)
        assert found is not None, f"{ref} is used before it is computed"
        return found

    def _source(self, scope: Scope, source: Source) -> Element:
        match source:
            case Load():
                return self.load(scope, source)
            case Argument():
                return self.arguments[source.number]
            case Reduction():
                raise AssertionError("reductions are emitted by their stage")
            case _:
                return self.expression(scope, source)

    def expression(self, scope: Scope, source: Expression) -> Element:
        match source:
            case Ref():
                return self.get(scope, source)
            case Literal():
                return scalar.constant(self.f, source.array[()], source.dtype, 0)
            case Position():
                return self._position(scope, source)
            case Apply():
                return self._apply(scope, source)
            case Combined():
                return self._combined(scope, source)
            case Choose():
                return self._choose(scope, source)
            case Resolved() | Start() | Quotient():
                return self._extra(scope, source)

    def _apply(self, scope: Scope, source: Apply) -> Element:
        key = (source.op, source.operands)
        if source.number or len(source.op.results) > 1:
            found = scope.find((key, source.number))
            if found is not None:
                return found
        operands = alike(self.f, [self.get(scope, ref) for ref in source.operands])
        made = scalar.lower(self.f, source.op, operands)
        if len(made) > 1:
            for number, element in enumerate(made):
                scope.values[key, number] = element
        return made[source.number]

    def _combined(self, scope: Scope, source: Combined) -> Element:
        """A written-out reduction, as a balanced tree."""
        dtype = source.op.results[0].type.dtype
        wide = dtype.working
        items = [
            convert(self.f, self.get(scope, ref), ref.value.type.dtype, wide)
            for ref in source.operands
        ]
        while len(items) > 1:
            pairs = [alike(self.f, items[i : i + 2]) for i in range(0, len(items), 2)]
            items = [
                scalar.combine(self.f, source.kind, pair[0], pair[1], wide)
                if len(pair) == 2
                else pair[0]
                for pair in pairs
            ]
        return convert(self.f, items[0], wide, dtype)

    def _choose(self, scope: Scope, source: Choose) -> Element:
        if self._is_never(scope, source.guards):
            return self.expression(scope, source.outside)
        condition = self.guards(scope, source.guards)
        inside = self.expression(scope, source.inside)
        if condition is None:
            return inside
        return select(self.f, condition, inside, self.expression(scope, source.outside))

    # --- indices ---

    def address(self, scope: Scope, index: Index) -> Address:
        """An index as lane 0's value, what each lane adds, and what varies freely."""
        f = self.f
        base = self.sizes.operand(index.constant)
        step: Operand = 0
        for loop, size in index.terms:
            factor = self.sizes.operand(size)
            base = plus(f, base, times(f, scope.counters[loop], factor))
            if loop is scope.vector:
                step = plus(f, step, factor)
        varying: V | None = None
        for size, extra in index.extras:
            value = self._extra(scope, extra)
            factor = self.sizes.operand(size)
            if not value.type.lanes:
                base = plus(f, base, times(f, value, factor))
                continue
            wide = f.splat(f.const(factor, I64), value.type.lanes)
            term = value if factor == 1 else value * wide
            varying = term if varying is None else varying + term
        return Address(base, step, varying)

    def index(self, scope: Scope, index: Index) -> V:
        """An index as an i64: one, or one per lane if it varies."""
        found = self.address(scope, index)
        if found.is_uniform or not scope.lanes:
            return self.f.const(found.base, I64)
        return memory.positions(self.f, found, scope.lanes)

    def _position(self, scope: Scope, source: Position) -> Element:
        value = self.index(scope, source.index)
        return conversion.cast(self.f, value, dtype=source.dtype)

    def _extra(self, scope: Scope, extra: Expression) -> V:
        found = scope.find(extra)
        if found is None:
            found = self._new_extra(scope, extra)
            scope.values[extra] = found
        assert isinstance(found, V)
        return found

    def _new_extra(self, scope: Scope, extra: Expression) -> V:
        match extra:
            case Resolved():
                return self._resolved(scope, extra)
            case Start():
                return self._start(scope, extra)
            case Quotient():
                value = self.index(scope, extra.index)
                divisor = self.sizes.operand(extra.divisor)
                if value.type.lanes and isinstance(divisor, V):
                    divisor = self.f.splat(divisor, value.type.lanes)
                return floor_divide(self.f, value, divisor)
            case _:
                raise AssertionError(f"{extra} is no index")

    def _start(self, scope: Scope, extra: Start) -> V:
        given = self.get(scope, extra.position)
        assert isinstance(given, V)
        limit = self.sizes.value(extra.limit)
        if not given.type.is_signed:
            return self.f.minimum(given.to(U64), limit.bits(U64)).bits(I64)
        return self.f.maximum(self.f.minimum(given.to(I64), limit), 0)

    def _resolved(self, scope: Scope, extra: Resolved) -> V:
        """A gathered position counted from 0; see `Resolved`."""
        f = self.f
        given = self.get(scope, extra.position)
        assert isinstance(given, V)
        lanes = given.type.lanes
        if extra.mode == "inside":
            return given.to(I64)
        if extra.mode == "raise" and not lanes:
            return self._resolved_number(scope, extra, given)
        size = f.splat(self.sizes.value(extra.size), lanes)
        if given.type.is_signed:
            wide = given.to(I64)
            position = f.select(wide.lt(0), wide + size, wide)
        else:
            position = f.minimum(given.to(U64), size.bits(U64)).bits(I64)
        if extra.mode == "fill":
            return position
        bad = position.lt(0) | position.ge(size)
        if extra.mode == "clip":
            self._require_elements(scope, extra, given)
            highest = f.maximum(size - 1, 0)
            return f.maximum(f.minimum(position, highest), 0)
        self._check(scope, extra, bad, given)
        return f.select(bad, 0, position)

    def _resolved_number(self, scope: Scope, extra: Resolved, given: V) -> V:
        """One position: the usual ones, from 0 to below the size, take one comparison. Others are
        looked at elsewhere, where they are in no loop's way.
        """
        f = self.f
        wide = given.to(I64 if given.type.is_signed else U64).bits(U64)
        size = self.sizes.value(extra.size)
        position = f.variable(wide.bits(I64))
        is_outside = wide.ge(size.bits(U64))
        holds = self.guards(scope, extra.guards)
        with f.when(is_outside, seldom=True):
            site = self.env.site(extra.op, "BoundsError", _message(extra))
            counts = f.const(given.type.is_signed, I1)
            checks = f.const(True, I1) if holds is None else holds
            found = self.env.outside(f, site, wide.bits(I64), size, counts, checks)
            position.set(found)
        return position.get()

    def _require_elements(self, scope: Scope, extra: Resolved, given: V) -> None:
        if isinstance(extra.size, int) and extra.size > 0:
            return
        message = f"index {{0}} cannot be clipped into axis {extra.axis} of size 0"
        empty = self.f.splat(self.sizes.value(extra.size).eq(0), given.type.lanes)
        self._fail_where(scope, extra, empty, given, message)

    def _check(self, scope: Scope, extra: Resolved, bad: V, given: V) -> None:
        self._fail_where(scope, extra, bad, given, _message(extra))

    def _fail_where(self, scope: Scope, extra: Resolved, bad: V, given: V, message: str) -> None:
        f = self.f
        mask = both(f, scope.mask if bad.type.lanes else None, self.guards(scope, extra.guards))
        if mask is not None and (bad.type.lanes or not mask.type.lanes):
            bad = f.splat(mask, bad.type.lanes) & bad
        failed = bad
        if bad.type.lanes:
            failed = f.call(f"llvm.vector.reduce.or.{bad.type.suffix}", bad.type.element, [bad])
        site = self.env.site(extra.op, "BoundsError", message)
        size = self.sizes.value(extra.size)
        with f.when(failed, seldom=True):
            if not bad.type.lanes:
                self.env.fail(f, site, [given.to(I64), size])
                return
            # Which lane it was is found in a loop, as this code is rarely run and often compiled.
            flags, numbers = f.stack(bad.type), f.stack(given.type)
            f.store(bad, flags)
            f.store(given, numbers)
            with f.range(0, bad.type.lanes) as lane:
                with f.when(f.load(f.element(flags, bad.type, lane), bad.type.element)):
                    at = f.element(numbers, given.type, lane)
                    self.env.fail(f, site, [f.load(at, given.type.element).to(I64), size])

    # --- guards ---

    def guards(self, scope: Scope, guards: Sequence[Guard]) -> V | None:
        """Whether all guards hold: one bool, or one per lane; None if there are none."""
        found: V | None = None
        for guard in guards:
            held = scope.find(guard)
            if held is None and self._known(scope, guard):
                continue
            if held is None:
                held = self._guard(scope, guard)
                scope.values[guard] = held
            assert isinstance(held, V)
            found = both(self.f, found, held)
        return found

    def _known(self, scope: Scope, guard: Guard) -> bool | None:
        """Whether a guard holds, if that is known now: where steps are written out."""
        index = guard.index
        counters = [scope.counters[loop] for loop, _ in index.terms]
        if index.extras or any(isinstance(counter, V) for counter in counters):
            return None
        address = self.address(scope, index).base
        bounds = self.sizes.operand(guard.low), self.sizes.operand(guard.high)
        if isinstance(address, V) or isinstance(bounds[0], V) or isinstance(bounds[1], V):
            return None
        return bounds[0] <= address < bounds[1]

    def _is_never(self, scope: Scope, guards: Sequence[Guard]) -> bool:
        """Whether it is known now that not all guards hold."""
        return any(self._known(scope, guard) is False for guard in guards)

    def _guard(self, scope: Scope, guard: Guard) -> V:
        f = self.f
        address = self.address(scope, guard.index)
        low, high = self.sizes.value(guard.low), self.sizes.value(guard.high)
        if not scope.lanes or address.is_uniform:
            base = f.const(address.base, I64)
            return base.ge(low) & base.lt(high)
        lanes = scope.lanes
        if address.is_contiguous:
            base = f.const(address.base, I64)
            first, last = (_clamped(f, bound - base, lanes) for bound in (low, high))
            numbers = memory.iota(f, lanes, I32)
            return numbers.ge(f.splat(first, lanes)) & numbers.lt(f.splat(last, lanes))
        values = memory.positions(f, address, lanes)
        return values.ge(f.splat(low, lanes)) & values.lt(f.splat(high, lanes))

    # --- memory ---

    def load(self, scope: Scope, source: Load) -> Element:
        if self._is_never(scope, source.guards):
            return scalar.constant(self.f, source.dtype.numpy.type(0), source.dtype, 0)
        address = self.address(scope, source.position)
        guards = self.guards(scope, source.guards)
        varies = not address.is_uniform or (guards is not None and guards.type.lanes)
        mask = both(self.f, scope.mask, guards) if varies else guards
        lanes = scope.lanes if varies else 0
        pointer = self.pointers[source.array]
        with constant_memory(self.f, source.array in self.constant):
            return memory.load(self.f, pointer, source.dtype, address, lanes, mask)

    def write(self, scope: Scope, write: Write) -> None:
        """Write an element to its array."""
        f = self.f
        if self._is_never(scope, write.guards):
            return
        value = self.get(scope, write.source)
        address = self.address(scope, write.position)
        mask = both(f, scope.mask, self.guards(scope, write.guards))
        pointer = self.pointers[write.array]
        if write.kind != "set":
            old = memory.load(f, pointer, write.dtype, address, scope.lanes, mask)
            wide = write.dtype.working
            kind = {"add": "sum", "mul": "prod"}.get(write.kind, write.kind)
            pair = [splat(f, convert(f, x, write.dtype, wide), scope.lanes) for x in (old, value)]
            made = scalar.combine(f, kind, pair[0], pair[1], wide)
            value = convert(f, made, wide, write.dtype)
        memory.store(f, pointer, value, address, scope.lanes, mask)


def _message(extra: Resolved) -> str:
    return f"index {{0}} is out of range for axis {extra.axis} of size {{1}}"


def _clamped(f: Function, x: V, lanes: int) -> V:
    return f.maximum(f.minimum(x, lanes), 0).to(I32)


def convert(f: Function, element: Element, source: DType, target: DType) -> Element:
    """An element of one dtype in another."""
    return element if source is target else conversion.cast(f, element, dtype=target)
