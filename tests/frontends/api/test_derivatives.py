"""The interface of derivatives: grad, vjp, jvp, linearize and their misuse."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import weft as wf
from tests.frontends.checking import assert_trees_close, numerical_gradient

X = np.array([0.5, -1.2, 2.0])
W = np.array([[0.3, -0.7, 1.1], [0.2, 0.9, -0.4]])


class Layer(NamedTuple):
    weight: Any
    bias: Any


@dataclasses.dataclass
class Net:
    layers: list[Layer]
    scale: Any
    power: int = dataclasses.field(default=2, metadata={"static": True})


def quadratic(x: Any) -> Any:
    return np.sum(x * x * x) + x[0] * x[1]


def quadratic_gradient(x: Any) -> Any:
    gradient = 3 * x * x
    gradient[0] += x[1]
    gradient[1] += x[0]
    return gradient


def network(net: Net, x: Any) -> Any:
    for layer in net.layers:
        x = np.tanh(layer.weight @ x + layer.bias)
    return np.sum(x**net.power) * net.scale


def make_net() -> Net:
    return Net([Layer(W, np.array([0.1, -0.2])), Layer(W[:, :2].T @ W[:, :2], X[:2])], 1.5)


# --- grad and value_and_grad ----------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda f: f, wf.jit], ids=["eager", "jit"])
def test_grad_and_value_and_grad(wrap: Callable[..., Any]) -> None:
    np.testing.assert_allclose(wrap(wf.grad(quadratic))(X), quadratic_gradient(X), rtol=1e-14)
    value, gradient = wrap(wf.value_and_grad(quadratic))(X)
    assert value == pytest.approx(quadratic(X), rel=1e-14)
    np.testing.assert_allclose(gradient, quadratic_gradient(X), rtol=1e-14)


def test_grad_returns_numpy_arrays_of_the_arguments_type() -> None:
    gradient = wf.grad(lambda x: np.sum(x * x))(X.astype("f4"))
    assert type(gradient) is np.ndarray and gradient.dtype == np.float32
    assert wf.grad(lambda x: x**2)(3.0).dtype == np.float64
    assert wf.grad(lambda x, n: x**n)(3.0, 2) == 6.0


def test_argnums_choose_and_keep_their_order() -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        return np.sum(a * b) * c

    a, b, c = X, X + 1.0, 2.0
    np.testing.assert_allclose(wf.grad(f, 1)(a, b, c), a * c)
    assert wf.grad(f, -1)(a, b, c) == pytest.approx(np.sum(a * b))
    (only,) = wf.grad(f, (1,))(a, b, c)
    np.testing.assert_allclose(only, a * c)
    by_c, by_a = wf.grad(f, [2, 0])(a, b, c)
    assert by_c == pytest.approx(np.sum(a * b))
    np.testing.assert_allclose(by_a, b * c)


def test_keyword_arguments_are_passed_on_and_not_differentiated() -> None:
    f = wf.grad(lambda x, scale, shift=0.0: (x - shift) ** 2 * scale)
    assert f(3.0, scale=2.0, shift=1.0) == pytest.approx(8.0)
    assert wf.jit(f)(3.0, scale=2.0) == pytest.approx(12.0)


def test_has_aux_returns_anything_beside() -> None:
    def f(x: Any) -> Any:
        y = np.tanh(x)
        return y.sum(), {"activation": y, "count": 3}

    gradient, aux = wf.grad(f, has_aux=True)(X)
    np.testing.assert_allclose(gradient, 1 - np.tanh(X) ** 2, rtol=1e-14)
    np.testing.assert_array_equal(aux["activation"], np.tanh(X))
    assert aux["count"] == 3
    (value, other), _ = wf.value_and_grad(f, has_aux=True)(X)
    assert value == np.tanh(X).sum()
    assert sorted(other) == ["activation", "count"]


def test_trees_of_every_kind() -> None:
    net = make_net()
    gradient = wf.grad(network)(net, X)
    assert type(gradient) is Net and type(gradient.layers[0]) is Layer and gradient.power == 2

    def of_first_weight(weight: Any) -> Any:
        return network(Net([Layer(weight, net.layers[0].bias), net.layers[1]], net.scale), X)

    np.testing.assert_allclose(
        gradient.layers[0].weight, numerical_gradient(of_first_weight, W), rtol=1e-8
    )
    assert gradient.scale == pytest.approx(network(net, X) / 1.5)
    assert_trees_close(wf.jit(wf.grad(network))(net, X), gradient)
    both = wf.grad(network, (0, 1))(net, X)
    np.testing.assert_allclose(both[1], numerical_gradient(lambda x: network(net, x), X), rtol=1e-8)


@pytest.mark.parametrize("tree", [{}, [], None, {"a": None}])
def test_a_tree_without_arrays_has_an_empty_gradient(tree: Any) -> None:
    assert wf.grad(lambda t, x: x * 2.0)(tree, 1.0) == tree


def test_arguments_that_do_not_matter_have_zero_gradients() -> None:
    gradients = wf.grad(lambda x, y: np.sum(x), (0, 1))(X, W)
    np.testing.assert_array_equal(gradients[1], np.zeros((2, 3)))
    assert wf.grad(lambda x: 3.0)(1.0) == 0.0
    np.testing.assert_array_equal(wf.grad(lambda x: np.sum(np.floor(x)))(X), np.zeros(3))


def test_a_function_of_integers_too_differentiates_its_floats() -> None:
    gradient = wf.grad(lambda x, i: x[i] * 2.0)(X, np.array(1))
    np.testing.assert_array_equal(gradient, [0.0, 2.0, 0.0])


def test_complex_gradients_point_uphill() -> None:
    """d/dx + i d/dy: for |z|^2 that is 2 z, and a step against it descends."""
    z = np.array([1.0 + 2.0j, -0.5j])
    gradient = wf.grad(lambda z: np.sum(np.abs(z) ** 2))(z)
    np.testing.assert_allclose(gradient, 2 * z)


# --- probes ---------------------------------------------------------------------------------------


def test_probes_give_gradients_of_intermediates() -> None:
    def f(x: Any) -> Any:
        hidden = wf.probe("hidden", x * 3.0)
        out = wf.probe("out", np.sin(hidden))
        return np.sum(out * out)

    gradient, named = wf.grad(f, probes=("hidden", "out"))(X)
    h = 3 * X
    np.testing.assert_allclose(named["out"], 2 * np.sin(h))
    np.testing.assert_allclose(named["hidden"], 2 * np.sin(h) * np.cos(h))
    np.testing.assert_allclose(gradient, 3 * named["hidden"])
    value, (again, others) = wf.jit(wf.value_and_grad(f, probes=("out",)))(X)
    assert value == pytest.approx(np.sum(np.sin(h) ** 2))
    np.testing.assert_allclose(again, gradient)
    assert list(others) == ["out"]


def test_probes_change_nothing() -> None:
    f = wf.jit(lambda x: wf.probe("a", x) * 2.0)
    np.testing.assert_array_equal(f(X), X * 2)


@pytest.mark.parametrize(("name", "match"), [("none", "there is no"), ("twice", "more than one")])
def test_probes_that_are_not_unique_are_refused(name: str, match: str) -> None:
    def f(x: Any) -> Any:
        return np.sum(wf.probe("twice", x) + wf.probe("twice", x))

    with pytest.raises(wf.TraceError, match=f'{match}.*wf.probe\\("{name}"'):
        wf.grad(f, probes=(name,))(X)


def test_stop_gradient_stops() -> None:
    assert wf.grad(lambda x: x * wf.stop_gradient(x))(3.0) == 3.0
    tree = wf.grad(lambda t: sum(wf.stop_gradient(t).values()) * t["a"])({"a": 2.0, "b": 5.0})
    assert tree == {"a": 7.0, "b": 0.0}


def test_stop_gradient_and_probe_keep_the_weakness_of_python_scalars() -> None:
    x = X.astype("f4")
    assert wf.jit(lambda x, s: x * wf.stop_gradient(s) * wf.probe("s", 2.0))(x, 2.0).dtype == "f4"


# --- vjp, jvp, linearize, linear_transpose --------------------------------------------------------


def two_results(x: Any, w: Any) -> Any:
    return {"y": w @ x, "z": np.sin(x)}


def test_vjp_pulls_cotangents_back() -> None:
    value, pull = wf.vjp(two_results, X, W)
    np.testing.assert_allclose(value["y"], W @ X)
    given = {"y": np.array([1.0, -2.0]), "z": np.array([0.5, 0.0, 1.0])}
    for _ in range(2):
        by_x, by_w = pull(given)
        np.testing.assert_allclose(by_x, given["y"] @ W + given["z"] * np.cos(X))
        np.testing.assert_allclose(by_w, np.outer(given["y"], X))


def test_vjp_has_aux() -> None:
    value, pull, aux = wf.vjp(lambda x: (np.sin(x), {"x": x}), X, has_aux=True)
    np.testing.assert_allclose(pull(np.ones(3))[0], np.cos(X))
    np.testing.assert_array_equal(aux["x"], X)
    np.testing.assert_array_equal(value, np.sin(X))


def test_jvp_pushes_tangents_forward() -> None:
    tangents = (np.array([1.0, 0.0, -1.0]), np.ones((2, 3)))
    for run in (lambda f: f, wf.jit):
        value, tangent = run(lambda x, w, s, t: wf.jvp(two_results, (x, w), (s, t)))(
            X, W, *tangents
        )
        np.testing.assert_allclose(value["z"], np.sin(X))
        np.testing.assert_allclose(tangent["y"], W @ tangents[0] + tangents[1] @ X)
        np.testing.assert_allclose(tangent["z"], np.cos(X) * tangents[0])


def test_jvp_of_integers_and_of_constants_is_zero() -> None:
    value, tangent = wf.jvp(lambda x, i: (x * 2.0, i + 1, 5.0), (X, 3), (np.ones(3), 0))
    np.testing.assert_array_equal(tangent[0], np.full(3, 2.0))
    assert tangent[1] == 0 and tangent[2] == 0.0
    assert value[1] == 4


def test_linearize_computes_the_value_once() -> None:
    calls: list[int] = []

    def f(x: Any) -> Any:
        wf.callback(lambda: calls.append(1), None)
        return np.exp(x)

    value, push = wf.linearize(f, X)
    for scale in (1.0, -3.0):
        np.testing.assert_allclose(push(scale * np.ones(3)), scale * np.exp(X))
    np.testing.assert_array_equal(value, np.exp(X))
    assert len(calls) == 1


def test_linear_transpose() -> None:
    transposed = wf.linear_transpose(lambda x: {"a": W @ x, "b": x[:1] * 2.0}, wf.spec("f64[3]"))
    (got,) = transposed({"a": np.array([1.0, 2.0]), "b": np.array([5.0])})
    np.testing.assert_allclose(got, np.array([1.0, 2.0]) @ W + [10.0, 0.0, 0.0])
    with pytest.raises(wf.TraceError, match="not linear, so it cannot be transposed"):
        wf.linear_transpose(np.sin, wf.spec("f64[3]"))(X)


def test_pushing_and_pulling_agree() -> None:
    """<w, J v> = <J' w, v> for random v and w."""
    random = np.random.default_rng(0)
    net = make_net()
    v, w = random.normal(size=3), 1.7
    _, pushed = wf.jvp(lambda x: network(net, x), (X,), (v,))
    _, pull = wf.vjp(lambda x: network(net, x), X)
    assert pushed * w == pytest.approx(np.dot(pull(w)[0], v), rel=1e-13)


