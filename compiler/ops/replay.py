"""Running a loop backwards within a fixed memory: binomial checkpointing (Griewank and Walther,
2000).

A loop that carries known values and, beside them, values it is linear in, is transposed without a
record of its steps. A few snapshots of the known carry are kept; the state before each step, last
step first, is computed again from the nearest snapshot, and snapshots that become free are placed
anew on the way. With s snapshots and r repetitions this reverses C(s + r, s) steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.graph import Parameter, Region, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import arithmetic, logic, shape
from weft.compiler.ops.helpers import reshape, zeros
from weft.compiler.ops.regions import inline_here
from weft.compiler.ops.scan import make_body, types_of
from weft.compiler.record import record

DEFAULT_SNAPSHOTS = 64
INDEX = ArrayType(dtypes.i64)


@record
class Replay:
    """A loop to run backwards.

    `condition` and `step` take (consts, state); `step` gives the next state. `pull` takes (consts,
    state, cotangents of the carry) and gives (contributions to `sums`, cotangents before the step).
    """

    loop: OpDef
    condition: Region
    step: Region
    pull: Region
    consts: Sequence[Value]
    start: Sequence[Value]

    def run(
        self, sums: Sequence[Value], cotangents: Sequence[Value], snapshots: int
    ) -> tuple[Value, ...]:
        """The final sums and the cotangents of the carry before the first step."""
        steps = self._count()
        slots = [_first_slot(value, snapshots) for value in self.start]
        positions = zeros(ArrayType(dtypes.i64, (snapshots,)))
        carry = [steps, _index(0), positions, *slots, *sums, *cotangents]
        n_state = len(self.start)

        def body(c: list[Parameter], k: list[Parameter], _: list[Parameter]) -> Sequence[Value]:
            step, rest = k[0], k[3 + n_state :]
            top, places, held, state = self._advance(c, step, k[1], k[2], k[3 : 3 + n_state])
            pulled = inline_here(self.pull, [*c, *state, *rest[len(sums) :]])
            totals = [
                arithmetic.add(old, new)
                for old, new in zip(rest[: len(sums)], pulled[: len(sums)], strict=True)
            ]
            before = arithmetic.sub(step, _index(1))
            last = self._drop(before, top, places)
            return [before, last, places, *held, *totals, *pulled[len(sums) :]]

        results = self._while(carry, lambda c, k: logic.gt(k[0], _index(0)), body)
        return results[3 + n_state :]

    def _while(
        self,
        carry: Sequence[Value],
        test: Callable[[list[Parameter], list[Parameter]], Value],
        body: Callable[[list[Parameter], list[Parameter], list[Parameter]], Sequence[Value]],
        consts: Sequence[Value] | None = None,
    ) -> tuple[Value, ...]:
        loop_consts = self.consts if consts is None else consts
        condition = make_body(
            types_of(loop_consts), types_of(carry), [], lambda c, k, _: [test(c, k)]
        )
        region = make_body(types_of(loop_consts), types_of(carry), [], body)
        return self.loop.emit(
            *loop_consts, *carry, regions=(condition, region), n_consts=len(loop_consts)
        )

    def _count(self) -> Value:
        """The number of steps the loop takes."""

        def body(c: list[Parameter], k: list[Parameter], _: list[Parameter]) -> Sequence[Value]:
            return [arithmetic.add(k[0], _index(1)), *inline_here(self.step, [*c, *k[1:]])]

        def test(c: list[Parameter], k: list[Parameter]) -> Value:
            return inline_here(self.condition, [*c, *k[1:]])[0]

        return self._while([_index(0), *self.start], test, body)[0]

    def _advance(
        self, consts: Sequence[Value], step: Value, top: Value, places: Value, held: Sequence[Value]
    ) -> tuple[Value, Value, list[Value], list[Value]]:
        """Go from the last snapshot to the state before `step`, leaving snapshots on the way."""
        position = _read(places, top)
        state = [_read(slots, top) for slots in held]
        n_consts, n_held = len(consts), len(held)
        snapshots = places.type.shape[0]
        assert isinstance(snapshots, int)
        carry = [position, top, places, *held, *state]

        def body(c: list[Parameter], k: list[Parameter], _: list[Parameter]) -> Sequence[Value]:
            position, top, places = k[:3]
            slots, now, end = k[3 : 3 + n_held], k[3 + n_held :], c[n_consts]
            free = arithmetic.sub(_index(snapshots - 1), top)
            is_free = logic.gt(free, _index(0))
            whole = arithmetic.sub(arithmetic.sub(end, _index(1)), position)
            part = _split(self.loop, arithmetic.sub(end, position), free)
            jump = logic.select(is_free, arithmetic.minimum(part, whole), whole)
            reached = self._steps(c[:n_consts], jump, now)
            at = arithmetic.add(position, jump)
            last = logic.select(is_free, arithmetic.add(top, _index(1)), top)
            filled = [_write(s, v, last, is_free) for s, v in zip(slots, reached, strict=True)]
            return [at, last, _write(places, at, last, is_free), *filled, *reached]

        def test(c: list[Parameter], k: list[Parameter]) -> Value:
            return logic.lt(k[0], arithmetic.sub(c[n_consts], _index(1)))

        results = self._while(carry, test, body, [*consts, step])
        return results[1], results[2], list(results[3 : 3 + n_held]), list(results[3 + n_held :])

    def _steps(self, consts: Sequence[Value], count: Value, state: Sequence[Value]) -> list[Value]:
        """The state after so many steps."""
        n_consts = len(consts)

        def body(c: list[Parameter], k: list[Parameter], _: list[Parameter]) -> Sequence[Value]:
            left = arithmetic.sub(k[0], _index(1))
            return [left, *inline_here(self.step, [*c[:n_consts], *k[1:]])]

        results = self._while([count, *state], lambda c, k: logic.gt(k[0], _index(0)), body, consts)
        return list(results[1:])

    def _drop(self, step: Value, top: Value, places: Value) -> Value:
        """Forget the last snapshot if it lies at or after the step that is reversed next."""
        is_late = logic.and_(logic.ge(_read(places, top), step), logic.gt(top, _index(0)))
        return logic.select(is_late, arithmetic.sub(top, _index(1)), top)


def snapshots_within(memory: int, state: Sequence[ArrayType]) -> int:
    """How many snapshots of a state fit into so many bytes, at least 2."""
    size = sum(_bytes(type) for type in state)
    return max(2, memory // max(size, 1)) if memory else DEFAULT_SNAPSHOTS


def _bytes(type: ArrayType) -> int:
    """The bytes of an array; a symbolic size counts by its upper bound, or as 1."""
    total = type.dtype.itemsize
    for size in type.shape:
        total *= size if isinstance(size, int) else (dims.upper(size) or 1)
    return total


def _split(loop: OpDef, length: Value, free: Value) -> Value:
    """How far to go before the next snapshot: the best split of `length` steps with `free`
    snapshots.

    The least r with C(free + 1 + r, free + 1) >= length repetitions are needed; the first part then
    has C(free + r, free + 1) steps.
    """
    ratio_start = arithmetic.add(free, _index(1))

    def body(c: list[Parameter], k: list[Parameter], _: list[Parameter]) -> Sequence[Value]:
        r, right, left = k
        more = arithmetic.add(r, _index(1))
        grown = arithmetic.floor_divide(arithmetic.mul(right, arithmetic.add(c[1], more)), more)
        return [more, grown, arithmetic.add(left, right)]

    def test(c: list[Parameter], k: list[Parameter], _: list[Parameter]) -> Sequence[Value]:
        return [logic.lt(arithmetic.add(k[1], k[2]), c[0])]

    consts, carry = [length, free], [_index(1), ratio_start, _index(1)]
    condition = make_body(types_of(consts), types_of(carry), [], test)
    region = make_body(types_of(consts), types_of(carry), [], body)
    results = loop.emit(*consts, *carry, regions=(condition, region), n_consts=2)
    return results[2]


def _index(number: int) -> Value:
    return constant(number, dtypes.i64)


def _first_slot(value: Value, count: int) -> Value:
    """Snapshots of which the first holds the value."""
    slots = zeros(value.type.with_shape((count, *value.type.shape)))
    return _write(slots, value, _index(0), None)


def _read(slots: Value, place: Value) -> Value:
    rank = slots.type.rank
    sizes = (1, *slots.type.shape[1:])
    starts = [place, *[_index(0)] * (rank - 1)]
    return reshape(shape.dynamic_slice(slots, *starts, sizes=sizes), slots.type.shape[1:])


def _write(slots: Value, value: Value, place: Value, when: Value | None) -> Value:
    rank = slots.type.rank
    starts = [place, *[_index(0)] * (rank - 1)]
    block = reshape(value, (1, *value.type.shape))
    written = shape.dynamic_update_slice(slots, block, *starts)
    return written if when is None else logic.select(when, written, slots)
