"""`rewrite` and the passes that `jit` runs: what a user writes in a few lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.ir.edit import drop_dead_ops
from weft.compiler.ir.errors import ArgumentError
from weft.compiler.ir.graph import Graph
from weft.compiler.passes.pipeline import DEFAULT, optimise
from weft.frontends.api.rewriting import rewrite


def ops_of(function: Any, *specs: str, passes: Any) -> list[str]:
    """The ops that are left of a function after passes, in order."""
    made = wf.trace(function)(*map(wf.spec, specs))
    after, _ = optimise(made, passes=[*passes], verify=True)
    return [op.name for op in after.ops]


@rewrite
def cosine(x: Any) -> Any:
    return np.sin(x + np.pi / 2), np.cos(x)


@rewrite(specs={"x": "f64[2, 3]"})
def row_mean(x: Any) -> Any:
    return np.sum(x, axis=-1) / x.shape[-1], np.max(x, axis=-1)


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16"])
@pytest.mark.parametrize("shape", ["", "3", "n, 4"])
def test_rule_serves_all_dtypes_and_shapes(dtype: str, shape: str) -> None:
    assert ops_of(lambda x: np.sin(x + np.pi / 2), f"{dtype}[{shape}]", passes=[cosine]) == ["cos"]


def test_rule_leaves_other_numbers_alone() -> None:
    assert ops_of(lambda x: np.sin(x + 1.5), "f64[]", passes=[cosine]) == ["add", "sin"]


def test_rule_compares_axes() -> None:
    def rows(x: Any) -> Any:
        return np.sum(x, axis=1) / x.shape[1]

    def columns(x: Any) -> Any:
        return np.sum(x, axis=0) / x.shape[0]

    assert ops_of(rows, "f32[4, 5]", passes=[row_mean]) == ["reduce_max"]
    assert ops_of(columns, "f32[4, 5]", passes=[row_mean]) == ["reduce_sum", "div"]
    assert ops_of(rows, "f32[4, 5, 6]", passes=[row_mean]) == ["reduce_sum", "div"]


def test_condition_sees_the_types() -> None:
    @rewrite(when=lambda x: x.rank == 1)
    def of_vectors(x: Any) -> Any:
        return np.tanh(np.tanh(x)), np.tanh(x)

    def twice(x: Any) -> Any:
        return np.tanh(np.tanh(x))

    assert ops_of(twice, "f32[3]", passes=[of_vectors]) == ["tanh"]
    assert ops_of(twice, "f32[3, 3]", passes=[of_vectors]) == ["tanh", "tanh"]


def test_rule_of_two_values() -> None:
    @rewrite(specs={"x": "f64[2]", "y": "f64[2]"})
    def product_of_logs(x: Any, y: Any) -> Any:
        return np.log(x) + np.log(y), np.log(x * y)

    function = wf.jit(lambda x, y: np.log(x) + np.log(y), passes=[product_of_logs])
    np.testing.assert_allclose(function(np.full(2, 2.0), np.full(2, 3.0)), np.log(6.0))
    assert "product_of_logs 1" in function.passes()
    assert ops_of(
        lambda x, y: np.log(y) + np.log(x), "f32[3]", "f32[3]", passes=[product_of_logs]
    ) == ["mul", "log"]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: np.sin(x), "must return a pair"),
        (lambda x: (x, np.sin(x)), "gives x as the old expression, which is no op"),
        (lambda x, y: (np.sin(x), np.cos(y)), "the old expression of lambda does not use y"),
    ],
)
def test_what_is_no_rule_is_refused(function: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        rewrite(function)


def test_spec_for_no_argument_is_refused() -> None:
    with pytest.raises(ArgumentError, match="lambda has no argument z"):
        rewrite(lambda x: (np.sin(x), np.cos(x)), specs={"z": "f64[]"})


# --- jit ------------------------------------------------------------------------------------------


def test_jit_runs_a_function_as_a_pass() -> None:
    seen: list[Graph] = []

    def look(made: Graph) -> Graph:
        seen.append(made)
        return made

    function = wf.jit(lambda x: x + 1, passes=[look])
    assert function(np.float64(1)) == 2
    assert seen == [function.trace(1.0 * np.float64(1))]


def test_jit_runs_the_default_passes_unless_told_not_to() -> None:
    def function(x: Any) -> Any:
        return np.log(1 + np.exp(x))

    x = np.array([-1000.0, 0.0, 1000.0])
    optimised = wf.jit(function)
    np.testing.assert_allclose(optimised(x), [0, np.log(2), 1000])
    assert "log(1 + exp(x)) 1" in optimised.passes()
    plain = wf.jit(function, optimise=False)
    assert np.isinf(plain(x)[2])
    assert plain.passes().startswith("function: no passes ran\n")


def test_own_passes_run_among_the_default_ones() -> None:
    function = wf.jit(
        lambda x: np.sin(x + np.pi / 2) * 1.0, optimise=True, passes=[cosine, drop_dead_ops]
    )
    assert function(0.0) == 1.0
    report = function.passes()
    assert "cosine 1" in report and "x * 1 1" in report


def test_passes_before_the_first_call() -> None:
    assert wf.jit(lambda x: x).passes() == "lambda has not been compiled yet: call it first."


def test_gradient_inside_of_jit_is_optimised() -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.log(1 + np.exp(x)))

    made = wf.jit(wf.grad(loss), optimise=True)
    x = np.array([0.5, -0.5])
    np.testing.assert_allclose(made(x), 1 / (1 + np.exp(-x)))


def test_default_column_is_not_changed_by_users() -> None:
    before = DEFAULT
    wf.jit(lambda x: x, passes=[cosine], optimise=True)(1.0)
    assert before is DEFAULT
