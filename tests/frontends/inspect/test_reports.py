"""What users are shown of compiled functions is there, is true, and names their lines."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.loops.parse import parse_program
from weft.compiler.loops.pipeline import COLUMN
from weft.compiler.lower.llvm.program.module import emit_program

Array = np.ndarray[Any, Any]
HERE = Path(__file__).name
X, W = np.linspace(0, 1, 1200).reshape(40, 30), np.ones((30, 20))


def layer(x: Any, w: Any) -> Any:
    y = np.exp(x) + 1  # elementwise
    z = y @ w  # product
    return np.sort(z, axis=1), z.sum(axis=0), y  # order and sum


def several(x: Any) -> Any:
    y = np.exp(x)  # shared
    return y.sum(axis=0), y.sum(axis=1)  # sums


def line(function: Callable[..., Any], comment: str) -> int:
    """The line of a function that ends with a comment."""
    lines, first = inspect.getsourcelines(function)
    return first + next(n for n, text in enumerate(lines) if text.rstrip().endswith(f"# {comment}"))


def kernels(function: Callable[..., Any], *arguments: Any) -> int:
    return len(wf.jit(function).lower(*arguments).kernels)


# --- explain ------------------------------------------------------------------------------------


def test_explain_names_kernels_and_lines() -> None:
    f = wf.jit(layer)
    assert "not been compiled yet" in f.explain()
    f(X, W)
    text = f.explain()
    assert "layer(x: f64[40, 30], w: f64[30, 20])" in text
    assert f"kernel over 40 x 30: add, exp ({HERE}:{line(layer, 'elementwise')})" in text
    assert f"kernel over 20: reduce_sum ({HERE}:{line(layer, 'order and sum')})" in text
    for name, comment in (("dot_general", "product"), ("sort", "order and sum")):
        (found,) = [part for part in text.splitlines() if part.strip().startswith(f"{name} ")]
        assert f"{HERE}:{line(layer, comment)}" in found
    assert "memory:" in text


def test_explain_says_why_ops_were_not_fused() -> None:
    f = wf.jit(several)
    f(X)
    lines = f.explain().splitlines()
    (number,) = [n for n, part in enumerate(lines) if "not fused" in part]
    assert f"exp at {__file__}:{line(several, 'shared')}" in lines[number]
    assert "used by several kernels" in lines[number]
    into = [part for part in lines[number + 1 :] if part.strip().startswith("into ")]
    assert len(into) >= 2 and all(f"{__file__}:" in part for part in into)


def test_explain_shows_the_bodies_of_loops() -> None:
    def looping(x: Any) -> Any:
        return wf.fori_loop(0, 5, lambda i, c: np.tanh(c) * i, x)  # body

    f = wf.jit(looping)
    f(np.ones(50))
    text = f.explain()
    (found,) = [part for part in text.splitlines() if "kernel over 50" in part]
    assert "tanh" in found
    assert f"{HERE}:{line(looping, 'body')}" in found
    assert found.startswith("    ")


def test_explain_has_a_part_for_each_version() -> None:
    f = wf.jit(several)
    f(X)
    f(X.astype(np.float32))
    assert f.explain().count("several(x:") == 2
    assert "f32[40, 30]" in f.explain()


# --- lower --------------------------------------------------------------------------------------


def test_lowered_forms_of_a_program() -> None:
    made = wf.jit(layer).lower(X, W)
    assert [op.name for op in made.graph.ops].count("dot_general") == 1
    first, second = made.kernels
    assert "exp(" in first.text
    assert "for i0 < 1200" in first.text
    assert "sum=" in second.text
    for kernel in made.kernels:
        assert f"@{kernel.name}(" in kernel.llvm
        assert kernel.llvm.count("define") >= 1
        assert kernel.lanes >= 1
        assert kernel.name in str(kernel)
        assert kernel.assembly.splitlines()[0].startswith(kernel.name)
        assert "entry:" not in kernel.assembly
    assert "define i64 @entry(" in made.llvm
    assert "entry:" in made.assembly
    assert str(made).startswith("weft 1\ngraph @layer")
    assert first.text in str(made)


def test_lowered_loops_are_what_is_compiled() -> None:
    made = wf.jit(layer).lower(X, W)
    assert made.graph is made.loops.graph
    text = made.loops.text(locations=True, embed_constants=True)
    assert emit_program(parse_program(text)).module.text() == made.llvm


def test_passes_show_the_steps_to_the_loop_program() -> None:
    f = wf.jit(layer)
    f(X, W)
    f.lower(X, W)  # a program that was found on disk took no steps
    shown = f.passes()
    places = [shown.index(f"   {step.name} ") for step in COLUMN]
    assert places == sorted(places)
    assert "nodes, 0 refusals" in shown


def test_equal_kernels_are_emitted_once() -> None:
    def twice(x: Any, y: Any) -> Any:
        return wf.fence(np.sin(x) * 2), wf.fence(np.sin(y) * 2)

    assert kernels(twice, np.ones(50), np.zeros(50)) == 1


def test_program_for_specs() -> None:
    made = wf.jit(several).lower(wf.spec("f64[n, m]"))
    assert "n" in made.kernels[0].text
    text = wf.jit(lambda x: x + 1).lower(wf.spec("f32[7]")).kernels[0].text
    assert "i0 < 7" in text


def test_reference_has_no_code() -> None:
    with pytest.raises(wf.ArgumentError, match="makes no code"):
        wf.jit(several, backend="reference").lower(X)


# --- memory -------------------------------------------------------------------------------------


def chain(x: Any) -> Any:
    a = np.sort(x, axis=1)
    b = np.sort(a * 2, axis=0)
    c = np.sort(b + a, axis=1)
    return c[0]


@pytest.mark.parametrize("function", [chain, several, lambda x: layer(x, W)])
def test_memory_of_a_program(function: Callable[..., Any]) -> None:
    made = wf.jit(function).memory(X)
    assert made.peak >= made.lower_bound
    assert made.lower_bound == sum(-(-int(item.bytes) // 64) * 64 for item in made.alive)
    assert made.arguments == X.nbytes
    assert made.lower_bound > 0
    for item in made.alive:
        assert item.location is not None
        assert item.location.file == __file__
        assert item.op in str(made)
        assert f"{HERE}:{item.location.line}" in str(made)
    results = wf.jit(function)(X)
    wanted = results if isinstance(results, tuple) else (results,)
    assert made.results == sum(result.nbytes for result in wanted)


def test_memory_of_a_chain_is_that_of_two_arrays() -> None:
    def long_chain(x: Any) -> Any:
        for _ in range(8):
            x = np.sort(x, axis=0) + 1
        return x.sum()

    assert wf.jit(long_chain).memory(X).peak <= 2 * X.nbytes


def test_fused_function_needs_no_memory() -> None:
    assert wf.jit(lambda x: np.exp(x) * 2 + x).memory(X).peak == 0


def test_memory_of_symbolic_sizes() -> None:
    made = wf.jit(chain).memory(wf.spec("f64[n, 30]"))
    assert "n" in str(made.peak)
    assert made.lower_bound == 0


# --- versions -----------------------------------------------------------------------------------


def test_why_a_function_was_traced_again() -> None:
    f = wf.jit(lambda x, k: x * k, static_argnums=1)
    assert "not been compiled yet" in f.why_retraced()
    f(np.ones(3), 2)
    f(np.ones(3), 2)
    f(np.ones(4), 2)
    f(np.ones(4, np.float32), 2)
    f(np.ones(4), 5)
    f(2.0, 5)
    f([np.ones(4)][0], 5)
    first, shape, dtype, static, *rest = f.why_retraced().splitlines()
    assert "first call" in first
    assert "x is f64[4], was f64[3]" in shape
    assert "x is f32[4], was f64[4]" in dtype
    assert "static argument" in static and "5" in static and "2" in static
    assert len(rest) == 1
    assert "f64" in rest[0]


def test_why_another_structure_is_traced_again() -> None:
    f = wf.jit(lambda tree: tree)
    f({"a": np.ones(3)})
    f([np.ones(3)])
    assert "another structure" in f.why_retraced().splitlines()[1]


# --- not a number -------------------------------------------------------------------------------


def test_why_nan_names_the_op_and_place() -> None:
    def root(x: Any) -> Any:
        y = x * 2
        return np.sqrt(y).sum()  # first

    text = wf.jit(root).why_nan(np.array([1.0, -1.0, 3.0]))
    assert text.startswith("sqrt")
    assert f"{HERE}:{line(root, 'first')}" in text
    assert "1 of 3 elements, the first at (1,)" in text
    assert "argument x" in wf.jit(root).why_nan(np.array([np.nan]))
    assert wf.jit(root).why_nan(np.ones(3)) == "no op made a NaN"


def test_why_nan_tells_of_an_infinity_before() -> None:
    text = wf.jit(lambda x: np.exp(x) - np.exp(x * 1)).why_nan(np.array([1000.0]))
    assert text.startswith("sub")
    assert "exp" in text.splitlines()[1]
    assert "made an infinity" in text


def test_why_nan_in_a_gradient() -> None:
    def masked(x: Any) -> Any:
        y = np.where(x > 0, x * 3, 0.0)
        return np.sum(np.where(x > 0, np.sqrt(y), 0.0))  # root

    text = wf.jit(wf.grad(masked)).why_nan(np.array([1.0, 0.0]))
    assert "made the first NaN" in text
    assert f"{HERE}:{line(masked, 'root')}" in text


def test_why_nan_in_a_loop() -> None:
    def total(x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            return carry + np.log(row), carry  # logarithm

        return wf.scan(step, 0.0, x)[0]

    text = wf.jit(total).why_nan(np.array([1.0, 2.0, -2.0]))
    assert text.startswith("log")
    assert f"{HERE}:{line(total, 'logarithm')}" in text


# --- steering -----------------------------------------------------------------------------------


def test_fence_ends_a_kernel() -> None:
    def free(x: Any) -> Any:
        return np.exp(x) + 1

    def fenced(x: Any) -> Any:
        return wf.fence(np.exp(x)) + 1

    assert kernels(free, X) == 1
    assert kernels(fenced, X) == 2
    np.testing.assert_array_equal(wf.jit(free)(X), wf.jit(fenced)(X))


def test_no_fuse_keeps_a_function_in_its_own_kernels() -> None:
    def inner(x: Any) -> Any:
        return np.exp(x * 2)

    def outer(x: Any, inner: Callable[..., Any] = inner) -> Any:
        return inner(np.sin(x)) + 1

    def apart(x: Any) -> Any:
        return outer(x, wf.no_fuse(inner))

    assert kernels(outer, X) == 1
    assert kernels(apart, X) == 3
    np.testing.assert_array_equal(wf.jit(outer)(X), wf.jit(apart)(X))


def test_fuse_computes_again_rather_than_storing() -> None:
    def fused(x: Any) -> Any:
        y = wf.fuse(np.exp(x))
        return y.sum(axis=0), y.sum(axis=1)

    assert int(wf.jit(several).memory(X).peak) > 0
    assert wf.jit(fused).memory(X).peak == 0
    for made, wanted in zip(wf.jit(fused)(X), wf.jit(several)(X), strict=True):
        np.testing.assert_allclose(made, wanted, rtol=1e-13)


def test_steering_has_derivatives() -> None:
    def loss(x: Any, mark: Callable[..., Any] = lambda y: y) -> Any:
        return np.sum(np.sin(mark(np.exp(x))))

    wanted = wf.jit(wf.grad(loss))(X)
    for mark in (wf.fence, wf.fuse, wf.no_fuse(np.cosh)):
        made = wf.jit(wf.grad(lambda x, mark=mark: loss(x, mark)))(X)
        exact = wf.jit(wf.grad(lambda x, mark=mark: loss(x, mark)), backend="reference")(X)
        np.testing.assert_allclose(made, exact, rtol=1e-12)
        if mark in (wf.fence, wf.fuse):
            np.testing.assert_allclose(made, wanted, rtol=1e-12)


# --- profile ------------------------------------------------------------------------------------


def test_profile_names_what_takes_the_time() -> None:
    f = wf.jit(layer)
    found = f.profile(X, W, calls=2)
    names = [part.name for part in found.parts]
    assert any(name.startswith("dot_general of f64[40, 30] by f64[30, 20]") for name in names)
    assert [part.seconds for part in found.parts] == sorted(
        (part.seconds for part in found.parts), reverse=True
    )
    (product,) = [part for part in found.parts if part.name.startswith("dot_general")]
    assert product.flops == 2 * 40 * 30 * 20 and product.seconds > 0
    assert "GFLOP/s" in str(found) and "1 others" in found.table(len(found.parts) - 1)


def test_profile_sees_into_loops_and_copies_donated_arguments() -> None:
    def power(x: Any, y: Any) -> Any:
        return wf.scan(lambda c, _: (np.tanh(c @ y), None), x, None, length=7)[0]

    f = wf.jit(power, donate=0)
    x, y = np.eye(20), np.full((20, 20), 0.5)
    found = f.profile(x, y)
    assert (x == np.eye(20)).all()
    (product,) = [part for part in found.parts if part.name.startswith("dot_general")]
    assert product.flops == 7 * 2 * 20**3
    assert any(part.name.startswith("scan") for part in found.parts)
