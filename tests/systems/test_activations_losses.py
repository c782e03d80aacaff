"""Golden numbers G17 to G22: activations with two derivatives, softmax, divergences and losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.systems.models import (
    Function,
    array,
    binary_cross_entropy,
    check,
    cross_entropy,
    erf,
    log_softmax,
    logsumexp,
    near,
    normal_log_density,
    run,
    sigmoid,
    softmax,
    softplus,
    tiny,
)

# --- G17: activations -----------------------------------------------------------------------------

SELU_SCALE, SELU_SLOPE = 1.0507009873554805, 1.6732632423543772


def elu(x: Any, slope: float = 1.0) -> Any:
    return np.where(x > 0, x, slope * np.expm1(x))


def selu(x: Any) -> Any:
    return SELU_SCALE * elu(x, SELU_SLOPE)


def gelu(x: Any) -> Any:
    return 0.5 * x * (1 + erf(x / np.sqrt(2.0)))


def swish(x: Any) -> Any:
    return x * sigmoid(x)


def mish(x: Any) -> Any:
    return x * np.tanh(softplus(x))


# The function at -2, -1, 1 and 2, then its first and its second derivative at -1 and 1.
ACTIVATIONS: dict[str, tuple[Function, tuple[float, ...], tuple[float, ...], tuple[float, ...]]] = {
    "sigmoid": (
        sigmoid,
        (0.119202922, 0.2689414214, 0.7310585786, 0.880797078),
        (0.1966119332, 0.1966119332),
        (0.0908577477, -0.0908577477),
    ),
    "tanh": (
        np.tanh,
        (-0.9640275801, -0.761594156, 0.761594156, 0.9640275801),
        (0.4199743416, 0.4199743416),
        (0.639700008, -0.639700008),
    ),
    "arctan": (
        np.arctan,
        (-1.107148718, -0.7853981634, 0.7853981634, 1.107148718),
        (0.5, 0.5),
        (0.5, -0.5),
    ),
    "elu": (
        elu,
        (-0.8646647168, -0.6321205588, 1.0, 2.0),
        (0.3678794412, 1.0),
        (0.367879441, 0),
    ),
    "selu": (
        selu,
        (-1.520166469, -1.111330738, 1.050700987, 2.101401975),
        (0.646768603, 1.050700987),
        (0.646768603, 0),
    ),
    "gelu": (
        gelu,
        (-0.0455002639, -0.1586552539, 0.8413447461, 1.954499736),
        (-0.08331547059, 1.083315471),
        (0.241970725, 0.241970725),
    ),
    "swish": (
        swish,
        (-0.238405844, -0.2689414214, 0.7310585786, 1.761594156),
        (0.07232948813, 0.9276705119),
        (0.302366119, 0.302366119),
    ),
    "mish": (
        mish,
        (-0.2525014827, -0.3034014614, 0.8650983883, 1.94395896),
        (0.05921675588, 1.04903622),
        (0.349705674, 0.184685764),
    ),
    "softplus": (
        softplus,
        (0.126928011, 0.3132616875, 1.313261688, 2.126928011),
        (0.2689414214, 0.7310585786),
        (0.196611933, 0.196611933),
    ),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_g17_activation_and_two_derivatives(name: str) -> None:
    function, values, first, second = ACTIVATIONS[name]
    inner = array(-1, 1)
    near(run(function, array(-2, -1, 1, 2)), array(*values))
    near(run(wf.vmap(wf.grad(function)), inner), array(*first))
    near(run(wf.vmap(wf.grad(wf.grad(function))), inner), array(*second))
    near(run(wf.jacfwd(lambda x: np.sum(function(x))), inner), array(*first))
    near(np.diag(run(wf.hessian(lambda x: np.sum(function(x))), inner)), array(*second))


def test_g17_activations_at_zero() -> None:
    near(run(wf.grad(gelu), 0.0), 0.5)
    near(run(wf.grad(wf.grad(gelu)), 0.0), 0.797884560803)
    near(run(wf.grad(mish), 0.0), 0.6)
    near(run(wf.grad(swish), 0.0), 0.5)
    check(softplus, [0.0], np.log(2), [0.5])
    near(run(wf.grad(wf.grad(softplus)), 0.0), 0.25)


def test_g17_prelu_learns_its_slope() -> None:
    x = array(-2, -1, 1, 2)

    def prelu(x: Any, a: Any) -> Any:
        return np.where(x > 0, x, a * x)

    near(run(prelu, x, 0.25), array(-0.5, -0.25, 1, 2))
    check(lambda *args: np.sum(prelu(*args)), [x, 0.25], 2.25, [array(0.25, 0.25, 1, 1), -3.0])


def test_g17_saturated_activations_are_exact_and_flat() -> None:
    far = array(-1000, 1000)
    assert run(sigmoid, far).tolist() == [0, 1]
    assert run(lambda x: 1 / (1 + np.exp(-x)), far).tolist() == [0, 1]
    assert run(softplus, far).tolist() == [0, 1000]
    assert run(wf.vmap(wf.grad(sigmoid)), far).tolist() == [0, 0]
    assert run(wf.vmap(wf.grad(softplus)), far).tolist() == [0, 1]
    assert run(wf.vmap(wf.grad(wf.grad(softplus))), far).tolist() == [0, 0]


# --- G18: softmax ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_g18_softmax_and_its_jacobian(shift: float) -> None:
    z = array(1, 2, 3) + shift
    p = array(0.0900305732, 0.2447284711, 0.6652409558)
    rows = (
        [0.0819250691, -0.0220330445, -0.0598920245],
        [-0.0220330445, 0.1848364465, -0.162803402],
        [-0.0598920245, -0.162803402, 0.2226954265],
    )
    near(run(softmax, z), p)
    for jacobian in (wf.jacfwd, wf.jacrev):
        near(run(jacobian(softmax), z), array(*rows))


def test_g18_softmax_of_large_scores() -> None:
    p = run(softmax, 10 * array(1, 2, 3))
    tiny(p[1], 4.539786861e-5, 10)
    near(p[2], 0.9999546001)


TEMPERATURES = {
    0.5: array(0.97962921, 0.00242826, 0.01794253),
    1.0: array(0.84379473, 0.04201007, 0.1141952),
    2.0: array(0.62853172, 0.14024438, 0.2312239),
    10.0: array(0.39069383, 0.28943311, 0.31987306),
}


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_g18_temperature(temperature: float) -> None:
    made = run(lambda eta, t: softmax(eta / t), array(3, 0, 1), temperature)
    near(made, TEMPERATURES[temperature], 8)


def test_g18_gradient_of_a_log_probability() -> None:
    gradient = array(0.1562052655, -0.0420100661, -0.1141951994)
    check(lambda eta: log_softmax(eta)[0], [array(3, 0, 1)], -0.1698460196, [gradient])


# --- G19: cross-entropy ---------------------------------------------------------------------------

SCORES = array(0.1, -0.8, 1.4, 1.1)
P = array(0.1283013846, 0.0521634503, 0.4707758429, 0.3487593223)


def test_g19_softmax_of_the_scores() -> None:
    near(run(logsumexp, SCORES), 2.153373215694)
    near(run(softmax, SCORES), P)
    assert run(np.argmax, SCORES) == 2


@pytest.mark.parametrize(
    ("label", "loss"),
    [(0, 2.0533732157), (1, 2.9533732157), (2, 0.7533732157), (3, 1.0533732157)],
)
def test_g19_cross_entropy_with_labels_from_zero(label: int, loss: float) -> None:
    check(lambda scores: cross_entropy(scores, label), [SCORES], loss, [P - np.eye(4)[label]])


def test_g19_gradients_as_printed() -> None:
    third = run(wf.grad(lambda scores: cross_entropy(scores, 2)), SCORES)
    near(third, array(0.1283013846, 0.0521634503, -0.5292241571, 0.3487593223))
    second = run(wf.grad(lambda scores: cross_entropy(scores, 1)), SCORES)
    near(second, array(0.1283013846, -0.9478365497, 0.4707758429, 0.3487593223))


def test_g19_three_classes_and_label_smoothing() -> None:
    z = array(1, 2, 3)
    gradient = array(0.0900305732, 0.2447284711, -0.3347590442)
    check(lambda z: cross_entropy(z, 2), [z], 0.407605964444, [gradient])
    near(run(lambda z: cross_entropy(z, 0), z), 2.407605964444)

    def smoothed(z: Any) -> Any:
        target = 0.9 * np.eye(3)[2] + 0.1 / 3
        return -np.sum(target * log_softmax(z))

    p = array(0.0900305732, 0.2447284711, 0.6652409558)
    target = array(0.1 / 3, 0.1 / 3, 0.9 + 0.1 / 3)
    check(smoothed, [z], 0.5076059644, [p - target])


# --- G20: divergences -----------------------------------------------------------------------------


def entropy(p: Any) -> Any:
    return -np.sum(p * np.log(p))


def kl(p: Any, q: Any) -> Any:
    """With 0 log 0 = 0, and a zero derivative there."""
    inside = p > 0
    ratio = np.where(inside, p, 1.0) / np.where(inside, q, 1.0)
    return np.sum(np.where(inside, p * np.log(ratio), 0.0))


def test_g20_divergences() -> None:
    p, q = array(0.5, 0.5), array(0.9, 0.1)
    near(run(lambda p, q: np.sum(np.abs(p - q)), p, q), 0.8)
    near(run(lambda p, q: 0.5 * np.sum(np.abs(p - q)), p, q), 0.4)
    near(run(lambda p, q: np.linalg.norm(p - q), p, q), 0.5656854249)
    near(run(kl, q, p), 0.3680642071685)
    near(run(entropy, p), 0.6931471805599)
    near(run(lambda p, q: -np.sum(p * np.log(q)), p, q), 1.2039728043259)
    near(run(lambda p, q: kl(p, q) + entropy(p), p, q), 1.2039728043259)
    check(kl, [p, q], 0.510825623766, [np.log(p / q) + 1, -p / q])


def test_g20_divergences_at_the_edge() -> None:
    certain, even = array(1, 0), array(0.5, 0.5)
    value, gradients = run(wf.value_and_grad(kl, (0, 1)), certain, even)
    near(value, np.log(2))
    assert np.isfinite(gradients).all()
    assert run(kl, even, certain) == np.inf


# --- G21, G22: heads and stable losses ------------------------------------------------------------


def test_g21_gaussian_and_bernoulli_heads() -> None:
    def gaussian(mean: Any, variance: Any) -> Any:
        return -normal_log_density(1.0, mean, variance)

    check(gaussian, [0.3, 0.5], 1.0623649429247, [-1.4, 0.02])

    def bernoulli(p: Any, y: Any) -> Any:
        return -(y * np.log(p) + (1 - y) * np.log(1 - p))

    check(bernoulli, [0.8, 1.0], 0.223143551314, [-1.25])
    check(bernoulli, [0.8, 0.0], 1.609437912434, [5.0])


@pytest.mark.parametrize(
    ("logit", "label", "loss", "slope"),
    [(1000.0, 0.0, 1000.0, 1.0), (-1000.0, 1.0, 1000.0, -1.0), (1000.0, 1.0, 0.0, 0.0)],
)
def test_g22_logistic_loss_of_extreme_logits(
    logit: float, label: float, loss: float, slope: float
) -> None:
    value, gradient = run(wf.value_and_grad(binary_cross_entropy), logit, label)
    assert (value, gradient) == (loss, slope)


def test_g22_cross_entropy_of_extreme_scores() -> None:
    check(lambda z: cross_entropy(z, 1), [array(1000, 0)], 1000.0, [array(1, -1)])
    check(lambda z: -softplus(-z), [-1000.0], -1000.0, [1.0])
    expected = np.full(10, 0.1) - np.eye(10)[3]
    check(lambda z: cross_entropy(z, 3), [np.zeros(10)], 2.302585092994, [expected])
