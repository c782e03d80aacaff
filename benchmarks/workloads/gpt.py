"""A step of training of a small GPT on characters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.workload import Function
from benchmarks.workloads.networks import (
    block,
    block_parameters,
    cross_entropy,
    norm,
    norms,
    training,
)


@dataclass(frozen=True)
class Size:
    layers: int = 4
    width: int = 128
    heads: int = 4
    tokens: int = 64
    batch: int = 12
    vocabulary: int = 65


def loss(xp: Any, size: Size) -> Function:
    triangle = np.triu(np.ones((size.tokens, size.tokens), np.float32), 1)
    mask = xp.asarray(triangle * np.float32(-1e9))
    heads, width = size.heads, size.width

    def total(p: Any, tokens: Any, targets: Any) -> Any:
        x = p["tokens"][tokens] + p["places"]
        for layer in p["layers"]:
            x = block(xp, x, layer, heads, width, mask)
        return cross_entropy(xp, norm(xp, x, p["norm"]) @ p["head"], targets)

    return total


def torch_loss(xp: Any, size: Size) -> Function:
    """The same with torch's fused attention, layer norm, gelu and loss."""
    from torch.nn import functional

    def normed(x: Any, p: Any) -> Any:
        return functional.layer_norm(x, x.shape[-1:], p["scale"], p["shift"])

    def total(p: Any, tokens: Any, targets: Any) -> Any:
        x = p["tokens"][tokens] + p["places"]
        batch, count, width = x.shape
        for layer in p["layers"]:
            parts = normed(x, layer["norm1"]) @ layer["qkv"]
            parts = parts.reshape(batch, count, 3, size.heads, width // size.heads)
            q, k, v = (parts[:, :, i].transpose(1, 2) for i in range(3))
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + mixed.transpose(1, 2).reshape(batch, count, width) @ layer["out"]
            h = normed(x, layer["norm2"]) @ layer["up"]["w"] + layer["up"]["b"]
            h = functional.gelu(h, approximate="tanh")
            x = x + h @ layer["down"]["w"] + layer["down"]["b"]
        logits = normed(x, p["norm"]) @ p["head"]
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    return total


def inputs(size: Size) -> tuple[Any, ...]:
    r = np.random.default_rng(0)

    def small(*shape: int) -> Any:
        return (r.normal(size=shape) * 0.02).astype(np.float32)

    parameters = {
        "tokens": small(size.vocabulary, size.width),
        "places": small(size.tokens, size.width),
        "layers": [block_parameters(r, size.width) for _ in range(size.layers)],
        "norm": norms(size.width),
        "head": small(size.width, size.vocabulary),
    }
    tokens, targets = r.integers(0, size.vocabulary, (2, size.batch, size.tokens))
    return parameters, tokens, targets


ABOUT = "GPT, 4 layers, d=128, 64 tokens, batch 12"
MADE = training("gpt", ABOUT, loss, inputs, Size(), Size(1, 8, 2, 5, 2, 7))
WORKLOADS = (MADE.with_own(torch=torch_loss),)
