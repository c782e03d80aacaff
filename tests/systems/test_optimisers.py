"""Golden numbers G23 to G28: optimisers as scans over their state, and the scales of initialisers.

An optimiser is a pair: `start(theta)` makes its state, `step(slope, theta, state, t)` returns the
new parameters and state, where `slope` is the gradient as a function and t counts from 1. The
objective is the square of the parameters unless stated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.systems.models import Function, array, near, run

Optimiser = tuple[Callable[[Any], Any], Callable[..., Any]]


def square(theta: Any) -> Any:
    return np.sum(theta**2)


def minimise(optimiser: Optimiser, theta: Any, steps: int, objective: Function = square) -> Any:
    """The parameters after each step, in one compiled scan."""
    start, step = optimiser
    slope = wf.grad(objective)

    def body(carry: Any, t: Any) -> Any:
        theta, state = step(slope, *carry, t)
        return (theta, state), theta

    def trajectory(theta: Any) -> Any:
        return wf.scan(body, (theta, start(theta)), np.arange(1.0, steps + 1))[1]

    return run(trajectory, np.asarray(theta))


def feed(optimiser: Optimiser, theta: Any, gradients: Any) -> Any:
    """The parameters after each of the given gradients."""
    start, step = optimiser

    def body(carry: Any, row: Any) -> Any:
        t, gradient = row
        theta, state = step(lambda _: gradient, *carry, t)
        return (theta, state), theta

    def trajectory(theta: Any, gradients: Any) -> Any:
        rows = (np.arange(1.0, len(gradients) + 1), gradients)
        return wf.scan(body, (theta, start(theta)), rows)[1]

    return run(trajectory, np.asarray(theta), gradients)


def nothing(theta: Any) -> tuple[()]:
    return ()


def zeros(theta: Any) -> Any:
    return np.zeros_like(theta)


def two_zeros(theta: Any) -> Any:
    return np.zeros_like(theta), np.zeros_like(theta)


# --- G23: gradient descent ------------------------------------------------------------------------


def descent(rate: float) -> Optimiser:
    def step(slope: Function, theta: Any, state: Any, t: Any) -> Any:
        return theta - rate * slope(theta), state

    return nothing, step


def test_g23_gradient_descent() -> None:
    near(minimise(descent(0.9), 5.1, 15)[-1], -0.179440297653)


def test_g23_gradient_descent_keeps_its_convex_bound() -> None:
    def bowl(theta: Any) -> Any:
        return 0.5 * (theta[0] ** 2 + 10 * theta[1] ** 2)

    path = minimise(descent(0.09), array(1, 1), 50, bowl)
    gaps = run(wf.vmap(bowl), path)
    near(gaps[[0, 9]], array(0.46405, 0.0758224565))
    np.testing.assert_allclose(gaps[49], 4.0096756e-05, rtol=2e-8)
    bounds = 2 / (2 * 0.09 * np.arange(1, 51))
    near(bounds[[0, 9, 49]], array(11.11111, 1.111111, 0.2222222), 5)
    assert (gaps <= bounds).all()


# --- G24: momentum --------------------------------------------------------------------------------


def heavy_ball(rate: float, gamma: float) -> Optimiser:
    def step(slope: Function, theta: Any, v: Any, t: Any) -> Any:
        v = gamma * v - rate * slope(theta)
        return theta + v, v

    return zeros, step


def old_velocity(rate: float, gamma: float) -> Optimiser:
    def step(slope: Function, theta: Any, v: Any, t: Any) -> Any:
        return theta + v, gamma * v - rate * slope(theta)

    return zeros, step


def averaged(rate: float, beta: float) -> Optimiser:
    def step(slope: Function, theta: Any, m: Any, t: Any) -> Any:
        m = beta * m + (1 - beta) * slope(theta)
        return theta - rate * m, m

    return zeros, step


def nesterov(rate: float, gamma: float) -> Optimiser:
    def step(slope: Function, theta: Any, v: Any, t: Any) -> Any:
        v = gamma * v - rate * slope(theta + gamma * v)
        return theta + v, v

    return zeros, step


def nesterov_of_torch(rate: float, gamma: float) -> Optimiser:
    """Stores theta + gamma * v in place of theta."""

    def step(slope: Function, theta: Any, buffer: Any, t: Any) -> Any:
        gradient = slope(theta)
        buffer = gamma * buffer + gradient
        return theta - rate * (gradient + gamma * buffer), buffer

    return zeros, step


@pytest.mark.parametrize(
    ("optimiser", "expected"),
    [
        (heavy_ball, (0.8, 0.46, 0.062, -0.3086)),
        (old_velocity, (1, 0.8, 0.42, -0.082)),
        (averaged, (0.98, 0.9424, 0.889712)),
        (nesterov, (0.8, 0.496, 0.17792)),
        (nesterov_of_torch, (0.62, 0.2224, -0.108352)),
    ],
)
def test_g24_momentum(optimiser: Callable[..., Optimiser], expected: tuple[float, ...]) -> None:
    near(minimise(optimiser(0.1, 0.9), 1.0, len(expected)), array(*expected))


def test_g24_velocity_under_a_constant_gradient() -> None:
    gradient = array(3, -4)
    path = feed(heavy_ball(0.1, 0.9), array(0, 0), np.tile(gradient, (300, 1)))
    velocity = path[-1] - path[-2]
    near(np.linalg.norm(velocity), 0.1 * 5 / (1 - 0.9))


# --- G25 to G27: adaptive rates -------------------------------------------------------------------


def adagrad(rate: float) -> Optimiser:
    def step(slope: Function, theta: Any, total: Any, t: Any) -> Any:
        gradient = slope(theta)
        total = total + gradient**2
        return theta - rate * gradient / (np.sqrt(total) + 1e-8), total

    return zeros, step


def rmsprop(rate: float) -> Optimiser:
    def step(slope: Function, theta: Any, mean: Any, t: Any) -> Any:
        gradient = slope(theta)
        mean = 0.9 * mean + 0.1 * gradient**2
        return theta - rate * gradient / (np.sqrt(mean) + 1e-8), mean

    return zeros, step


def adadelta(rate: float) -> Optimiser:
    def step(slope: Function, theta: Any, state: Any, t: Any) -> Any:
        squares, updates = state
        gradient = slope(theta)
        squares = 0.9 * squares + 0.1 * gradient**2
        update = np.sqrt(updates + 1e-6) / np.sqrt(squares + 1e-6) * gradient
        return theta - rate * update, (squares, 0.9 * updates + 0.1 * update**2)

    return two_zeros, step


@pytest.mark.parametrize(
    ("optimiser", "expected"),
    [
        (adagrad(0.1), (0.9000000005, 0.8331035276, 0.7804561822)),
        (rmsprop(0.1), (0.683772239, 0.4988706135, 0.3691805603)),
        (adadelta(1.0), (0.9968377263, 0.9935981741, 0.9903090457)),
    ],
    ids=["adagrad", "rmsprop", "adadelta"],
)
def test_g25_adaptive_rates(optimiser: Optimiser, expected: tuple[float, ...]) -> None:
    near(minimise(optimiser, 1.0, 3), array(*expected))


def adam(rate: float = 0.1, beta1: float = 0.9, beta2: float = 0.999) -> Optimiser:
    def step(slope: Function, theta: Any, state: Any, t: Any) -> Any:
        m, v = state
        gradient = slope(theta)
        m = beta1 * m + (1 - beta1) * gradient
        v = beta2 * v + (1 - beta2) * gradient**2
        mean, spread = m / (1 - beta1**t), v / (1 - beta2**t)
        return theta - rate * mean / (np.sqrt(spread) + 1e-8), (m, v)

    return two_zeros, step


def test_g26_adam() -> None:
    near(minimise(adam(), 5.1, 3), array(5.000000000098, 4.900056514267, 4.80020866804))
    near(minimise(adam(), 1.0, 3), array(0.9000000005, 0.800412228692, 0.701586272946))


def test_g26_first_step_of_adam_is_the_sign_of_the_gradient() -> None:
    theta = array(5.1, -0.3, 1e3, -1e-2)
    near(minimise(adam(), theta, 1)[0], theta - 0.1 * np.sign(theta), 7)


def amsgrad(rate: float, beta1: float, beta2: float) -> Optimiser:
    def start(theta: Any) -> Any:
        return np.zeros_like(theta), np.zeros_like(theta), np.zeros_like(theta)

    def step(slope: Function, theta: Any, state: Any, t: Any) -> Any:
        m, v, highest = state
        gradient = slope(theta)
        m = beta1 * m + (1 - beta1) * gradient
        v = beta2 * v + (1 - beta2) * gradient**2
        highest = np.maximum(highest, v)
        mean, spread = m / (1 - beta1**t), highest / (1 - beta2**t)
        return theta - rate * mean / (np.sqrt(spread) + 1e-8), (m, v, highest)

    return start, step


def test_g27_amsgrad_against_adam() -> None:
    gradients = array(10, 0.1, 0.1)
    of_adam = feed(adam(0.1, 0.0, 0.5), 0.0, gradients)
    near(of_adam, array(-0.0999999999, -0.1017318775, -0.1043768355))
    of_amsgrad = feed(amsgrad(0.1, 0.0, 0.5), 0.0, gradients)
    near(of_amsgrad, array(-0.0999999999, -0.1012247448, -0.1025476204))


def nadam(rate: float = 0.1, beta1: float = 0.9, beta2: float = 0.999) -> Optimiser:
    def step(slope: Function, theta: Any, state: Any, t: Any) -> Any:
        m, v = state
        gradient = slope(theta)
        m = beta1 * m + (1 - beta1) * gradient
        v = beta2 * v + (1 - beta2) * gradient**2
        ahead = beta1 * m / (1 - beta1 ** (t + 1))
        mean = ahead + (1 - beta1) * gradient / (1 - beta1**t)
        return theta - rate * mean / (np.sqrt(v / (1 - beta2**t)) + 1e-8), (m, v)

    return two_zeros, step


def nadam_of_torch(rate: float = 0.1, beta1: float = 0.9, beta2: float = 0.999) -> Optimiser:
    """With a schedule of the momentum, of which the product so far is part of the state."""

    def momentum(t: Any) -> Any:
        return beta1 * (1 - 0.5 * 0.96 ** (t * 0.004))

    def start(theta: Any) -> Any:
        return np.zeros_like(theta), np.zeros_like(theta), np.ones(())

    def step(slope: Function, theta: Any, state: Any, t: Any) -> Any:
        m, v, product = state
        gradient = slope(theta)
        now, then = momentum(t), momentum(t + 1)
        product = product * now
        m = beta1 * m + (1 - beta1) * gradient
        v = beta2 * v + (1 - beta2) * gradient**2
        mean = (1 - now) / (1 - product) * gradient + then / (1 - product * then) * m
        theta = theta - rate * mean / (np.sqrt(v / (1 - beta2**t)) + 1e-8)
        return theta, (m, v, product)

    return start, step


def test_g27_nadam() -> None:
    near(minimise(nadam(), 1.0, 3), array(0.8526315797, 0.7416971599, 0.6406112812))
    near(minimise(nadam_of_torch(), 1.0, 3), array(0.8943548227, 0.8199730706, 0.7527292664))


# --- G28: initialisers ----------------------------------------------------------------------------

FAN_IN, FAN_OUT = 784, 100


@pytest.mark.parametrize(
    ("bound", "printed"),
    [((6 / (FAN_IN + FAN_OUT)) ** 0.5, 0.0823852555), (FAN_IN**-0.5, 0.0357142857)],
    ids=["glorot", "fan-in"],
)
def test_g28_uniform_initialisers(bound: float, printed: float) -> None:
    near(bound, printed)

    def draw(key: Any) -> Any:
        return wf.random.uniform(key, (FAN_IN, FAN_OUT), dtype="f64", low=-bound, high=bound)

    w = run(draw, wf.random.key(0))
    assert -printed - 1e-9 <= w.min() < -0.99 * printed
    assert 0.99 * printed < w.max() <= printed + 1e-9
    # The standard error of the deviation of 78400 uniform numbers is about 0.2 %.
    np.testing.assert_allclose(np.std(w), printed / np.sqrt(3), rtol=0.01)


@pytest.mark.parametrize(
    ("deviation", "printed"),
    [((2 / (FAN_IN + FAN_OUT)) ** 0.5, 0.0475651494), ((2 / FAN_IN) ** 0.5, 0.0505076272)],
    ids=["glorot", "he"],
)
def test_g28_normal_initialisers(deviation: float, printed: float) -> None:
    near(deviation, printed)

    def draw(key: Any) -> Any:
        return wf.random.normal(key, (FAN_IN, FAN_OUT), dtype="f64", std=deviation)

    w = run(draw, wf.random.key(0))
    np.testing.assert_allclose(np.std(w), printed, rtol=0.01)
    assert abs(np.mean(w)) < 5 * printed / np.sqrt(w.size)
