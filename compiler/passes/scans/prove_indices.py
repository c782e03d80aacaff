"""Indices that cannot lie outside of their axes: counters of loops, what branches have compared.

Reading `x[i - 1]` in `for i in range(1, n)` takes no check then, and does not count from the end:
the mode of the gather or scatter becomes `inside`.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Container, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType, i64
from weft.compiler.ir.edit import Editor, with_region
from weft.compiler.ir.graph import Constant, Graph, Op, Region, Result, Value
from weft.compiler.ops import arithmetic, control, indexing, logic
from weft.compiler.passes.scans.intervals import (
    UNKNOWN,
    Interval,
    has_interval,
    is_pure,
    of_constant,
    of_result,
    within,
)

INDEXED: Final = (indexing.gather, indexing.scatter)
COMPARISONS: Final = (logic.lt, logic.le, logic.gt, logic.ge, logic.eq)
LONGEST: Final = 1 << 58  # steps that no loop makes, each by at most 16
STEP: Final = 16

Fact: TypeAlias = (
    "tuple[int, int, int]"  # the second number is at least so much more than the first
)


def prove_indices(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph with the mode `inside` of gathers and scatters whose indices are known to be."""
    if not any(_may_fail(op) for region in graph.regions() for op in region.ops):
        return graph
    prover = _Prover(fired if fired is not None else Counter())
    known = _Known(prover)
    for parameter in graph.region.parameters:
        known.name(parameter)
    return with_region(graph, prover.region(graph.region, known))


def _may_fail(op: Op) -> bool:
    return op.definition in INDEXED and op.attributes["mode"] == "raise"


@dataclass(eq=False, slots=True)
class _Prover:
    """What is common to all regions: equal numbers have one name, in whichever region they are."""

    fired: Counter[str]
    names: dict[Hashable, int] = field(default_factory=dict)
    compared: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    inverted: dict[int, int] = field(default_factory=dict)
    conjunctions: dict[int, tuple[int, int]] = field(default_factory=dict)

    def region(self, region: Region, known: _Known) -> Region:
        """The region again; its parameters are named."""
        editor = Editor(region)
        is_changed = False
        for op in region.ops:
            current = editor.current(op, [self.region(r, k) for r, k in _inside(op, known)])
            if _may_fail(op) and known.proves(op):
                attributes = {**op.attributes, "mode": "inside"}
                types = tuple([result.type for result in op.results])
                current = Op(op.definition, current.operands, attributes, (), types, op.location)
                self.fired[op.name] += 1
            is_changed |= current is not op
            editor.keep(op, current)
            known.learn(op)
        if not is_changed:
            return region
        return editor.builder.region([editor.value(result) for result in region.results])


