"""Weights that a loop multiplies with in every step, laid out once before it as products read them.

A product of few rows reads its right operand where it lies if its rows are in one piece, and packs
it otherwise. Weights that do not change in a loop are transposed before it, so that no step has to
pack them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Size
from weft.compiler.ir.edit import Replaced, Rewriter
from weft.compiler.ir.graph import Op, Parameter, Region, Value
from weft.compiler.ops.contraction import dot_general, matrix_shape
from weft.compiler.ops.control import scan
from weft.compiler.ops.shape import transpose
from weft.compiler.record import record


@record
class PrepackLimits:
    """Which weights are laid out before a loop.

    A product of few rows reads its right operand where it lies. Chosen when weights of loops were
    first laid out; measurements are not on record.
    """

    rows: int = 96  # of a product, at most
    steps: int = 4  # of a loop, at least


LIMITS: Final = PrepackLimits()


def prepack_weights(op: Op, replaced: Replaced) -> Sequence[Value] | None:
    """The rule for a scan: products with transposed weights, which become constants of it."""
    if op.definition is not scan or not _is_long(op.attributes["length"]):
        return None
    (body,) = op.regions
    count = op.attributes["n_consts"]
    turned = _turned(body, set(body.parameters[:count]))
    if not turned:
        return None
    current = [replaced.value(operand) for operand in op.operands]
    position = {parameter: number for number, parameter in enumerate(body.parameters)}
    added = [transpose(current[position[weight]], permutation=(1, 0)) for weight in turned]
    operands = [*current[:count], *added, *current[count:]]
    attributes = {**op.attributes, "n_consts": count + len(added)}
    return scan.emit(*operands, regions=(_rebuilt(body, count, turned),), **attributes)


def _is_long(length: Size) -> bool:
    return not isinstance(length, int) or length >= LIMITS.steps


def _turned(body: Region, constants: set[Value]) -> list[Parameter]:
    """The constants that products of few rows sum up along their last axis."""
    weights: dict[Parameter, None] = {}
    for op in body.ops:
        if _wants_turned(op, constants):
            weight = op.operands[1]
            assert isinstance(weight, Parameter)
            weights[weight] = None
    return list(weights)


def _wants_turned(op: Op, constants: set[Value]) -> bool:
    if op.definition is not dot_general or op.operands[1] not in constants:
        return False
    if op.operands[1].type.rank != 2 or op.attributes["rhs_contract"] != (1,):
        return False
    rows, _, _ = matrix_shape(op)
    return isinstance(rows, int) and 1 < rows <= LIMITS.rows


def _rebuilt(body: Region, count: int, turned: Sequence[Parameter]) -> Region:
    builder = Builder()
    rewriter = Rewriter(builder)
    added: dict[Value, Value] = {}
    for number, parameter in enumerate(body.parameters):
        if number == count:
            added = _parameters(builder, turned)
        new_parameter = builder.parameter(parameter.type, parameter.name)
        rewriter.substitution[parameter] = new_parameter
    if not added:
        added = _parameters(builder, turned)
    with builder.active():
        for op in body.ops:
            if _wants_turned(op, set(turned)):
                attributes = {**op.attributes, "rhs_contract": (0,)}
                left, right = rewriter.value(op.operands[0]), added[op.operands[1]]
                with builder.at(op.location):
                    rewriter.replace(op, [dot_general(left, right, **attributes)])
            else:
                rewriter.copy(op)
    return builder.region(rewriter.results(body))


def _parameters(builder: Builder, turned: Sequence[Parameter]) -> dict[Value, Value]:
    return {
        weight: builder.parameter(weight.type.with_shape(weight.type.shape[::-1]), "turned")
        for weight in turned
    }
