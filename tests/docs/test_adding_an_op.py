"""docs/adding_an_op.md, followed to the letter: its op is computed, differentiated and batched by
the default backend, which has no code of its own for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import weft as wf
from tests.compiler.ops.sample import Sample
from tests.compiler.ops.test_table import assert_same, build
from weft.compiler import parsing
from weft.compiler.ir.dtypes import f32
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Op, Parameter
from weft.compiler.ir.identity import structurally_equal
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import ArrayType
from weft.compiler.lower.backends import BACKENDS
from weft.compiler.ops import TABLE, special
from weft.frontends.tracing import core

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "adding_an_op.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)


@pytest.fixture(scope="module")
def family() -> dict[str, Any]:
    """The family's file with the declaration at its end."""
    names = dict(vars(special))
    exec(compile(BLOCKS[0], str(PAGE), "exec"), names)
    return names


@pytest.fixture
def sinc(family: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> OpDef:
    """The op, in a table of its own."""
    op = family["sinc"]
    assert isinstance(op, OpDef)
    monkeypatch.setattr(parsing, "TABLE", {**TABLE, "sinc": op})
    return op


@pytest.fixture
def function(sinc: OpDef) -> Callable[..., Any]:
    names: dict[str, Any] = {**vars(core), "special": SimpleNamespace(sinc=sinc)}
    exec(compile(BLOCKS[2], str(PAGE), "exec"), names)
    made: Callable[..., Any] = names["unnormalised_sinc"]
    return made


UNITS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
X = np.array([-40.0, -3.0, -0.5, 0.0, 1e-3, 0.7, 2.0, 11.0, 1e4])


def test_the_samples_hold(sinc: OpDef) -> None:
    names = {"Sample": Sample, "np": np, "sinc": sinc}
    exec(compile(BLOCKS[1], str(PAGE), "exec"), names)
    rows: Any = names["ROWS"]
    for row in rows:
        graph = build(row).verify()
        (result,) = evaluate(graph, [np.asarray(x) for x in row.operands])
        assert_same(result, row, row.expected)
        assert structurally_equal(parsing.parse(graph.text()), graph)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16], ids=str)
def test_native_code_computes_the_reference(function: Callable[..., Any], dtype: Any) -> None:
    x = X.astype(dtype)
    made = np.asarray(wf.jit(function)(x))
    assert made.dtype == x.dtype
    wide = x.astype(np.float64)
    wanted = np.where(X == 0, 1, np.sin(wide) / np.where(X == 0, 1, wide))
    # The backend rounds sine and quotient in f32 or wider, and the result to its dtype.
    unit = UNITS[np.dtype(dtype).name]
    np.testing.assert_allclose(made.astype(np.float64), wanted, rtol=3 * unit, atol=0)


def test_it_fuses_with_its_neighbours(function: Callable[..., Any]) -> None:
    f = wf.jit(lambda x: np.sum(function(x * 2) + 1))
    np.testing.assert_allclose(f(X), np.sum(np.sinc(2 * X / np.pi) + 1), rtol=1e-13)
    assert str(f.explain()).count("kernel") == 1


def test_derivatives_and_batches_run_natively(function: Callable[..., Any]) -> None:
    slope = wf.jit(wf.vmap(wf.grad(function)))(X)
    at = np.where(X == 0, 1, X)
    wanted = np.where(X == 0, 0, (np.cos(at) - np.sin(at) / at) / at)
    # Near 0 the difference of cosine and ratio cancels; its error is that of either, over x.
    np.testing.assert_allclose(slope, wanted, rtol=1e-12, atol=1e-12)


def test_every_backend_can(sinc: OpDef) -> None:
    number = ArrayType(f32, ())
    op = Op(sinc, (Parameter(number),), {}, (), (number,), None)
    assert [name for name, has_code in BACKENDS.items() if has_code(op)] == ["cpu", "reference"]


def test_contributing_points_here() -> None:
    assert "docs/adding_an_op.md" in (ROOT / "CONTRIBUTING.md").read_text()
