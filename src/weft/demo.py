"""The demo: a classifier of handwritten digits in plain NumPy code, traced, shown and run.

The model is a random tanh layer with a ridge-regression readout, which needs no gradients. The
data ships with scikit-learn.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import weft as wf

Array = np.ndarray[Any, Any]


def features(x: Any, w: Any, b: Any) -> Any:
    """A hidden layer."""
    return np.tanh(x @ w + b)


def fit(x: Any, labels: Any, w: Any, b: Any, penalty: Any) -> Any:
    """The readout that minimises squared error plus a penalty, in closed form."""
    h = features(x, w, b)
    targets = (labels[:, None] == np.arange(10)).astype(h.dtype)
    return np.linalg.solve(h.T @ h + penalty * np.eye(h.shape[1], dtype="f4"), h.T @ targets)


def accuracy(x: Any, labels: Any, w: Any, b: Any, readout: Any) -> Any:
    """The share of digits that are read right."""
    return np.mean(np.argmax(features(x, w, b) @ readout, axis=1) == labels)


def load_digits() -> tuple[Array, Array]:
    """Images of 8x8 pixels in [0, 1], in a fixed random order, and their labels."""
    from sklearn.datasets import load_digits as load

    data = load()
    order = np.random.default_rng(0).permutation(len(data.target))
    return (data.data[order] / 16).astype(np.float32), data.target[order]


def demo() -> int:
    """Run the demo; returns the exit code."""
    try:
        images, labels = load_digits()
    except ImportError:
        print('The demo needs scikit-learn for its data: pip install "weft[demo]"', file=sys.stderr)
        return 1
    first, second = wf.random.split(wf.random.key(0))
    w = wf.random.normal(first, (64, 512), dtype="f32", std=0.3)
    b = wf.random.uniform(second, (512,), dtype="f32", low=-1, high=1)

    print("1. The model is plain NumPy code. Traced for any number of images, it is this graph:\n")
    data = (wf.spec("f32[n, 64]"), wf.spec("i64[n]"))
    specs = (*data, wf.spec(w), wf.spec(b), wf.spec("f32[512, 10]"))
    graph = wf.trace(accuracy)(*specs)
    print(graph)
    print("2. The text is the graph: it parses back to the same program:", end=" ")
    print(wf.parse(str(graph)).content_hash() == graph.content_hash())
    print("   and each op knows its line:\n")
    print("\n".join(line for line in graph.text(locations=True).splitlines() if "= argmax(" in line))

    print("\n3. Compiled once, it serves every batch size:\n")
    measure = wf.jit(accuracy, specs=specs)
    started = time.perf_counter()
    readout = wf.jit(fit)(images[:1437], labels[:1437], w, b, 1.0)
    print(f"   fitted a 64-512-10 network on 1437 digits in {time.perf_counter() - started:.2f} s")
    parts = {"1437 training": slice(0, 1437), "360 test": slice(1437, None)}
    for name, part in parts.items():
        result = measure(images[part], labels[part], w, b, readout)
        print(f"   accuracy on {name:13} digits: {float(result):.4f}")

    print("\n4. A mistake names your line:\n")
    try:
        wf.trace(features)(images[0], w.T, b)
    except wf.ShapeError as error:
        print("   " + str(error).replace("\n", "\n   "))
    return 0
