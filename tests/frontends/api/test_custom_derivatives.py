"""Functions with derivatives of their own, checkpoints, and implicit derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.frontends.checking import assert_trees_close, numerical_gradient

X = np.array([0.5, 1.2, 2.0])


# --- custom_jvp -----------------------------------------------------------------------------------


@wf.custom_jvp
def tripled_slope(x: Any) -> Any:
    """sin(x) whose derivative is said to be 3 cos(x), so that one sees which rule was used."""
    return np.sin(x)


@tripled_slope.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return tripled_slope(x), 3.0 * t * np.cos(x)


def test_custom_jvp_replaces_the_rule_in_both_modes() -> None:
    np.testing.assert_array_equal(tripled_slope(X), np.sin(X))
    assert wf.grad(tripled_slope)(0.3) == pytest.approx(3 * np.cos(0.3))
    assert wf.jvp(tripled_slope, (0.3,), (2.0,))[1] == pytest.approx(6 * np.cos(0.3))
    np.testing.assert_allclose(wf.jit(wf.jacrev(tripled_slope))(X), np.diag(3 * np.cos(X)))


def test_custom_jvp_differentiated_twice_differentiates_the_rule() -> None:
    want = -3 * np.sin(0.3)
    assert wf.grad(wf.grad(tripled_slope))(0.3) == pytest.approx(want)
    assert wf.jvp(wf.grad(tripled_slope), (0.3,), (1.0,))[1] == pytest.approx(want)


def test_custom_jvp_under_vmap_scan_while_and_cond() -> None:
    np.testing.assert_allclose(wf.vmap(wf.grad(tripled_slope))(X), 3 * np.cos(X))
    np.testing.assert_allclose(
        wf.grad(lambda x: np.sum(wf.vmap(tripled_slope)(x)))(X), 3 * np.cos(X)
    )

    def scanned(x: Any) -> Any:
        return wf.scan(lambda c, _: (tripled_slope(c), None), x, length=2)[0]

    def looped(x: Any) -> Any:
        return wf.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, tripled_slope(c[1])), (0, x))[
            1
        ]

    def branched(x: Any) -> Any:
        return wf.cond(x > 0, lambda x: tripled_slope(tripled_slope(x)), lambda x: x, x)

    want = 9 * np.cos(0.3) * np.cos(np.sin(0.3))
    for f in (scanned, looped, branched):
        assert wf.grad(f)(0.3) == pytest.approx(want, rel=1e-13)
        assert wf.jit(wf.grad(f))(0.3) == pytest.approx(want, rel=1e-13)
        np.testing.assert_allclose(wf.vmap(wf.grad(f))(np.full(2, 0.3)), want, rtol=1e-13)
        assert wf.jvp(f, (0.3,), (1.0,))[1] == pytest.approx(want, rel=1e-13)


def test_custom_jvp_of_trees_and_integers() -> None:
    @wf.custom_jvp
    def f(p: Any, n: Any) -> Any:
        return {"out": p["a"] ** n * p["b"], "n": n}

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (p, n), (t, none) = primals, tangents
        assert none is None
        value = f(p, n)
        return value, {"out": t["a"] * 10.0 + t["b"] * 100.0, "n": None}

    gradient = wf.grad(lambda p: f(p, 3)["out"])({"a": 2.0, "b": 5.0})
    assert gradient == {"a": 10.0, "b": 100.0}
    assert f({"a": 2.0, "b": 5.0}, 3)["out"] == 40.0


def test_a_norm_that_is_smooth_at_zero() -> None:
    @wf.custom_jvp
    def norm(x: Any) -> Any:
        return np.sqrt(np.sum(x * x))

    @norm.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        y = norm(x)
        safe = np.where(y > 0, y, 1.0)
        return y, np.sum(np.where(y > 0, x / safe, 0.0) * t)

    np.testing.assert_array_equal(wf.grad(norm)(np.zeros(3)), np.zeros(3))
    np.testing.assert_allclose(wf.grad(norm)(X), X / np.sqrt(np.sum(X * X)))


# --- custom_vjp -----------------------------------------------------------------------------------


@wf.custom_vjp
def clipped(x: Any, limit: Any) -> Any:
    return x * 1.0


def clipped_forward(x: Any, limit: Any) -> Any:
    return x * 1.0, {"limit": limit}


def clipped_backward(residuals: Any, cotangent: Any) -> Any:
    limit = residuals["limit"]
    return np.clip(cotangent, -limit, limit), None


clipped.defvjp(clipped_forward, clipped_backward)


def test_custom_vjp_replaces_reverse_mode() -> None:
    np.testing.assert_array_equal(clipped(X, 1.0), X)
    by_x, by_limit = wf.grad(lambda x, c: 5.0 * clipped(x, c), (0, 1))(2.0, 1.5)
    assert (by_x, by_limit) == (1.5, 0.0)
    got = wf.jit(wf.grad(lambda x: np.sum(X * clipped(x, 1.0))))(X)
    np.testing.assert_allclose(got, np.clip(X, -1, 1))


def test_custom_vjp_under_vmap_and_in_loops() -> None:
    got = wf.vmap(lambda s: wf.grad(lambda x: s * clipped(x, 1.0))(0.0))(np.array([0.5, 3.0, -7.0]))
    np.testing.assert_array_equal(got, [0.5, 1.0, -1.0])
    limits = np.array([1.0, 2.0])
    got = wf.vmap(wf.grad(lambda x, c: 5.0 * clipped(x, c)))(np.zeros(2), limits)
    np.testing.assert_array_equal(got, limits)

    def scanned(x: Any) -> Any:
        return wf.scan(lambda c, _: (clipped(4.0 * c, 2.0), None), x, length=2)[0]

    def looped(x: Any) -> Any:
        step = lambda c: (c[0] + 1, clipped(4.0 * c[1], 2.0))  # noqa: E731
        return wf.while_loop(lambda c: c[0] < 2, step, (0, x))[1]

    for f in (scanned, looped):
        assert wf.grad(f)(1.0) == 8.0
        assert wf.grad(lambda x, f=f: 3.0 * f(x))(1.0) == 8.0
        np.testing.assert_array_equal(wf.vmap(wf.grad(f))(np.ones(3)), np.full(3, 8.0))


def test_custom_vjp_differentiated_twice_differentiates_both_halves() -> None:
    @wf.custom_vjp
    def square(x: Any) -> Any:
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, ct: (ct * 2.0 * x + 0.0 * ct,))
    assert wf.grad(square)(3.0) == 6.0
    assert wf.grad(wf.grad(square))(3.0) == 2.0
    assert wf.grad(wf.grad(wf.grad(square)))(3.0) == 0.0


def test_custom_vjp_of_several_results() -> None:
    @wf.custom_vjp
    def f(x: Any) -> Any:
        return {"a": x * 2.0, "sign": x > 0}

    f.defvjp(lambda x: (f.function(x), ()), lambda _, ct: (ct["a"] * 7.0,))
    assert wf.grad(lambda x: f(x)["a"])(1.0) == 7.0
    assert wf.grad(lambda x: wf.cond(f(x)["sign"], lambda: 2.0 * x, lambda: x))(1.0) == 2.0


def test_forward_mode_of_custom_vjp_is_refused() -> None:
    with pytest.raises(wf.TraceError, match="only has a reverse rule; use custom_jvp"):
        wf.jvp(lambda x: clipped(x, 1.0), (1.0,), (1.0,))


# --- rules that do not fit ------------------------------------------------------------------------


def with_jvp(rule: Callable[..., Any]) -> Callable[..., Any]:
    function = wf.custom_jvp(lambda x: (x * 2.0, x))
    function.defjvp(rule)
    return function


def with_vjp(forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    function = wf.custom_vjp(lambda x: x * 2.0)
    function.defvjp(forward, backward)
    return function


BAD_RULES: list[tuple[Callable[..., Any], str]] = [
    (with_jvp(lambda p, t: p[0]), r"jvp rule .* must return \(value, tangent\)"),
    (with_jvp(lambda p, t: (p[0], t[0])), r"must return \(value, tangent\) with the structure"),
    (
        with_jvp(lambda p, t: ((p[0] * 2, p[0]), (t[0].sum(), t[0]))),
        r"the tangent from the jvp rule .* is f64\[\], expected f64\[3\]",
    ),
    (
        with_jvp(lambda p, t: ((p[0] * 2, p[0]), (t[0].astype("f4"), t[0]))),
        r"the tangent from the jvp rule .* is f32\[3\], expected f64\[3\]",
    ),
    (
        with_vjp(lambda x: x, lambda r, ct: (ct,)),
        r"forward rule .* must return \(value, residuals\)",
    ),
    (
        with_vjp(lambda x: (x.sum(), ()), lambda r, ct: (ct,)),
        r"the value from the forward rule .* is f64\[\], expected f64\[3\]",
    ),
    (
        with_vjp(lambda x: (x * 2.0, ()), lambda r, ct: (ct, ct)),
        "backward rule .* must return a tuple with a cotangent for each of its 1",
    ),
    (with_vjp(lambda x: (x * 2.0, ()), lambda r, ct: ct), "must return a tuple"),
    (
        with_vjp(lambda x: (x * 2.0, ()), lambda r, ct: (ct.sum(),)),
        r"returns f64\[\] as the cotangent of argument 0, expected f64\[3\]",
    ),
    (
        with_vjp(lambda x: (x * 2.0, ()), lambda r, ct: ({"a": ct},)),
        "returns a cotangent of structure .* for argument 0",
    ),
    (wf.custom_jvp(lambda x: x), "custom_jvp without a rule: use @"),
    (wf.custom_vjp(lambda x: x), "custom_vjp without rules: call"),
]


@pytest.mark.parametrize(("function", "match"), BAD_RULES)
def test_a_rule_that_does_not_fit_is_explained(function: Callable[..., Any], match: str) -> None:
    with pytest.raises(wf.WeftError, match=match):
        wf.jit(lambda x: function(x))(X)


def test_captured_traced_arrays_are_refused() -> None:
    def of_jvp(x: Any) -> Any:
        @wf.custom_jvp
        def f(y: Any) -> Any:
            return y * x

        f.defjvp(lambda p, t: (f(p[0]), t[0]))
        return f(2.0)

    def of_vjp(x: Any) -> Any:
        f = wf.custom_vjp(lambda y: y * 2.0)
        f.defvjp(lambda y: (y * 2.0, ()), lambda r, ct: (ct * x,))
        return f(2.0)

    with pytest.raises(wf.ArgumentError, match="pass it as an argument, so that the rule"):
        wf.jit(of_jvp)(1.0)
    with pytest.raises(wf.ArgumentError, match="pass it through the residuals"):
        wf.jit(of_vjp)(1.0)


# --- straight_through -----------------------------------------------------------------------------


def test_straight_through_has_the_value_of_one_and_the_slope_of_the_other() -> None:
    f = lambda x: wf.straight_through(np.round(x), np.sin(x))  # noqa: E731
    np.testing.assert_allclose(wf.jit(f)(X), np.round(X), atol=1e-15)
    np.testing.assert_allclose(wf.vmap(wf.grad(f))(X), np.cos(X))
    assert wf.grad(lambda x: wf.straight_through((x > 0), x) * 3.0)(0.2) == 3.0


# --- checkpoint -----------------------------------------------------------------------------------


def block(w: Any, x: Any) -> Any:
    hidden = np.tanh(x @ w)
    named = wf.probe("kept", np.sin(hidden))
    return np.exp(-(named @ w)) * hidden


def chain(policy: str | None, w: Any, x: Any) -> Any:
    layer = block
    if policy is not None:
        layer = wf.checkpoint(block, policy=policy, names=("kept",))
    for _ in range(3):
        x = layer(w, x)
    return np.sum(x * x)


W = np.random.default_rng(5).normal(size=(4, 4)) * 0.4
BATCH = np.random.default_rng(6).normal(size=(2, 4))
POLICIES = ["nothing", "everything", "dots", "names"]


@pytest.mark.parametrize("policy", POLICIES)
def test_checkpoint_changes_no_gradient(policy: str) -> None:
    want = wf.value_and_grad(lambda w: chain(None, w, BATCH))(W)
    for run in (lambda f: f, wf.jit):
        got = run(wf.value_and_grad(lambda w: chain(policy, w, BATCH)))(W)
        assert_trees_close(got, want, rtol=1e-12)
    hessian = wf.hvp(lambda w: chain(policy, w, BATCH), (W,), (W,))
    plain = wf.hvp(lambda w: chain(None, w, BATCH), (W,), (W,))
    np.testing.assert_allclose(hessian, plain, rtol=1e-12)
    tangent = wf.jvp(lambda w: chain(policy, w, BATCH), (W,), (W,))[1]
    assert tangent == pytest.approx(wf.jvp(lambda w: chain(None, w, BATCH), (W,), (W,))[1])


@pytest.mark.parametrize("policy", POLICIES)
def test_checkpoint_inside_scan_and_vmap(policy: str) -> None:
    def scanned(layer: Callable[..., Any], w: Any) -> Any:
        return np.sum(wf.scan(lambda c, _: (layer(w, c), None), BATCH, length=3)[0] ** 2)

    layer = wf.checkpoint(block, policy=policy, names=("kept",))
    want = wf.grad(lambda w: scanned(block, w))(W)
    np.testing.assert_allclose(wf.grad(lambda w: scanned(layer, w))(W), want, rtol=1e-12)

    def mapped(f: Callable[..., Any]) -> Any:
        return wf.grad(lambda w: np.sum(wf.vmap(f, (None, 0))(w, BATCH)))(W)

    np.testing.assert_allclose(mapped(layer), mapped(block), rtol=1e-12)


def halves(policy: str) -> tuple[list[str], list[str], list[str]]:
    """One checkpoint in a gradient: the ops that made what the forward half hands over, the ops of
    the forward half, and those of the backward half.
    """
    layer = wf.checkpoint(block, policy=policy, names=("kept",))
    graph = wf.trace(wf.value_and_grad(lambda w: np.sum(layer(w, BATCH))))(W)
    forward, backward = [op for op in graph.ops if op.name == "checkpoint"]
    body = forward.regions[0]
    made: dict[Any, str] = {result: op.name for op in body.ops for result in op.results}
    handed = [made[result] for result in body.results[1:]]
    assert set(backward.operands[2:-1]) == set(forward.results[1:])
    return handed, [op.name for op in body.ops], [op.name for op in backward.regions[0].ops]


def test_policy_nothing_keeps_no_residuals_and_computes_again() -> None:
    handed, forward, backward = halves("nothing")
    assert handed == []
    for name in ("tanh", "sin", "exp"):
        assert name in forward and name in backward


def test_policy_everything_computes_nothing_again() -> None:
    handed, _, backward = halves("everything")
    assert {"tanh", "exp", "probe"} <= set(handed)
    assert not {"tanh", "exp", "sin", "cos", "sub"} & set(backward)


def test_policy_dots_keeps_products_and_computes_the_rest() -> None:
    handed, _, backward = halves("dots")
    assert handed == ["dot_general", "dot_general"]
    assert "tanh" in backward and "exp" in backward
    assert halves("nothing")[2].count("dot_general") == backward.count("dot_general") + 2


def test_policy_names_keeps_what_is_probed() -> None:
    handed, _, backward = halves("names")
    assert handed == ["probe"]
    assert "sin" not in backward and "tanh" in backward


# --- implicit derivatives -------------------------------------------------------------------------


def newton(residual: Callable[..., Any], start: Any) -> Callable[..., Any]:
    def solve(*args: Any) -> Any:
        def step(_: Any, x: Any) -> Any:
            jacobian = wf.jacfwd(lambda y: residual(y, *args))(x)
            return x - np.linalg.solve(jacobian, residual(x, *args)[:, None])[:, 0]

        return wf.fori_loop(0, 12, step, start)

    return solve


def circle_and_line(x: Any, r: Any, slope: Any) -> Any:
    return np.stack([x[0] ** 2 + x[1] ** 2 - r**2, x[1] - slope * x[0]])


def test_the_derivative_of_a_root() -> None:
    start = np.array([1.0, 1.0])
    solve = wf.implicit.root(circle_and_line, newton(circle_and_line, start))

    def by_hand(r: Any, slope: Any) -> Any:
        return r / np.sqrt(1 + slope**2) * np.stack([1.0, slope])

    args = (2.0, 0.5)
    np.testing.assert_allclose(solve(*args), by_hand(*args), rtol=1e-12)
    jacobian = np.stack(
        [
            by_hand(1.0, 0.5),
            2.0 * np.array([-0.5, 1.0]) / 1.25**1.5,
        ],
        axis=1,
    )
    for mode in (wf.jacfwd, wf.jacrev):
        got = np.stack(mode(solve, (0, 1))(*args), axis=1)
        np.testing.assert_allclose(got, jacobian, rtol=1e-12)
    second = wf.grad(wf.grad(lambda s: solve(2.0, s)[0]))(0.5)
    want = numerical_gradient(
        lambda s: wf.grad(lambda t: 2.0 / np.sqrt(1 + t**2))(s), np.array(0.5)
    )
    assert second == pytest.approx(float(want), rel=1e-8)


def test_the_solver_is_not_differentiated() -> None:
    """A solver by callback has no derivative at all; the root has."""

    def on_host(a: Any) -> Any:
        return wf.callback(np.cbrt, wf.spec("f64[]"), a)

    cube_root = wf.implicit.root(lambda x, a: x**3 - a, on_host)
    assert wf.grad(cube_root)(8.0) == pytest.approx(1 / 12)
    assert wf.jvp(cube_root, (8.0,), (1.0,))[1] == pytest.approx(1 / 12)


def test_the_derivative_of_a_fixed_point() -> None:
    def step(x: Any, a: Any) -> Any:
        return 0.5 * np.cos(a * x) + x * 0.1

    def find(a: Any) -> Any:
        return wf.fori_loop(0, 200, lambda i, x: step(x, a), 0.0 * a)

    solution = wf.implicit.fixed_point(step, find)
    want = numerical_gradient(lambda a: find(float(a)), np.array(0.8))
    assert wf.grad(solution)(0.8) == pytest.approx(float(want), rel=1e-9)
    vector = wf.vmap(wf.grad(solution))(np.array([0.8, 0.3]))
    assert vector[0] == pytest.approx(float(want), rel=1e-9)


def test_the_derivative_of_a_linear_solve() -> None:
    a = np.array([[4.0, 1.0], [1.0, 3.0]])
    b = np.array([1.0, 2.0])

    def solve(a: Any, b: Any) -> Any:
        return wf.implicit.linear_solve(
            lambda x, a: a @ x, b, lambda b, a: np.linalg.solve(a, b[:, None])[:, 0], a
        )

    np.testing.assert_allclose(solve(a, b), np.linalg.solve(a, b))
    by_a, by_b = wf.grad(lambda a, b: np.sum(solve(a, b) ** 2), (0, 1))(a, b)
    x = np.linalg.solve(a, b)
    adjoint = np.linalg.solve(a.T, 2 * x)
    np.testing.assert_allclose(by_b, adjoint, rtol=1e-12)
    np.testing.assert_allclose(by_a, -np.outer(adjoint, x), rtol=1e-12)


def test_a_root_that_is_a_tree_with_integer_arguments() -> None:
    def residual(x: Any, a: Any, n: Any) -> Any:
        return {"u": x["u"] - a * n, "v": x["v"] - x["u"] ** 2}

    def solver(a: Any, n: Any) -> Any:
        return {"u": a * n, "v": (a * n) ** 2}

    solution = wf.implicit.root(residual, solver)
    assert wf.grad(lambda a: solution(a, 3)["v"])(2.0) == pytest.approx(36.0)
