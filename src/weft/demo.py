"""The demo: a classifier of handwritten digits in plain NumPy code, traced and trained.

The data ships with scikit-learn.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import weft as wf

Array = np.ndarray[Any, Any]
TRAINING, BATCH, EPOCHS = 1437, 64, 15


def scores(params: Any, x: Any) -> Any:
    """A network with one hidden layer: a score for each digit."""
    hidden = np.maximum(x @ params["w1"] + params["b1"], 0)
    return hidden @ params["w2"] + params["b2"]


def loss(params: Any, x: Any, labels: Any) -> Any:
    """The mean cross-entropy of the scores."""
    s = scores(params, x)
    s = s - np.max(s, axis=1, keepdims=True)
    picked = np.take_along_axis(s, labels[:, None], axis=1)
    return np.mean(np.log(np.sum(np.exp(s), axis=1, keepdims=True)) - picked)


def adam_step(params: Any, state: Any, t: Any, x: Any, labels: Any) -> Any:
    """One step of Adam on a batch; returns the new parameters and state, and the loss."""
    value, gradient = wf.value_and_grad(loss)(params, x, labels)
    new_params, new_state = {}, {}
    for name, g in gradient.items():
        m, v = state[name]
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        rate = 0.003 * (1 - 0.999**t) ** 0.5 / (1 - 0.9**t)
        new_params[name] = params[name] - rate * m / (np.sqrt(v) + 1e-8)
        new_state[name] = (m, v)
    return new_params, new_state, value


def accuracy(params: Any, x: Any, labels: Any) -> Any:
    """The share of digits that are read right."""
    return np.mean(np.argmax(scores(params, x), axis=1) == labels)


def load_digits() -> tuple[Array, Array]:
    """Images of 8x8 pixels in [0, 1], in a fixed random order, and their labels."""
    from sklearn.datasets import load_digits as load

    data = load()
    order = np.random.default_rng(0).permutation(len(data.target))
    return (data.data[order] / 16).astype(np.float32), data.target[order]


def initial_parameters() -> dict[str, Array]:
    """Random weights for 64-64-10 units."""
    first, second = wf.random.split(wf.random.key(0))
    return {
        "w1": wf.random.normal(first, (64, 64), dtype="f32", std=0.18),
        "b1": np.zeros(64, np.float32),
        "w2": wf.random.normal(second, (64, 10), dtype="f32", std=0.18),
        "b2": np.zeros(10, np.float32),
    }


def train(params: dict[str, Array], images: Array, labels: Array) -> dict[str, Array]:
    """Some epochs of Adam; prints the loss now and then."""
    step = wf.jit(adam_step)
    state = {name: (np.zeros_like(p), np.zeros_like(p)) for name, p in params.items()}
    shuffle, t = np.random.default_rng(1), 0
    for epoch in range(EPOCHS):
        for batch in np.array_split(shuffle.permutation(TRAINING), TRAINING // BATCH):
            t += 1
            params, state, value = step(params, state, float(t), images[batch], labels[batch])
        if epoch % 5 == 0 or epoch == EPOCHS - 1:
            print(f"   epoch {epoch + 1:2}: loss {float(value):.4f}")
    return params


def demo() -> int:
    """Run the demo; returns the exit code."""
    try:
        images, labels = load_digits()
    except ImportError:
        print('The demo needs scikit-learn for its data: pip install "weft[demo]"', file=sys.stderr)
        return 1
    params = initial_parameters()
    specs = ({n: wf.spec(p) for n, p in params.items()}, wf.spec("f32[n, 64]"), wf.spec("i64[n]"))

    print("1. The loss is plain NumPy code. Traced for any number of images, it is this graph:\n")
    graph = wf.trace(loss)(*specs)
    print(graph)
    print("2. The text is the graph: it parses back to the same program:", end=" ")
    print(wf.parse(str(graph)).content_hash() == graph.content_hash())
    print("   and each op knows its line:\n")
    lines = graph.text(locations=True).splitlines()
    print("\n".join(line for line in lines if "= gather(" in line or "= exp(" in line))

    gradient = wf.trace(wf.grad(loss))(*specs)
    print(f"\n3. Its gradient is a graph too, of {len(gradient.ops)} ops. Training with it:\n")
    started = time.perf_counter()
    params = train(params, images, labels)
    print(f"   in {time.perf_counter() - started:.1f} s as native code, compiling included")
    measure = wf.jit(accuracy, specs=specs)
    for name, part in (("training", slice(TRAINING)), ("test", slice(TRAINING, None))):
        result = float(measure(params, images[part], labels[part]))
        print(f"   accuracy on {name:8} digits: {result:.4f} (one program for any batch size)")

    print("\n4. A mistake names your line:\n")
    try:
        wf.trace(loss)({**params, "w2": params["w1"].T[:32]}, images, labels)
    except wf.ShapeError as error:
        print("   " + str(error).replace("\n", "\n   "))
    return 0
