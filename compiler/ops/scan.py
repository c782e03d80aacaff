"""`scan`: a loop over the first axis of sequences, with its derivatives and batching.

Each derived form is again a scan, over a transformed body. A carry has a tangent (or a batch axis)
if it starts with one or if a step gives it one, which is found by repeating until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.attributes import BOOL, INT, SIZE
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import ShapeError, TraceError, VerifyError
from weft.compiler.ir.evaluate import BoundRegion
from weft.compiler.ir.graph import Op, Parameter, Region, Value
from weft.compiler.ir.lowering import Iteration, Memory
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.rules import Maybe, Narrowed, Prune, RegionRules, SplitRegion, Transforms
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops.helpers import accumulate, add_leading_axis, is_zero, zeros
from weft.compiler.ops.helpers import transpose as permute
from weft.compiler.ops.regions import (
    inline_here,
    marks,
    pick,
    present,
    require_parameters,
    show,
    spread,
    used_parameters,
)

Array = np.ndarray[Any, Any]
T = TypeVar("T")


def _infer(
    *operands: ArrayType,
    n_consts: int,
    n_carry: int,
    length: Size,
    reverse: bool,
    regions: tuple[Region, ...],
) -> tuple[ArrayType, ...]:
    (body,) = regions
    fixed = operands[: n_consts + n_carry]
    if min(n_consts, n_carry) < 0 or len(fixed) < n_consts + n_carry:
        raise VerifyError(
            f"scan has {len(operands)} operands for {n_consts} consts and {n_carry} carries"
        )
    most = dims.upper(length)
    if most is not None and most < 0:
        raise ShapeError(f"scan cannot run {length} steps")
    carry, sequences = fixed[n_consts:], operands[n_consts + n_carry :]
    for number, sequence in enumerate(sequences):
        if not sequence.shape or sequence.shape[0] != length:
            raise ShapeError(f"sequence {number} is {sequence}, but the scan runs {length} steps")
    steps = [_step_type(sequence) for sequence in sequences]
    require_parameters(body, (*fixed, *steps), "body")
    if body.result_types[:n_carry] != carry:
        returned = show(body.result_types[:n_carry])
        raise VerifyError(f"body returns the carry {returned} instead of {show(carry)}")
    stacked = [type.with_shape((length, *type.shape)) for type in body.result_types[n_carry:]]
    return (*carry, *stacked)


def _step_type(sequence: ArrayType) -> ArrayType:
    return sequence.with_shape(sequence.shape[1:])


def _run(
    *operands: Array,
    n_consts: int,
    n_carry: int,
    length: int,
    reverse: bool,
    regions: tuple[BoundRegion, ...],
) -> list[Array]:
    (body,) = regions
    consts, sequences = operands[:n_consts], operands[n_consts + n_carry :]
    carry = list(operands[n_consts : n_consts + n_carry])
    stacked = [
        np.zeros((length, *type.shape), type.dtype.numpy) for type in body.result_types[n_carry:]
    ]
    for i in reversed(range(length)) if reverse else range(length):
        results = body(*consts, *carry, *[sequence[i] for sequence in sequences])
        carry = results[:n_carry]
        for stack, result in zip(stacked, results[n_carry:], strict=True):
            stack[i] = result
    return [*carry, *stacked]


# --- what the rules share -----------------------------------------------------------------------


class ScanParts(NamedTuple):
    """Something per operand, by the operand's role in the loop."""

    consts: list[Any]
    carry: list[Any]
    sequences: list[Any]


def _parts(op: Op, items: Sequence[Any]) -> ScanParts:
    first, second = op.attributes["n_consts"], op.attributes["n_consts"] + op.attributes["n_carry"]
    return ScanParts(list(items[:first]), list(items[first:second]), list(items[second:]))


def make_body(
    consts: Sequence[ArrayType],
    carry: Sequence[ArrayType],
    steps: Sequence[ArrayType],
    write: Callable[[list[Parameter], list[Parameter], list[Parameter]], Sequence[Value]],
) -> Region:
    """A loop body from a function of its parameters, which emits into the builder in force."""
    builder = Builder()
    groups = [[builder.parameter(type) for type in types] for types in (consts, carry, steps)]
    with builder.active():
        results = write(*groups)
    return builder.region(results)


def types_of(values: Sequence[Value]) -> list[ArrayType]:
    return [value.type for value in values]


def emit_scan(
    consts: Sequence[Value],
    carry: Sequence[Value],
    sequences: Sequence[Value],
    body: Region,
    length: Size,
    reverse: bool,
) -> tuple[Value, ...]:
    """Emit a scan."""
    return scan.emit(
        *consts,
        *carry,
        *sequences,
        regions=(body,),
        n_consts=len(consts),
        n_carry=len(carry),
        length=length,
        reverse=reverse,
    )