class _Known:
    """What is known of the numbers of a region: their names, bounds, and differences."""

    def __init__(self, prover: _Prover, outer: _Known | None = None) -> None:
        self.prover = prover
        self.values: dict[Value, int] = {}
        self.bounds: ChainMap[int, Interval] = (
            ChainMap() if outer is None else outer.bounds.new_child()
        )
        self.differences: ChainMap[tuple[int, int], int] = (
            ChainMap() if outer is None else outer.differences.new_child()
        )

    def name(self, value: Value, key: Hashable = None) -> int:
        """The name of a value, of which nothing is known but its key."""
        names = self.prover.names
        self.values[value] = names.setdefault(value if key is None else key, len(names))
        return self.values[value]

    def bound(self, value: Value, interval: Interval) -> None:
        number = self.values[value]
        self.bounds[number] = self.bounds.get(number, UNKNOWN) & interval

    def number(self, value: Value) -> int:
        if isinstance(value, Constant) and value not in self.values:
            self.name(value, value if value.type.rank else (value.type, value.digest))
            if has_interval(value):
                self.bound(value, of_constant(value))
        return self.values[value]

    def interval(self, value: Value) -> Interval:
        if isinstance(value, Constant):
            return of_constant(value) if has_interval(value) else UNKNOWN
        return self.bounds.get(self.values[value], UNKNOWN)

    def proves(self, op: Op) -> bool:
        """Whether all indices of a gather or scatter are inside."""
        operand, *rest = op.operands
        indices = rest[1:] if op.definition is indexing.scatter else rest
        sizes = operand.type.shape
        return all(
            self.interval(index).lies_in(sizes[axis])
            for index, axis in zip(indices, op.attributes["axes"], strict=True)
        )

    def learn(self, op: Op) -> None:
        """Name what an op makes."""
        if op.regions or len(op.results) != 1:
            results = _of_loop(op, self) if op.regions else [UNKNOWN] * len(op.results)
            for result, interval in zip(op.results, results, strict=False):
                self.name(result)
                self.bound(result, interval)
            return
        (result,) = op.results
        operands = [self.number(operand) for operand in op.operands]
        number = self.name(result, _key(op, operands))
        self._remember(op, number, operands)
        if has_interval(result):
            given = [self.interval(operand) for operand in op.operands]
            made = of_result(op, given)
            if op.definition is arithmetic.sub and made != UNKNOWN:
                least = self.differences.get((operands[1], operands[0]))
                made = made & Interval(least)
            self.bound(result, made)

    def _remember(self, op: Op, number: int, operands: Sequence[int]) -> None:
        if op.definition in COMPARISONS and all(map(has_interval, op.operands)):
            self.prover.compared[number] = (op.name, operands[0], operands[1])
        elif op.definition is logic.not_:
            self.prover.inverted[number] = operands[0]
        elif op.definition is logic.and_:
            self.prover.conjunctions[number] = (operands[0], operands[1])

    def assume(self, condition: int, holds: bool, of: Container[int] | None = None) -> None:
        """Learn from a condition; `of` are the numbers whose bounds may be known better for it."""
        prover = self.prover
        if condition in prover.inverted:
            self.assume(prover.inverted[condition], not holds, of)
        elif condition in prover.conjunctions and holds:
            for part in prover.conjunctions[condition]:
                self.assume(part, True, of)
        elif condition in prover.compared:
            name, left, right = prover.compared[condition]
            for less, more, least in _facts(name, left, right, holds):
                self._assume_order(less, more, least, of)

    def _assume_order(self, less: int, more: int, least: int, of: Container[int] | None) -> None:
        """One number is at least so much more than another."""
        before = self.differences.get((less, more))
        self.differences[less, more] = least if before is None else max(before, least)
        low, high = self.bounds.get(less, UNKNOWN), self.bounds.get(more, UNKNOWN)
        if low.low is not None and (of is None or more in of):
            self.bounds[more] = high & Interval(low.low + least)
        if high.high is not None and (of is None or less in of):
            self.bounds[less] = low & Interval(None, high.high - least)


def _key(op: Op, operands: Sequence[int]) -> Hashable:
    """What equal results of ops have in common; of others the result itself."""
    (result,) = op.results
    if result.type.rank or not is_pure(op):
        return result
    attributes = tuple([(name, str(value)) for name, value in sorted(op.attributes.items())])
    return (op.name, result.type, attributes, *operands)


def _facts(name: str, left: int, right: int, holds: bool) -> Iterator[Fact]:
    match name, holds:
        case ("lt", True) | ("ge", False):
            yield left, right, 1
        case ("le", True) | ("gt", False):
            yield left, right, 0
        case ("gt", True) | ("le", False):
            yield right, left, 1
        case ("ge", True) | ("lt", False):
            yield right, left, 0
        case "eq", True:
            yield left, right, 0
            yield right, left, 0


# --- regions ------------------------------------------------------------------------------------


def _inside(op: Op, known: _Known) -> Iterator[tuple[Region, _Known]]:
    """The regions of an op with what is known at their start."""
    for number, region in enumerate(op.regions):
        inner = _Known(known.prover, known)
        if op.definition is control.switch:
            _enter_branch(op, number, known, inner)
        elif op.definition is control.scan:
            _enter_loop(op, region, known, inner)
        elif op.definition is control.while_:
            _enter_loop(op, region, known, inner)
            if number == 1:
                _assume_goes_on(op, inner)
        else:
            for parameter in region.parameters:
                inner.name(parameter)
        yield region, inner


def _enter_branch(op: Op, number: int, known: _Known, inner: _Known) -> None:
    for parameter, operand in zip(op.regions[number].parameters, op.operands[1:], strict=True):
        inner.values[parameter] = known.number(operand)
        if isinstance(operand, Constant):
            inner.bound(parameter, known.interval(operand))
    if op.operands[0].type.dtype.is_bool:
        inner.assume(known.number(op.operands[0]), number == 1)


