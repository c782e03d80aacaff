"""How compile time grows with a program: first calls of deep, wide, nested and unrolled programs.

Each is made in a process of its own with nothing on disk, after that of the smallest program of its
kind. The latter takes what is the same for all sizes (loading the compiler, compiling support code)
and is told apart, so that the exponent which is fitted is that of the program's size.
"""

from __future__ import annotations

import os
import tempfile
import time
from typing import Any, Final

import numpy as np

from benchmarks.workload import (
    Function,
    ProcessWorkload,
    Workload,
    gradient,
    normal,
)

FAMILY: Final = "growth"
ROWS, WIDTH = 32, 64  # of the layers' matrices
PIECE = 8  # numbers in an input or a result of the wide programs


def layers(xp: Any, count: int) -> Function:
    """The loss of residual layers, each with parameters of its own."""

    def loss(parameters: Any, x: Any) -> Any:
        for layer in parameters:
            h = xp.tanh(x @ layer["a"] + layer["b"])
            x = x + (h - xp.mean(h, axis=1, keepdims=True)) @ layer["c"]
        return xp.sum(x * x) / (ROWS * WIDTH)

    return loss


def layer_inputs(count: int) -> tuple[Any, ...]:
    def layer(number: int) -> dict[str, Any]:
        a, c = (
            normal(WIDTH, WIDTH, seed=2 * number + side, scale=1 / (8 * WIDTH)) for side in (0, 1)
        )
        return {"a": a, "b": normal(WIDTH, seed=number), "c": c}

    return [layer(number) for number in range(count)], normal(ROWS, WIDTH)


def concatenated(xp: Any, count: int) -> Function:
    """One row of as many inputs."""
    return lambda pieces: xp.tanh(xp.concatenate(pieces))


def many_results(xp: Any, count: int) -> Function:
    """As many results of one input."""
    return lambda x: [x * (1.0 + number / count) for number in range(count)]


def nested(xp: Any, depth: int) -> Function:
    """A loop in a loop, to this depth; how often each runs is known only at run time."""

    def inside(level: int, x: Any, limit: Any) -> Any:
        if level == 0:
            return xp.sin(x)

        def condition(state: Any) -> Any:
            return state[0] < limit

        def body(state: Any) -> Any:
            return state[0] + 1, inside(level - 1, state[1], limit) * 0.5

        return xp.while_loop(condition, body, (limit - limit, x))[1]

    return lambda x, limit: inside(depth, x, limit)


def unrolled(xp: Any, steps: int) -> Function:
    """A Python loop, every step of which is traced."""

    def function(x: Any, y: Any) -> Any:
        for _ in range(steps):
            x = xp.tanh(x + y)
        return x

    return function


def program(name: str, about: str, make: Any, inputs: Any, *sizes: int, **more: Any) -> Workload:
    return Workload(name, FAMILY, about, make, inputs, {f"n={n}": n for n in sizes}, 2, **more)


PROGRAMS: Final = (
    program(
        "growth-layers",
        "first call of the value and gradient of n residual layers",
        layers,
        layer_inputs,
        *(50, 100, 200, 400, 800),
        form=gradient(0),
    ),
    program(
        "growth-inputs",
        "first call of a concatenation of n inputs",
        concatenated,
        lambda count: ([normal(PIECE, seed=number) for number in range(count)],),
        *(250, 500, 1000, 2000),
    ),
    program(
        "growth-results",
        "first call of a function of n results",
        many_results,
        lambda count: (normal(PIECE),),
        *(250, 500, 1000, 2000),
    ),
    program(
        "growth-nesting",
        "first call of n loops, each inside another",
        nested,
        lambda depth: (normal(PIECE), np.int64(1)),
        *(6, 12, 25, 50),
    ),
    program(
        "growth-unrolled",
        "first call of n steps of a loop that is unrolled by tracing",
        unrolled,
        lambda steps: (normal(PIECE), normal(PIECE, seed=1)),
        *(625, 1250, 2500, 5000),
    ),
)


def probe(contender: str, size: tuple[str, int]) -> dict[str, float]:
    """Seconds of the first call, of the processor time that all threads spend on it, and of the
    start: the smallest program's first call before.
    """
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder:
        for variable in ("WEFT_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR"):
            os.environ[variable] = folder
        from benchmarks.measure import seconds
        from benchmarks.peers import prepared

        name, number = size
        workload = next(each for each in PROGRAMS if each.name == name)
        small, large = (
            prepared(contender, workload, n, workload.arguments(n)) for n in (1, number)
        )
        start = seconds(small)
        spent = time.process_time()
        taken = seconds(large)
        return {"seconds": taken, "cpu": time.process_time() - spent, "start": start}


def first_call(workload: Workload) -> ProcessWorkload:
    """The workload whose measurement is the first call of this one."""
    return ProcessWorkload(
        workload.name,
        FAMILY,
        workload.about,
        probe,
        ("weft", "jax"),
        {label: (workload.name, n) for label, n in workload.sizes.items()},
        (workload.name, workload.small),
        rounds=3,
        quick=False,
        on_request=True,
    )


WORKLOADS = tuple(first_call(workload) for workload in PROGRAMS)
