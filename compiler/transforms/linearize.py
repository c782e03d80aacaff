"""Cutting a region in two: what does not depend on tangents, and the rest, linear in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from weft.compiler.ir import dims
from weft.compiler.ir.build import Builder
from weft.compiler.ir.edit import Rewriter
from weft.compiler.ir.graph import Constant, Op, Parameter, Region, Value
from weft.compiler.ir.rules import Maybe, SplitRegion, Transforms
from weft.compiler.ir.walk import has_effect, live_ops
from weft.compiler.ops.helpers import zeros
from weft.compiler.ops.regions import present
from weft.compiler.record import record
from weft.compiler.transforms.forward import Forward, tangent_parameters


@record
class Linearized:
    """The ops of a region with tangents, sorted: `known` ones, and `linear` ones that need a
    tangent.
    """

    known: list[Op]
    linear: list[Op]
    results: list[Value]
    inputs: list[Parameter]
    outputs: list[Maybe]


def linearize(
    region: Region, marked: Sequence[bool], transforms: Transforms, probes: Sequence[Op] = ()
) -> Linearized:
    """Run a region forward with tangents of the marked parameters, and of results of probes."""
    builder = Builder()
    forward = Forward(builder, transforms, split=True)
    pairs = tangent_parameters(region.parameters, marked, builder)
    forward.tangents.update(pairs)
    forward.probes = {op: builder.parameter(op.result.type) for op in probes}
    inputs = builder.parameters
    forward.run(region.ops)
    outputs = [forward.tangent(result) for result in region.results]
    known, linear = partition(builder.ops, inputs)
    linear = live_ops(linear, present(outputs), effects=False)
    return Linearized(known, linear, forward.rewriter.results(region), inputs, outputs)


def partition(ops: Iterable[Op], inputs: Iterable[Value]) -> tuple[list[Op], list[Op]]:
    """The ops that do not depend on the inputs, and those that do."""
    dependent: set[Value] = set(inputs)
    apart: list[Op] = []
    together: list[Op] = []
    for op in ops:
        if not dependent.isdisjoint(op.operands):
            dependent.update(op.results)
            together.append(op)
        else:
            apart.append(op)
    return apart, together


def residuals_of(linear: Iterable[Op], inputs: Iterable[Value]) -> list[Value]:
    """The values from outside that linear ops read, each once, in order of first use."""
    inside: set[Value] = set(inputs)
    residuals: dict[Value, None] = {}
    for op in linear:
        for operand in op.operands:
            if operand not in inside and not isinstance(operand, Constant):
                residuals[operand] = None
        inside.update(op.results)
    return list(residuals)


def split_region(
    region: Region, marked: Sequence[bool], keep: Sequence[bool], transforms: Transforms
) -> SplitRegion:
    """The region as two: see `SplitRegion`. Results in `keep` get a tangent even if it is zero."""
    linearized = linearize(region, marked, transforms)
    linear = [*_computed_again(linearized), *linearized.linear]
    residuals = residuals_of(linear, linearized.inputs)
    known = Region(region.parameters, tuple(linearized.known), (*linearized.results, *residuals))
    builder = Builder()
    rewriter = Rewriter(builder)
    for residual in residuals:
        rewriter.substitution[residual] = builder.parameter(residual.type)
    for input_tangent in linearized.inputs:
        rewriter.substitution[input_tangent] = builder.parameter(input_tangent.type)
    for op in linear:
        rewriter.copy(op)
    outputs: list[Value] = []
    has: list[bool] = []
    with builder.active():
        for tangent, result, kept in zip(linearized.outputs, linearized.results, keep, strict=True):
            has.append(tangent is not None or (kept and result.type.dtype.is_inexact))
            if tangent is not None:
                outputs.append(rewriter.value(tangent))
            elif has[-1]:
                outputs.append(zeros(result.type))
    return SplitRegion(known, builder.region(outputs), tuple(residuals), tuple(has))


def _computed_again(made: Linearized) -> list[Op]:
    """Known ops that the linear part computes again rather than keeps the results of.

    What is made of constants alone costs nothing to make twice. A result with a size that an op of
    this region defines differs from step to step, so it cannot be stacked or leave a branch.
    """
    again = _of_constants(made.known) | _of_defined_sizes(made.known)
    if not again:
        return []
    candidates = [op for op in made.known if op in again]
    return live_ops(candidates, residuals_of(made.linear, made.inputs), effects=False)


def _of_constants(ops: Iterable[Op]) -> set[Op]:
    """The ops that need nothing but constants."""
    constant_ops: set[Op] = set()
    known: set[Value] = set()
    for op in ops:
        if all(isinstance(v, Constant) or v in known for v in op.operands) and not has_effect(op):
            constant_ops.add(op)
            known.update(op.results)
    return constant_ops


def _of_defined_sizes(ops: Sequence[Op]) -> set[Op]:
    """The ops with a size in their results that one of them defines."""
    defined = {
        symbol
        for op in ops
        if op.definition.defines is not None
        for symbol in dims.symbols(op.attributes[op.definition.defines])
    }
    return {
        op
        for op in ops
        if any(dims.symbols(size) & defined for r in op.results for size in r.type.shape)
    }


def recompute_region(
    region: Region,
    marked: Sequence[bool],
    keep: Callable[[Op], bool],
    transforms: Transforms,
) -> SplitRegion:
    """The region in two, the second of which computes again what is not kept."""
    linearized = linearize(region, marked, transforms)
    candidates = {result for op in linearized.known if keep(op) for result in op.results}
    used: set[Value] = {output for output in linearized.outputs if output is not None}
    ops: list[Op] = []
    saved: dict[Value, None] = {}
    for op in reversed([*linearized.known, *linearized.linear]):
        wanted = [result for result in op.results if result in used]
        if not wanted:
            continue
        if candidates.issuperset(wanted):
            saved.update(dict.fromkeys(wanted))
            continue
        used.update(op.operands)
        ops.append(op)
    known = Region(region.parameters, tuple(linearized.known), (*linearized.results, *saved))
    builder = Builder()
    rewriter = Rewriter(builder)
    rewriter.parameters(region)
    for value in (*saved, *linearized.inputs):
        rewriter.substitution[value] = builder.parameter(value.type)
    for op in reversed(ops):
        rewriter.copy(op)
    outputs = [rewriter.value(output) for output in linearized.outputs if output is not None]
    has = tuple([output is not None for output in linearized.outputs])
    return SplitRegion(known, builder.region(outputs), tuple(saved), has)
