"""What the passes that move work between loops share: a scan by its parts, what it costs to keep a
value of every step, and computing for all steps at once what the body computes for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from weft.compiler.ir import dims
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Size
from weft.compiler.ir.edit import Rewriter
from weft.compiler.ir.graph import Constant, Graph, Op, Parameter, Region, Result, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import arithmetic, control, conversion, logic, shape
from weft.compiler.ops.regions import inline_here
from weft.compiler.ops.scan import emit_scan
from weft.compiler.record import record
from weft.compiler.transforms.derive import TRANSFORMS


@record
class ScanLimits:
    """When values of all steps may be kept, and when that pays.

    `cache_bytes` is what usually still comes from the last cache; reading from there is about
    `least_reuse` times as fast as writing to memory and reading again. The rest bounds what a user
    notices (memory) or what a pass looks at (time to compile), and is chosen, not measured.
    """

    kept_bytes: int = 64 << 20  # that kept values may take in any case
    kept_share: int = 4  # times what the loop reads and writes anyway, which they may also take
    cache_bytes: int = 8 << 20  # of kept values that are read again from the cache
    least_reuse: int = 8  # times the bytes kept, that a step need not read: pays above the cache
    usual_steps: int = 64  # for a number of steps that nothing bounds
    most_ops: int = 8  # of simple arithmetic, that are computed again rather than kept


LIMITS: Final = ScanLimits()

# These are kept as what they are made of.
UNPACKED: Final = (shape.transpose, shape.reshape, shape.broadcast, conversion.cast)

# Arithmetic that costs less than reading its result from memory.
SIMPLE: Final = frozenset(
    (
        *(arithmetic.add, arithmetic.sub, arithmetic.mul, arithmetic.neg),
        *(logic.eq, logic.ne, logic.lt, logic.le, logic.gt, logic.ge, logic.select),
        *(conversion.cast, conversion.stop_gradient),
    )
)


class Scan:
    """A scan by its parts: operands outside, parameters and results of the body inside."""

    def __init__(self, op: Op) -> None:
        first = op.attributes["n_consts"]
        second = first + op.attributes["n_carry"]
        self.op: Final = op
        self.body: Final = op.regions[0]
        self.consts: Final = op.operands[:first]
        self.start: Final = op.operands[first:second]
        self.sequences: Final = op.operands[second:]
        self.carry: Final = self.body.parameters[first:second]
        self.steps: Final = self.body.parameters[second:]
        self.next: Final = self.body.results[: second - first]
        self.outs: Final = self.body.results[second - first :]
        # Values of the body that are the same outside, and those that are there for all steps.
        self.invariant: Final[dict[Value, Value]] = dict(
            zip(self.body.parameters, self.consts, strict=False)
        )
        self.scanned: Final[dict[Value, Value]] = dict(zip(self.steps, self.sequences, strict=True))
        stacks = zip(self.outs, op.results[len(self.start) :], strict=True)
        self.varying: Final[dict[Value, Value]] = {**dict(stacks), **self.scanned}

    @property
    def length(self) -> Size:
        length: Size = self.op.attributes["length"]
        return length

    def emit(
        self,
        body: Region,
        *,
        consts: Sequence[Value] | None = None,
        start: Sequence[Value] | None = None,
        sequences: Sequence[Value] | None = None,
    ) -> tuple[Value, ...]:
        """Emit the scan with another body, and operands that fit it."""
        return emit_scan(
            self.consts if consts is None else consts,
            self.start if start is None else start,
            self.sequences if sequences is None else sequences,
            body,
            self.length,
            self.op.attributes["reverse"],
        )


def holds(graph: Graph, definition: OpDef) -> bool:
    """Whether the graph has such an op anywhere: to leave graphs alone at little cost."""
    return any(op.definition is definition for region in graph.regions() for op in region.ops)


def as_scan(op: Op) -> Scan | None:
    """The parts of a scan, None of another op."""
    return Scan(op) if op.definition is control.scan else None


def bytes_of(type: ArrayType) -> Size:
    """The bytes of one array of a type."""
    return type.size * type.dtype.itemsize


def is_at_most(small: Size, large: Size) -> bool:
    """Whether a size is known not to be larger than another."""
    least = dims.lower(large - small)
    return least is not None and least >= 0


def total_bytes(types: Iterable[ArrayType]) -> Size:
    """The bytes of one array of each of these types."""
    total: Size = 0
    for type in types:
        total = total + bytes_of(type)
    return total


def is_simple(op: Op) -> bool:
    """Whether to compute the op again is cheaper than to keep its result."""
    return op.definition in SIMPLE or op.definition.is_view


def stays_in_cache(bytes: Size, length: Size) -> bool:
    """Whether so many bytes of every step are likely to be in the cache when all are read."""
    most = dims.upper(length)
    return is_at_most(bytes * (LIMITS.usual_steps if most is None else most), LIMITS.cache_bytes)


class Kept:
    """What a scan keeps of every step for work after it, besides what it scans or stacks."""

    def __init__(self, scan: Scan) -> None:
        self.scan: Final = scan
        self.values: Final[dict[Value, None]] = {}

    def add(self, values: Iterable[Value]) -> None:
        self.values.update(dict.fromkeys(values))

    def is_affordable(self, added: Sequence[ArrayType]) -> bool:
        """Whether the scan may keep values of these types, too."""
        return is_affordable(self.scan, [*[value.type for value in self.values], *added])

    def source(self, value: Value) -> tuple[Value, ...] | None:
        """What else must be kept for a value to be known for all steps: nothing, or what it is made
        of; None if it is the same in all steps.
        """
        reached = self._reached(value)
        if reached is not None:
            return () if reached else None
        while isinstance(value, Result) and value.op.definition in UNPACKED:
            operand = value.op.operands[0]
            if not is_at_most(bytes_of(operand.type), bytes_of(value.type)):
                break
            value = operand
        return (value,)

    def _reached(self, value: Value) -> bool | None:
        """Whether a value can be computed after the loop with little work: True if it changes with
        the step, False if it does not, None if it cannot.
        """
        varies = False
        stack, seen = [value], 0
        while stack:
            item = stack.pop()
            if item in self.scan.varying or item in self.values:
                varies = varies or item not in self.scan.invariant
            elif isinstance(item, Result) and is_simple(item.op) and seen < LIMITS.most_ops:
                seen += 1
                stack.extend(item.op.operands)
            elif not isinstance(item, Constant) and item not in self.scan.invariant:
                return None
        return varies


def is_affordable(scan: Scan, kept: Iterable[ArrayType]) -> bool:
    """Whether a value of each of these types may be kept for every step."""
    added = total_bytes(kept)
    scanned = total_bytes(value.type for value in (*scan.steps, *scan.outs))
    if is_at_most(added * scan.length, LIMITS.kept_bytes):
        return True
    return is_at_most(added, scanned * LIMITS.kept_share)


def for_all_steps(
    scan: Scan, values: Sequence[Value], stacked: Mapping[Value, Value], *, stretch: bool = True
) -> list[Value]:
    """Emit what the body computes as these values, for all steps at once, with the steps as the
    first axis; `stacked` has further values of the body in this form. Without `stretch`, what is
    the same in all steps has no such axis.
    """
    known = {**stacked, **scan.scanned, **scan.invariant}
    builder = Builder()
    rewriter = Rewriter(builder)
    operands: list[Value] = []
    marks: list[bool] = []
    needed, leaves = _needed(values, known)
    for leaf in leaves:
        rewriter.substitution[leaf] = builder.parameter(leaf.type)
        operands.append(known[leaf])
        marks.append(leaf not in scan.invariant)
    for op in scan.body.ops:
        if op in needed:
            rewriter.copy(op)
    region = builder.region([rewriter.value(value) for value in values])
    batched = TRANSFORMS.batch(region, marks, scan.length, [stretch] * len(values))
    return inline_here(batched.region, operands)


def _needed(values: Sequence[Value], known: Mapping[Value, Value]) -> tuple[set[Op], list[Value]]:
    """The ops between the known values and these ones, and which known values they need."""
    needed: set[Op] = set()
    leaves: dict[Value, None] = {}
    stack = list(values)
    while stack:
        value = stack.pop()
        if value in known:
            leaves[value] = None
        elif isinstance(value, Result) and value.op not in needed:
            needed.add(value.op)
            stack.extend(value.op.operands)
    return needed, list(leaves)


def uses(region: Region) -> dict[Value, int]:
    """How often ops and results of a region take each value."""
    count: dict[Value, int] = {}
    for op in region.ops:
        for operand in op.operands:
            count[operand] = count.get(operand, 0) + 1
    for result in region.results:
        count[result] = count.get(result, 0) + 1
    return count


def new_parameters(values: Sequence[Value]) -> list[Parameter]:
    """A parameter for each of some values."""
    return [Parameter(value.type) for value in values]