def _enter_loop(op: Op, region: Region, known: _Known, inner: _Known) -> None:
    """Constants are what they were; what is carried begins with what it was given and goes up or
    down; sequences lie where all their elements do.
    """
    n_consts, count = op.attributes["n_consts"], _carried(op)
    carry = _carry(op, known, is_after=False)
    for place, (parameter, operand) in enumerate(zip(region.parameters, op.operands, strict=True)):
        if place < n_consts:
            inner.values[parameter] = known.number(operand)
            interval = known.interval(operand) if isinstance(operand, Constant) else UNKNOWN
        elif place < n_consts + count:
            inner.name(parameter)
            interval = carry[place - n_consts]
        else:
            inner.name(parameter)
            interval = known.interval(operand)
        inner.bound(parameter, interval)


def _carried(op: Op) -> int:
    if op.definition is control.scan:
        count: int = op.attributes["n_carry"]
        return count
    return len(op.operands) - int(op.attributes["n_consts"])


def _carry(op: Op, known: _Known, is_after: bool) -> list[Interval]:
    """Between which bounds what a loop carries lies, in its body or after it."""
    n_consts, count = op.attributes["n_consts"], _carried(op)
    body = op.regions[-1]
    result = []
    for number in range(count):
        parameter = body.parameters[n_consts + number]
        first = known.interval(op.operands[n_consts + number])
        step = _step(body.results[number], parameter)
        length = op.attributes.get("length")
        if step is None or not has_interval(parameter):
            result.append(UNKNOWN)
        elif step == 0:
            result.append(first)
        elif length is not None:
            result.append(_after_steps(first, step, length, is_after, parameter.type.dtype))
        elif parameter.type.dtype is not i64 or not _is_small(first):
            result.append(UNKNOWN)
        else:
            result.append(Interval(first.low) if step > 0 else Interval(None, first.high))
    return result


def _after_steps(
    first: Interval, step: int, length: Size, is_after: bool, dtype: DType
) -> Interval:
    """A number that is increased `length` times, or up to one time less inside of the body."""

    def reached(steps: Size) -> Interval:
        return first.shifted(min(step, 0) * steps, max(step, 0) * steps)

    whole = reached(length)
    if within(whole, dtype) != whole:
        return UNKNOWN
    return first.shifted(length * step, length * step) if is_after else reached(length - 1)


def _is_small(interval: Interval) -> bool:
    """Whether a number that begins there does not leave its dtype before the loop ends."""
    return all(
        isinstance(bound, int) and abs(bound) < LONGEST or not isinstance(bound, int | None)
        for bound in interval
    )


def _step(result: Value, parameter: Value) -> int | None:
    """By how much a number that is carried grows in each step."""
    if result is parameter:
        return 0
    if not isinstance(result, Result) or result.op.definition not in (
        arithmetic.add,
        arithmetic.sub,
    ):
        return None
    left, right = result.op.operands
    if result.op.definition is arithmetic.add and right is parameter:
        left, right = right, left
    if left is not parameter or not isinstance(right, Constant) or right.type.rank:
        return None
    if not right.type.dtype.is_integer or abs(int(right.array)) > STEP:
        return None
    return int(right.array) if result.op.definition is arithmetic.add else -int(right.array)


def _assume_goes_on(op: Op, inner: _Known) -> None:
    """In the body of a while loop its condition holds. Of what the loop is given it says nothing
    new: what depends on that only may leave the loop.
    """
    condition, body = op.regions
    carried = {
        inner.values[parameter] for parameter in body.parameters[op.attributes["n_consts"] :]
    }
    same = _Known(inner.prover, inner)
    for there, here in zip(condition.parameters, body.parameters, strict=True):
        same.values[there] = inner.values[here]
    for each in condition.ops:
        same.learn(each)
    (goes_on,) = condition.results
    inner.assume(same.number(goes_on), True, carried)


def _of_loop(op: Op, known: _Known) -> list[Interval]:
    """What is known of the results of control flow."""
    if op.definition in (control.scan, control.while_):
        carry = _carry(op, known, is_after=True)
        return carry + [UNKNOWN] * (len(op.results) - len(carry))
    return [UNKNOWN] * len(op.results)
