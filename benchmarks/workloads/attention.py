"""Attention with gradients: in plain ops for Weft and JAX, torch's fused function for torch.

Gradients are those of a sum of the results with weights that come from elsewhere, so that what
comes back does not depend on what went out; in `attention-layer` it does, as in a model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Function, Workload, gradient, normal

HEADS, TOKENS, WIDTH = 8, 1024, 64


def attention(xp: Any, q: Any, k: Any, v: Any, scale: float, mask: Any) -> Any:
    scores = q @ k.swapaxes(-1, -2) * scale
    if mask is not None:
        scores = xp.where(mask, scores, np.float32(-np.inf))
    e = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    return (e / xp.sum(e, axis=-1, keepdims=True)) @ v


def mask_of(size: Any) -> Any:
    return np.tril(np.ones((size[1], size[1]), bool)) if size[3] else None


def alone(xp: Any, size: Any) -> Function:
    scale, mask = size[2] ** -0.5, mask_of(size)
    return lambda q, k, v, weights: xp.sum(attention(xp, q, k, v, scale, mask) * weights)


def torch_alone(xp: Any, size: Any) -> Function:
    import torch

    fused = torch.nn.functional.scaled_dot_product_attention
    return lambda q, k, v, weights: (fused(q, k, v, is_causal=size[3]) * weights).sum()


def layer_by(attend: Any) -> Any:
    """The same behind projections."""

    def make(xp: Any, size: Any) -> Function:
        heads, tokens, width, _ = size
        attended = attend(xp, size)

        def total(x: Any, inner: Any, outer: Any) -> Any:
            parts = (x @ inner).reshape((x.shape[0], tokens, 3, heads, width))
            q, k, v = (parts[:, :, i].swapaxes(1, 2) for i in range(3))
            mixed = attended(q, k, v).swapaxes(1, 2)
            return xp.sum((mixed.reshape(x.shape) @ outer + x) ** 2)

        return total

    return make


def plain(xp: Any, size: Any) -> Function:
    scale, mask = size[2] ** -0.5, mask_of(size)
    return lambda q, k, v: attention(xp, q, k, v, scale, mask)


def fused(xp: Any, size: Any) -> Function:
    import torch

    function = torch.nn.functional.scaled_dot_product_attention
    return lambda q, k, v: function(q, k, v, is_causal=size[3])


def heads(size: Any) -> tuple[Any, ...]:
    count, tokens, width, _ = size
    return tuple(normal(1, count, tokens, width, seed=i) for i in range(4))


def projections(size: Any) -> tuple[Any, ...]:
    count, tokens, width, _ = size
    wide = count * width
    shapes = ((1, tokens, wide), (wide, 3 * wide), (wide, wide))
    return tuple(normal(*s, seed=i, scale=s[-2] ** -0.25) for i, s in enumerate(shapes))


def flops(size: tuple[int, int, int, bool]) -> float:
    count, tokens, width, is_causal = size
    return 7 * 2.0 * count * tokens * tokens * width * (0.5 if is_causal else 1.0)


def moved(size: tuple[int, int, int, bool]) -> float:
    """The three operands and weights once, and three gradients."""
    return 7 * 4.0 * size[0] * size[1] * size[2]


SIZES = {
    "all pairs": (HEADS, TOKENS, WIDTH, False),
    "causal": (HEADS, TOKENS, WIDTH, True),
}
ABOUT = f"{HEADS} heads, {TOKENS} tokens, d={WIDTH} f32"
WORKLOADS = (
    Workload(
        "attention",
        "attention",
        f"gradients of attention, {ABOUT}",
        alone,
        heads,
        SIZES,
        (2, 5, 4, True),
        form=gradient(0, 1, 2),
        own={"torch": torch_alone},
        tolerance=1e-3,
        flops=flops,
        bytes=moved,
        growth={n: (8, n, 64, False) for n in (64, 128, 256, 512, 1024)},
    ),
    Workload(
        "attention-layer",
        "attention",
        f"with projections around it, {ABOUT}",
        layer_by(plain),
        projections,
        SIZES,
        (2, 5, 4, True),
        form=gradient(0, 1, 2),
        own={"torch": layer_by(fused)},
        tolerance=1e-3,
        cold=False,
    ),
)
