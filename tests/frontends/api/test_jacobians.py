"""Full derivatives: Jacobians, Hessians, products with them, and higher orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.frontends.checking import assert_trees_close, numerical_hessian

X = np.array([0.5, -1.2, 2.0])
A = np.array([[0.3, -0.7, 1.1], [0.2, 0.9, -0.4]])
MODES = pytest.mark.parametrize("jacobian", [wf.jacfwd, wf.jacrev], ids=["forward", "reverse"])


def curve(x: Any) -> Any:
    return np.stack([x[0] * x[1], np.sin(x[2])])


def curve_jacobian(x: Any) -> Any:
    return np.array([[x[1], x[0], 0.0], [0.0, 0.0, np.cos(x[2])]])


@MODES
def test_jacobian_of_a_vector_function(jacobian: Any) -> None:
    for run in (lambda f: f, wf.jit):
        np.testing.assert_allclose(run(jacobian(curve))(X), curve_jacobian(X), rtol=1e-14)


@MODES
def test_jacobian_shapes_are_result_then_argument(jacobian: Any) -> None:
    def f(m: Any) -> Any:
        return m @ m.T

    got = jacobian(f)(A)
    assert got.shape == (2, 2, 2, 3)
    eye = np.eye(2)
    want = np.einsum("ia,jb->ijab", eye, A) + np.einsum("ja,ib->ijab", eye, A)
    np.testing.assert_allclose(got, want)
    assert jacobian(lambda x: 2.0 * x)(3.0) == 2.0
    assert jacobian(lambda x: x * X)(3.0).shape == (3,)
    assert jacobian(lambda x: np.zeros((0,)) * x.sum())(X).shape == (0, 3)
    assert jacobian(lambda x: x)(np.zeros(0)).shape == (0, 0)


@MODES
def test_jacobian_of_trees(jacobian: Any) -> None:
    def f(p: Any, scale: Any) -> Any:
        return {"product": p["a"] * p["b"] * scale, "rest": (p["b"].sum(),)}

    p = {"a": X, "b": X + 1.0}
    got = jacobian(f)(p, 2.0)
    assert set(got) == {"product", "rest"} and set(got["product"]) == {"a", "b"}
    np.testing.assert_allclose(got["product"]["a"], np.diag(2 * (X + 1)))
    np.testing.assert_allclose(got["rest"][0]["a"], np.zeros(3))
    np.testing.assert_allclose(got["rest"][0]["b"], np.ones(3))
    both = jacobian(f, (1, 0))(p, 2.0)
    by_scale, by_p = both["product"]
    np.testing.assert_allclose(by_scale, X * (X + 1))
    np.testing.assert_allclose(by_p["b"], np.diag(2 * X))


@MODES
def test_jacobian_by_a_chosen_argument(jacobian: Any) -> None:
    f = lambda a, b: np.sin(a) * b  # noqa: E731
    np.testing.assert_allclose(jacobian(f, 1)(X, X), np.diag(np.sin(X)))
    np.testing.assert_allclose(jacobian(f, -1)(X, X), np.diag(np.sin(X)))


def test_jacobian_is_reverse_mode() -> None:
    assert wf.jacobian is wf.jacrev


def test_a_jacobian_of_unknown_size_is_refused() -> None:
    with pytest.raises(wf.ShapeError, match=r"Jacobian of f64\[n\] needs its number of elements"):
        wf.trace(wf.jacfwd(np.sin))(wf.spec("f64[n]"))


@MODES
def test_misuse_is_explained(jacobian: Any) -> None:
    def f(x: Any, n: Any) -> Any:
        return x * n

    with pytest.raises(wf.DTypeError, match=r"the argument n of f is i64\[\]; derivatives exist"):
        jacobian(f, 1)(X, 2)
    with pytest.raises(wf.ArgumentError, match="the argument x of f is a str"):
        jacobian(f)("x", 2)
    with pytest.raises(wf.ArgumentError, match="argnums names argument 2, but f is called with 2"):
        jacobian(f, 2)(X, 2)
    assert jacobian(f)(X, 2).shape == (3, 3)


def test_the_hessian_of_a_vector_function_is_refused() -> None:
    with pytest.raises(wf.ShapeError, match="grad needs a scalar result"):
        wf.hessian(lambda x: x * 2.0)(X)


# --- Hessians -------------------------------------------------------------------------------------


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_hessian(x: Any) -> Any:
    size = len(x)
    hessian = np.zeros((size, size))
    for i in range(size - 1):
        hessian[i, i] += 1200 * x[i] ** 2 - 400 * x[i + 1] + 2
        hessian[i, i + 1] = hessian[i + 1, i] = -400 * x[i]
        hessian[i + 1, i + 1] += 200
    return hessian


def test_hessian_of_rosenbrock() -> None:
    np.testing.assert_allclose(wf.hessian(rosenbrock)(X), rosenbrock_hessian(X), rtol=1e-12)
    np.testing.assert_allclose(wf.jit(wf.hessian(rosenbrock))(X), rosenbrock_hessian(X), rtol=1e-12)
    for outer, inner in (
        (wf.jacrev, wf.jacfwd),
        (wf.jacfwd, wf.jacfwd),
        (wf.jacrev, wf.jacrev),
        (wf.jacrev, wf.grad),
    ):
        got = outer(inner(rosenbrock))(X)
        np.testing.assert_allclose(got, rosenbrock_hessian(X), rtol=1e-12)


def test_hessian_of_trees_has_blocks() -> None:
    def f(p: Any) -> Any:
        return np.sum(p["a"] ** 2 * p["b"]) + p["b"] ** 3

    p = {"a": X, "b": np.array(0.7)}
    got = wf.hessian(f)(p)
    np.testing.assert_allclose(got["a"]["a"], 2 * 0.7 * np.eye(3))
    np.testing.assert_allclose(got["a"]["b"], 2 * X)
    np.testing.assert_allclose(got["b"]["a"], 2 * X)
    assert got["b"]["b"] == pytest.approx(6 * 0.7)


def test_hessian_by_several_arguments() -> None:
    f = lambda x, y: x**2 * y**3  # noqa: E731
    (xx, xy), (yx, yy) = wf.hessian(f, (0, 1))(2.0, 3.0)
    assert (xx, xy, yx, yy) == pytest.approx((54.0, 108.0, 108.0, 72.0))


# --- Hessian-vector products ----------------------------------------------------------------------


def mlp_loss(params: Any, x: Any, y: Any) -> Any:
    hidden = np.tanh(x @ params["w1"] + params["b1"])
    hidden = np.tanh(hidden @ params["w2"] + params["b2"])
    return np.mean((hidden @ params["w3"] - y) ** 2)


def mlp() -> tuple[Any, Any, Any]:
    random = np.random.default_rng(1)
    params = {
        "w1": random.normal(size=(3, 4)),
        "b1": random.normal(size=4),
        "w2": random.normal(size=(4, 4)) * 0.5,
        "b2": random.normal(size=4),
        "w3": random.normal(size=(4, 2)),
    }
    return params, random.normal(size=(5, 3)), random.normal(size=(5, 2))


def test_hvp_of_an_mlp_is_the_hessian_times_the_vector() -> None:
    params, x, y = mlp()
    random = np.random.default_rng(2)
    vector = {name: random.normal(size=value.shape) for name, value in params.items()}
    loss = lambda p: mlp_loss(p, x, y)  # noqa: E731
    got = wf.jit(lambda p, v: wf.hvp(loss, (p,), (v,)))(params, vector)
    blocks = wf.hessian(loss)(params)
    want = {
        row: sum(
            np.tensordot(blocks[row][column], vector[column], axes=vector[column].ndim)
            for column in params
        )
        for row in params
    }
    assert_trees_close(got, want, rtol=1e-9, atol=1e-12)
    reverse_over_reverse = wf.grad(
        lambda p: sum(np.sum(g * vector[k]) for k, g in wf.grad(loss)(p).items())
    )(params)
    assert_trees_close(reverse_over_reverse, want, rtol=1e-9, atol=1e-12)


def test_hvp_against_differences_of_gradients() -> None:
    params, x, y = mlp()
    step = 1e-5
    vector = {name: np.ones_like(value) for name, value in params.items()}
    gradient = wf.grad(lambda p: mlp_loss(p, x, y))
    ahead = gradient({k: v + step * vector[k] for k, v in params.items()})
    behind = gradient({k: v - step * vector[k] for k, v in params.items()})
    want = {k: (ahead[k] - behind[k]) / (2 * step) for k in params}
    got = wf.hvp(lambda p: mlp_loss(p, x, y), (params,), (vector,))
    assert_trees_close(got, want, rtol=1e-6, atol=1e-8)


def test_hvp_of_several_arguments() -> None:
    by_x, by_y = wf.hvp(lambda x, y: x**2 * y, (2.0, 3.0), (1.0, 0.5))
    assert (by_x, by_y) == pytest.approx((2 * 3 + 4 * 0.5, 4.0))


def test_hessian_against_differences() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x[:, None] * x[None, :])) / (1 + np.sum(x * x))

    want = numerical_hessian(wf.grad(f), X)
    np.testing.assert_allclose(wf.hessian(f)(X), want, rtol=1e-7, atol=1e-9)


# --- higher orders --------------------------------------------------------------------------------


def nth_derivative(f: Callable[..., Any], order: int) -> Callable[..., Any]:
    for _ in range(order):
        f = wf.grad(f)
    return f


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_repeated_gradients_of_an_exponential(order: int) -> None:
    f = nth_derivative(lambda x: np.exp(0.5 * x), order)
    assert f(1.0) == pytest.approx(0.5**order * np.exp(0.5), rel=1e-13)


def test_third_derivatives_of_a_physics_informed_network() -> None:
    """The residual u_t + u u_x + u_xxx of a Korteweg-de Vries network, and its gradient by the
    weights, against a closed form for one tanh unit.
    """

    def u(w: Any, x: Any, t: Any) -> Any:
        return w[2] * np.tanh(w[0] * x + w[1] * t)

    def residual(w: Any, x: Any, t: Any) -> Any:
        u_x = wf.grad(u, 1)
        u_xxx = wf.grad(wf.grad(u_x, 1), 1)
        return wf.grad(u, 2)(w, x, t) + u(w, x, t) * u_x(w, x, t) + u_xxx(w, x, t)

    def by_hand(w: Any, x: Any, t: Any) -> Any:
        y = np.tanh(w[0] * x + w[1] * t)
        d = 1 - y * y
        u_xxx = w[2] * w[0] ** 3 * (-2 * d * (d - 2 * y * y))
        return w[2] * w[1] * d + w[2] * y * w[2] * w[0] * d + u_xxx

    w, xs = np.array([0.8, -0.5, 1.3]), np.linspace(-1, 1, 5)
    got = wf.jit(wf.vmap(residual, in_axes=(None, 0, None)))(w, xs, 0.3)
    np.testing.assert_allclose(got, by_hand(w, xs, 0.3), rtol=1e-12)

    def loss(w: Any) -> Any:
        return np.mean(wf.vmap(residual, in_axes=(None, 0, None))(w, xs, 0.3) ** 2)

    want = wf.grad(lambda w: np.mean(by_hand(w, xs, 0.3) ** 2))(w)
    np.testing.assert_allclose(wf.jit(wf.grad(loss))(w), want, rtol=1e-10)
