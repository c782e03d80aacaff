"""Attention written in NumPy, forward and backward, against torch's own fused attention.

Bars: at least as fast as torch's scaled_dot_product_attention, peak memory of intermediate values
below a quarter of the form that stores the scores. JAX runs the same code as Weft.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import weft as wf
from benchmarks.common import Run, compare, jax_run, peer, start, wanted

HEADS, TOKENS, WIDTH = 8, 1024, 64
Function = Callable[..., Any]


def attention(xp: Any, q: Any, k: Any, v: Any, mask: Any) -> Any:
    scores = q @ k.swapaxes(-1, -2) * np.float32(q.shape[-1] ** -0.5)
    if mask is not None:
        scores = xp.where(mask, scores, np.float32(-np.inf))
    e = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    return (e / xp.sum(e, axis=-1, keepdims=True)) @ v


def gradients(xp: Any, value_and_grad: Function, mask: Any) -> Function:
    """The gradients of a sum of the results with weights that come from elsewhere."""

    def total(q: Any, k: Any, v: Any, weights: Any) -> Any:
        return xp.sum(attention(xp, q, k, v, mask) * weights)

    return value_and_grad(total, (0, 1, 2))  # type: ignore[no-any-return]


def layer(xp: Any, value_and_grad: Function, mask: Any) -> Function:
    """The same behind projections, as in a model: what comes back depends on what went out."""

    def total(x: Any, inner: Any, outer: Any) -> Any:
        parts = (x @ inner).reshape((x.shape[0], TOKENS, 3, HEADS, WIDTH))
        q, k, v = (parts[:, :, i].swapaxes(1, 2) for i in range(3))
        mixed = attention(xp, q, k, v, mask).swapaxes(1, 2)
        return xp.sum((mixed.reshape(x.shape) @ outer + x) ** 2)

    return value_and_grad(total, (0, 1, 2))  # type: ignore[no-any-return]


def inputs(name: str) -> tuple[Any, ...]:
    r = np.random.default_rng(0)
    if name == "layer":
        wide = HEADS * WIDTH
        shapes = ((1, TOKENS, wide), (wide, 3 * wide), (wide, wide))
        return tuple((r.normal(size=s) * s[-2] ** -0.25).astype(np.float32) for s in shapes)
    return tuple(r.normal(size=(1, HEADS, TOKENS, WIDTH)).astype(np.float32) for _ in range(4))


def torch_run(torch: Any, name: str, values: tuple[Any, ...], is_causal: bool) -> Run:
    """torch's fused attention, and its derivative."""
    tensors = [torch.tensor(value) for value in values]
    tracked = [tensor.requires_grad_(True) for tensor in tensors[:3]]
    fused = torch.nn.functional.scaled_dot_product_attention

    def attend() -> Any:
        q, k, v, weights = tensors
        return (fused(q, k, v, is_causal=is_causal) * weights).sum()

    def attend_in_layer() -> Any:
        x, inner, outer = tensors
        parts = (x @ inner).reshape(x.shape[0], TOKENS, 3, HEADS, WIDTH)
        q, k, v = (parts[:, :, i].transpose(1, 2) for i in range(3))
        mixed = fused(q, k, v, is_causal=is_causal).transpose(1, 2).reshape(x.shape)
        return ((mixed @ outer + x) ** 2).sum()

    total = attend_in_layer if name == "layer" else attend

    def call() -> Any:
        made = total()
        return made, torch.autograd.grad(made, tracked)

    return call


def unblocked(function: Function) -> Any:
    """The function with all passes but the one that computes in blocks."""
    from weft.compiler.passes.pipeline import DEFAULT

    kept = [item for item in DEFAULT if item.name != "block"]
    return wf.jit(function, optimise=False, passes=kept)


def report(name: str, is_causal: bool, options: argparse.Namespace) -> None:
    kind = "causal" if is_causal else "all pairs"
    title = f"{name}, {kind}: {HEADS} heads, {TOKENS} tokens, d={WIDTH} f32, with gradients"
    if not wanted(title, options):
        return
    make = layer if name == "layer" else gradients
    mask = np.tril(np.ones((TOKENS, TOKENS), bool)) if is_causal else None
    values = inputs(name)
    function = make(np, wf.value_and_grad, mask)
    compiled, stored = wf.jit(function), unblocked(function)
    runs: dict[str, Run] = {"weft": lambda: compiled(*values)}
    runs["weft unblocked"] = lambda: stored(*values)
    torch, jax = peer("torch"), peer("jax")
    if torch is not None:
        runs["torch sdpa"] = torch_run(torch, name, values, is_causal)
    if jax is not None:
        runs["jax"] = jax_run(jax, make(jax.numpy, jax.value_and_grad, mask), values)
    compare(title, runs, options, 1e-3)
    memory, whole = compiled.memory(*values), stored.memory(*values)
    own = int(memory.peak) + (options.threads - 1) * int(memory.per_thread)
    share = f"{own / int(whole.peak):.3f} of what storing the scores takes"
    print(f"  memory {own / 1e6:.1f} MB, {int(whole.peak) / 1e6:.1f} MB unblocked: {share}")


def main() -> None:
    options = start(__doc__ or "")
    for name in ("attention", "layer"):
        for is_causal in (False, True):
            report(name, is_causal, options)


if __name__ == "__main__":
    main()
