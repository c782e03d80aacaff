"""Training steps of a small GPT and of an MLP with Adam: compile time, step time, memory.

Bars: compile time of the GPT's step below 1/3 of JAX's; the arena within 5 % of the largest set of
values that are alive at once.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

import weft as wf
from benchmarks.common import (
    Run,
    Times,
    agree,
    jax_run,
    measure,
    peer,
    seconds,
    show,
    start,
    wanted,
)

LAYERS, WIDTH, HEADS, TOKENS, BATCH, VOCABULARY = 4, 128, 4, 64, 12, 65
RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8
Function = Callable[..., Any]


# --- models, over NumPy, jax.numpy or the few names of torch below -------------------------------


def norm(xp: Any, x: Any, p: Any) -> Any:
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centred * centred, axis=-1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5) * p["scale"] + p["shift"]


def attention(xp: Any, x: Any, p: Any, mask: Any) -> Any:
    batch, tokens, width = x.shape
    heads = (x @ p["qkv"]).reshape((batch, tokens, 3, HEADS, width // HEADS))
    q, k, v = (heads[:, :, i].swapaxes(1, 2) for i in range(3))
    scores = q @ k.swapaxes(2, 3) / np.float32(np.sqrt(width // HEADS)) + mask
    e = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    mixed = (e / xp.sum(e, axis=-1, keepdims=True)) @ v
    return mixed.swapaxes(1, 2).reshape((batch, tokens, width)) @ p["out"]


def gelu(xp: Any, x: Any) -> Any:
    return 0.5 * x * (1.0 + xp.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def cross_entropy(xp: Any, logits: Any, targets: Any) -> Any:
    shifted = logits - xp.max(logits, axis=-1, keepdims=True)
    likelihood = shifted - xp.log(xp.sum(xp.exp(shifted), axis=-1, keepdims=True))
    return -xp.mean(xp.take_along_axis(likelihood, targets[..., None], axis=-1))


def gpt(xp: Any) -> Function:
    triangle = np.triu(np.ones((TOKENS, TOKENS), np.float32), 1)
    mask = xp.asarray(triangle * np.float32(-1e9))

    def loss(p: Any, tokens: Any, targets: Any) -> Any:
        x = p["tokens"][tokens] + p["places"]
        for layer in p["layers"]:
            x = x + attention(xp, norm(xp, x, layer["norm1"]), layer["attention"], mask)
            h = norm(xp, x, layer["norm2"]) @ layer["up"] + layer["up_bias"]
            x = x + gelu(xp, h) @ layer["down"] + layer["down_bias"]
        return cross_entropy(xp, norm(xp, x, p["norm"]) @ p["head"], targets)

    return loss


def mlp(xp: Any) -> Function:
    def loss(p: Any, x: Any, targets: Any) -> Any:
        for i, layer in enumerate(p):
            x = x @ layer["w"] + layer["b"]
            x = xp.maximum(x, 0.0) if i < len(p) - 1 else x
        return cross_entropy(xp, x, targets)

    return loss


def adam(xp: Any, value_and_grad: Function, map: Function) -> Function:
    """One step: new parameters, moments, and the loss."""

    def step(p: Any, m: Any, v: Any, t: Any, *data: Any) -> Any:
        loss, g = value_and_grad(p, *data)
        m = map(lambda m, g: BETA1 * m + (1 - BETA1) * g, m, g)
        v = map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, v, g)
        rate = RATE * xp.sqrt(1 - BETA2**t) / (1 - BETA1**t)
        p = map(lambda p, m, v: p - rate * m / (xp.sqrt(v) + EPSILON), p, m, v)
        return p, m, v, loss

    return step


def tree_map(function: Function, *trees: Any) -> Any:
    """`function` applied to the leaves of dicts and lists."""
    first = trees[0]
    if isinstance(first, dict):
        return {key: tree_map(function, *(t[key] for t in trees)) for key in first}
    if isinstance(first, list):
        return [tree_map(function, *items) for items in zip(*trees, strict=True)]
    return function(*trees)


# --- parameters and data ------------------------------------------------------------------------


def gpt_inputs() -> tuple[Any, ...]:
    r = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return (r.normal(size=shape) * 0.02).astype(np.float32)

    def norms() -> Any:
        return {"scale": np.ones(WIDTH, np.float32), "shift": np.zeros(WIDTH, np.float32)}

    layers = [
        {
            "norm1": norms(),
            "norm2": norms(),
            "attention": {"qkv": normal(WIDTH, 3 * WIDTH), "out": normal(WIDTH, WIDTH)},
            "up": normal(WIDTH, 4 * WIDTH),
            "up_bias": np.zeros(4 * WIDTH, np.float32),
            "down": normal(4 * WIDTH, WIDTH),
            "down_bias": np.zeros(WIDTH, np.float32),
        }
        for _ in range(LAYERS)
    ]
    parameters = {
        "tokens": normal(VOCABULARY, WIDTH),
        "places": normal(TOKENS, WIDTH),
        "layers": layers,
        "norm": norms(),
        "head": normal(WIDTH, VOCABULARY),
    }
    tokens, targets = r.integers(0, VOCABULARY, (2, BATCH, TOKENS))
    return with_moments(parameters, tokens, targets)


def mlp_inputs() -> tuple[Any, ...]:
    r = np.random.default_rng(0)
    sizes = (784, 512, 512, 10)
    parameters = [
        {
            "w": (r.normal(size=(a, b)) * a**-0.5).astype(np.float32),
            "b": np.zeros(b, np.float32),
        }
        for a, b in zip(sizes, sizes[1:], strict=False)
    ]
    x = r.normal(size=(128, 784)).astype(np.float32)
    return with_moments(parameters, x, r.integers(0, 10, 128))


def with_moments(parameters: Any, *data: Any) -> tuple[Any, ...]:
    zeros = tree_map(np.zeros_like, parameters)
    return parameters, zeros, zeros, np.float32(3.0), *data


# --- contenders ---------------------------------------------------------------------------------


class TorchNamespace:
    """The functions that the models use, as torch names them."""

    def __init__(self, torch: Any) -> None:
        self.exp, self.log, self.sqrt, self.tanh = torch.exp, torch.log, torch.sqrt, torch.tanh
        self.asarray, self.torch = torch.tensor, torch

    def mean(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return x.mean() if axis is None else x.mean(dim=axis, keepdim=keepdims)

    def sum(self, x: Any, axis: Any, keepdims: bool) -> Any:
        return x.sum(dim=axis, keepdim=keepdims)

    def max(self, x: Any, axis: Any, keepdims: bool) -> Any:
        return x.amax(dim=axis, keepdim=keepdims)

    def maximum(self, x: Any, y: float) -> Any:
        return x.clamp_min(y)

    def take_along_axis(self, x: Any, indices: Any, axis: Any) -> Any:
        return x.take_along_dim(indices, dim=axis)


def torch_run(torch: Any, make: Function, values: tuple[Any, ...], compiled: bool) -> Run:
    loss = make(TorchNamespace(torch))
    if compiled:
        loss = torch.compile(loss)
    p, m, v, t, *data = tree_map(torch.tensor, list(values))

    def value_and_grad(p: Any, *data: Any) -> Any:
        tracked = tree_map(lambda x: x.detach().requires_grad_(True), p)
        leaves: list[Any] = []
        tree_map(leaves.append, tracked)
        total = loss(tracked, *data)
        grads = iter(torch.autograd.grad(total, leaves))
        return total.detach(), tree_map(lambda _: next(grads), p)

    step = adam(TorchNamespace(torch), value_and_grad, tree_map)

    def call() -> Any:
        return step(p, m, v, t, *data)

    return call


def contenders(make: Function, values: tuple[Any, ...]) -> tuple[Any, dict[str, Run]]:
    step = wf.jit(adam(np, wf.value_and_grad(make(np)), tree_map))
    runs: dict[str, Run] = {"weft": lambda: step(*values)}
    jax = peer("jax")
    if jax is not None:
        gradient = jax.value_and_grad(make(jax.numpy))
        runs["jax"] = jax_run(jax, adam(jax.numpy, gradient, tree_map), values)
    torch = peer("torch")
    if torch is not None:
        runs["torch"] = torch_run(torch, make, values, compiled=False)
        runs["torch.compile"] = torch_run(torch, make, values, compiled=True)
    return step, runs


def report(title: str, make: Function, values: tuple[Any, ...], o: argparse.Namespace) -> None:
    step, runs = contenders(make, values)
    first = {name: seconds(run) for name, run in runs.items()}
    agree(runs, 1e-2)
    times = measure(runs, o)
    show(title, times)
    show_compile_times(first, times)
    memory = step.memory(*values)
    share = int(memory.peak) / max(memory.lower_bound, 1)
    print(f"  arena {int(memory.peak) / 1e6:.2f} MB, {share:.3f} of the largest live set")


def show_compile_times(first: dict[str, float], times: dict[str, Times]) -> None:
    taken = {name: first[name] - times[name].median for name in first}
    for name, duration in taken.items():
        ratio = taken["weft"] / duration
        print(f"  first call, {name:16} {duration:7.2f} s  weft {ratio:5.2f} of it")


def main() -> None:
    options = start(__doc__ or "")
    with tempfile.TemporaryDirectory() as directory:
        wf_cache(directory)
        title = f"mlp 784-512-512-10, batch 128, {options.threads} threads"
        if wanted(title, options):
            report(title, mlp, mlp_inputs(), options)
        title = f"gpt: {LAYERS} layers, d={WIDTH}, {TOKENS} tokens, batch {BATCH}"
        if wanted(title, options):
            report(title, gpt, gpt_inputs(), options)


def wf_cache(directory: str) -> None:
    """Compile times are those without anything in the cache on disk."""
    os.environ["WEFT_CACHE_DIR"] = directory
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = directory


if __name__ == "__main__":
    main()
