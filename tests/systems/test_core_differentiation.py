"""Golden numbers G1 to G12: reverse and forward mode on graphs small enough to follow by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.systems.models import (
    array,
    binary_cross_entropy,
    check,
    gaussian_nodes,
    near,
    normal_log_density,
    relu,
    run,
    sigmoid,
)

# --- G1 to G4: scalar graphs ----------------------------------------------------------------------


def traced_example(x1: Any, x2: Any) -> Any:
    """The graph of G1 with a probe at every vertex, and one at each use of an input."""
    v1 = wf.probe("v1", np.log(x1))
    v2 = wf.probe("v2", wf.probe("x1 in mul", x1) * x2)
    v3 = wf.probe("v3", np.sin(wf.probe("x2 in sin", x2)))
    v4 = wf.probe("v4", v1 + v2)
    return wf.probe("v5", v4 - v3), (v1, v2, v3, v4)


def test_g1_values_and_adjoints_of_every_vertex() -> None:
    names = ("v5", "v4", "v3", "v1", "v2", "x2 in sin", "x1 in mul")
    differentiated = wf.value_and_grad(traced_example, (0, 1), has_aux=True, probes=names)
    (value, inner), (gradient, adjoints) = run(differentiated, 2.0, 5.0)
    near(value, 11.652071455223084)
    near(inner, (0.6931471805599453, 10.0, -0.9589242746631385, 10.69314718055995))
    near(gradient, (5.5, 1.7163378145367737))
    expected = (1.0, 1.0, -1.0, 1.0, 1.0, -0.2836621854632263, 5.0)
    near(tuple(adjoints[name] for name in names), expected)


def test_g1_forward_tangents_and_hessian() -> None:
    def function(x: Any) -> Any:
        return traced_example(x[0], x[1])[0]

    point = array(2, 5)
    for seed, slope in ((array(1, 0), 5.5), (array(0, 1), 1.716337814536774)):
        _, tangent = run(lambda x, t: wf.jvp(function, (x,), (t,)), point, seed)
        near(tangent, slope)
    expected = array([-0.25, 1], [1, -0.958924274663])
    near(run(wf.hessian(function), point), expected)
    near(run(lambda x: wf.hvp(function, (x,), (array(1, 2),)), point), expected @ array(1, 2))


def test_g2_small_scalar_functions() -> None:
    def quadratic(x: Any) -> Any:
        return x[0] ** 2 + 5 * x[0] * x[1]

    check(quadratic, [array(2, 3)], 34.0, [array(19, 10)])
    near(run(wf.hessian(quadratic), array(2, 3)), array([2, 5], [5, 0]))
    check(lambda w, x, b: w * x + b, [3.0, 2.0, -1.0], 5.0, [2.0, 3.0, 1.0])
    check(sigmoid, [0.0], 0.5, [0.25])


def test_g2_second_derivatives_of_scalar_functions() -> None:
    for function, x, value, first, second in (
        (lambda v: np.cos(v**2), 1.3, -0.1189215692966, -2.581549492844708, -1.1818974937431),
        (lambda v: v * np.log(v), 2.0, 1.386294361120, 1.693147180560, 0.5),
    ):
        check(function, [x], value, [first])
        near(run(wf.grad(wf.grad(function)), x), second)
        near(run(wf.jacfwd(wf.jacfwd(function)), x), second)


def test_g3_total_derivative_keeps_the_direct_path() -> None:
    def function(x: Any) -> Any:
        squared = x**2
        return x * squared

    check(function, [2.0], 8.0, [12.0])
    near(run(wf.grad(lambda x: wf.stop_gradient(x) * x**2), 2.0), 8.0)


def test_g4_cotangents_of_a_shared_value_are_added_before_one_local_derivative() -> None:
    def function(x: Any) -> Any:
        s = wf.probe("s", x**2)
        return s + s**2 + np.sin(s)

    check(function, [1.5], 8.090573196888, [14.615479131832])
    _, (_, adjoints) = run(wf.value_and_grad(function, probes=("s",)), 1.5)
    near(adjoints["s"], 4.871826377277)


# --- G5 to G8: small networks ---------------------------------------------------------------------

W1, B1, W2, B2, X = array([1, -1], [0.5, 2]), array(0, -1), array(1, -2), 0.5, array(1, 2)
MLP: dict[str, Any] = {
    "relu": (
        relu,
        (-6.5, 56.25, -15.0),
        array(0, 30),
        array(0, -52.5),
        array([0, 0], [30, 60]),
        array(15, 60),
    ),
    "tanh": (
        np.tanh,
        (-2.2579499512, 10.614237884382, -6.515899902356),
        array(-2.736510771515, 0.047447280789),
        array(4.962471286427, -6.504027265579),
        array([-2.736510771515, -5.47302154303], [0.047447280789, 0.094894561579]),
        array(-2.71278713112, 2.831405333094),
    ),
    "sigmoid": (
        sigmoid,
        (-1.1724341171, 4.719469993259, -4.344868234255),
        array(-0.854252943216, 0.247249279247),
        array(-1.168515038586, -4.217510453988),
        array([-0.854252943216, -1.708505886433], [0.247249279247, 0.494498558494]),
        array(-0.730628303593, 1.34875150171),
    ),
}


@pytest.mark.parametrize("name", MLP)
def test_g5_two_layer_network(name: str) -> None:
    activation, (z2, loss, delta2), delta1, w2_bar, w1_bar, x_bar = MLP[name]

    def network(w1: Any, b1: Any, w2: Any, b2: Any, x: Any) -> Any:
        z1 = wf.probe("z1", w1 @ x + b1)
        z2 = wf.probe("z2", w2 @ activation(z1) + b2)
        return (z2 - 1) ** 2, (z1, z2)

    args = (W1, B1, W2, B2, X)
    check(lambda *a: network(*a)[0], args, loss, [w1_bar, delta1, w2_bar, delta2, x_bar])
    made = wf.value_and_grad(network, has_aux=True, probes=("z1", "z2"))
    (_, inner), (_, adjoints) = run(made, *args)
    near(inner, (array(-1, 3.5), z2))
    near((adjoints["z1"], adjoints["z2"]), (delta1, delta2))


def test_g6_network_without_biases() -> None:
    def network(x1: Any, x2: Any, a: Any) -> Any:
        return x2 @ sigmoid(x1 @ a)

    near(run(lambda x1, a: x1 @ a, W1, X), array(-1, 4.5))
    near(run(network, W1, W2, X), -1.709084693369)
    w1_bar = array([-1.0652767578, -2.1305535155], [0.1177501465, 0.2355002929])
    w2_bar = array(-1.4571701761, -5.3586402705)
    loss = 7.339139875845
    check(lambda x1, x2, a: (1 - network(x1, x2, a)) ** 2, (W1, W2, X), loss, [w1_bar, w2_bar])


def test_g7_sparse_network_of_sigmoid_and_tanh() -> None:
    def network(p: Any, x: Any) -> Any:
        z1 = p["b1"] + p["w11"] * x[0] + p["w21"] * x[1] + p["w31"] * x[2]
        z2 = p["b2"] + p["w12"] * x[0] + p["w32"] * x[2]
        a = sigmoid(z1), np.tanh(z2)
        f = p["v1"] * a[0] + p["v2"] * a[1]
        return 0.5 * (f - 0.25) ** 2, ((z1, z2), a, f)

    names = ("b1", "b2", "w11", "w12", "w21", "w31", "w32", "v1", "v2")
    values = (0.1, -0.2, 0.5, -0.3, 0.8, -0.6, 0.4, 1.2, -0.7)
    parameters = dict(zip(names, values, strict=True))
    made = wf.value_and_grad(network, has_aux=True)
    (loss, inner), gradient = run(made, parameters, array(1, -2, 0.5))
    near(loss, 0.0222429586)
    near(inner, ((-1.3, -0.3), (0.214165017, -0.2913126125), 0.4609168491))
    expected = array(
        *(0.0425963524, -0.1351124631, 0.0425963524, -0.1351124631, -0.0851927048),
        *(0.0212981762, -0.0675562316, 0.0451710106, -0.0614427383),
    )
    near(np.stack([gradient[name] for name in names]), expected)


def test_g8_network_with_dead_units_and_one_step_of_descent() -> None:
    def network(hidden: Any, bias1: Any, output: Any, bias2: Any, x: Any) -> Any:
        z1 = x @ hidden + bias1
        z2 = relu(z1) @ output + bias2
        return np.mean((relu(z2) - array(2, 4)) ** 2), (z1, relu(z1), z2, relu(z2))

    hidden, output = array([1, 0.5], [-0.5, 1]), array([0.5, -2], [-1, 0.5])
    args = (hidden, array(-0.5, -0.5), output, array(1, 1), array(1, 2))
    near(run(network, *args)[1], (array(-0.5, 2), array(0, 2), array(-1, 2), array(0, 2)))
    hidden_bar, output_bar = array([0, -1], [0, -2]), array([0, 0], [0, -4])
    gradients = [hidden_bar, array(0, -1), output_bar, array(0, -2), array(-0.5, -1)]
    check(lambda *a: network(*a)[0], args, 4.0, gradients)

    @wf.jit
    def step(*args: Any) -> Any:
        made, _ = wf.grad(network, (0, 2), has_aux=True)(*args)
        return args[0] - 0.01 * made[0], args[2] - 0.01 * made[1]

    near(step(*args), (array([1, 0.51], [-0.5, 1.02]), array([0.5, -2], [-1, 0.54])))


# --- G9, G10: likelihoods -------------------------------------------------------------------------


def test_g9_gumbel_likelihood() -> None:
    data = array(0, 1, 2)

    def loss(mu: Any, beta: Any) -> Any:
        z = (data - mu) / beta
        return len(data) * np.log(beta) + np.sum(z) + np.sum(np.exp(-z))

    check(loss, [0.0, 1.0], 4.5032147244081, [-1.4967852755919, 0.6385500076447])


def test_g10_logistic_regression() -> None:
    def loss(x: Any, w: Any, b: Any, y: Any) -> Any:
        z = wf.probe("z", x @ w + b)
        return np.mean(binary_cross_entropy(z, y)), (z, sigmoid(z))

    args = (array([1, 2], [-1, 0.5]), array(0.8, -0.6), 0.1, array(1, 0))
    x_bar = array([-0.2297770067, 0.172332755], [0.1075765685, -0.0806824264])
    gradients = [x_bar, array(-0.4216919691, -0.5072071615), -0.1527505477]
    check(lambda *a: loss(*a)[0], args, 0.5838084659934, gradients)
    made = wf.value_and_grad(loss, has_aux=True, probes=("z",))
    (_, inner), (_, adjoints) = run(made, *args)
    near(inner, (array(-0.3, -1), array(0.4255574832, 0.2689414214)))
    near(adjoints["z"], array(-0.2872212584, 0.1344707107))


def test_g10_frozen_weights_leave_no_gradient_behind() -> None:
    def loss(x: Any, w: Any, b: Any) -> Any:
        return np.mean(binary_cross_entropy(x @ wf.stop_gradient(w) + b, array(1, 0)))

    args = (array([1, 2], [-1, 0.5]), array(0.8, -0.6), 0.1)
    frozen, b_bar = run(wf.grad(loss, (1, 2)), *args)
    near(frozen, array(0, 0))
    near(b_bar, -0.1527505477)


# --- G11: implicit differentiation ----------------------------------------------------------------


def cell(h: Any, w: Any, b: Any) -> Any:
    return np.tanh(w * h + b)


def iterate(w: Any, b: Any) -> Any:
    """The fixed point of the cell, by repetition until it stands still."""

    def moves(state: Any) -> Any:
        return np.abs(state[0] - state[1]) > 1e-14

    def again(state: Any) -> Any:
        return state[1], cell(state[1], w, b)

    return wf.while_loop(moves, again, (0.0 * w, cell(0.0, w, b)))[1]


def test_g11_fixed_point() -> None:
    solved = wf.implicit.fixed_point(cell, iterate)
    check(solved, [0.5, 0.3], 0.5008318876699, [0.5999315006234, 1.197870014656])


RIDGE_A, RIDGE_B = array([1, 2], [3, 4], [5, 6]), array(1, 0, -1)
RIDGE_X = array(-0.7168458781, 0.4874551971)
RIDGE_RATE = array(0.8881694737, -0.7002993281)
RIDGE_ROW = array(-0.4516129032, -0.0931899642, 0.2652329749)


def ridge_slope(x: Any, penalty: Any, b: Any) -> Any:
    def objective(x: Any) -> Any:
        residual = RIDGE_A @ x - b
        return 0.5 * np.sum(residual**2) + 0.5 * penalty * np.sum(x**2)

    return wf.grad(objective)(x)


def test_g11_ridge_argmin_by_newton() -> None:
    def newton(penalty: Any, b: Any) -> Any:
        def far(x: Any) -> Any:
            return np.max(np.abs(ridge_slope(x, penalty, b))) > 1e-12

        def step(x: Any) -> Any:
            curvature = wf.jacfwd(ridge_slope)(x, penalty, b)
            return x - np.linalg.solve(curvature, ridge_slope(x, penalty, b))

        return wf.while_loop(far, step, np.zeros(2))

    solved = wf.implicit.root(ridge_slope, newton)
    near(run(solved, 0.5, RIDGE_B), RIDGE_X)
    for jacobian in (wf.jacfwd, wf.jacrev):
        rate, row = run(jacobian(solved, (0, 1)), 0.5, RIDGE_B)
        near((rate, row[0]), (RIDGE_RATE, RIDGE_ROW))


def test_g11_ridge_argmin_by_conjugate_gradients() -> None:
    def matvec(x: Any, penalty: Any) -> Any:
        return RIDGE_A.T @ (RIDGE_A @ x) + penalty * x

    def conjugate_gradients(b: Any, penalty: Any) -> Any:
        def step(i: Any, state: Any) -> Any:
            x, r, p = state
            image = matvec(p, penalty)
            rate = r @ r / (p @ image)
            rest = r - rate * image
            return x + rate * p, rest, rest + (rest @ rest) / (r @ r) * p

        return wf.fori_loop(0, 2, step, (np.zeros(2), b, b))[0]

    def solved(penalty: Any, b: Any) -> Any:
        return wf.implicit.linear_solve(matvec, RIDGE_A.T @ b, conjugate_gradients, penalty)

    near(run(solved, 0.5, RIDGE_B), RIDGE_X)
    rate, row = run(wf.jacrev(solved, (0, 1)), 0.5, RIDGE_B)
    near((rate, row[0]), (RIDGE_RATE, RIDGE_ROW))


def test_g11_higher_derivatives_of_a_root_see_that_the_root_moves() -> None:
    def newton(a: Any) -> Any:
        return wf.fori_loop(0, 20, lambda i, x: 0.5 * (x + a / x), a)

    derivative = wf.implicit.root(lambda x, a: x * x - a, newton)
    for expected in (0.25, -0.03125, 0.01171875, -0.00732421875):
        forward, reverse = wf.jacfwd(derivative), wf.grad(derivative)
        near(run(forward, 4.0), expected)
        near(run(wf.vmap(reverse), array(4, 4)), array(expected, expected))
        derivative = reverse


# --- G12: estimators ------------------------------------------------------------------------------


@pytest.mark.parametrize(("phi", "variance"), [(0.0, 15.0), (1.0, 30.0), (2.0, 87.0), (5.0, 990.0)])
def test_g12_variance_of_two_gradient_estimators(phi: float, variance: float) -> None:
    noise, weights = gaussian_nodes(8)

    def score_function(phi: Any, epsilon: Any) -> Any:
        x = wf.stop_gradient(phi + epsilon)
        return wf.grad(lambda phi: x**2 * normal_log_density(x, phi))(phi)

    def pathwise(phi: Any, epsilon: Any) -> Any:
        return wf.grad(lambda phi: (phi + epsilon) ** 2)(phi)

    for estimator, expected in ((score_function, variance), (pathwise, 4.0)):
        samples = run(wf.vmap(estimator, (None, 0)), phi, noise)
        mean = np.sum(weights * samples)
        near(mean, 2 * phi)
        np.testing.assert_allclose(np.sum(weights * (samples - mean) ** 2), expected, rtol=1e-12)
