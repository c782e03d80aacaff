"""Golden numbers G37 to G40: scalar recurrent cells by scan, and two likelihoods of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.systems.models import array, check, lgamma, near, run, sigmoid

# --- G37: plain RNN -------------------------------------------------------------------------------


def rnn_states(w_rec: Any, w_in: Any, b: Any, h0: Any, x: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = np.tanh(w_rec * h + w_in * x + b)
        return h, h

    return wf.scan(step, h0, x)[1]


def test_g37_back_propagation_through_time() -> None:
    x = array(1, 1, 1)
    states = run(lambda w, u: rnn_states(w, u, 0.0, 0.0, x), 0.5, 1.0)
    near(states, array(0.761594156, 0.8811296283, 0.8938113694))
    gradients = [0.1943200788, 0.2283068075]
    check(lambda w, u: rnn_states(w, u, 0.0, 0.0, x)[2], [0.5, 1.0], 0.8938113694, gradients)


def test_g37_truncated_back_propagation() -> None:
    def last(w: Any) -> Any:
        h = rnn_states(w, 1.0, 0.0, 0.0, array(1, 1))[-1]
        return rnn_states(w, 1.0, 0.0, wf.stop_gradient(h), array(1))[-1]

    check(last, [0.5], 0.8938113694, [0.1771962573])


def test_g37_rnn_with_bias_and_start() -> None:
    x = array(1, -1, 0.5)
    args = (0.9, 0.5, 0.1, 0.0)
    near(run(rnn_states, *args, x), array(0.537049567, 0.0831521654, 0.4009974612))
    gradients = [0.472600087, 0.149894398, 2.0696123294, 0.432317328]
    check(lambda w, u, b, h: rnn_states(w, u, b, h, x)[2], args, 0.4009974612, gradients)


@pytest.mark.parametrize("policy", ["nothing", "everything", "dots"])
def test_g37_gradients_do_not_depend_on_what_is_kept(policy: str) -> None:
    def last(w: Any, u: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            return np.tanh(w * h + u * x), ()

        return wf.scan(wf.checkpoint(step, policy=policy), 0.0 * w, array(1, 1, 1))[0]

    check(last, [0.5, 1.0], 0.8938113694, [0.1943200788, 0.2283068075])


# --- G38: LSTM ------------------------------------------------------------------------------------


def lstm_states(gates: Any, x: Any) -> Any:
    """All (h, c); `gates` gives the pre-activations of f, i, c~ and o from x and h."""

    def step(state: Any, x: Any) -> Any:
        h, c = state
        f, i, candidate, o = gates(x, h)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(candidate)
        h = sigmoid(o) * np.tanh(c)
        return (h, c), (h, c)

    return wf.scan(step, (0.0, 0.0), x)[1]


def test_g38_lstm_with_all_weights_one_half() -> None:
    def states(w: Any, u: Any, b: Any) -> Any:
        return lstm_states(lambda x, h: w * h + u * x + b, array(1, 1))

    half, none = np.full(4, 0.5), np.zeros(4)
    h, c = run(states, half, half, none)
    near(h, array(0.1742697187, 0.3090589306))
    near(c, array(0.2876491366, 0.5241157234))
    of_f, of_i = (0.0056875934, 0.0326367281), (0.0104366484, 0.1078319816)
    of_c, of_o = (0.0399221386, 0.4451995038), (0.0192436368, 0.124636966)
    w_bar, u_bar = np.transpose([of_f, of_i, of_c, of_o])
    # All inputs are 1, so their weight and the bias move the gates alike.
    gradients = [w_bar, u_bar, u_bar]
    check(lambda w, u, b: states(w, u, b)[0][1], [half, half, none], 0.3090589306, gradients)


def test_g38_lstm_with_one_weight_per_gate() -> None:
    def states(u: Any, b: Any) -> Any:
        return lstm_states(lambda x, h: u * (h + x) + b, array(1, -1, 0.5))

    u, b = array(0.5, 0.5, 1, 0.5), array(1, 0, 0, 0)
    h, c = run(states, u, b)
    near(c, array(0.474061389, 0.0556606238, 0.314492775))
    near(h, array(0.2748002293, 0.0228156865, 0.1720477476))
    u_bar = array(-0.0378242071, 0.1598580332, 0.1262276571, 0.0489283827)
    check(lambda u, b: states(u, b)[0][2], [u, b], 0.1720477476, [u_bar, None])
    near(run(wf.grad(lambda u, b: states(u, b)[0][2], 1), u, b)[0], 0.0606025894)


@pytest.mark.parametrize(
    ("forget", "take", "expected"),
    [(1000, -1000, 2.0), (-1000, 1000, 0.5), (1000, 1000, 2.5), (-1000, -1000, 0.0)],
    ids=["keep", "replace", "add", "clear"],
)
def test_g38_limits_of_the_gates(forget: float, take: float, expected: float) -> None:
    def cell(c: Any, candidate: Any) -> Any:
        return sigmoid(forget * 1.0) * c + sigmoid(take * 1.0) * candidate

    near(run(cell, 2.0, 0.5), expected)
    near(run(wf.grad(cell), 2.0, 0.5), 1.0 if forget > 0 else 0.0)


# --- G39: GRU -------------------------------------------------------------------------------------


def gru_a(p: Any, h: Any, x: Any) -> Any:
    """The reset gate inside the recurrent product; z opens to the candidate."""
    w_z, u_z, w_r, u_r, w_h, u_h = p
    z, r = sigmoid(w_z * h + u_z * x), sigmoid(w_r * h + u_r * x)
    return (1 - z) * h + z * np.tanh(w_h * (r * h) + u_h * x)


def gru_b(p: Any, h: Any, x: Any) -> Any:
    """As torch and cuDNN: the reset gate outside of the product, z keeps the state."""
    w_z, u_z, w_r, u_r, w_h, u_h = p
    z, r = sigmoid(w_z * h + u_z * x), sigmoid(w_r * h + u_r * x)
    return (1 - z) * np.tanh(u_h * x + r * (w_h * h)) + z * h


@pytest.mark.parametrize(
    ("cell", "expected", "gradient"),
    [
        (
            gru_a,
            (0.2876491366, -0.0014632959, 0.136785236),
            (-0.0302514562, 0.1739353156, 0.0021088636, -0.0073784721, 0.0244956241, 0.2286693849),
        ),
        (
            gru_b,
            (0.1744680206, -0.1918953096, -0.012959804),
            (0.0338753918, -0.1740161665, 0.0031074305, -0.011461558, -0.0253573637, 0.029755531),
        ),
    ],
)
def test_g39_gru(cell: Any, expected: tuple[float, ...], gradient: tuple[float, ...]) -> None:
    def states(parameters: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = cell(parameters, h, x)
            return h, h

        return wf.scan(step, 0.0, array(1, -1, 0.5))[1]

    half = np.full(6, 0.5)
    near(run(states, half), array(*expected))
    check(lambda p: states(p)[2], [half], expected[2], [array(*gradient)])


# --- G40: likelihoods of sequences ----------------------------------------------------------------

SEQUENCE = np.array([0, 1, 1, 0, 1, 0, 0, 1])


def test_g40_markov_chain_by_maximum_likelihood() -> None:
    def transitions(sequence: Any) -> Any:
        counts = np.zeros((2, 2))
        counts = wf.numpy.asarray(counts).at[sequence[:-1], sequence[1:]].add(1.0)
        return counts / np.sum(counts, axis=1, keepdims=True)

    made = run(transitions, SEQUENCE)
    near(made[:, 1], array(3 / 4, 1 / 3))

    def likelihood(p: Any) -> Any:
        ones = p[SEQUENCE[:-1]]
        return np.sum(np.log(np.where(SEQUENCE[1:] == 1, ones, 1 - ones)))

    near(run(wf.grad(likelihood), made[:, 1]), array(0, 0))


def test_g40_negative_binomial() -> None:
    def log_mass(mean: Any, alpha: Any, y: Any) -> Any:
        r = 1 / alpha
        choose = lgamma(y + r) - lgamma(r) - lgamma(y + 1)
        return choose + r * np.log(r / (r + mean)) + y * np.log(mean / (r + mean))

    # At its mean y / mean - (y + r) / (r + mean) = 2/3 - 4/5.
    check(log_mass, [3.0, 0.5, 2.0], -1.7556204226, [2 / 3 - 4 / 5])
    wf.check_grads(log_mass, (3.0, 0.5, 2.0), order=2)
