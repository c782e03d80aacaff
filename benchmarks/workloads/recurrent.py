"""Loops with carries: scans of many numbers, an LSTM and a GRU, forward and with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Function, Workload, gradient, normal

UNROLLED = "it unrolls loops, and compiles for minutes"
LENGTH, BATCH, INPUT, HIDDEN = 64, 32, 64, 128


# --- scans with numbers as carries ----------------------------------------------------------------


def oscillators(xp: Any, size: Any) -> Function:
    """A ring of coupled oscillators, each carry a number of its own."""

    def loss(start: Any, rate: Any, forces: Any) -> Any:
        def step(carry: Any, force: Any) -> Any:
            count = len(carry)
            new = tuple(
                c + 0.01 * (xp.sin(carry[(i + 1) % count]) - rate * c + force)
                for i, c in enumerate(carry)
            )
            return new, new[0]

        end, path = xp.scan(step, start, forces)
        total = xp.mean(path * path)
        for c in end:
            total = total + c * c
        return total

    return loss


def torch_oscillators(xp: Any, size: Any) -> Function:
    """The same with one vector as carry, which costs torch fewer ops."""
    import torch

    def loss(start: Any, rate: Any, forces: Any) -> Any:
        carry, path = torch.stack(start), []
        for force in forces.unbind(0):
            carry = carry + 0.01 * (torch.sin(torch.roll(carry, -1)) - rate * carry + force)
            path.append(carry[0])
        return (carry * carry).sum() + torch.stack(path).square().mean()

    return loss


def forces(size: Any) -> tuple[Any, ...]:
    steps, count = size
    r = np.random.default_rng(0)
    carries = tuple(np.float64(x) for x in r.normal(size=count))
    return carries, np.float64(0.3), r.normal(size=steps)


def scan(name: str, **more: Any) -> Workload:
    return Workload(
        name,
        "loops",
        "a scan of 10,000 steps with numbers as carries",
        oscillators,
        forces,
        {f"{n} carries": (10_000, n) for n in (16, 4, 60)},
        (20, 3),
        own={"torch": torch_oscillators},
        without={"torch.compile": UNROLLED, "numpy": "10,000 steps in Python take a second"},
        tolerance=1e-5,  # rounding grows with the steps
        growth={n: (n, 4) for n in (100, 1000, 10_000, 100_000)},
        **more,
    )


# --- cells ----------------------------------------------------------------------------------------


def sigmoid(xp: Any, x: Any) -> Any:
    return 1.0 / (1.0 + xp.exp(-x))


def lstm(xp: Any, size: Any) -> Function:
    """The mean square of the outputs of one layer."""
    _, batch, _, hidden = size

    def loss(p: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            h, c = carry
            gates = x @ p["wx"] + h @ p["wh"] + p["b"]
            i, f, g, o = (gates[:, k * hidden : (k + 1) * hidden] for k in range(4))
            c = sigmoid(xp, f) * c + sigmoid(xp, i) * xp.tanh(g)
            h = sigmoid(xp, o) * xp.tanh(c)
            return (h, c), h

        zero = xp.zeros((batch, hidden), p["b"].dtype)
        _, hs = xp.scan(step, (zero, zero), xs)
        return xp.mean(hs * hs)

    return loss


def gru(xp: Any, size: Any) -> Function:
    """The mean square of the outputs of one layer, with the reset gate after the product."""
    _, batch, _, hidden = size

    def loss(p: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            given, kept = x @ p["wx"] + p["b"], h @ p["wh"]
            r = sigmoid(xp, given[:, :hidden] + kept[:, :hidden])
            z = sigmoid(xp, given[:, hidden : 2 * hidden] + kept[:, hidden : 2 * hidden])
            n = xp.tanh(given[:, 2 * hidden :] + r * kept[:, 2 * hidden :])
            h = (1.0 - z) * n + z * h
            return h, h

        _, hs = xp.scan(step, xp.zeros((batch, hidden), p["b"].dtype), xs)
        return xp.mean(hs * hs)

    return loss


def torch_cell(name: str) -> Any:
    """torch's own layer on the same weights, which it has transposed."""

    def make(xp: Any, size: Any) -> Function:
        import torch

        _, batch, _, hidden = size
        layer = getattr(torch, name)
        zero = torch.zeros((1, batch, hidden))
        start = (zero, zero) if name == "lstm" else zero

        def loss(p: Any, xs: Any) -> Any:
            weights = [p["wx"].T.contiguous(), p["wh"].T.contiguous(), p["b"]]
            weights.append(torch.zeros_like(p["b"]))
            hs = layer(xs, start, weights, True, 1, 0.0, True, False, False)[0]
            return hs.square().mean()

        return loss

    return make


def cell_inputs(gates: int) -> Any:
    def make(size: Any) -> tuple[Any, ...]:
        length, batch, given, hidden = size
        parameters = {
            "wx": normal(given, gates * hidden, scale=0.1),
            "wh": normal(hidden, gates * hidden, scale=0.1, seed=1),
            "b": normal(gates * hidden, scale=0.1, seed=2),
        }
        return parameters, normal(length, batch, given, seed=3)

    return make


def cell(name: str, make: Any, gates: int, suffix: str = "", **more: Any) -> Workload:
    def flops(size: tuple[int, int, int, int]) -> float:
        length, batch, given, hidden = size
        passes = 3.0 if suffix else 1.0
        return passes * 2.0 * length * batch * (given + hidden) * gates * hidden

    return Workload(
        name + suffix,
        "loops",
        "64 steps, batch 32, 64 inputs, hidden 128, f32",
        make,
        cell_inputs(gates),
        {"": (LENGTH, BATCH, INPUT, HIDDEN)},
        (5, 3, 4, 6),
        own={"torch": torch_cell(name)},
        without={"torch.compile": "it leaves torch's own layer as it is"},
        tolerance=1e-4,
        flops=flops,
        **more,
    )


WORKLOADS = (
    scan("scan", cold=False),
    scan("scan-gradient", form=gradient(0, 1, 2)),
    cell("lstm", lstm, 4, cold=False),
    cell("lstm", lstm, 4, "-gradient", form=gradient(0)),
    cell("gru", gru, 3, cold=False),
    cell("gru", gru, 3, "-gradient", form=gradient(0), cold=False),
)
