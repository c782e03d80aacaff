"""A step of training of a dense network on images of digits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.workload import Function
from benchmarks.workloads.networks import apply, cross_entropy, dense, training


def loss(xp: Any, size: Any) -> Function:
    def total(p: Any, x: Any, targets: Any) -> Any:
        for layer in p[:-1]:
            x = xp.maximum(apply(layer, x), 0.0)
        return cross_entropy(xp, apply(p[-1], x), targets)

    return total


def inputs(size: Any) -> tuple[Any, ...]:
    batch, widths = size
    r = np.random.default_rng(0)
    parameters = [dense(r, a, b) for a, b in pairwise(widths)]
    x = r.normal(size=(batch, widths[0])).astype(np.float32)
    return parameters, x, r.integers(0, widths[-1], batch)


ABOUT = "MLP 784-512-512-10, batch 128"
WORKLOADS = (training("mlp", ABOUT, loss, inputs, (128, (784, 512, 512, 10)), (3, (6, 5, 4))),)
