"""Gradients of sums over all pairs of 4,000 points, and the memory that they take.

Bars: no buffer of 4,000 x 4,000 (peak memory in the order of the points), at least 10 x JAX, goal
faster than torch.compile. Each contender is also run in a process of its own, whose growth in peak
memory from before the first call is shown.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.common import Run, compare, jax_run, peer, start, wanted

POINTS = 4_000
Function = Callable[..., Any]


def energy(xp: Any) -> Function:
    """The potential of bodies with softened gravity."""

    def total(x: Any, mass: Any) -> Any:
        d = x[:, None, :] - x[None, :, :]
        r2 = xp.sum(d * d, axis=-1) + 1e-2
        return -0.5 * xp.sum(mass[:, None] * mass[None, :] / xp.sqrt(r2))

    return total


def squared_exponential(xp: Any, x: Any, y: Any, length: Any) -> Any:
    d = x[:, None, :] - y[None, :, :]
    return xp.exp(-0.5 * xp.sum(d * d, axis=-1) / (length * length))


def weighted(xp: Any) -> Function:
    """The sum of a kernel between two sets of points, with weights."""

    def total(x: Any, y: Any, weights: Any, length: Any) -> Any:
        return xp.sum(weights[None, :] * squared_exponential(xp, x, y, length))

    return total


def product(xp: Any) -> Function:
    """The squared norm of a kernel matrix times a vector."""

    def total(x: Any, y: Any, weights: Any, length: Any) -> Any:
        return xp.sum((squared_exponential(xp, x, y, length) @ weights) ** 2)

    return total


def inputs(name: str) -> tuple[Any, ...]:
    r = np.random.default_rng(0)
    x = r.normal(size=(POINTS, 3))
    if name == "n-body":
        return x, r.uniform(0.5, 1.5, POINTS)
    return x, r.normal(size=(POINTS, 3)), r.normal(size=POINTS), np.float64(1.3)


CASES: dict[str, tuple[Callable[[Any], Function], tuple[int, ...]]] = {
    "n-body": (energy, (0,)),
    "rbf": (weighted, (0, 1, 2, 3)),
    "matvec": (product, (0, 1, 2, 3)),
}


def torch_run(torch: Any, function: Function, values: tuple[Any, ...], numbers: Any) -> Run:
    """torch.compile of forward and backward, in one call."""

    class Namespace:
        sqrt, exp = staticmethod(torch.sqrt), staticmethod(torch.exp)

        @staticmethod
        def sum(x: Any, axis: Any = None) -> Any:
            return torch.sum(x) if axis is None else torch.sum(x, dim=axis)

    compiled = torch.compile(function(Namespace))
    tensors = [torch.tensor(value, dtype=torch.float64) for value in values]
    for number in numbers:
        tensors[number].requires_grad_(True)

    def call() -> Any:
        total = compiled(*tensors)
        return total, torch.autograd.grad(total, [tensors[number] for number in numbers])

    return call


def run_of(contender: str, name: str) -> Run | None:
    make, numbers = CASES[name]
    values = inputs(name)
    if contender == "weft":
        import weft as wf

        compiled = wf.jit(wf.value_and_grad(make(np), numbers))
        return lambda: compiled(*values)
    module = peer(contender)
    if module is None:
        return None
    if contender == "jax":
        return jax_run(module, module.value_and_grad(make(module.numpy), numbers), values)
    return torch_run(module, make, values, numbers)


def peak_bytes(contender: str, name: str) -> int:
    """What the peak memory of a process grows by in its first calls, which compile."""
    run = run_of(contender, name)
    assert run is not None
    before = high_water_bytes()
    for _ in range(3):
        run()
    return high_water_bytes() - before


def high_water_bytes() -> int:
    """The most physical memory that this process ever had."""
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return int(lines["VmHWM"].split()[0]) * 1024


def show_memory(name: str, contenders: list[str], options: argparse.Namespace) -> None:
    for contender in contenders:
        command = [sys.executable, "-m", "benchmarks.pairwise", "--threads", str(options.threads)]
        found = subprocess.run([*command, f"memory:{contender}:{name}"], capture_output=True)
        text = found.stdout.decode().strip().splitlines()
        print(f"  {contender:16} {text[-1] if text and not found.returncode else 'failed'}")


def main() -> None:
    options = start(__doc__ or "")
    if options.only and options.only[0].startswith("memory:"):
        _, contender, name = options.only[0].split(":")
        print(f"peak memory grows by {peak_bytes(contender, name) / 1e6:.0f} MB with compilation")
        return
    for name in CASES:
        title = f"{name}: gradient over {POINTS} x {POINTS} f64"
        if not wanted(title, options):
            continue
        found = {key: run_of(key, name) for key in ("weft", "jax", "torch")}
        runs = {key: run for key, run in found.items() if run is not None}
        compare(title, runs, options, 1e-9)
        show_memory(name, list(runs), options)


if __name__ == "__main__":
    main()