def test_the_derivative_of_a_python_scalar_is_weak_like_the_scalar() -> None:
    assert wf.grad(lambda s, x: np.sum(s * x))(2.0, X.astype("f4")).dtype == np.float64
    by_x = wf.grad(lambda s, x: np.sum(s * x), 1)(2.0, X.astype("f4"))
    assert by_x.dtype == np.float32


# --- derivatives of derivatives -------------------------------------------------------------------


def test_all_orders_of_modes_agree() -> None:
    def f(x: Any) -> Any:
        return np.sin(x) * np.exp(x * 0.5)

    def forward(g: Any) -> Any:
        return lambda x: wf.jvp(g, (x,), (1.0,))[1]

    x = 0.7
    z = np.exp(0.5 * x)
    second = z * (np.cos(x) - 0.75 * np.sin(x))
    for outer in (wf.grad, forward):
        for inner in (wf.grad, forward):
            assert outer(inner(f))(x) == pytest.approx(second, rel=1e-13)
            assert wf.jit(outer(inner(f)))(x) == pytest.approx(second, rel=1e-13)


def test_gradients_inside_functions_keep_apart() -> None:
    """Perturbation confusion: d/dx (x * d/dy (x + y)) is 1, not 2."""
    assert wf.grad(lambda x: x * wf.grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert wf.grad(lambda x: x * wf.jvp(lambda y: x + y, (1.0,), (1.0,))[1])(1.0) == 1.0
    assert wf.grad(lambda x: wf.grad(lambda y: x * y * y)(x))(3.0) == 12.0


# --- misuse ---------------------------------------------------------------------------------------

ANYTHING: Any = X
MISUSE: list[tuple[type[Exception], Callable[[], Any], str]] = [
    (
        wf.ShapeError,
        lambda: wf.grad(np.sin)(X),
        r"grad needs a scalar result, but sin returns f64\[3\]; sum it, or use jacobian or vjp",
    ),
    (
        wf.ArgumentError,
        lambda: wf.grad(lambda x: (x, x))(1.0),
        r"returns one scalar; <lambda> returns .*has_aux=True",
    ),
    (wf.DTypeError, lambda: wf.grad(lambda x: x > 0)(1.0), r"real floating-point result.*bool\[\]"),
    (wf.DTypeError, lambda: wf.grad(lambda x: x * 1j)(1.0), r"real floating-point result.*c128"),
    (
        wf.DTypeError,
        lambda: wf.grad(lambda params: params["n"] * 1.0)({"n": 3}),
        r"the argument params\.n of <lambda> is i64\[\]; derivatives exist for floating-point",
    ),
    (wf.ArgumentError, lambda: wf.grad(quadratic, 1)(X), "argnums names argument 1.*called with 1"),
    (wf.ArgumentError, lambda: wf.grad(quadratic)("x"), "argument x of quadratic is a str"),
    (
        wf.ArgumentError,
        lambda: wf.grad(quadratic, has_aux=True)(X),
        r"with has_aux, quadratic must return \(value, aux\)",
    ),
    (
        wf.ShapeError,
        lambda: wf.jvp(quadratic, (X,), (np.ones(2),)),
        r"the tangent of x of quadratic is f64\[2\], expected f64\[3\]",
    ),
    (
        wf.ShapeError,
        lambda: wf.jvp(quadratic, (X,), (X.astype("f4"),)),
        r"the tangent of x of quadratic is f32\[3\], expected f64\[3\]",
    ),
    (
        wf.ArgumentError,
        lambda: wf.jvp(quadratic, (X,), (X, X)),
        "the tangent of quadratic has the structure",
    ),
    (wf.ArgumentError, lambda: wf.jvp(quadratic, ANYTHING, ANYTHING), "primals must be a tuple"),
    (
        wf.ShapeError,
        lambda: wf.vjp(np.sin, X)[1](np.ones(4)),
        r"the cotangent of the result of sin is f64\[4\], expected f64\[3\]",
    ),
    (
        wf.ArgumentError,
        lambda: wf.vjp(two_results, X, W)[1](X),
        "the cotangent of two_results has the structure",
    ),
    (
        wf.ShapeError,
        lambda: wf.linearize(quadratic, X)[1](np.ones((3, 1))),
        r"the tangent of x of quadratic is f64\[3, 1\]",
    ),
]


@pytest.mark.parametrize(("error", "call", "match"), MISUSE)
def test_misuse_is_explained(error: type[Exception], call: Callable[[], Any], match: str) -> None:
    with pytest.raises(error, match=match) as caught:
        call()
    assert "test_derivatives.py" in str(caught.value)


def test_check_grads_finds_a_wrong_rule() -> None:
    @wf.custom_jvp
    def wrong(x: Any) -> Any:
        return x * x

    wrong.defjvp(lambda primals, tangents: (primals[0] ** 2, tangents[0] * primals[0]))
    with pytest.raises(wf.GradientError, match="forward mode gives"):
        wf.check_grads(wrong, (1.5,))
    wf.check_grads(lambda x: np.sum(np.sin(x) ** 2), (X,))
    with pytest.raises(ValueError, match="there is no mode 'sideways'"):
        wf.check_grads(quadratic, (X,), modes=("sideways",))


Z = np.array([0.3 + 0.4j, -1.1 + 0.2j, 0.7 - 0.9j])


@pytest.mark.parametrize(
    "function",
    [
        lambda z: np.sum(np.abs(z) ** 2),
        lambda z: np.sum(2 * z.real + z.imag),
        lambda z: z * np.conj(z),
        lambda z: np.exp(z) * np.angle(z),
        lambda z: np.fft.fft(z.real),
        lambda z: np.linalg.eigvalsh(np.outer(z, np.conj(z)) + np.diag([1.0, 2.0, 3.0])),
    ],
    ids=["abs", "parts", "conj", "angle", "fft of real", "eigvalsh"],
)
def test_check_grads_takes_functions_of_complex_numbers(function: Callable[..., Any]) -> None:
    wf.check_grads(function, (Z,))


def test_check_grads_finds_a_wrong_rule_of_complex_numbers() -> None:
    @wf.custom_jvp
    def wrong(z: Any) -> Any:
        return np.conj(z)

    wrong.defjvp(lambda primals, tangents: (np.conj(primals[0]), tangents[0]))
    for mode in ("forward", "reverse"):
        with pytest.raises(wf.GradientError, match=f"{mode} mode gives"):
            wf.check_grads(wrong, (Z,), modes=(mode,))
