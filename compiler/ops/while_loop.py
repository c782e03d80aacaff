"""`while`: a loop on a condition, with its derivatives and batching.

The number of steps is not known before the loop ends. In reverse mode the body records its
residuals, stacked along an axis whose size the op itself defines (`trips`); the linear part is then
a scan of that length, which knows how to run backwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.attributes import INT, SIZE
from weft.compiler.ir.build import Builder, constant
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.errors import TraceError, VerifyError
from weft.compiler.ir.evaluate import BoundRegion
from weft.compiler.ir.graph import Op, Parameter, Region, Value
from weft.compiler.ir.lowering import Iteration, Memory
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.rules import (
    DerivedRegion,
    Maybe,
    Narrowed,
    Prune,
    RegionRules,
    SplitRegion,
    Transforms,
)
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import logic, reduction, shape
from weft.compiler.ops.failing import is_masked, masked
from weft.compiler.ops.helpers import add_leading_axis, zeros
from weft.compiler.ops.regions import (
    inline_here,
    marks,
    pick,
    present,
    require_parameters,
    require_results,
    show,
    spread,
    used_parameters,
)
from weft.compiler.ops.replay import Replay, snapshots_within
from weft.compiler.ops.scan import (
    ScanParts,
    emit_linear_scan,
    make_body,
    once_per_marks,
    sort_residuals,
    stable_marks,
    swap_leading,
    types_of,
)

Array = np.ndarray[Any, Any]


def _infer(
    *operands: ArrayType, n_consts: int, trips: Size, memory: int, regions: tuple[Region, ...]
) -> tuple[ArrayType, ...]:
    if len(regions) != 2:
        raise VerifyError(f"while has a condition and a body, got {len(regions)} regions")
    if not 0 <= n_consts <= len(operands):
        raise VerifyError(f"while has {len(operands)} operands for {n_consts} consts")
    condition, body = regions
    carry = operands[n_consts:]
    require_parameters(condition, operands, "condition")
    require_parameters(body, operands, "body")
    require_results(condition, (ArrayType(dtypes.bool_),), "condition")
    if body.result_types[: len(carry)] != carry:
        returned = show(body.result_types[: len(carry)])
        raise VerifyError(f"body returns the carry {returned} instead of {show(carry)}")
    recorded = body.result_types[len(carry) :]
    if recorded and isinstance(trips, int):
        raise VerifyError("body records values per step, so trips must name the number of steps")
    return (*carry, *[type.with_shape((trips, *type.shape)) for type in recorded])


def _run(
    *operands: Array, n_consts: int, trips: object, memory: int, regions: tuple[BoundRegion, ...]
) -> list[Array]:
    condition, body = regions
    consts, carry = operands[:n_consts], list(operands[n_consts:])
    count = len(carry)
    steps: list[list[Array]] = []
    while condition(*consts, *carry)[0]:
        results = body(*consts, *carry)
        carry = results[:count]
        steps.append(results[count:])
    if steps:
        return [*carry, *[np.stack(column) for column in zip(*steps, strict=True)]]
    empty = [np.zeros((0, *t.shape), t.dtype.numpy) for t in body.result_types[count:]]
    return [*carry, *empty]


def _emit(
    consts: Sequence[Value],
    carry: Sequence[Value],
    condition: Region,
    body: Region,
    attributes: Mapping[str, Any],
) -> tuple[Value, ...]:
    changed = {**attributes, "n_consts": len(consts)}
    return while_.emit(*consts, *carry, regions=(condition, body), **changed)


def _parts(op: Op, items: Sequence[Any]) -> ScanParts:
    n_consts = op.attributes["n_consts"]
    return ScanParts(list(items[:n_consts]), list(items[n_consts:]), [])


def _widened(
    condition: Region, consts: Sequence[Value], carry: Sequence[Value], kept: tuple[int, int]
) -> Region:
    """A condition that takes more than it reads: the first consts and carries are its own."""
    n_consts, n_carry = kept

    def write(c: list[Parameter], k: list[Parameter], _: list[Parameter]) -> Sequence[Value]:
        return inline_here(condition, [*c[:n_consts], *k[:n_carry]])

    return make_body(types_of(consts), types_of(carry), [], write)


# --- derivatives --------------------------------------------------------------------------------


def _jvp(
    op: Op, tangents: Sequence[Maybe], transforms: Transforms
) -> tuple[Sequence[Value], Sequence[Maybe]]:
    """One loop that carries values and tangents."""
    condition, body = op.regions
    primal, tangent = _parts(op, op.operands), _parts(op, tangents)
    n_consts, n_carry = len(primal.consts), len(primal.carry)
    n_recorded = len(body.results) - n_carry

    @once_per_marks
    def derive(carry: list[bool]) -> Any:
        return transforms.jvp(body, [*marks(tangent.consts), *carry])

    carried = stable_marks(marks(tangent.carry), lambda carry: derive(carry).has[:n_carry])
    derived = derive(carried)
    start = [t or zeros(v.type) for t, v in zip(tangent.carry, primal.carry, strict=True)]
    consts = [*primal.consts, *present(tangent.consts)]
    carry = [*primal.carry, *pick(start, carried)]

    def write(c: list[Parameter], k: list[Parameter], _: list[Parameter]) -> Sequence[Value]:
        own = [*c[:n_consts], *k[:n_carry], *c[n_consts:], *k[n_carry:]]
        results = inline_here(derived.region, own)
        result_tangents = spread(results[len(body.results) :], derived.has)
        filled = [
            t or zeros(v.type) for t, v in zip(result_tangents[:n_carry], primal.carry, strict=True)
        ]
        recorded = [*results[n_carry : len(body.results)], *present(result_tangents[n_carry:])]
        return [*results[:n_carry], *pick(filled, carried), *recorded]

    new_body = make_body(types_of(consts), types_of(carry), [], write)
    wide = _widened(condition, consts, carry, (n_consts, n_carry))
    results = _emit(consts, carry, wide, new_body, op.attributes)
    end = len(carry)
    values = [*results[:n_carry], *results[end : end + n_recorded]]
    return values, [
        *spread(results[n_carry:end], carried),
        *spread(results[end + n_recorded :], derived.has[n_carry:]),
    ]


def _linearize(
    op: Op, tangents: Sequence[Maybe], transforms: Transforms
) -> tuple[Sequence[Value], Sequence[Maybe]]:
    """The loop with a record of residuals, and a scan over the record that is linear in the
    tangents.

    Each step also records that it ran. Under batching, lanes that have finished record False, and
    the linear scan then leaves their tangents alone.
    """
    if op.attributes["memory"]:
        return while_.emit(*op.operands, regions=op.regions, **op.attributes), _jvp(
            op, tangents, transforms
        )[1]
    condition, body = op.regions
    primal, tangent = _parts(op, op.operands), _parts(op, tangents)
    n_carry, n_results = len(primal.carry), len(op.results)

    @once_per_marks
    def split(carry: list[bool]) -> SplitRegion:
        keep = [*carry, *[False] * (n_results - n_carry)]
        return transforms.split(body, [*marks(tangent.consts), *carry], keep)

    carried = stable_marks(marks(tangent.carry), lambda carry: split(carry).has[:n_carry])
    split_body = _only_while_running(split(carried), sum(carried))
    residuals = sort_residuals(split_body, body, primal)
    known = Region(
        split_body.known.parameters,
        split_body.known.ops,
        (*split_body.known.results[:n_results], *residuals.stacked),
    )
    named = op.attributes["trips"]
    trips = named if isinstance(named, Dim) else dims.fresh_symbol("trips")
    results = _emit(
        primal.consts, primal.carry, condition, known, {**op.attributes, "trips": trips}
    )
    start = pick(
        [t or zeros(v.type) for t, v in zip(tangent.carry, primal.carry, strict=True)], carried
    )
    outputs = emit_linear_scan(
        split_body,
        residuals,
        results[n_results:],
        (present(tangent.consts), start, []),
        trips,
        False,
    )
    return results[:n_results], [
        *spread(outputs[: len(start)], carried),
        *spread(outputs[len(start) :], split_body.has[n_carry:]),
    ]


def _only_while_running(made: SplitRegion, n_carry: int) -> SplitRegion:
    """The split body with one more residual, whether the step ran; if not, tangents stay as they
    are. What goes in is masked as well: the residuals of a step that did not run are no numbers to
    multiply by, and backwards it is the inputs that the products reach.
    """
    ran = constant(True, dtypes.bool_)
    n_residuals = len(made.residuals)
    builder = Builder()
    read = [builder.parameter(p.type) for p in made.linear.parameters[:n_residuals]]
    flag = builder.parameter(ran.type)
    tangents = [builder.parameter(p.type) for p in made.linear.parameters[n_residuals:]]
    before = tangents[len(tangents) - n_carry :]
    with builder.active():
        masked = [logic.select(flag, value, constant(0, value.type.dtype)) for value in tangents]
        results = inline_here(made.linear, [*read, *masked])
        after = [
            logic.select(flag, new, old) for new, old in zip(results[:n_carry], before, strict=True)
        ]
    linear = builder.region([*after, *results[n_carry:]])
    known = Region(made.known.parameters, made.known.ops, (*made.known.results, ran))
    return SplitRegion(known, linear, (*made.residuals, ran), made.has)


def _transpose(
    op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool], transforms: Transforms
) -> Sequence[Maybe]:
    """A loop with known carries and carries it is linear in, backwards in a fixed memory."""
    condition, body = op.regions
    operands, is_linear = _parts(op, op.operands), _parts(op, linear)
    n_carry = len(operands.carry)
    in_carry = _linear_carry(op, is_linear)
    known = [not mark for mark in in_carry]
    if len(body.results) > n_carry:
        raise TraceError("a while loop that records is not transposed", location=op.location)
    in_body = [*is_linear.consts, *in_carry]
    step = _known_part(body, known, in_body, transforms)
    derived = transforms.transpose(body, in_body, in_carry)
    const_types = types_of(pick(operands.consts, is_linear.consts))
    carry_types = types_of(pick(operands.carry, in_carry))
    pull = _complete(derived, [*const_types, *carry_types])
    replay = Replay(
        op.definition,
        _known_part(condition, [True], in_body, transforms),
        step,
        pull,
        pick(operands.consts, [not mark for mark in is_linear.consts]),
        pick(operands.carry, known),
    )
    carry_cotangents = [
        cotangent or zeros(value.type)
        for cotangent, value, mark in zip(
            cotangents[:n_carry], operands.carry, in_carry, strict=True
        )
        if mark
    ]
    count = snapshots_within(op.attributes["memory"], types_of(pick(operands.carry, known)))
    operand_cotangents = iter(
        replay.run([zeros(type) for type in const_types], carry_cotangents, count)
    )
    return [next(operand_cotangents) if mark else None for mark in (*is_linear.consts, *in_carry)]


def _linear_carry(op: Op, is_linear: ScanParts) -> list[bool]:
    """Which carries the loop is linear in: those that start so, and those a step makes so."""
    body = op.regions[1]
    n_carry = len(is_linear.carry)

    def step(carry: list[bool]) -> list[bool]:
        dependent: set[Value] = set(pick(body.parameters, [*is_linear.consts, *carry]))
        for inner in body.ops:
            if any(operand in dependent for operand in inner.operands):
                dependent.update(inner.results)
        return [result in dependent for result in body.results[:n_carry]]

    return stable_marks(is_linear.carry, step)


def _known_part(
    region: Region, keep: Sequence[bool], linear: Sequence[bool], transforms: Transforms
) -> Region:
    """The region without the parameters it is linear in, for the results that need none of them."""
    pruned = transforms.prune(region, keep)
    parameters = tuple(pick(pruned.parameters, [not mark for mark in linear]))
    return Region(parameters, pruned.ops, pruned.results)


def _complete(derived: DerivedRegion, types: Sequence[ArrayType]) -> Region:
    """A transposed region with zeros for the cotangents it lacks."""
    builder = Builder()
    builder.parameters, builder.ops = list(derived.region.parameters), list(derived.region.ops)
    cotangents = spread(derived.region.results, derived.has)
    with builder.active():
        results = [value or zeros(type) for value, type in zip(cotangents, types, strict=True)]
    return builder.region(results)


# --- batching -----------------------------------------------------------------------------------


def _batch(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size, transforms: Transforms
) -> tuple[Sequence[Value], Sequence[bool]]:
    condition, body = op.regions
    values, has_axis = _parts(op, operands), _parts(op, batched)
    n_carry = len(values.carry)
    n_recorded = len(body.results) - n_carry
    apart = [False]

    def derive(carry: list[bool]) -> Sequence[bool]:
        test = transforms.batch(condition, [*has_axis.consts, *carry], size, [False])
        if test.has[0]:
            apart[0] = True
            return [True] * n_carry
        keep = [*carry, *[False] * n_recorded]
        return transforms.batch(body, [*has_axis.consts, *carry], size, keep).has[:n_carry]

    carried = stable_marks(has_axis.carry, derive)
    keep = [*carried, *[apart[0]] * n_recorded]
    derived = transforms.batch(body, [*has_axis.consts, *carried], size, keep)
    test = transforms.batch(condition, [*has_axis.consts, *carried], size, [apart[0]])
    start = [
        add_leading_axis(value, size) if wanted and not own else value
        for value, own, wanted in zip(values.carry, has_axis.carry, carried, strict=True)
    ]
    new_condition, new_body = test.region, derived.region
    if apart[0]:
        new_condition = _any_lane(values.consts, start, test.region)
        may_stop = is_masked(body)
        if may_stop:  # finished lanes do not fail
            marks_of_all = [*has_axis.consts, *carried, True]
            derived = transforms.batch(masked(body), marks_of_all, size, keep)
        new_body = _running_lanes(values.consts, start, test.region, derived.region, may_stop)
    results = _emit(values.consts, start, new_condition, new_body, op.attributes)
    recorded = [
        swap_leading(result) if mark else result
        for result, mark in zip(results[n_carry:], derived.has[n_carry:], strict=True)
    ]
    return [*results[:n_carry], *recorded], [*carried, *derived.has[n_carry:]]


def _any_lane(consts: Sequence[Value], carry: Sequence[Value], test: Region) -> Region:
    """Whether any lane goes on."""

    def write(c: list[Parameter], k: list[Parameter], _: list[Parameter]) -> Sequence[Value]:
        (running,) = inline_here(test, [*c, *k])
        return [reduction.reduce_any(running, axes=(0,))]

    return make_body(types_of(consts), types_of(carry), [], write)


def _running_lanes(
    consts: Sequence[Value], carry: Sequence[Value], test: Region, body: Region, with_mask: bool
) -> Region:
    """The body for lanes that go on; finished lanes keep their carry and record zeros."""

    def write(c: list[Parameter], k: list[Parameter], _: list[Parameter]) -> Sequence[Value]:
        (running,) = inline_here(test, [*c, *k])
        results = inline_here(body, [*c, *k, *([running] if with_mask else [])])
        kept = [_where(running, new, old) for new, old in zip(results, k, strict=False)]
        recorded = [_where(running, new, zeros(new.type)) for new in results[len(k) :]]
        return [*kept, *recorded]

    return make_body(types_of(consts), types_of(carry), [], write)


def _where(running: Value, new: Value, old: Value) -> Value:
    return logic.select(shape.broadcast(running, shape=new.type.shape, dims=(0,)), new, old)


# --- narrowing ----------------------------------------------------------------------------------


def _narrow(op: Op, used: Sequence[bool], prune: Prune) -> Narrowed | None:
    """Keep the carries that the condition or a used result needs, and what those need."""
    condition, body = op.regions
    n_carry = len(op.operands) - op.attributes["n_consts"]
    test = prune(condition, [True])
    test_reads = _parts(op, used_parameters(test))

    @once_per_marks
    def pruned_for(carry: list[bool]) -> Region:
        return prune(body, [*carry, *used[n_carry:]])

    def needed(carry: list[bool]) -> list[bool]:
        return _parts(op, used_parameters(pruned_for(carry))).carry

    start = [one or other for one, other in zip(used[:n_carry], test_reads.carry, strict=True)]
    carried = stable_marks(start, needed)
    results = [*carried, *used[n_carry:]]
    pruned = pruned_for(carried)
    body_reads = _parts(op, used_parameters(pruned)).consts
    consts = [one or other for one, other in zip(test_reads.consts, body_reads, strict=True)]
    kept = [*consts, *carried]
    if all(results) and all(kept) and pruned is body and test is condition:
        return None
    regions = tuple(
        Region(tuple(pick(region.parameters, kept)), region.ops, region.results)
        for region in (test, pruned)
    )
    trips = op.attributes["trips"] if any(used[n_carry:]) else 0
    return Narrowed(
        kept, results, regions, {**op.attributes, "n_consts": sum(consts), "trips": trips}
    )


def _carried(op: Op) -> tuple[int, int]:
    first = op.attributes["n_consts"]
    return first, len(op.operands) - first


while_ = OpDef(
    name="while",
    doc="Repeats body(consts, carry) -> (carry, record) as long as condition(consts, carry) holds. "
    "Records are stacked; `trips` names the number of steps, which only the run tells. `memory` "
    "bounds the bytes that reverse mode keeps, 0: a record of every step.",
    operands=("*consts_and_carry",),
    attributes={"n_consts": INT, "trips": SIZE, "memory": INT},
    defaults={"n_consts": 0, "trips": 0, "memory": 0},
    regions=("condition", "body"),
    infer=_infer,
    reference=_run,
    defines="trips",
    memory=Memory(iteration=Iteration(carried=_carried, steps=lambda op: None)),
    region_rules=RegionRules(_jvp, _linearize, _transpose, _batch, _narrow),
)

OPS: Final = (while_,)
