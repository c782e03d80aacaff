"""A step of training of a small vision transformer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.workload import Function
from benchmarks.workloads.networks import (
    apply,
    block,
    block_parameters,
    cross_entropy,
    dense,
    norm,
    norms,
    training,
)


@dataclass(frozen=True)
class Size:
    layers: int = 4
    width: int = 192
    heads: int = 3
    pixels: int = 32
    patch: int = 4
    batch: int = 16
    classes: int = 10

    @property
    def side(self) -> int:
        return self.pixels // self.patch


def loss(xp: Any, size: Size) -> Function:
    side, patch = size.side, size.patch
    heads, width = size.heads, size.width

    def total(p: Any, images: Any, targets: Any) -> Any:
        batch = images.shape[0]
        patches = images.reshape((batch, 3, side, patch, side, patch))
        patches = patches.swapaxes(1, 2).swapaxes(2, 4).reshape((batch, side * side, -1))
        x = apply(p["embed"], patches) + p["places"]
        for layer in p["layers"]:
            x = block(xp, x, layer, heads, width)
        return cross_entropy(xp, apply(p["head"], xp.mean(norm(xp, x, p["norm"]), axis=1)), targets)

    return total


def inputs(size: Size) -> tuple[Any, ...]:
    r = np.random.default_rng(0)
    places = r.normal(size=(size.side**2, size.width)) * 0.02
    parameters = {
        "embed": dense(r, 3 * size.patch**2, size.width),
        "places": places.astype(np.float32),
        "layers": [block_parameters(r, size.width) for _ in range(size.layers)],
        "norm": norms(size.width),
        "head": dense(r, size.width, size.classes),
    }
    images = r.normal(size=(size.batch, 3, size.pixels, size.pixels)).astype(np.float32)
    return parameters, images, r.integers(0, size.classes, size.batch)


ABOUT = "ViT, 4 layers, d=192, 32x32 images in patches of 4, batch 16"
WORKLOADS = (training("vit", ABOUT, loss, inputs, Size(), Size(1, 8, 2, 4, 2, 2, 3)),)
