"""Forward mode, and its split form: running a region with tangents beside its values.

`jvp_region` keeps everything in one region. `Forward` in split mode lets ops with regions emit
their primal and linear forms apart, after which every op that depends on a tangent is linear in it;
that is what `linearize` cuts and `transpose` turns around.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.ir.build import Builder
from weft.compiler.ir.edit import Rewriter, with_operands
from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.graph import Op, Parameter, Region, Value
from weft.compiler.ir.rules import DerivedRegion, Maybe, Transforms
from weft.compiler.ops.arithmetic import add
from weft.compiler.ops.helpers import accumulate, stretch, zeros


class Forward:
    """Copies the ops of a region into a builder and emits the tangents beside them."""

    def __init__(self, builder: Builder, transforms: Transforms, *, split: bool) -> None:
        self.rewriter = Rewriter(builder)
        self.builder = builder
        self.transforms = transforms
        self.split = split
        self.tangents: dict[Value, Value] = {}
        self.probes: dict[Op, Value] = {}

    def run(self, ops: Sequence[Op]) -> None:
        """Process ops in order."""
        with self.builder.active(), self.builder.at(self.builder.location):
            for op in ops:
                self.builder.location = op.location
                self._step(op)

    def tangent(self, value: Value) -> Maybe:
        """The tangent of an old value."""
        return self.tangents.get(self.rewriter.value(value))

    def _step(self, op: Op) -> None:
        tangents = [self.tangent(operand) for operand in op.operands]
        if op in self.probes:
            (result,) = self._copy(op).results
            self._remember([result], [accumulate(tangents[0], self.probes[op])])
            return
        if not any(tangents) or not any(r.type.dtype.is_inexact for r in op.results):
            self._copy(op)
            return
        rules = op.definition.region_rules
        if rules is None:
            copied = self._copy(op)
            self._remember(copied.results, jvp_of_op(copied, tangents))
            return
        rule = rules.linearize if self.split else rules.jvp
        results, result_tangents = rule(self._moved(op), tangents, self.transforms)
        self.rewriter.replace(op, results)
        self._remember(results, result_tangents)

    def _remember(self, results: Sequence[Value], tangents: Sequence[Maybe]) -> None:
        for result, tangent in zip(results, tangents, strict=True):
            if tangent is not None and result.type.dtype.is_inexact:
                self.tangents[result] = tangent

    def _copy(self, op: Op) -> Op:
        """The op itself when its operands are unchanged, else a copy that reads the new ones."""
        moved = self._moved(op)
        self.builder.ops.append(moved)
        if moved is not op:
            self.rewriter.replace(op, moved.results)
        return moved

    def _moved(self, op: Op) -> Op:
        substitution = self.rewriter.substitution
        if substitution.keys().isdisjoint(op.operands):
            return op
        operands = tuple([substitution.get(v, v) for v in op.operands])
        return with_operands(op, operands, op.regions)


def jvp_of_op(op: Op, tangents: Sequence[Maybe]) -> Sequence[Maybe]:
    """The tangents of an op's results by its rule, or by its linearity."""
    definition = op.definition
    if definition.jvp is not None:
        result = definition.jvp(op, tangents)
        return [result] if result is None or isinstance(result, Value) else result
    if definition.linear is not None:
        return _linear_jvp(op, tangents, definition.linear)
    if definition.multilinear is not None:
        return _multilinear_jvp(op, tangents, definition.multilinear)
    raise TraceError(f"{op.name} has no derivative", location=op.location)


def _linear_jvp(op: Op, tangents: Sequence[Maybe], positions: tuple[int, ...]) -> Sequence[Maybe]:
    """A linear op of tangents is the tangent of the op."""
    chosen = positions or tuple(range(len(op.operands)))
    if not any(tangents[i] for i in chosen):
        return [None] * len(op.results)
    operands = [
        (tangents[i] or zeros(operand.type)) if i in chosen else operand
        for i, operand in enumerate(op.operands)
    ]
    return op.definition.emit(*operands, regions=op.regions, **op.attributes)


def _multilinear_jvp(op: Op, tangents: Sequence[Maybe], positions: tuple[int, ...]) -> list[Maybe]:
    """The product rule: one term per operand that has a tangent."""
    total: Maybe = None
    for position in positions:
        tangent = tangents[position]
        if tangent is None:
            continue
        operands = list(op.operands)
        operands[position] = tangent
        term = stretch(op.definition(*operands, **op.attributes), op.results[0].type.shape)
        total = term if total is None else add(total, term)
    return [total]


def jvp_region(region: Region, marked: Sequence[bool], transforms: Transforms) -> DerivedRegion:
    """(parameters, tangents of the marked ones) -> (results, tangents of those that have one)."""
    builder = Builder()
    builder.parameters = list(region.parameters)
    forward = Forward(builder, transforms, split=False)
    for parameter in tangent_parameters(region.parameters, marked, builder):
        forward.tangents[parameter[0]] = parameter[1]
    forward.run(region.ops)
    tangents = [forward.tangent(result) for result in region.results]
    present = [tangent for tangent in tangents if tangent is not None]
    results = [*forward.rewriter.results(region), *present]
    return DerivedRegion(builder.region(results), tuple([t is not None for t in tangents]))


def tangent_parameters(
    parameters: Sequence[Parameter], marked: Sequence[bool], builder: Builder
) -> list[tuple[Parameter, Parameter]]:
    """A tangent parameter for each marked parameter."""
    return [
        (parameter, builder.parameter(parameter.type))
        for parameter, wanted in zip(parameters, marked, strict=True)
        if wanted
    ]
