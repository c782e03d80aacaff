"""What a benchmark is: a function over a namespace, inputs of several sizes, and what is known of
it. Nothing here runs anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from benchmarks.trees import tree_map

Function = Callable[..., Any]
Size = Any
Make = Callable[[Any, Size], Function]  # of a namespace and a size

RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


class Unsupported(Exception):
    """A contender cannot do this at all, which is no failure of it."""


@dataclass(frozen=True)
class Form:
    """What is made of a workload's function before it is compiled: itself, its gradient, a step of
    training. `build(namespace, function, part)` applies `part` to the pieces that a contender
    compiles one by one; `numbers` are the arguments that are differentiated.
    """

    build: Callable[[Any, Function, Callable[[Function], Function]], Function]
    numbers: tuple[int, ...] = ()
    arguments: Callable[[tuple[Any, ...]], tuple[Any, ...]] = lambda inputs: inputs


VALUE: Final = Form(lambda xp, function, part: part(function))


def gradient(*numbers: int) -> Form:
    """The value and its derivatives by the arguments of these numbers."""
    return Form(lambda xp, function, part: xp.value_and_grad(part(function), numbers), numbers)


def _adam(xp: Any, loss: Function, part: Callable[[Function], Function]) -> Function:
    value_and_grad = xp.value_and_grad(part(loss), (0,))

    def update(p: Any, m: Any, v: Any, t: Any, g: Any) -> Any:
        m = tree_map(lambda m, g: BETA1 * m + (1 - BETA1) * g, m, g)
        v = tree_map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, v, g)
        rate = RATE * xp.sqrt(1 - BETA2**t) / (1 - BETA1**t)
        p = tree_map(lambda p, m, v: p - rate * m / (xp.sqrt(v) + EPSILON), p, m, v)
        return p, m, v

    updated = part(update)

    def step(p: Any, m: Any, v: Any, t: Any, *data: Any) -> Any:
        value, (g,) = value_and_grad(p, *data)
        return (*updated(p, m, v, t, g), value)

    return step


def _with_moments(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    parameters, *data = inputs
    zeros = tree_map(np.zeros_like, parameters)
    return parameters, zeros, tree_map(np.zeros_like, parameters), np.float32(3.0), *data


ADAM: Final = Form(_adam, (0,), _with_moments)


@dataclass(frozen=True)
class Workload:
    """One benchmark, whose maths is the same for all contenders.

    `sizes` are what is measured, by label; the first one stands for the workload where only one is
    measured. `small` is for tests. `growth` are sizes by a number n, for the plots of cost against
    n. `own` gives a contender's recommended way to write the same maths, by name, and takes part
    in numba and onnxruntime, which run only what is written for them. `without` says why a
    contender is left out. `flops` and `bytes` are the least that one call must compute and move.
    """

    name: str
    family: str
    about: str
    function: Make
    inputs: Callable[[Size], tuple[Any, ...]]
    sizes: Mapping[str, Size]
    small: Size
    form: Form = VALUE
    tolerance: float = 1e-5
    own: Mapping[str, Make] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)
    flops: Callable[[Size], float] | None = None
    bytes: Callable[[Size], float] | None = None
    growth: Mapping[int, Size] = field(default_factory=dict)
    quick: bool = True
    cold: bool = True

    def arguments(self, size: Size) -> tuple[Any, ...]:
        """What the compiled function is called with."""
        return self.form.arguments(self.inputs(size))

    def with_own(self, **own: Make) -> Workload:
        """The same with what contenders recommend."""
        return replace(self, own={**self.own, **own})

    def program(
        self, contender: str, xp: Any, size: Size, part: Callable[[Function], Function]
    ) -> Function:
        """What a contender compiles and calls; the contenders of one library share their own form
        unless they have two.
        """
        library = contender.split(".")[0]
        make = self.own.get(contender) or self.own.get(library) or self.function
        return self.form.build(xp, make(xp, size), part)


@dataclass(frozen=True)
class ProcessWorkload:
    """A benchmark of what a fresh process does once, such as an import or a large compilation.

    `probe(contender, size)` runs in a process of its own and returns seconds under "seconds", and
    as far as it knows them those of the processor under "cpu", those of what has to come before
    under "start", and bytes of memory under "bytes".
    One that takes minutes runs `on_request`: only if its name or family is asked for.
    """

    name: str
    family: str
    about: str
    probe: Callable[[str, Size], dict[str, float]]
    contenders: tuple[str, ...]
    sizes: Mapping[str, Size]
    small: Size
    rounds: int = 5
    quick: bool = True
    on_request: bool = False


AnyWorkload = Workload | ProcessWorkload


def normal(*shape: int, dtype: Any = np.float32, seed: int = 0, scale: float = 1.0) -> Any:
    """Normal numbers that are the same in every process."""
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(dtype)
