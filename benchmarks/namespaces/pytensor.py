"""The namespace of PyTensor: arrays are symbols, and derivatives are taken of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytensor
import pytensor.tensor as pt
from pytensor.tensor import abs as abs
from pytensor.tensor import arange as arange
from pytensor.tensor import as_tensor as asarray  # noqa: F401
from pytensor.tensor import broadcast_to as broadcast_to
from pytensor.tensor import concatenate as concatenate
from pytensor.tensor import cos as cos
from pytensor.tensor import einsum as einsum
from pytensor.tensor import erf as erf
from pytensor.tensor import exp as exp
from pytensor.tensor import log as log
from pytensor.tensor import log1p as log1p
from pytensor.tensor import max as max
from pytensor.tensor import maximum as maximum
from pytensor.tensor import mean as mean
from pytensor.tensor import minimum as minimum
from pytensor.tensor import sin as sin
from pytensor.tensor import sqrt as sqrt
from pytensor.tensor import stack as stack
from pytensor.tensor import sum as sum
from pytensor.tensor import take_along_axis as take_along_axis
from pytensor.tensor import tanh as tanh
from pytensor.tensor import where as where
from pytensor.tensor import zeros as zeros

from benchmarks.trees import filled, leaves
from benchmarks.workload import Unsupported

Function = Callable[..., Any]


def scan(step: Function, carry: Any, rows: Any) -> Any:
    """PyTensor's loop, which takes and returns flat lists."""

    def flat(row: Any, *carried: Any) -> Any:
        new, made = step(filled(carry, iter(carried)), row)
        return [*leaves(new), made]

    start = [pt.as_tensor(leaf) for leaf in leaves(carry)]
    paths = pytensor.scan(flat, sequences=[rows], outputs_info=[*start, None], return_updates=False)
    return filled(carry, iter([path[-1] for path in paths[:-1]])), paths[-1]


def while_loop(condition: Function, step: Function, carry: Any) -> Any:
    """Its loops need a bound on the number of steps."""
    raise Unsupported("no loop without a bound on its steps")


def segment_sum(values: Any, segments: Any, count: int) -> Any:
    """The sums of the rows of each segment."""
    total = pt.zeros((count, *values.shape[1:]), dtype=values.dtype)
    return pt.inc_subtensor(total[segments], values)


def scatter_inside(array: Any, inside: Any) -> Any:
    """The array with all but its edges replaced."""
    return pt.set_subtensor(array[1:-1, 1:-1], inside)


def solve(a: Any, b: Any) -> Any:
    """The solutions of systems of which each has one right-hand side."""
    return pt.linalg.solve(a, b[..., None])[..., 0]


def conv(x: Any, w: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
    """Its convolutions of images are without channels."""
    raise Unsupported("no convolutions with channels")


def max_pool(x: Any, size: int, stride: int | None = None, padding: int = 0) -> Any:
    """It has none."""
    raise Unsupported("no pooling")


def value_and_grad(function: Function, argnums: tuple[int, ...]) -> Function:
    """The value and the derivatives of the chosen arguments, as symbols."""

    def both(*arguments: Any) -> Any:
        value = function(*arguments)
        chosen = tuple(arguments[number] for number in argnums)
        return value, filled(chosen, iter(pt.grad(value, leaves(chosen))))

    return both


def jvp(function: Function, primals: Any, tangents: Any) -> Any:
    """The value and its derivative along the tangents."""
    value = function(*primals)
    return value, pytensor.gradient.pushforward(value, list(primals), list(tangents))