def once_per_marks(function: Callable[[list[bool]], T]) -> Callable[[list[bool]], T]:
    """The function, computed once for each list of marks: a body in a body in a body is transformed
    as often as its marks differ, not twice as often at every depth.
    """
    known: dict[tuple[bool, ...], T] = {}

    def remembered(marks: list[bool]) -> T:
        key = tuple(marks)
        if key not in known:
            known[key] = function(marks)
        return known[key]

    return remembered


def stable_marks(start: Sequence[bool], step: Callable[[list[bool]], Sequence[bool]]) -> list[bool]:
    """Marks of the carry that a step keeps: a mark, once set, stays."""
    current = list(start)
    while True:
        grown = [old or new for old, new in zip(current, step(current), strict=True)]
        if grown == current:
            return current
        current = grown


def _or_zeros(values: Sequence[Maybe], types: Sequence[ArrayType]) -> list[Value]:
    return [
        zeros(type) if value is None else value for value, type in zip(values, types, strict=True)
    ]


# --- derivatives --------------------------------------------------------------------------------


def _jvp(
    op: Op, tangents: Sequence[Maybe], transforms: Transforms
) -> tuple[Sequence[Value], Sequence[Maybe]]:
    (body,) = op.regions
    primal, tangent = _parts(op, op.operands), _parts(op, tangents)
    n_carry = len(primal.carry)

    @once_per_marks
    def derive(carry: list[bool]) -> Any:
        return transforms.jvp(body, [*marks(tangent.consts), *carry, *marks(tangent.sequences)])

    carried = stable_marks(marks(tangent.carry), lambda carry: derive(carry).has[:n_carry])
    derived = derive(carried)
    start = pick(_or_zeros(tangent.carry, types_of(primal.carry)), carried)
    consts, sequences = present(tangent.consts), present(tangent.sequences)

    def write(c: list[Parameter], k: list[Parameter], x: list[Parameter]) -> Sequence[Value]:
        own = [*c[: len(primal.consts)], *k[:n_carry], *x[: len(primal.sequences)]]
        extra = [*c[len(primal.consts) :], *k[n_carry:], *x[len(primal.sequences) :]]
        results = inline_here(derived.region, [*own, *extra])
        count = len(body.results)
        result_tangents = spread(results[count:], derived.has)
        carry = pick(_or_zeros(result_tangents[:n_carry], types_of(primal.carry)), carried)
        return [
            *results[:n_carry],
            *carry,
            *results[n_carry:count],
            *present(result_tangents[n_carry:]),
        ]

    new_body = make_body(
        types_of([*primal.consts, *consts]),
        types_of([*primal.carry, *start]),
        [_step_type(s.type) for s in (*primal.sequences, *sequences)],
        write,
    )
    results = emit_scan(
        [*primal.consts, *consts],
        [*primal.carry, *start],
        [*primal.sequences, *sequences],
        new_body,
        op.attributes["length"],
        op.attributes["reverse"],
    )
    n_outs = len(op.results) - n_carry
    outs = n_carry + len(start)
    values = [*results[:n_carry], *results[outs : outs + n_outs]]
    carry_tangents = spread(results[n_carry:outs], carried)
    return values, [*carry_tangents, *spread(results[outs + n_outs :], derived.has[n_carry:])]


def _linearize(
    op: Op, tangents: Sequence[Maybe], transforms: Transforms
) -> tuple[Sequence[Value], Sequence[Maybe]]:
    """The primal scan, which stacks residuals, and a scan that is linear in the tangents."""
    (body,) = op.regions
    primal, tangent = _parts(op, op.operands), _parts(op, tangents)
    n_carry = len(primal.carry)

    @once_per_marks
    def split(carry: list[bool]) -> SplitRegion:
        keep = [*carry, *[False] * (len(op.results) - n_carry)]
        return transforms.split(
            body, [*marks(tangent.consts), *carry, *marks(tangent.sequences)], keep
        )

    carried = stable_marks(marks(tangent.carry), lambda carry: split(carry).has[:n_carry])
    split_body = split(carried)
    residuals = sort_residuals(split_body, body, primal)
    known = Region(
        split_body.known.parameters,
        split_body.known.ops,
        (*split_body.known.results[: len(body.results)], *residuals.stacked),
    )
    length, reverse = op.attributes["length"], op.attributes["reverse"]
    results = emit_scan(primal.consts, primal.carry, primal.sequences, known, length, reverse)
    count = len(op.results)
    start = pick(_or_zeros(tangent.carry, types_of(primal.carry)), carried)
    outputs = emit_linear_scan(
        split_body,
        residuals,
        results[count:],
        (present(tangent.consts), start, present(tangent.sequences)),
        length,
        reverse,
    )
    carry = spread(outputs[: len(start)], carried)
    return results[:count], [*carry, *spread(outputs[len(start) :], split_body.has[n_carry:])]


