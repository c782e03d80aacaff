"""Pieces that the networks share: layers, losses and parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import ADAM, Workload
from benchmarks.workloads.rows import gelu, layer_norm

Random = np.random.Generator


def training(name: str, about: str, loss: Any, inputs: Any, size: Any, small: Any) -> Workload:
    """A step of training with Adam: new parameters, moments, and the loss."""
    return Workload(
        name,
        "training",
        f"Adam step: {about}",
        loss,
        inputs,
        {"": size},
        small,
        form=ADAM,
        tolerance=1e-2,
    )


def dense(r: Random, rows: int, columns: int, scale: float | None = None) -> dict[str, Any]:
    """Weights of a dense layer, scaled by the number of inputs unless given."""
    factor = rows**-0.5 if scale is None else scale
    weights = (r.normal(size=(rows, columns)) * factor).astype(np.float32)
    return {"w": weights, "b": np.zeros(columns, np.float32)}


def apply(layer: Any, x: Any) -> Any:
    return x @ layer["w"] + layer["b"]


def norms(width: int) -> dict[str, Any]:
    return {"scale": np.ones(width, np.float32), "shift": np.zeros(width, np.float32)}


def norm(xp: Any, x: Any, layer: Any) -> Any:
    return layer_norm(xp, x, layer["scale"], layer["shift"])


def cross_entropy(xp: Any, logits: Any, targets: Any) -> Any:
    shifted = logits - xp.max(logits, axis=-1, keepdims=True)
    likelihood = shifted - xp.log(xp.sum(xp.exp(shifted), axis=-1, keepdims=True))
    return -xp.mean(xp.take_along_axis(likelihood, targets[..., None], axis=-1))


def block_parameters(r: Random, width: int) -> dict[str, Any]:
    """One block of a transformer."""
    return {
        "norm1": norms(width),
        "norm2": norms(width),
        "qkv": (r.normal(size=(width, 3 * width)) * 0.02).astype(np.float32),
        "out": (r.normal(size=(width, width)) * 0.02).astype(np.float32),
        "up": dense(r, width, 4 * width, 0.02),
        "down": dense(r, 4 * width, width, 0.02),
    }


def block(xp: Any, x: Any, p: Any, heads: int, width: int, mask: Any = None) -> Any:
    """Attention and a network of two layers, each behind a layer norm and beside its input."""
    batch, tokens = x.shape[0], x.shape[1]
    parts = (norm(xp, x, p["norm1"]) @ p["qkv"]).reshape((batch, tokens, 3, heads, width // heads))
    q, k, v = (parts[:, :, i].swapaxes(1, 2) for i in range(3))
    scores = q @ k.swapaxes(2, 3) * (width // heads) ** -0.5
    scores = scores if mask is None else scores + mask
    e = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    mixed = (e / xp.sum(e, axis=-1, keepdims=True)) @ v
    x = x + mixed.swapaxes(1, 2).reshape((batch, tokens, width)) @ p["out"]
    return x + apply(p["down"], gelu(xp, apply(p["up"], norm(xp, x, p["norm2"]))))
