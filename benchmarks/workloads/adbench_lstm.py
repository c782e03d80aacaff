"""ADBench: the loss of a character model of elementwise LSTM layers, and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Function, Workload, gradient, normal


def loss(xp: Any, size: Any) -> Function:
    layers, _, width = size

    def sigmoid(x: Any) -> Any:
        return 1.0 / (1.0 + xp.exp(-x))

    def cell(weight: Any, bias: Any, state: Any, x: Any) -> Any:
        """Weights are diagonal: each gate looks at the input or at the hidden state."""
        hidden, memory = state
        forget = sigmoid(x * weight[0] + bias[0])
        taken = sigmoid(hidden * weight[1] + bias[1])
        shown = sigmoid(x * weight[2] + bias[2])
        change = xp.tanh(hidden * weight[3] + bias[3])
        memory = memory * forget + taken * change
        return shown * xp.tanh(memory), memory

    def total(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
        gates = main.reshape((2 * layers, 4, width))

        def step(carry: Any, x: Any) -> Any:
            h, new = x * extra[0], []
            for i in range(layers):
                h, memory = cell(gates[2 * i], gates[2 * i + 1], carry[2 * i : 2 * i + 2], h)
                new += [h, memory]
            return tuple(new), h * extra[1] + extra[2]

        start = tuple(state[i] for i in range(2 * layers))
        _, predicted = xp.scan(step, start, sequence[:-1])
        sums = xp.sum(xp.exp(predicted), axis=1, keepdims=True)
        return -xp.mean(sequence[1:] * (predicted - xp.log(sums + 2.0)))

    return total


def text(size: Any) -> tuple[Any, ...]:
    layers, length, width = size
    letters = np.random.default_rng(0).integers(0, width, length)
    return (
        normal(2 * layers, 4 * width, dtype="f8"),
        normal(3, width, dtype="f8", seed=1),
        normal(2 * layers, width, dtype="f8", seed=2),
        np.eye(width)[letters],
    )


WORKLOADS = (
    Workload(
        "adbench-lstm",
        "adbench",
        "gradient of a character model, f64",
        loss,
        text,
        {"2 layers, 1,024 letters, 14 wide": (2, 1024, 14)},
        (2, 6, 3),
        form=gradient(0, 1),
        without={"torch.compile": "it unrolls loops, and compiles for minutes"},
        tolerance=1e-9,
    ),
)
