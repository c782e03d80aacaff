"""Calls from a graph back into Python: `host_call`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir.attributes import BOOL, HOST, TYPE, HostFunction, TupleOf
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import EvaluationError, OutOfMemoryError, TraceError
from weft.compiler.ir.graph import Op, Parameter, Value
from weft.compiler.ir.opdef import OpDef, Trait
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops.scan import emit_scan, make_body, types_of

Array = np.ndarray[Any, Any]


def _infer_host_call(
    *operands: ArrayType, function: HostFunction, results: tuple[ArrayType, ...], pure: bool
) -> tuple[ArrayType, ...]:
    return results


def _run_host_call(
    *operands: Array, function: HostFunction, results: tuple[ArrayType, ...], pure: bool
) -> list[Array]:
    if function.function is None:
        raise EvaluationError(
            f"the host function @{function.name} is only a name here: graphs read from text do not "
            "carry code"
        )
    try:
        returned = function.function(*[operand.copy() for operand in operands])
    except Exception as error:
        kind = OutOfMemoryError if isinstance(error, MemoryError) else EvaluationError
        raise kind(f"@{function.name} raised {type(error).__name__}: {error}") from error
    arrays = _as_list(returned, len(results))
    if len(arrays) != len(results):
        raise EvaluationError(
            f"@{function.name} returned {len(arrays)} arrays instead of {len(results)}"
        )
    return [_checked(array, type, function) for array, type in zip(arrays, results, strict=True)]


def _as_list(returned: Any, count: int) -> list[Any]:
    if returned is None and not count:
        return []
    return list(returned) if isinstance(returned, tuple | list) else [returned]


def _checked(array: Any, type: ArrayType, function: HostFunction) -> Array:
    value: Array = np.asarray(array)
    if value.shape != type.shape or value.dtype != type.dtype.numpy:
        raise EvaluationError(
            f"@{function.name} returned {value.dtype}{list(value.shape)} where {type} was declared"
        )
    return value


def _no_derivative(op: Op, tangents: Sequence[Maybe]) -> Sequence[Maybe]:
    name = op.attributes["function"].name
    raise TraceError(
        f"the callback @{name} has no derivative; give it one with custom_vjp or custom_jvp, or "
        "pass it "
        "stop_gradient(x)",
        location=op.location,
    )


def _batch_host_call(
    op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size
) -> Sequence[Value]:
    """One call per element, in order."""
    consts = [v for v, mark in zip(operands, batched, strict=True) if not mark]
    sequences = [v for v, mark in zip(operands, batched, strict=True) if mark]

    def write(c: list[Parameter], _: list[Parameter], x: list[Parameter]) -> Sequence[Value]:
        known, steps = iter(c), iter(x)
        arguments = [next(steps) if mark else next(known) for mark in batched]
        return host_call.emit(*arguments, **op.attributes)

    steps = [value.type.with_shape(value.type.shape[1:]) for value in sequences]
    body = make_body(types_of(consts), [], steps, write)
    return emit_scan(consts, [], sequences, body, size, False)


host_call = OpDef(
    name="host_call",
    doc="Calls a Python function with the operands' arrays; has effects unless declared pure.",
    operands=("*operands",),
    attributes={"function": HOST, "results": TupleOf(TYPE), "pure": BOOL},
    defaults={"results": (), "pure": False},
    infer=_infer_host_call,
    reference=_run_host_call,
    traits=Trait.EFFECT | Trait.HOST,
    jvp=_no_derivative,
    batch=_batch_host_call,
)

OPS: Final = (host_call,)
