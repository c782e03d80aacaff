"""Functions whose gradients make graphs of some size for the passes: a network, recurrent cells,
attention, and a loop on a condition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import weft as wf

Array = np.ndarray[Any, Any]
Model = tuple[Callable[..., Any], tuple[Any, ...]]


def _normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed + len(shape)).standard_normal(shape)


def _softmax(x: Any) -> Any:
    top = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return top / np.sum(top, axis=-1, keepdims=True)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def network() -> Model:
    """Two layers with a softmax as it is written in textbooks, and one-hot labels."""

    def loss(parameters: Any, x: Any, labels: Any) -> Any:
        hidden = np.tanh(x @ parameters["u"] + parameters["b"])
        scores = hidden @ parameters["v"]
        shares = np.exp(scores) / np.sum(np.exp(scores), axis=-1, keepdims=True)
        one_hot = (labels[:, None] == np.arange(4)).astype(np.float64)
        return -np.mean(np.sum(one_hot * np.log(shares), axis=-1))

    parameters = {"u": _normal(5, 6), "b": _normal(6), "v": _normal(6, 4)}
    return loss, (parameters, _normal(8, 5), np.arange(8) % 4)


def recurrent() -> Model:
    """An LSTM whose gates are four products each with the input and the state."""

    def loss(parameters: Any, x: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            h, c = state
            gates = [row @ p["w"] + h @ p["u"] + p["b"] for p in parameters]
            c = _sigmoid(gates[0]) * c + _sigmoid(gates[1]) * np.tanh(gates[2])
            h = _sigmoid(gates[3]) * np.tanh(c)
            return (h, c), h

        start = (np.zeros((2, 4)), np.zeros((2, 4)))
        return np.sum(wf.scan(step, start, x)[1] ** 2)

    parameters = [
        {"w": _normal(3, 4, seed=n), "u": _normal(4, 4, seed=n + 9), "b": _normal(4, seed=n)}
        for n in range(4)
    ]
    return loss, (parameters, _normal(6, 2, 3))


def lstm() -> Model:
    """An LSTM whose gates are cut out of one sum, over a sequence from last to first."""

    def loss(parameters: Any, x: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            h, c = state
            gates = row @ parameters["wx"] + h @ parameters["wh"] + parameters["b"]
            i, f, g, o = (gates[:, 4 * k : 4 * (k + 1)] for k in range(4))
            c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
            h = _sigmoid(o) * np.tanh(c)
            return (h, c), h

        start = (np.zeros((2, 4)), np.zeros((2, 4)))
        return np.mean(wf.scan(step, start, x, reverse=True)[1] ** 2)

    parameters = {"wx": _normal(3, 16), "wh": _normal(4, 16), "b": _normal(16)}
    return loss, (parameters, _normal(6, 2, 3))


def gru() -> Model:
    """A GRU on vectors, whose gradients of weights are sums of outer products; with a mask."""

    def loss(parameters: Any, x: Any, mask: Any) -> Any:
        def step(h: Any, given: Any) -> Any:
            row, valid = given
            z = _sigmoid(parameters["wz"] @ row + parameters["uz"] @ h)
            r = _sigmoid(parameters["wr"] @ row + parameters["ur"] @ h)
            new = np.tanh(parameters["wn"] @ np.sin(row) + r * (parameters["un"] @ h))
            return np.where(valid, z * h + (1 - z) * new, h), None

        return np.sum(wf.scan(step, np.zeros(4), (x, mask))[0] ** 2)

    shapes = {"w": (4, 3), "u": (4, 4)}
    parameters = {
        kind + gate: _normal(*shapes[kind], seed=number)
        for number, gate in enumerate("zrn")
        for kind in "wu"
    }
    return loss, (parameters, _normal(7, 3), np.arange(7) < 5)


def layers() -> Model:
    """A recurrent network over blocks of a sequence: a loop in a loop, with the same weights."""

    def loss(w: Any, u: Any, x: Any) -> Any:
        def step(h: Any, row: Any) -> Any:
            h = np.tanh(row @ w + h @ u)
            return h, h

        def block(h: Any, rows: Any) -> Any:
            h, hs = wf.scan(step, h, rows)
            return h, np.sum(hs @ w.T)

        return np.sum(wf.scan(block, np.zeros((2, 4)), x)[1])

    return loss, (_normal(3, 4), _normal(4, 4), _normal(5, 6, 2, 3))


def attention() -> Model:
    """Two heads over a batch, with queries, keys and values from one input, and a residual."""

    def loss(parameters: Any, x: Any) -> Any:
        def heads(name: str) -> Any:
            return np.transpose((x @ parameters[name]).reshape(2, 10, 2, 3), (0, 2, 1, 3))

        q, k, v = heads("q"), heads("k"), heads("v")
        weights = _softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(4.0))
        mixed = np.transpose(weights @ v, (0, 2, 1, 3)).reshape(2, 10, 6)
        return np.sum(np.sin(x + mixed @ parameters["o"]))

    parameters = {name: _normal(6, 6, seed=n) / 3 for n, name in enumerate("qkvo")}
    return loss, (parameters, _normal(2, 10, 6))


def root() -> Model:
    """Newton's method until it stands still, with an invariant in its body."""

    def loss(a: Any) -> Any:
        def better(x: Any) -> Any:
            return 0.5 * (x + np.exp(np.log(a)) / x)

        return np.sum(wf.while_loop(lambda x: np.max(abs(x * x - a)) > 1e-9, better, a + 0.5))

    return loss, (np.array([2.0, 3.0]),)


def steps() -> Model:
    """A short loop, which unrolls, in a checkpoint."""

    def loss(w: Any, x: Any) -> Any:
        def run(w: Any) -> Any:
            return wf.fori_loop(0, 3, lambda i, h: np.tanh(h @ w), x)

        return np.sum(wf.checkpoint(run)(w))

    return loss, (_normal(4, 4), _normal(2, 4))


def images() -> Model:
    """Convolutions between transposes, as of models with channels last, joined and pooled in ways
    that are no ops; then such of one tap on few pixels.
    """
    first, last = (0, 3, 1, 2), (0, 2, 3, 1)

    def convolve(x: Any, w: Any) -> Any:
        return wf.conv(x.transpose(first), w, padding="same").transpose(last)

    def loss(parameters: Any, x: Any) -> Any:
        x = np.maximum(convolve(x, parameters["u"]) + parameters["b"], 0)
        x = x.reshape(2, 2, 2, 2, 2, 64).max(axis=(2, 4))
        x = x + wf.avg_pool(np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))).transpose(first), 3).mean()
        x = np.concatenate([x[..., :32], np.tanh(convolve(x, parameters["v"]))[..., 32:]], axis=-1)
        return np.sum(np.mean(convolve(x, parameters["v"]), axis=(1, 2)) ** 2)

    parameters = {"u": _normal(64, 3, 3, 3), "b": _normal(64), "v": _normal(64, 64, 1, 1) / 8}
    return loss, (parameters, _normal(2, 4, 4, 3))


MODELS: dict[str, Callable[[], Model]] = {
    "images": images,
    "network": network,
    "recurrent": recurrent,
    "lstm": lstm,
    "gru": gru,
    "layers": layers,
    "attention": attention,
    "root": root,
    "steps": steps,
}
