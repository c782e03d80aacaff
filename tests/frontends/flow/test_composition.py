"""Converted control flow with derivatives, batching, static arguments, options and the structure of
what is made.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.frontends.checking import numerical_gradient

SOURCE = Path(__file__).parent.parent.parent.parent / "src"


def newton(a: Any) -> Any:
    x = a
    for _ in range(100):
        new = 0.5 * (x + a / x)
        if abs(new - x) < 1e-13:
            break
        x = new
    return new


def walk(x: Any) -> Any:
    y = x.copy()
    total = 0.0
    for i in range(1, x.shape[0]):
        if x[i] > 0.5:
            y[i] = y[i - 1] * x[i]
        elif x[i] > 0:
            y[i] += np.sin(x[i - 1])
        else:
            continue
        total += y[i] ** 2
    k = 0
    while total > 1 and k < 5:
        total = total * 0.5
        k += 1
    return total + np.sum(y * y)


INPUTS = np.array(
    [0.7, -0.3, 0.2, 0.9, 0.8, -0.1, 0.4, 1.3, 0.6, 0.3, 0.2, -0.5, 0.7, 0.75, 0.1, 0.95, 1.1, 0.55]
)


def test_gradients_are_right() -> None:
    expected = numerical_gradient(walk, INPUTS)
    for gradient in (
        wf.jit(wf.grad(walk), control_flow=True),
        wf.jit(wf.grad(walk, control_flow=True)),
        wf.grad(wf.control_flow(walk)),
    ):
        np.testing.assert_allclose(gradient(INPUTS), expected, rtol=1e-8, atol=1e-8)


def test_forward_mode_and_second_derivatives() -> None:
    converted = wf.control_flow(newton)
    value, tangent = wf.jvp(converted, (4.0,), (1.0,))
    assert float(value) == pytest.approx(2.0) and float(tangent) == pytest.approx(0.25)
    assert float(wf.jit(wf.grad(wf.grad(converted)))(4.0)) == pytest.approx(-1 / 32)


def test_batches_take_each_its_own_way() -> None:
    many = np.array([4.0, 9.0, 2.0, 100.0])
    for batched in (
        wf.jit(wf.vmap(newton), control_flow=True),
        wf.vmap(newton, control_flow=True),
    ):
        np.testing.assert_allclose(batched(many), np.sqrt(many), rtol=1e-14)
    gradients = wf.jit(wf.vmap(wf.grad(newton)), control_flow=True)(many)
    np.testing.assert_allclose(gradients, 0.5 / np.sqrt(many), rtol=1e-12)
    rows = np.stack([INPUTS, INPUTS[::-1], -INPUTS])
    made = wf.jit(wf.vmap(walk), control_flow=True)(rows)
    np.testing.assert_allclose(made, [walk(row) for row in rows], rtol=1e-12)


def test_static_arguments_decide_while_tracing() -> None:
    def power(x: Any, n: Any, kind: Any) -> Any:
        if kind == "plain":
            return x
        for _ in range(n):
            x = x * 2 if x > 0 else x
        return x

    compiled = wf.jit(power, static_argnames=("n", "kind"), control_flow=True)
    assert compiled(1.0, 3, "plain") == 1.0
    assert compiled(1.0, 3, "double") == 8.0
    assert compiled(-1.0, n=40, kind="double") == -1.0
    assert not compiled.trace(1.0, 3, "plain").ops


def test_symbolic_sizes() -> None:
    def largest(xs: Any) -> Any:
        best = -np.inf
        for x in xs:
            if x > best:
                best = x
        return best

    compiled = wf.jit(largest, specs=[wf.spec("f64[n]")], control_flow=True)
    assert compiled(np.array([1.0, 5.0, 2.0])) == 5.0
    assert compiled(np.arange(50.0)) == 49.0


def counts(function: Any, *given: Any) -> Counter[str]:
    graph = wf.trace(function, control_flow=True)(*given)
    return Counter(op.name for region in graph.regions() for op in region.ops)


def test_short_ranges_are_unrolled_and_long_ones_are_loops() -> None:
    def steps(n: int) -> Any:
        def run(x: Any) -> Any:
            for _ in range(n):
                x = np.sin(x)
            return x

        return run

    assert counts(steps(32), 1.0) == {"sin": 32}
    assert counts(steps(33), 1.0) == {"scan": 1, "sin": 1, "iota": 1}


def test_the_users_word_on_unrolling_counts() -> None:
    def long(x: Any) -> Any:
        for _ in wf.unrolled(range(40)):
            x = np.sin(x)
        return x

    def short(x: Any) -> Any:
        for _ in wf.rolled(range(4)):
            x = np.sin(x)
        return x

    assert counts(long, 1.0)["sin"] == 40
    assert counts(short, 1.0)["sin"] == 1
    assert long(1.0) == pytest.approx(float(wf.jit(long, control_flow=True)(1.0)))


def two_lists(join: Any, x: Any) -> Any:
    plain, shifted = [], [x]
    for _ in range(40):
        x = x * 0.9
        plain.append(x)
        shifted.append(x + 1.0)
    return join(plain), join(shifted)


def pairs(join: Any, x: Any) -> Any:
    both: list[Any] = []
    for _ in range(40):
        x = x * 0.9
        both.append((x, x + 1.0))
    return join([first for first, _ in both]), join([second for _, second in both][3:])


@pytest.mark.parametrize("x", [1.5, INPUTS, np.ones((2, 3))], ids=["number", "vector", "matrix"])
@pytest.mark.parametrize("grow", [two_lists, pairs])
@pytest.mark.parametrize(
    "join",
    [
        np.array,
        np.stack,
        np.vstack,
        np.hstack,
        np.column_stack,
        lambda items: np.stack(items, axis=-1),
        lambda items: np.concatenate([np.atleast_1d(item) for item in items], axis=-1),
        lambda items: np.mean(items, axis=0),
    ],
    ids=["array", "stack", "vstack", "hstack", "column_stack", "last", "concatenate", "mean"],
)
def test_lists_that_a_loop_grows_are_joined_as_one_array(join: Any, grow: Any, x: Any) -> None:
    if join is np.column_stack and np.ndim(x) != 1:
        pytest.skip("as concatenate or stack")

    def function(x: Any) -> Any:
        return grow(join, x)

    graph = wf.trace(function, control_flow=True)(x)
    assert all(len(op.operands) <= 4 for region in graph.regions() for op in region.ops)
    for ours, numpys in zip(wf.jit(function, control_flow=True)(x), function(x), strict=True):
        np.testing.assert_allclose(ours, numpys, rtol=1e-14)


def test_a_known_condition_leaves_nothing_behind() -> None:
    def choose(x: Any) -> Any:
        if x.shape[0] > 2 and not x.ndim == 2:
            return x * 2
        return x

    assert counts(choose, np.ones(3)) == {"mul": 1}


def test_bodies_of_other_transformations_are_converted() -> None:
    def total(xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            return (carry + x if x > 0 else carry), carry

        return wf.scan(step, 0.0, xs)[0] + wf.cond(xs[0] > 0, inner, inner, xs[1])

    def inner(x: Any) -> Any:
        return 1.0 if x > 0 else -1.0

    xs = np.array([1.0, -2.0, 3.0])
    assert wf.jit(total, control_flow=True)(xs) == 3.0


def test_outside_of_a_trace_it_is_the_plain_function() -> None:
    assert wf.control_flow(newton)(4.0) == newton(4.0)
    assert wf.control_flow(newton).__name__ == "newton"


PROGRAM = """
import sys
import numpy as np
import weft as wf

def helper(x):
    return x if x > 0 else -x * {factor}

def model(xs):
    total = 0.0
    for i in range(30):
        total = total + helper(xs[i])
    return total

f = wf.jit(model, control_flow=True)
print(float(f(np.linspace(-1, 1, 30))))
print("): found" in f.explain_cache(), "weft.frontends.flow.convert" in sys.modules)
"""


def run(folder: Path, factor: int) -> list[str]:
    path = folder / "program.py"
    path.write_text(textwrap.dedent(PROGRAM.format(factor=factor)))
    environment = {
        **os.environ,
        "WEFT_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": str(SOURCE),
    }
    command = [sys.executable, str(path)]
    made = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return made.stdout.split()


@pytest.mark.slow
def test_a_second_process_finds_the_program_and_sees_changes_of_called_functions(
    tmp_path: Path,
) -> None:
    first = run(tmp_path, 3)
    assert first[1:] == ["False", "True"]
    assert run(tmp_path, 3) == [first[0], "True", "False"]
    assert run(tmp_path, 4)[0] != first[0]
