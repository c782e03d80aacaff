"""Derivatives of random programs: reverse mode against differences of NumPy's values, forward mode
and native code; second derivatives against differences of gradients.

Where the slopes from the left and from the right differ there is a kink, which proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import weft as wf
from tests.fuzz.case import Case
from tests.fuzz.outcome import Failure, Skipped
from tests.fuzz.tolerance import flat

Array = np.ndarray[Any, Any]
STEP = 1e-5
DIGITS = {"f8": 1e-9, "f4": 2e-4}


def check_gradient(case: Case, expected: Any = None) -> None:
    """The gradient agrees with differences, forward mode and, if asked for, native code."""
    values = [np.asarray(v) for v in case.values()]
    directions = directions_of(values)
    numbers = tuple(range(len(values)))
    function = case.traced()
    gradient = wf.jit(wf.grad(function, numbers), backend="reference")
    slopes = flat(gradient(*values))
    for slope, value in zip(slopes, values, strict=True):
        if slope.dtype != value.dtype or slope.shape != value.shape:
            kinds = [f"{array.dtype}{list(array.shape)}" for array in (value, slope)]
            raise Failure(f"the gradient of {kinds[0]} is {kinds[1]}")
    along = dot(slopes, directions)
    scale = magnitude(slopes, directions)
    digits = max(DIGITS[value.dtype.str[1:]] for value in values)
    # Slopes of order 1 may have cancelled on the way.
    noise = digits * (scale + 1e-2) + 100 * jitter(gradient, values, directions)

    def jvp(*args: Any) -> Any:
        return wf.jvp(
            function,
            args,
            tuple(d.astype(a.dtype) for d, a in zip(directions, values, strict=True)),
        )[1]

    forward = float(wf.jit(jvp, backend="reference")(*values))
    if not abs(forward - along) <= noise:
        raise Failure(f"forward mode gives {forward}, reverse mode {along}")
    if case.options.get("native"):
        native = flat(wf.jit(wf.grad(function, numbers))(*values))
        for number, (made, wanted) in enumerate(zip(native, slopes, strict=True)):
            largest = float(np.max(np.abs(wanted), initial=0))
            if not np.all(np.abs(made - wanted) <= noise + digits * largest):
                raise Failure(
                    f"native gradient {number} is {made.tolist()}, not {wanted.tolist()}"[:600]
                )
    plain = case.plain()
    compare_slope(
        lambda t: float(plain(*moved(values, directions, t))), along, scale, digits, "gradient"
    )


def check_second(case: Case, expected: Any = None) -> None:
    """Hessian times vector agrees with differences of gradients, and with native code."""
    values = [np.asarray(v) for v in case.values()]
    directions = directions_of(values)
    tangents = tuple(d.astype(a.dtype) for d, a in zip(directions, values, strict=True))
    function = case.traced()

    def product(*args: Any) -> Any:
        return wf.hvp(function, args, tangents)

    reference = wf.jit(product, backend="reference")
    made = flat(reference(*values))
    along, scale = dot(made, directions), magnitude(made, directions)
    digits = max(DIGITS[value.dtype.str[1:]] for value in values)
    if case.options.get("native"):
        noise = 10 * digits * (scale + 1e-2) + 100 * jitter(reference, values, directions)
        native = flat(wf.jit(product)(*values))
        if not abs(dot(native, directions) - along) <= noise:
            raise Failure(f"the native second derivative is {dot(native, directions)}, not {along}")
    gradient = wf.jit(wf.grad(function, tuple(range(len(values)))), backend="reference")

    def slope(t: float) -> float:
        return dot(flat(gradient(*moved(values, directions, t))), directions)

    compare_slope(slope, along, scale, digits, "second derivative")


def compare_slope(
    function: Callable[[float], float], slope: float, scale: float, digits: float, what: str
) -> None:
    """Raises a Failure where differences of the function are another slope."""
    try:
        with np.errstate(all="ignore"):
            here = function(0.0)
            estimates = [
                [(function(h) - here) / h, (here - function(-h)) / h] for h in (STEP, STEP / 4)
            ]
    except Exception as error:
        raise Skipped(f"NumPy: {error!r}") from error
    centre, near = [sum(pair) / 2 for pair in estimates]
    sides = abs(estimates[1][0] - estimates[1][1])
    size = scale + abs(here) + abs(centre) + 1e-3
    if (
        not np.isfinite([centre, near, slope]).all()
        or sides > 2e-3 * size
        or abs(centre - near) > 1e-5 * size
    ):
        raise Skipped("a kink, or too steep for differences")
    if abs(slope - near) > 20 * abs(centre - near) + max(2e-5, 10 * digits) * size:
        raise Failure(f"the {what} along a direction is {slope}, differences give {near}")


def directions_of(values: list[Array]) -> list[Array]:
    random = np.random.default_rng(7)
    return [random.choice((-1.0, -0.5, 0.5, 1.0), value.shape) for value in values]


def moved(values: list[Array], directions: list[Array], t: float) -> list[Array]:
    return [value.astype("f8") + t * d for value, d in zip(values, directions, strict=True)]


def dot(slopes: list[Array], directions: list[Array]) -> float:
    return float(sum(np.sum(s.astype("f8") * d) for s, d in zip(slopes, directions, strict=True)))


def magnitude(slopes: list[Array], directions: list[Array]) -> float:
    return float(
        sum(np.sum(np.abs(s.astype("f8") * d)) for s, d in zip(slopes, directions, strict=True))
    )


def jitter(function: Callable[..., Any], values: list[Array], directions: list[Array]) -> float:
    """How far the slope moves when the arguments do by a unit in the last place."""
    random = np.random.default_rng(3)
    found = []
    for _ in range(3):
        near = [
            (v * (1 + random.uniform(-4, 4, v.shape) * np.finfo(v.dtype).eps)).astype(v.dtype)
            for v in values
        ]
        found.append(dot(flat(function(*near)), directions))
    return max(found) - min(found)
