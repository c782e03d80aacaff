"""`fail`: a run that ends with an exception of the user's program, and what batching makes of it.

Programs raise where Python would: a traced `if` around a `raise` becomes a branch with a `fail` in
it. Under `vmap` all branches run for all elements, so a `fail` asks whether it holds for some.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.ambient import active_builder
from weft.compiler.ir.attributes import HOST, TEXT, HostFunction
from weft.compiler.ir.build import Builder, constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.edit import Rewriter
from weft.compiler.ir.errors import DTypeError, TraceError
from weft.compiler.ir.graph import Constant, Op, Region, Value
from weft.compiler.ir.opdef import OpDef, Trait
from weft.compiler.ir.raising import Raised, form_of
from weft.compiler.ir.rules import DerivedRegion, Maybe
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import indexing, logic, reduction, shape
from weft.compiler.ops.helpers import number
from weft.compiler.ops.primitives import ops
from weft.compiler.ops.regions import inline_here

Array = np.ndarray[Any, Any]
_BOOL: Final = ArrayType(dtypes.bool_)
_WITH_CONSTS: Final = ("scan", "while")
_WITH_OPERANDS: Final = ("switch", "call", "checkpoint")


def _infer(when: ArrayType, *values: ArrayType, **_: object) -> tuple[ArrayType, ...]:
    if when != _BOOL:
        raise DTypeError(f"when must be bool[], got {when}")
    return ()


def _run(
    when: Array, *values: Array, error: str, form: str, made_by: HostFunction, function: str
) -> list[Array]:
    if when:
        make = form_of(error, form) if made_by.function is None else made_by.function
        raise Raised(make([value.copy() for value in values]))
    return []


def _no_tangents(op: Op, tangents: Sequence[Maybe]) -> Sequence[Maybe]:
    return []


# --- batching -------------------------------------------------------------------------------------


def _batch(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size
) -> Sequence[Value]:
    """Fail for the first element for which it holds; what that is, is found out only then."""
    when = operands[0]
    if not batched[0]:
        first = constant(0, dtypes.i64)
        fail.emit(when, *_taken(operands[1:], batched[1:], first), **op.attributes)
        return []

    def write(values: Sequence[Value]) -> None:
        place = reduction.argmax(values[0], axis=0)
        holds = constant(True, dtypes.bool_)
        fail.emit(holds, *_taken(values[1:], batched[1:], place), **op.attributes)

    _only_if(reduction.reduce_any(when, axes=(0,)), operands, write)
    return []


def _taken(values: Sequence[Value], batched: Sequence[bool], place: Value) -> list[Value]:
    return [
        indexing.gather(value, place, axes=(0,), mode="clip") if mark else value
        for value, mark in zip(values, batched, strict=True)
    ]


def _only_if(holds: Value, operands: Sequence[Value], write: Any) -> None:
    """A branch that has no results."""
    around, regions = active_builder(), []
    assert isinstance(around, Builder)
    for runs in (False, True):
        builder = Builder()
        parameters = [builder.parameter(value.type) for value in operands]
        with builder.active(), builder.at(around.location):
            if runs:
                write(parameters)
        regions.append(builder.region([]))
    ops.switch.emit(holds, *operands, regions=regions)


def may_fail(op: Op) -> bool:
    """Whether an op is a `fail`, or has one in its regions."""
    stack = [op]
    while stack:
        item = stack.pop()
        if item.definition is fail:
            return True
        stack.extend(inner for region in item.regions for inner in region.ops)
    return False


def _has_mask(op: Op) -> bool:
    """Whether an op can fail, or an index of its regions can be out of range."""
    if op.definition is fail or _may_be_outside(op):
        return True
    if op.name in (*_WITH_CONSTS, *_WITH_OPERANDS):
        return any(_has_mask(inner) for region in op.regions for inner in region.ops)
    return may_fail(op)


def _may_be_outside(op: Op) -> bool:
    """Whether an op raises if its indices are out of range, and these are not known."""
    if op.definition not in (indexing.gather, indexing.scatter):
        return False
    sizes = [op.operands[0].type.shape[axis] for axis in op.attributes["axes"]]
    is_known = all(isinstance(index, Constant) for index in _indices(op))
    return op.attributes["mode"] == "raise" and not is_known and 0 not in sizes


def _indices(op: Op) -> Sequence[Value]:
    return op.operands[1 if op.definition is indexing.gather else 2 :]


def masked(region: Region) -> Region:
    """The region with one more parameter, a bool that says whether it is to run at all: where it
    is not, nothing fails, and what is at index 0 is read.
    """
    return _masked(region, len(region.parameters))


def is_masked(region: Region) -> bool:
    """Whether a region has something to mask."""
    return any(map(_has_mask, region.ops))


def inline_masked(
    made: DerivedRegion, operands: Sequence[Value], mask: Value, *, has_results: bool
) -> list[Value]:
    """The batch of a masked region; one without results runs only if that is so for any element."""
    if has_results:
        return inline_here(made.region, [*operands, mask])
    some = reduction.reduce_any(mask, axes=(0,))
    _only_if(some, [*operands, mask], lambda values: inline_here(made.region, values))
    return []


def _masked(region: Region, position: int) -> Region:
    """A masked region whose new parameter is at a position."""
    builder = Builder()
    rewriter = Rewriter(builder)
    for place, parameter in enumerate(region.parameters):
        if place == position:
            runs = builder.parameter(_BOOL)
        rewriter.substitution[parameter] = builder.parameter(parameter.type, parameter.name)
    if position == len(region.parameters):
        runs = builder.parameter(_BOOL)
    with builder.active():
        for op in region.ops:
            with builder.at(op.location):
                _mask(op, rewriter, runs)
    return builder.region(rewriter.results(region))


def _mask(op: Op, rewriter: Rewriter, runs: Value) -> None:
    if not _has_mask(op):
        rewriter.copy(op)
        return
    operands = [rewriter.value(operand) for operand in op.operands]
    if op.definition is fail:
        fail.emit(logic.and_(operands[0], runs), *operands[1:], **op.attributes)
        return
    if _may_be_outside(op):
        count = len(_indices(op))
        inside = [_only_where(runs, index) for index in operands[-count:]]
        rewriter.replace(op, op.definition.emit(*operands[:-count], *inside, **op.attributes))
        return
    attributes = dict(op.attributes)
    if op.name in _WITH_CONSTS:
        place = op.attributes["n_consts"]
        attributes["n_consts"] = place + 1
    elif op.name in _WITH_OPERANDS:
        place = len(op.operands)
    else:
        raise _no_mask(op)
    inner = place - 1 if op.name == "switch" else place
    regions = [_masked(region, inner) for region in op.regions]
    operands.insert(place, runs)
    rewriter.replace(op, op.definition.emit(*operands, regions=regions, **attributes))


def _only_where(runs: Value, index: Value) -> Value:
    """An index, or 0 where nothing is to run."""
    wide = shape.broadcast(runs, shape=index.type.shape, dims=()) if index.type.shape else runs
    return logic.select(wide, index, number(0, index))


def _no_mask(op: Op) -> TraceError:
    return TraceError(
        f"vmap of a branch that raises inside of {op.name}, which has a derivative of its own, is "
        "not known; raise outside of it",
        location=op.location,
    )


fail = OpDef(
    name="fail",
    doc="Ends the run with an exception of the user's program, made of values, where `when` holds.",
    operands=("when", "*values"),
    attributes={"error": TEXT, "form": TEXT, "made_by": HOST, "function": TEXT},
    defaults={"made_by": HostFunction("nothing"), "function": ""},
    infer=_infer,
    reference=_run,
    traits=Trait.EFFECT | Trait.HOST,
    jvp=_no_tangents,
    batch=_batch,
)

OPS: Final = (fail,)
