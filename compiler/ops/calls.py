"""Ops that run a region once: plain calls, checkpoints, and functions with rules of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir.attributes import TEXT, TYPE, Choice, TupleOf
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import EvaluationError, TraceError, VerifyError
from weft.compiler.ir.evaluate import BoundRegion
from weft.compiler.ir.graph import Op, Region, Value
from weft.compiler.ir.opdef import OpDef, Trait
from weft.compiler.ir.rules import Maybe, Narrowed, Prune, RegionRules, Transforms
from weft.compiler.ir.types import ArrayType
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

Array = np.ndarray[Any, Any]


def _infer(*operands: ArrayType, regions: tuple[Region, ...], **_: object) -> tuple[ArrayType, ...]:
    require_parameters(regions[0], operands, "the called region")
    return regions[0].result_types


def _run(*operands: Array, regions: tuple[BoundRegion, ...], **_: object) -> list[Array]:
    return regions[0](*operands)


def _again(op: Op, region: Region, operands: Sequence[Value]) -> tuple[Value, ...]:
    """The same kind of op on another region."""
    return op.definition.emit(*operands, regions=(region,), **op.attributes)


# --- rules of call and checkpoint ---------------------------------------------------------------


def _jvp(
    op: Op, tangents: Sequence[Maybe], transforms: Transforms
) -> tuple[Sequence[Value], Sequence[Maybe]]:
    derived = transforms.jvp(op.regions[0], marks(tangents))
    results = _again(op, derived.region, [*op.operands, *present(tangents)])
    return results[: len(op.results)], spread(results[len(op.results) :], derived.has)


def _transpose(
    op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool], transforms: Transforms
) -> Sequence[Maybe]:
    derived = transforms.transpose(op.regions[0], linear, marks(cotangents))
    known = pick(op.operands, [not mark for mark in linear])
    operand_cotangents = iter(
        spread(_again(op, derived.region, [*known, *present(cotangents)]), derived.has)
    )
    return [next(operand_cotangents) if mark else None for mark in linear]


def _batch(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size, transforms: Transforms
) -> tuple[Sequence[Value], Sequence[bool]]:
    derived = transforms.batch(op.regions[0], batched, size, [False] * len(op.results))
    return _again(op, derived.region, operands), derived.has


def _linearize_call(
    op: Op, tangents: Sequence[Maybe], transforms: Transforms
) -> tuple[Sequence[Value], Sequence[Maybe]]:
    split = transforms.split(op.regions[0], marks(tangents), [False] * len(op.results))
    results = _again(op, split.known, op.operands)
    count = len(op.results)
    outputs = _again(op, split.linear, [*results[count:], *present(tangents)])
    return results[:count], spread(outputs, split.has)


def _linearize_checkpoint(
    op: Op, tangents: Sequence[Maybe], transforms: Transforms
) -> tuple[Sequence[Value], Sequence[Maybe]]:
    """The linear part computes again what it needs, from the operands and what the policy keeps."""
    split = transforms.recompute(op.regions[0], marks(tangents), lambda inner: _is_kept(op, inner))
    results = _again(op, split.known, op.operands)
    count = len(op.results)
    operands = [*op.operands, *results[count:], *present(tangents)]
    return results[:count], spread(_again(op, split.linear, operands), split.has)


def _is_kept(op: Op, inner: Op) -> bool:
    policy = op.attributes["policy"]
    if policy == "dots":
        return inner.definition.work is not None
    if policy == "names":
        return inner.name == "probe" and inner.attributes["name"] in op.attributes["names"]
    return bool(policy == "everything")


def _narrow(op: Op, used: Sequence[bool], prune: Prune) -> Narrowed | None:
    """Keep the used results, and the operands that they need."""
    pruned = prune(op.regions[0], used)
    kept = used_parameters(pruned)
    if all(used) and all(kept) and pruned is op.regions[0]:
        return None
    region = Region(tuple(pick(pruned.parameters, kept)), pruned.ops, pruned.results)
    return Narrowed(kept, used, (region,), op.attributes)


call = OpDef(
    name="call",
    doc="Runs a named region on the operands: a function that keeps its identity in the graph.",
    operands=("*operands",),
    attributes={"function": TEXT},
    regions=("body",),
    infer=_infer,
    reference=_run,
    traits=Trait.CALL,
    region_rules=RegionRules(_jvp, _linearize_call, _transpose, _batch, _narrow),
)

checkpoint = OpDef(
    name="checkpoint",
    doc="Runs a region whose values are computed again for the backward part, by policy.",
    operands=("*operands",),
    attributes={
        "policy": Choice(("nothing", "everything", "dots", "names")),
        "names": TupleOf(TEXT),
    },
    defaults={"policy": "nothing", "names": ()},
    regions=("body",),
    infer=_infer,
    reference=_run,
    traits=Trait.CALL,
    region_rules=RegionRules(_jvp, _linearize_checkpoint, _transpose, _batch, _narrow),
)


# --- custom rules -------------------------------------------------------------------------------


def tangent_types(types: Sequence[ArrayType]) -> list[ArrayType]:
    """The types of the tangents of values: only floating-point values have one."""
    return [type for type in types if type.dtype.is_inexact]


def _infer_custom_jvp(*operands: ArrayType, regions: tuple[Region, ...]) -> tuple[ArrayType, ...]:
    primal, rule = regions
    require_parameters(primal, operands, "the function")
    outputs = primal.result_types
    require_parameters(rule, (*operands, *outputs, *tangent_types(operands)), "the jvp rule")
    require_results(rule, tangent_types(outputs), "the jvp rule")
    return outputs


def _filled(op: Op, tangents: Sequence[Maybe]) -> list[Value]:
    """A tangent for each floating-point operand."""
    return [
        tangent or zeros(operand.type)
        for tangent, operand in zip(tangents, op.operands, strict=True)
        if operand.type.dtype.is_inexact
    ]


def _apply_rule(
    op: Op, tangents: Sequence[Maybe], transforms: Transforms
) -> tuple[Sequence[Value], Sequence[Maybe]]:
    """The results by the op itself, so that the rule holds for further derivatives of them too."""
    results = op.definition.emit(*op.operands, regions=op.regions)
    result_tangents = inline_here(op.regions[1], [*op.operands, *results, *_filled(op, tangents)])
    return results, spread(result_tangents, [result.type.dtype.is_inexact for result in results])


def _cannot_transpose(
    op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool], transforms: Transforms
) -> Sequence[Maybe]:
    raise TraceError(f"{op.name} is not linear, so it cannot be transposed", location=op.location)


def _batch_custom_jvp(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size, transforms: Transforms
) -> tuple[Sequence[Value], Sequence[bool]]:
    """Everything gets the axis, so that function and rule agree on it."""
    everything = [True] * len(op.results)
    inexact = [operand.type.dtype.is_inexact for operand in op.operands]
    out_inexact = [result.type.dtype.is_inexact for result in op.results]
    primal = transforms.batch(op.regions[0], batched, size, everything)
    rule_batched = [*batched, *everything, *pick(batched, inexact)]
    rule = transforms.batch(op.regions[1], rule_batched, size, pick(everything, out_inexact))
    results = op.definition.emit(*operands, regions=(primal.region, rule.region))
    return results, everything


custom_jvp = OpDef(
    name="custom_jvp",
    doc="Runs a region with its own derivative: rule(operands, results, tangents) -> tangents.",
    operands=("*operands",),
    regions=("function", "rule"),
    infer=_infer_custom_jvp,
    reference=_run,
    traits=Trait.CALL,
    region_rules=RegionRules(_apply_rule, _apply_rule, _cannot_transpose, _batch_custom_jvp),
)


def _infer_custom_vjp(*operands: ArrayType, regions: tuple[Region, ...]) -> tuple[ArrayType, ...]:
    primal, forward, backward = regions
    outputs = primal.result_types
    require_parameters(primal, operands, "the function")
    require_parameters(forward, operands, "the forward rule")
    if forward.result_types[: len(outputs)] != outputs:
        raise VerifyError(f"the forward rule must return {show(outputs)}, then residuals")
    residuals = forward.result_types[len(outputs) :]
    require_parameters(backward, (*residuals, *tangent_types(outputs)), "the backward rule")
    require_results(backward, tangent_types(operands), "the backward rule")
    return outputs


def _no_forward_mode(
    op: Op, tangents: Sequence[Maybe], transforms: Transforms
) -> tuple[Sequence[Value], Sequence[Maybe]]:
    raise TraceError(
        "forward mode (jvp, jacfwd, hvp by jvp) met a custom_vjp, which only has a reverse rule; "
        "use custom_jvp, which gives both",
        location=op.location,
    )


def _linearize_custom_vjp(
    op: Op, tangents: Sequence[Maybe], transforms: Transforms
) -> tuple[Sequence[Value], Sequence[Maybe]]:
    _, forward, backward = op.regions
    count = len(op.results)
    results = inline_here(forward, op.operands)
    has = [result.type.dtype.is_inexact for result in op.results]
    types = pick([result.type for result in op.results], has)
    outputs = reverse_rule.emit(
        *results[count:],
        *_filled(op, tangents),
        regions=(backward,),
        results=tuple(types),
    )
    return results[:count], spread(outputs, has)


def _batch_custom_vjp(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size, transforms: Transforms
) -> tuple[Sequence[Value], Sequence[bool]]:
    primal, forward, backward = op.regions
    everything = [True] * len(op.results)
    inexact = [operand.type.dtype.is_inexact for operand in op.operands]
    all_marked = [True] * len(operands)
    n_residuals = len(forward.results) - len(op.results)
    keep = [*everything, *[True] * n_residuals]
    regions = (
        transforms.batch(primal, all_marked, size, everything).region,
        transforms.batch(forward, all_marked, size, keep).region,
        transforms.batch(
            backward, [True] * len(backward.parameters), size, [True] * sum(inexact)
        ).region,
    )
    wide = _all_batched(operands, batched, size)
    return op.definition.emit(*wide, regions=regions), everything


def _all_batched(operands: Sequence[Value], batched: Sequence[bool], size: Size) -> list[Value]:
    return [
        operand if mark else add_leading_axis(operand, size)
        for operand, mark in zip(operands, batched, strict=True)
    ]


custom_vjp = OpDef(
    name="custom_vjp",
    doc="Runs a region with its own reverse rule: forward(operands) -> (results, residuals), "
    "backward(residuals, cotangents) -> cotangents of the floating-point operands.",
    operands=("*operands",),
    regions=("function", "forward", "backward"),
    infer=_infer_custom_vjp,
    reference=_run,
    traits=Trait.CALL,
    region_rules=RegionRules(
        _no_forward_mode, _linearize_custom_vjp, _cannot_transpose, _batch_custom_vjp
    ),
)


def _infer_reverse_rule(
    *operands: ArrayType, results: tuple[ArrayType, ...], regions: tuple[Region, ...]
) -> tuple[ArrayType, ...]:
    (backward,) = regions
    n_residuals = len(backward.parameters) - len(results)
    require_parameters(backward, (*operands[:n_residuals], *results), "the backward rule")
    require_results(backward, operands[n_residuals:], "the backward rule")
    return results


def _cannot_run(*operands: Array, **_: object) -> list[Array]:
    raise EvaluationError("a custom_vjp was linearised but not transposed; it has no forward rule")


def _transpose_reverse_rule(
    op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool], transforms: Transforms
) -> Sequence[Maybe]:
    (backward,) = op.regions
    n_residuals = len(backward.parameters) - len(op.results)
    result_cotangents = [c or zeros(r.type) for c, r in zip(cotangents, op.results, strict=True)]
    operand_cotangents = inline_here(backward, [*op.operands[:n_residuals], *result_cotangents])
    return [*[None] * n_residuals, *operand_cotangents]


def _batch_reverse_rule(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size, transforms: Transforms
) -> tuple[Sequence[Value], Sequence[bool]]:
    (backward,) = op.regions
    everything = [True] * len(backward.parameters)
    region = transforms.batch(backward, everything, size, [True] * len(backward.results)).region
    types = [result.type.with_shape((size, *result.type.shape)) for result in op.results]
    wide = _all_batched(operands, batched, size)
    results = op.definition.emit(*wide, regions=(region,), results=tuple(types))
    return results, [True] * len(op.results)


reverse_rule = OpDef(
    name="reverse_rule",
    doc="The linear part of a custom_vjp: known only by its transpose, the backward rule.",
    operands=("*residuals_and_tangents",),
    attributes={"results": TupleOf(TYPE)},
    regions=("backward",),
    infer=_infer_reverse_rule,
    reference=_cannot_run,
    region_rules=RegionRules(
        _no_forward_mode, _no_forward_mode, _transpose_reverse_rule, _batch_reverse_rule
    ),
)

OPS: Final = (call, checkpoint, custom_jvp, custom_vjp, reverse_rule)
