"""A step of training of a convolutional network: 3x3 kernels, each followed by a rectifier and a
2x2 maximum, the mean over the image and a dense layer.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.workload import Function
from benchmarks.workloads.networks import apply, cross_entropy, dense, training

CLASSES = 10


def loss(xp: Any, size: Any) -> Function:
    def total(p: Any, x: Any, targets: Any) -> Any:
        for layer in p["layers"]:
            made = xp.conv(x, layer["w"], padding=1) + layer["b"].reshape((1, -1, 1, 1))
            x = xp.max_pool(xp.maximum(made, 0.0), 2)
        return cross_entropy(xp, apply(p["head"], xp.mean(x, axis=(2, 3))), targets)

    return total


def torch_loss(xp: Any, size: Any) -> Function:
    """The same by torch's own layers."""
    from torch.nn import functional

    def total(p: Any, x: Any, targets: Any) -> Any:
        for layer in p["layers"]:
            made = functional.conv2d(x, layer["w"], layer["b"], padding=1)
            x = functional.max_pool2d(functional.relu(made), 2)
        return functional.cross_entropy(apply(p["head"], x.mean((2, 3))), targets)

    return total


def inputs(size: Any) -> tuple[Any, ...]:
    batch, pixels, channels = size
    r = np.random.default_rng(0)
    layers = [
        {
            "w": (r.normal(size=(b, a, 3, 3)) * (9 * a) ** -0.5).astype(np.float32),
            "b": np.zeros(b, np.float32),
        }
        for a, b in pairwise(channels)
    ]
    parameters = {"layers": layers, "head": dense(r, channels[-1], CLASSES)}
    x = r.normal(size=(batch, channels[0], pixels, pixels)).astype(np.float32)
    return parameters, x, r.integers(0, CLASSES, batch)


ABOUT = "CNN 3-32-64-128, 32x32 images, batch 32"
MADE = training("cnn", ABOUT, loss, inputs, (32, 32, (3, 32, 64, 128)), (2, 8, (3, 4, 5)))
WORKLOADS = (MADE.with_own(torch=torch_loss),)
