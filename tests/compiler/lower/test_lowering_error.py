"""What is said of an op that the native backend has no code for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler import parsing
from weft.compiler.ir.opdef import OpDef, Trait
from weft.compiler.lower.backends import BACKENDS
from weft.compiler.ops import TABLE
from weft.compiler.ops.elementwise import unary
from weft.compiler.ops.primitives import ops
from weft.compiler.ops.special import exp
from weft.frontends.tracing.core import lift, wrap

ELEMENTWISE = unary("mystery", "Nobody knows.", kinds=("float",), reference=np.abs)
OTHER = OpDef(
    "riddle", "Nobody knows.", infer=lambda x: x, reference=lambda x: x[::-1], operands=("x",)
)
COMPOSED = unary(
    "composed",
    "Made of what nobody knows.",
    kinds=("float",),
    reference=np.abs,
    scalar=lambda x: exp(ELEMENTWISE(x)),
)


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table has these ops too, so that graphs with them can be read."""
    own = {op.name: op for op in (ELEMENTWISE, OTHER, COMPOSED)}
    monkeypatch.setattr(parsing, "TABLE", {**TABLE, **own})


def applied(op: OpDef) -> Any:
    def f(x: Any) -> Any:
        result: Any = wrap(op(lift(x)))
        return result + 1

    return f


@pytest.mark.parametrize(
    ("op", "name", "reason"),
    [
        (ELEMENTWISE, "mystery(x: f64[3])", "neither a rule nor a scalar form"),
        (OTHER, "riddle(x: f64[3])", "neither a routine nor an index map"),
        (COMPOSED, "mystery(x: f64[])", "neither a rule nor a scalar form"),
    ],
    ids=lambda value: value.name if isinstance(value, OpDef) else "",
)
def test_op_types_line_and_backends_are_named(op: OpDef, name: str, reason: str) -> None:
    with pytest.raises(wf.LoweringError) as caught:
        wf.jit(applied(op))(np.ones(3))
    text = str(caught.value)
    assert name in text and reason in text and "the cpu backend" in text
    assert "backend='reference' can" in text
    assert "test_lowering_error.py" in text and "op(lift(x))" in text


def test_the_backend_that_is_named_can() -> None:
    f = wf.jit(applied(OTHER), backend="reference")
    np.testing.assert_array_equal(f(np.arange(3.0)), [3, 2, 1])


def test_the_function_still_works_where_it_can() -> None:
    f = wf.jit(lambda x: applied(ELEMENTWISE)(x) if x.ndim == 1 else x + 1)
    for _ in range(2):
        with pytest.raises(wf.LoweringError):
            f(np.ones(3))
    np.testing.assert_array_equal(f(np.ones((2, 2))), np.full((2, 2), 2))


def test_what_is_in_no_table_is_said_to_have_no_code() -> None:
    graph = wf.trace(applied(COMPOSED))(np.ones(3))
    composed, add = graph.ops
    assert Trait.ELEMENTWISE in composed.definition.traits and add.definition is ops.add
    assert not BACKENDS["cpu"](composed) and BACKENDS["reference"](composed)
    assert BACKENDS["cpu"](add)
