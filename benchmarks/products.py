"""Matrix products, alone and with what follows them, against NumPy (OpenBLAS), JAX and torch.

Bars, as ratios to the best of the peers in the same run: 0.95 for 1024 and 2048 cubed; above 1 for
products with bias and gelu; 1.2 for 64 to 256 cubed, batches of 64 x 64, and 12 x 128 by 128 x 512.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import weft as wf
from benchmarks.common import Run, agree, jax_run, measure, peer, start, wanted

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A function of arrays, written over a namespace, with its multiplications and its bar."""

    title: str
    make: Callable[[Any], Callable[..., Any]]
    shapes: Sequence[Shape]
    steps: int
    bar: float


def plain(xp: Any) -> Callable[..., Any]:
    return lambda x, y: x @ y


def turned(xp: Any) -> Callable[..., Any]:
    return lambda x, y: x @ y.swapaxes(-1, -2)


def left_turned(xp: Any) -> Callable[..., Any]:
    return lambda x, y: x.swapaxes(-1, -2) @ y


def gelu(xp: Any) -> Callable[..., Any]:
    def layer(x: Any, y: Any, b: Any) -> Any:
        h = x @ y + b
        return 0.5 * h * (1.0 + xp.tanh(0.7978845608 * (h + 0.044715 * h * h * h)))

    return layer


def cubes(sizes: Sequence[int], bar: float) -> list[Case]:
    return [Case(f"cube {n}", plain, ((n, n), (n, n)), n**3, bar) for n in sizes]


def cases() -> list[Case]:
    made = cubes((64, 96, 128, 192, 256), 1.2) + cubes((512, 1024, 2048), 0.95)
    made += [Case(f"gelu {n}", gelu, ((n, n), (n, n), (n,)), n**3, 1.0) for n in (256, 1024, 2048)]
    skinny = ((12, 128), (128, 512))
    made += [
        Case("skinny 12 x 128 by 128 x 512", plain, skinny, 12 * 128 * 512, 1.2),
        Case("heads 64 x 64 x 64, 64", plain, ((64, 64, 64),) * 2, 64**4, 1.2),
        Case("heads 48 x 64 x 32, turned", turned, ((48, 64, 32),) * 2, 48 * 64 * 64 * 32, 1.2),
        Case("batch of 1000, 16 cubed", plain, ((1000, 16, 16),) * 2, 1000 * 16**3, 1.2),
        Case("layer 768 x 128 by 128 x 512", plain, ((768, 128), (128, 512)), 768 * 2**16, 1.0),
        Case("layer, weights turned", turned, ((768, 512), (128, 512)), 768 * 2**16, 1.0),
        Case("weight gradient", left_turned, ((768, 128), (768, 512)), 768 * 2**16, 1.0),
        Case("vector 4096 x 4096", plain, ((4096, 4096), (4096,)), 4096**2, 1.0),
    ]
    return made


def runs(case: Case, values: tuple[Any, ...]) -> dict[str, Run]:
    compiled = wf.jit(case.make(np))
    found: dict[str, Run] = {"weft": lambda: compiled(*values)}
    function = case.make(np)
    found["numpy"] = lambda: function(*values)
    jax, torch = peer("jax"), peer("torch")
    if jax is not None:
        found["jax"] = jax_run(jax, case.make(jax.numpy), values)
    if torch is not None:
        tensors = [torch.from_numpy(value) for value in values]
        module = case.make(torch)
        found["torch"] = lambda: module(*tensors)
        if case.make is gelu:
            x, y, b = tensors
            found["torch fused"] = lambda: torch.nn.functional.gelu(
                torch.addmm(b, x, y), approximate="tanh"
            )
    return found


def report(case: Case, options: argparse.Namespace) -> None:
    if not wanted(case.title, options):
        return
    r = np.random.default_rng(0)
    values = tuple(
        (r.normal(size=shape) / shape[-1] ** 0.5).astype(np.float32) for shape in case.shapes
    )
    contenders = runs(case, values)
    agree(contenders, 1e-4)
    times = measure(contenders, options)
    rates = {name: 2e-9 * case.steps / taken.best for name, taken in times.items()}
    best = min(taken.best for name, taken in times.items() if name != "weft")
    shown = "  ".join(f"{name} {rate:6.1f}" for name, rate in rates.items())
    ratio = best / times["weft"].best
    print(
        f"{case.title:30} {ratio:5.2f} of the best (bar {case.bar})  GFLOP/s: {shown}", flush=True
    )


def main() -> None:
    options = start(__doc__ or "")
    for case in cases():
        report(case, options)


if __name__ == "__main__":
    main()
