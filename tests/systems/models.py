"""What the golden tests share: how a result is checked, and the functions that models are made of.

The functions are what a user would write with NumPy. Only the error function and the logarithm of
the gamma function, which NumPy lacks, reach for primitives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import weft as wf
from weft.compiler.ops import special
from weft.frontends.eager.anywhere import eager
from weft.frontends.tracing import core

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


# --- checking -------------------------------------------------------------------------------------


def run(function: Function, *args: Any) -> Any:
    """The function compiled and run; its graph must verify and survive printing and parsing."""
    compiled = wf.jit(function)
    graph = compiled.trace(*args)
    graph.verify()
    parsed = wf.parse(graph.text(embed_constants=True))
    assert parsed.content_hash() == graph.content_hash()
    return compiled(*args)


def near(actual: Any, expected: Any, decimals: int = 10) -> None:
    """Equality of structure, shapes and numbers: to 1e-9, or half a unit of the last of the
    printed decimals if that is larger, as the conventions of the golden numbers say.
    """
    if isinstance(expected, tuple):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            near(one, other, decimals)
        return
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    tolerance = max(1e-9, 0.5 * 10.0**-decimals)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


def tiny(actual: Any, expected: Any, digits: int) -> None:
    """Equality to half a unit of the last of the significant digits, for numbers far below 1."""
    np.testing.assert_allclose(actual, expected, rtol=5 * 10.0**-digits, atol=0)


def check(
    function: Function,
    args: Sequence[Any],
    value: Any,
    gradients: Sequence[Any],
    decimals: int = 10,
) -> None:
    """A scalar function against its golden value and gradients.

    `gradients` are those of the first arguments, a tuple of arrays or None for one that the golden
    numbers leave out. Forward mode must agree with reverse mode along a direction.
    """
    args = tuple(_floats(arg) for arg in args)
    wanted = tuple(n for n, gradient in enumerate(gradients) if gradient is not None)
    found, made = run(wf.value_and_grad(function, wanted), *args)
    near(found, value, decimals)
    near(made, tuple(gradients[n] for n in wanted), decimals)
    check_modes(function, args, wanted)


def check_modes(function: Function, args: Sequence[Any], argnums: Sequence[int] = (0,)) -> None:
    """Forward and reverse mode agree along a random direction, and so do forward over reverse and
    reverse over reverse on the second derivative.
    """
    random = np.random.default_rng(0)
    chosen = tuple(np.asarray(args[n]) for n in argnums)
    direction = tuple(random.standard_normal(array.shape) for array in chosen)

    def partial(given: Any) -> Any:
        full = list(args)
        for number, array in zip(argnums, given, strict=True):
            full[number] = array
        return function(*full)

    def along(given: Any) -> Any:
        return wf.jvp(partial, (given,), (direction,))[1]

    def by_gradient(given: Any) -> Any:
        pairs = zip(wf.grad(partial)(given), direction, strict=True)
        return sum(np.sum(gradient * part) for gradient, part in pairs)

    def compare(left: Any, right: Any) -> None:
        np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-11)

    compare(run(along, chosen), by_gradient(chosen))
    forward = run(lambda given: wf.hvp(partial, (given,), (direction,)), chosen)
    for first, second in zip(forward, run(wf.grad(by_gradient), chosen), strict=True):
        compare(first, second)


def _floats(argument: Any) -> Any:
    array = np.asarray(argument)
    return array.astype(np.float64) if array.dtype.kind == "i" else array


def array(*rows: Any) -> Array:
    """A float64 array of the arguments."""
    return np.array(rows, np.float64)


def parameter_count(function: Function, parameters: Any, *inputs: Any) -> int:
    """How many numbers the parameters of a model hold, all of which it must use when traced."""
    graph = wf.trace(function)(parameters, *inputs).verify()
    count = len(wf.trace(lambda parameters: 0.0)(parameters).parameters)
    held = graph.parameters[:count]
    read = {operand for region in graph.regions() for op in region.ops for operand in op.operands}
    assert read.issuperset(held)
    return sum(int(parameter.type.size) for parameter in held)


# --- functions ------------------------------------------------------------------------------------


def sigmoid(x: Any) -> Any:
    """The logistic function, exactly 0 and 1 far out, with a finite slope everywhere."""
    return 0.5 * (1 + np.tanh(0.5 * x))


def relu(x: Any) -> Any:
    """The positive part, with slope 0 at 0."""
    return np.maximum(x, 0.0)


def softplus(x: Any) -> Any:
    return np.logaddexp(0.0, x)


def logsumexp(x: Any, axis: int = -1) -> Any:
    highest = wf.stop_gradient(np.max(x, axis=axis, keepdims=True))
    return np.log(np.sum(np.exp(x - highest), axis=axis)) + np.squeeze(highest, axis=axis)


def log_softmax(x: Any, axis: int = -1) -> Any:
    return x - np.expand_dims(logsumexp(x, axis), axis)


def softmax(x: Any, axis: int = -1) -> Any:
    return np.exp(log_softmax(x, axis))


def cross_entropy(scores: Any, label: int) -> Any:
    """Of one vector of scores and a 0-based label."""
    return -log_softmax(scores)[label]


def binary_cross_entropy(logit: Any, label: Any) -> Any:
    return softplus(logit) - label * logit


def normal_log_density(x: Any, mean: Any = 0.0, variance: Any = 1.0) -> Any:
    return -0.5 * (np.log(2 * np.pi * variance) + (x - mean) ** 2 / variance)


@eager
def erf(x: Any) -> Any:
    """The error function, which NumPy lacks."""
    return core.wrap(special.erf(core.lift(x)))


@eager
def lgamma(x: Any) -> Any:
    """The logarithm of the gamma function, which NumPy lacks."""
    return core.wrap(special.lgamma(core.lift(x)))


def gaussian_nodes(count: int) -> tuple[Array, Array]:
    """Points and weights with which means under N(0, 1) of polynomials of degree below 2 * count
    are exact.
    """
    points, weights = np.polynomial.hermite_e.hermegauss(count)
    return points, weights / weights.sum()