class Residuals(NamedTuple):
    """Residuals of a loop body, by how they reach the linear loop.

    `places` says for each residual whether it is a const, a sequence or stacked, and its number
    there.
    """

    consts: list[Value]
    sequences: list[Value]
    stacked: list[Value]
    places: list[tuple[str, int]]


def sort_residuals(made: SplitRegion, body: Region, outer: ScanParts) -> Residuals:
    """A residual that is a parameter of the body is what was passed for it; only others are
    stacked.
    """
    n_consts, n_fixed = len(outer.consts), len(outer.consts) + len(outer.carry)
    const_of = dict(zip(body.parameters[:n_consts], outer.consts, strict=True))
    sequence_of = dict(zip(body.parameters[n_fixed:], outer.sequences, strict=True))
    sorted_residuals = Residuals([], [], [], [])
    for residual in made.residuals:
        if residual in const_of:
            group, value = "consts", const_of[residual]
        elif residual in sequence_of:
            group, value = "sequences", sequence_of[residual]
        else:
            group, value = "stacked", residual
        items: list[Value] = getattr(sorted_residuals, group)
        sorted_residuals.places.append((group, len(items)))
        items.append(value)
    return sorted_residuals


def emit_linear_scan(
    made: SplitRegion,
    residuals: Residuals,
    stacks: Sequence[Value],
    tangents: tuple[Sequence[Value], Sequence[Value], Sequence[Value]],
    length: Size,
    reverse: bool,
) -> tuple[Value, ...]:
    """The scan that is linear in tangents of consts, carry and sequences, and reads residuals."""
    t_consts, t_carry, t_sequences = tangents
    consts = [*residuals.consts, *t_consts]
    sequences = [*residuals.sequences, *stacks, *t_sequences]

    def write(c: list[Parameter], k: list[Parameter], x: list[Parameter]) -> Sequence[Value]:
        n_sequences, n_stacks = len(residuals.sequences), len(stacks)
        groups = {
            "consts": c[: len(residuals.consts)],
            "sequences": x[:n_sequences],
            "stacked": x[n_sequences : n_sequences + n_stacks],
        }
        read = [groups[group][number] for group, number in residuals.places]
        own = [*c[len(residuals.consts) :], *k, *x[n_sequences + n_stacks :]]
        return inline_here(made.linear, [*read, *own])

    body = make_body(
        types_of(consts), types_of(t_carry), [_step_type(s.type) for s in sequences], write
    )
    return emit_scan(consts, t_carry, sequences, body, length, reverse)


def _transpose(
    op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool], transforms: Transforms
) -> Sequence[Maybe]:
    """The scan backwards: cotangents of the carry are carried, those of consts add up."""
    (body,) = op.regions
    operands, is_linear = _parts(op, op.operands), _parts(op, linear)
    if any(
        not mark and not is_zero(v) for v, mark in zip(operands.carry, is_linear.carry, strict=True)
    ):
        raise TraceError(
            "a scan is transposed in which a carry is not linear", location=op.location
        )
    n_carry = len(operands.carry)
    given_outs = cotangents[n_carry:]
    in_body = [*is_linear.consts, *[True] * n_carry, *is_linear.sequences]
    derived = transforms.transpose(body, in_body, [*[True] * n_carry, *marks(given_outs)])
    known_consts = pick(operands.consts, [not mark for mark in is_linear.consts])
    known_sequences = pick(operands.sequences, [not mark for mark in is_linear.sequences])
    const_types = types_of(pick(operands.consts, is_linear.consts))
    n_const, n_out = len(const_types), sum(is_linear.sequences)
    has_const = derived.has[:n_const]
    sums = [zeros(type) for type in pick(const_types, has_const)]
    start = _or_zeros(cotangents[:n_carry], types_of(operands.carry))

    def write(c: list[Parameter], k: list[Parameter], x: list[Parameter]) -> Sequence[Value]:
        known_x, out_cotangents = x[: len(known_sequences)], x[len(known_sequences) :]
        results = inline_here(derived.region, [*c, *known_x, *k[len(sums) :], *out_cotangents])
        operand_cotangents = spread(results, derived.has)
        totals = [
            accumulate(old, new)
            for old, new in zip(k[: len(sums)], present(operand_cotangents[:n_const]), strict=True)
        ]
        carry = _or_zeros(operand_cotangents[n_const : n_const + n_carry], types_of(operands.carry))
        return [*present(totals), *carry, *present(operand_cotangents[n_const + n_carry :])]

    sequences = [*known_sequences, *present(given_outs)]
    new_body = make_body(
        types_of(known_consts),
        types_of([*sums, *start]),
        [_step_type(s.type) for s in sequences],
        write,
    )
    results = emit_scan(
        known_consts,
        [*sums, *start],
        sequences,
        new_body,
        op.attributes["length"],
        not op.attributes["reverse"],
    )
    n_sums = len(sums)
    made_consts = spread(results[:n_sums], has_const)
    made_carry = list(results[n_sums : n_sums + n_carry])
    made_outs = spread(results[n_sums + n_carry :], derived.has[n_const + n_carry :])
    assert len(made_outs) == n_out
    return [
        *_into(made_consts, is_linear.consts),
        *made_carry,
        *_into(made_outs, is_linear.sequences),
    ]


