"""Loops and their gradients: scans with many numbers as carries, and an LSTM.

Bars: with 4, 16 and 60 carries over 10,000 steps the gradient takes at most 4 x its forward; the
LSTM's gradient (64 steps, batch 32, hidden 128) is 1.5 times as fast as the best of JAX and torch.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import weft as wf
from benchmarks.common import Run, compare, jax_run, peer, start, wanted

STEPS = 10_000
LENGTH, BATCH, INPUT, HIDDEN = 64, 32, 64, 128
Function = Callable[..., Any]


def system(scan: Function, xp: Any) -> Function:
    """A chain of coupled oscillators, each carry a number of its own."""

    def loss(start: Any, rate: Any, forces: Any) -> Any:
        def step(carry: Any, force: Any) -> Any:
            count = len(carry)
            new = tuple(
                c + 0.01 * (xp.sin(carry[(i + 1) % count]) - rate * c + force)
                for i, c in enumerate(carry)
            )
            return new, new[0]

        end, path = scan(step, start, forces)
        return sum(c * c for c in end) + xp.mean(path * path)

    return loss


def lstm(scan: Function, xp: Any) -> Function:
    """The mean square of the outputs of one layer."""

    def sigmoid(x: Any) -> Any:
        return 1.0 / (1.0 + xp.exp(-x))

    def loss(parameters: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            h, c = carry
            gates = x @ parameters["wx"] + h @ parameters["wh"] + parameters["b"]
            i, f, g, o = (gates[:, k * HIDDEN : (k + 1) * HIDDEN] for k in range(4))
            c = sigmoid(f) * c + sigmoid(i) * xp.tanh(g)
            h = sigmoid(o) * xp.tanh(c)
            return (h, c), h

        zero = xp.zeros((BATCH, HIDDEN), np.float32)
        _, hs = scan(step, (zero, zero), xs)
        return xp.mean(hs * hs)

    return loss


def lstm_inputs() -> tuple[Any, ...]:
    r = np.random.default_rng(0)
    shapes = {"wx": (INPUT, 4 * HIDDEN), "wh": (HIDDEN, 4 * HIDDEN), "b": (4 * HIDDEN,)}
    parameters = {
        name: (0.1 * r.normal(size=shape)).astype(np.float32) for name, shape in shapes.items()
    }
    return parameters, r.normal(size=(LENGTH, BATCH, INPUT)).astype(np.float32)


def torch_lstm(values: tuple[Any, ...]) -> tuple[dict[str, Run], dict[str, Run]]:
    """Forward and gradient by torch's own LSTM on the same weights, which it has transposed."""
    torch = peer("torch")
    if torch is None:
        return {}, {}
    given, xs = values
    model = torch.nn.LSTM(INPUT, HIDDEN)
    weights = {"wx": model.weight_ih_l0, "wh": model.weight_hh_l0, "b": model.bias_ih_l0}
    model.bias_hh_l0.requires_grad_(False).zero_()
    with torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(torch.from_numpy(np.ascontiguousarray(given[name].T)))
    inputs = torch.from_numpy(xs)

    def forward() -> Any:
        with torch.no_grad():
            return model(inputs)[0].square().mean()

    def gradient() -> Any:
        model.zero_grad()
        loss = model(inputs)[0].square().mean()
        loss.backward()
        return loss, {name: weight.grad.detach().numpy().T for name, weight in weights.items()}

    return {"torch": forward}, {"torch": gradient}


def pair(make: Function, values: tuple[Any, ...], argnums: Any) -> tuple[dict[str, Run], ...]:
    """Forward and gradient, each with Weft and JAX."""
    function = make(wf.scan, np)
    forward = wf.jit(function)
    backward = wf.jit(wf.value_and_grad(function, argnums))
    forwards: dict[str, Run] = {"weft": lambda: forward(*values)}
    gradients: dict[str, Run] = {"weft": lambda: backward(*values)}
    jax = peer("jax")
    if jax is not None:
        function = make(jax.lax.scan, jax.numpy)
        forwards["jax"] = jax_run(jax, function, values)
        gradients["jax"] = jax_run(jax, jax.value_and_grad(function, argnums), values)
    return forwards, gradients


def both(
    title: str,
    make: Function,
    values: Any,
    argnums: Any,
    o: argparse.Namespace,
    others: Callable[[Any], tuple[dict[str, Run], ...]] = lambda _: ({}, {}),
) -> None:
    if not wanted(title, o):
        return
    o = argparse.Namespace(**{**vars(o), "only": []})
    pairs = zip(pair(make, values, argnums), others(values), strict=True)
    forwards, gradients = [ours | theirs for ours, theirs in pairs]
    forward = compare(f"{title}, forward", forwards, o, 1e-4)
    gradient = compare(f"{title}, gradient", gradients, o, 1e-4)
    assert forward is not None and gradient is not None
    shares = [f"{name} {gradient[name].best / forward[name].best:.2f}" for name in forward]
    print("  gradient over forward: " + ", ".join(shares))


def main() -> None:
    options = start(__doc__ or "")
    r = np.random.default_rng(0)
    forces = r.normal(size=STEPS)
    for count in (4, 16, 60):
        carries = tuple(np.float64(x) for x in r.normal(size=count))
        values = (carries, np.float64(0.3), forces)
        both(f"scan of {STEPS:,} steps, {count} numbers", system, values, (0, 1, 2), options)
    title = f"lstm: {LENGTH} steps, batch {BATCH}, input {INPUT}, hidden {HIDDEN} f32"
    both(title, lstm, lstm_inputs(), 0, options, torch_lstm)


if __name__ == "__main__":
    main()
