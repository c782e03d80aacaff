"""Golden numbers G61 to G68: Langevin steps, Markov random fields, Boltzmann machines, Hopfield
networks and an autoregressive density. G61 is tested by the recursion of the variance, not by
samples.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import weft as wf
from tests.systems.models import (
    array,
    check,
    logsumexp,
    near,
    run,
    sigmoid,
    softmax,
    softplus,
)


def test_g61_stationary_variance_of_langevin_steps() -> None:
    rate = 0.1

    def move(x: Any) -> Any:
        return x - 0.5 * rate * wf.grad(lambda x: x**2 / 2)(x)

    def stationary(variance: Any) -> Any:
        shrink = wf.grad(move)(0.0)

        def again(state: Any) -> Any:
            return state[1], shrink**2 * state[1] + rate

        return wf.while_loop(
            lambda s: np.abs(s[0] - s[1]) > 1e-14, again, (variance - 1, variance)
        )[1]

    near(run(stationary, 0.0), 1.0256410256)


# --- G62, G63: Markov random fields ---------------------------------------------------------------


def test_g62_pairwise_binary_field() -> None:
    w = array([0, 0.5, -0.3], [0.5, 0, 0.2], [-0.3, 0.2, 0])
    b = array(0.1, -0.2, 0.3)
    states = array([0, 1, 1], [1, 1, 1])

    def given_the_others(w: Any, factor: float) -> Any:
        energies = wf.vmap(lambda x: -(factor * x @ w @ x + b @ x))(states)
        return softmax(-energies)[1]

    near(run(lambda w: given_the_others(w, 0.5), w), 0.5744425168)
    near(run(lambda w: sigmoid(b[0] + w[0] @ states[1]), w), 0.5744425168)
    # Counting every pair twice is the mistake that the errata warn of.
    near(run(lambda w: given_the_others(w, 1.0), w), 0.6224593312)


def test_g63_gaussian_field() -> None:
    def log_partition(g: Any, j: Any) -> Any:
        _, log_determinant = np.linalg.slogdet(j)
        size = len(g)
        return 0.5 * (g @ np.linalg.solve(j, g) + size * np.log(2 * np.pi) - log_determinant)

    j, g = array([2, -1], [-1, 2]), array(1, 0)
    mean, covariance = array(2 / 3, 1 / 3), array([2 / 3, 1 / 3], [1 / 3, 2 / 3])
    moments = -0.5 * (covariance + np.outer(mean, mean))
    check(log_partition, [g, j], 1.6219042554, [mean, moments])
    near(run(wf.hessian(log_partition), g, j), covariance)
    near(run(np.linalg.inv, j), covariance)


# --- G64 to G66: Boltzmann machines ---------------------------------------------------------------

W, HIDDEN, VISIBLE = array([1, -1], [0.5, 2]), array(0, -1), array(0.5, 0)
STATES = array([0, 0], [0, 1], [1, 0], [1, 1])


def free_energy(w: Any, b: Any, c: Any, x: Any) -> Any:
    return -c @ x - np.sum(softplus(b + w @ x))


def log_partition(w: Any, b: Any, c: Any) -> Any:
    return logsumexp(-wf.vmap(lambda x: free_energy(w, b, c, x))(STATES))


def expected_hidden(x: Any) -> Any:
    return sigmoid(HIDDEN + W @ x)


def test_g64_free_energies() -> None:
    energies = run(lambda x: wf.vmap(lambda x: free_energy(W, HIDDEN, VISIBLE, x))(x), STATES)
    near(energies, array(-1.0064088681, -1.626523375, -2.2873386717, -2.8945604585))
    near(run(log_partition, W, HIDDEN, VISIBLE), 3.5764430483)
    p = array(0.0765329295, 0.1422855005, 0.2755174325, 0.5056641376)
    near(run(softmax, -energies), p)
    near(run(expected_hidden, array(1, 1)), array(0.5, 0.8175744762))


def test_g64_exact_gradient_is_the_difference_of_two_phases() -> None:
    x = array(1, 1)

    def loss(w: Any, b: Any, c: Any) -> Any:
        return free_energy(w, b, c, x) + log_partition(w, b, c)

    w_bar = array([-0.0457485486, -0.2089014665], [-0.300137348, -0.300137348])
    value = 3.5764430483 - 2.8945604585
    check(loss, [W, HIDDEN, VISIBLE], value, [w_bar])

    def phases() -> Any:
        p = softmax(-wf.vmap(lambda x: free_energy(W, HIDDEN, VISIBLE, x))(STATES))
        products = wf.vmap(lambda x: np.outer(expected_hidden(x), x))(STATES)
        return np.outer(expected_hidden(x), x) - np.einsum("s,shv->hv", p, products)

    near(-run(phases), w_bar)


def test_g65_contrastive_divergence_with_fixed_samples() -> None:
    data, reconstruction = array(1, 1), array(1, 0)
    update = array([-0.2310585786, 0.5], [0.4400338074, 0.8175744762])
    hidden, visible = array(-0.2310585786, 0.4400338074), array(0, 1)

    def by_phases() -> Any:
        h, h_back = expected_hidden(data), expected_hidden(reconstruction)
        products = np.outer(h, data) - np.outer(h_back, reconstruction)
        return products, h - h_back, data - reconstruction

    near(run(by_phases), (update, hidden, visible))

    def surrogate(w: Any, b: Any, c: Any) -> Any:
        sample = wf.stop_gradient(reconstruction * 1.0)
        return free_energy(w, b, c, data) - free_energy(w, b, c, sample)

    value = -2.8945604585 + 2.2873386717
    check(surrogate, [W, HIDDEN, VISIBLE], value, [-update, -hidden, -visible])


def test_g66_gaussian_bernoulli_score() -> None:
    def energy(x: Any) -> Any:
        return 0.5 * x @ x + free_energy(W, HIDDEN, VISIBLE, x)

    score = array(0.4336889968, 0.1224593312)
    check(energy, [array(1, 0.5)], -1.8231539684, [-score])


# --- G67, G68 -------------------------------------------------------------------------------------


def test_g67_hopfield_network() -> None:
    pattern = array(1, -1, 1, -1, 1, -1)

    def weights(pattern: Any) -> Any:
        return np.outer(pattern, pattern) / 6 * (1 - np.eye(6))

    def energy(x: Any) -> Any:
        return -0.5 * x @ weights(pattern) @ x

    near(run(energy, pattern), -2.5)
    for spin in range(6):
        flipped = pattern.copy()
        flipped[spin] *= -1
        near(run(energy, flipped), -0.8333333333)
        near(run(lambda x: np.sign(weights(pattern) @ x), flipped), pattern)


def nade_log_probability(x: Any) -> Any:
    """One bit after the other: the hidden sum takes each bit up once it is known."""
    w, c = array([0.5, -0.5, 1], [1, 0.5, -1]), array(0, 0.1)
    v, b = array([1, -1], [0.5, 0.5], [-1, 2]), array(0, 0.2, -0.1)

    def step(hidden: Any, row: Any) -> Any:
        bit, column, output, bias = row
        logit = output @ sigmoid(hidden) + bias
        return hidden + column * bit, bit * logit - softplus(logit)

    return np.sum(wf.scan(step, c, (x, w.T, v, b))[1])


def test_g68_nade() -> None:
    near(run(nade_log_probability, array(1, 0, 1)), -2.3151442201)
    states = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
    near(np.sum(np.exp(run(wf.vmap(nade_log_probability), states))), 1.0)