def _into(values: Sequence[Maybe], where: Sequence[bool]) -> list[Maybe]:
    remaining = iter(values)
    return [next(remaining) if mark else None for mark in where]


# --- batching -----------------------------------------------------------------------------------


def _batch(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size, transforms: Transforms
) -> tuple[Sequence[Value], Sequence[bool]]:
    (body,) = op.regions
    values, has_axis = _parts(op, operands), _parts(op, batched)
    n_carry = len(values.carry)

    @once_per_marks
    def derive(carry: list[bool]) -> Any:
        keep = [*carry, *[False] * (len(op.results) - n_carry)]
        return transforms.batch(body, [*has_axis.consts, *carry, *has_axis.sequences], size, keep)

    carried = stable_marks(has_axis.carry, lambda carry: derive(carry).has[:n_carry])
    derived = derive(carried)
    start = [
        add_leading_axis(value, size) if wanted and not own else value
        for value, own, wanted in zip(values.carry, has_axis.carry, carried, strict=True)
    ]
    sequences = [
        swap_leading(value) if mark else value
        for value, mark in zip(values.sequences, has_axis.sequences, strict=True)
    ]
    results = emit_scan(
        values.consts,
        start,
        sequences,
        derived.region,
        op.attributes["length"],
        op.attributes["reverse"],
    )
    outs = [
        swap_leading(result) if mark else result
        for result, mark in zip(results[n_carry:], derived.has[n_carry:], strict=True)
    ]
    return [*results[:n_carry], *outs], [*carried, *derived.has[n_carry:]]


def swap_leading(value: Value) -> Value:
    """The value with its first two axes exchanged: steps first, or the batch first."""
    return permute(value, (1, 0, *range(2, value.type.rank)))


# --- narrowing ----------------------------------------------------------------------------------


def _narrow(op: Op, used: Sequence[bool], prune: Prune) -> Narrowed | None:
    """Keep the carries that a used result needs, and what those need."""
    n_carry = op.attributes["n_carry"]
    (body,) = op.regions

    @once_per_marks
    def pruned_for(carry: list[bool]) -> Region:
        return prune(body, [*carry, *used[n_carry:]])

    def needed(carry: list[bool]) -> list[bool]:
        return _parts(op, used_parameters(pruned_for(carry))).carry

    carried = stable_marks(used[:n_carry], needed)
    results = [*carried, *used[n_carry:]]
    pruned = pruned_for(carried)
    read = _parts(op, used_parameters(pruned))
    kept = [*read.consts, *carried, *read.sequences]
    if all(results) and all(kept) and pruned is body:
        return None
    region = Region(tuple(pick(pruned.parameters, kept)), pruned.ops, pruned.results)
    attributes = {**op.attributes, "n_consts": sum(read.consts), "n_carry": sum(carried)}
    return Narrowed(kept, results, (region,), attributes)


scan = OpDef(
    name="scan",
    doc="Runs body(consts, carry, step) -> (carry, out) over sequences, stacking the outs.",
    operands=("*consts_carry_and_sequences",),
    attributes={"n_consts": INT, "n_carry": INT, "length": SIZE, "reverse": BOOL},
    defaults={"n_consts": 0, "reverse": False},
    regions=("body",),
    infer=_infer,
    reference=_run,
    memory=Memory(
        iteration=Iteration(
            carried=lambda op: (op.attributes["n_consts"], op.attributes["n_carry"]),
            steps=lambda op: op.attributes["length"],
        )
    ),
    region_rules=RegionRules(_jvp, _linearize, _transpose, _batch, _narrow),
)

OPS: Final = (scan,)
