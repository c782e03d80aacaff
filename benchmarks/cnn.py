"""Training step of a convolutional network with Adam: step time, compile time, memory.

Three layers of 3x3 kernels (3-32-64-128 channels), each followed by a rectifier and a 2x2 maximum,
the mean over the image and a dense layer; 32 images of 32x32. About 2 GFLOP.
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

import weft as wf
from benchmarks.common import Run, agree, jax_run, measure, peer, seconds, show, start
from benchmarks.gpt import (
    Function,
    adam,
    cross_entropy,
    show_compile_times,
    tree_map,
    wf_cache,
    with_moments,
)

CHANNELS, CLASSES, SIZE, BATCH = (3, 32, 64, 128), 10, 32, 32


def inputs(batch: int) -> tuple[Any, ...]:
    r = np.random.default_rng(0)
    layers = [
        {
            "w": (r.normal(size=(b, a, 3, 3)) * (9 * a) ** -0.5).astype(np.float32),
            "b": np.zeros(b, np.float32),
        }
        for a, b in zip(CHANNELS, CHANNELS[1:], strict=False)
    ]
    head = (r.normal(size=(CHANNELS[-1], CLASSES)) * 0.1).astype(np.float32)
    parameters = {"layers": layers, "w": head, "b": np.zeros(CLASSES, np.float32)}
    x = r.normal(size=(batch, CHANNELS[0], SIZE, SIZE)).astype(np.float32)
    return with_moments(parameters, x, r.integers(0, CLASSES, batch))


# --- contenders ---------------------------------------------------------------------------------


def network(xp: Any, convolve: Function, pool: Function) -> Function:
    def loss(p: Any, x: Any, targets: Any) -> Any:
        for layer in p["layers"]:
            made = convolve(x, layer["w"]) + layer["b"].reshape((1, -1, 1, 1))
            x = pool(xp.maximum(made, 0.0))
        logits = xp.mean(x, axis=(2, 3)) @ p["w"] + p["b"]
        return cross_entropy(xp, logits, targets)

    return loss


def weft_network() -> Function:
    return network(np, lambda x, w: wf.conv(x, w, padding="same"), lambda x: wf.max_pool(x, 2))


def jax_network(jax: Any) -> Function:
    def convolve(x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME")

    def pool(x: Any) -> Any:
        square = (1, 1, 2, 2)
        return jax.lax.reduce_window(x, -np.inf, jax.lax.max, square, square, "VALID")

    return network(jax.numpy, convolve, pool)


def torch_run(torch: Any, values: tuple[Any, ...], compiled: bool) -> Run:
    functional = torch.nn.functional

    def loss(p: Any, x: Any, targets: Any) -> Any:
        for layer in p["layers"]:
            made = functional.conv2d(x, layer["w"], layer["b"], padding=1)
            x = functional.max_pool2d(functional.relu(made), 2)
        return functional.cross_entropy(x.mean((2, 3)) @ p["w"] + p["b"], targets)

    used = torch.compile(loss) if compiled else loss
    p, m, v, t, *data = tree_map(torch.tensor, list(values))

    def value_and_grad(p: Any, *data: Any) -> Any:
        tracked = tree_map(lambda x: x.detach().requires_grad_(True), p)
        leaves: list[Any] = []
        tree_map(leaves.append, tracked)
        value = used(tracked, *data)
        found = iter(torch.autograd.grad(value, leaves))
        return value.detach(), tree_map(lambda _: next(found), tracked)

    step = adam(torch, value_and_grad, tree_map)
    return lambda: step(p, m, v, t, *data)


def contenders(values: tuple[Any, ...]) -> tuple[Any, dict[str, Run]]:
    step = wf.jit(adam(np, wf.value_and_grad(weft_network()), tree_map))
    runs: dict[str, Run] = {"weft": lambda: step(*values)}
    jax, torch = peer("jax"), peer("torch")
    if jax is not None:
        gradient = jax.value_and_grad(jax_network(jax))
        runs["jax"] = jax_run(jax, adam(jax.numpy, gradient, tree_map), values)
    if torch is not None:
        runs["torch"] = torch_run(torch, values, compiled=False)
        runs["torch.compile"] = torch_run(torch, values, compiled=True)
    return step, runs


def main() -> None:
    options = start(__doc__ or "")
    with tempfile.TemporaryDirectory() as directory:
        wf_cache(directory)
        values = inputs(BATCH)
        step, runs = contenders(values)
        first = {name: seconds(run) for name, run in runs.items()}
        agree(runs, 1e-2)
        times = measure(runs, options)
        show(f"cnn {'-'.join(map(str, CHANNELS))}, {SIZE}x{SIZE}, batch {BATCH}", times)
        show_compile_times(first, times)
        memory = step.memory(*values)
        share = int(memory.peak) / max(memory.lower_bound, 1)
        print(f"  arena {int(memory.peak) / 1e6:.2f} MB, {share:.3f} of the largest live set")


if __name__ == "__main__":
    main()
