"""`check_grads`: a user's function against numerical derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.compiler.ir.errors import WeftError
from weft.frontends.api.differentiation import jvp, vjp
from weft.frontends.tracing import tree

Array = np.ndarray[Any, Any]


class GradientError(WeftError, AssertionError):
    """A derivative that differs from the numerical one."""


def check_grads(
    function: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("forward", "reverse"),
    rtol: float = 1e-4,
    atol: float = 1e-6,
    seed: int = 0,
) -> None:
    """Compare derivatives up to an order with differences along random directions; raises
    GradientError.

    Use float64 arguments away from kinks.

    >>> import numpy as np, weft as wf
    >>> wf.check_grads(lambda x: np.sum(np.sin(x) ** 2), (np.array([0.3, 1.1]),))
    """
    random = np.random.default_rng(seed)
    arguments = tuple(tree.map_tree(np.asarray, arg) for arg in args)
    for mode in modes:
        if mode not in ("forward", "reverse"):
            raise ValueError(f"there is no mode {mode!r}; there are forward and reverse")
    _check(function, arguments, order, modes, (rtol, atol), random, "")


def _check(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    order: int,
    modes: Sequence[str],
    tolerances: tuple[float, float],
    random: np.random.Generator,
    history: str,
) -> None:
    direction = tree.map_tree(lambda x: _random_like(x, random), args)
    expected = _difference(function, args, direction)
    if "forward" in modes:
        value, tangent = jvp(function, args, direction)
        _compare(tangent, expected, tolerances, f"{history}forward")
    if "reverse" in modes:
        value, pull = vjp(function, *args)
        weights = tree.map_tree(lambda y: _random_like(np.asarray(y), random), value)
        pulled = _inner(pull(weights), direction)
        _compare(pulled, _inner(weights, expected), tolerances, f"{history}reverse")
    if order <= 1:
        return
    if "forward" in modes:
        _check(
            lambda *a: jvp(function, a, direction)[1],
            args,
            order - 1,
            modes,
            tolerances,
            random,
            f"{history}forward, then ",
        )
    if "reverse" in modes:
        _check(
            lambda *a: _floats(vjp(function, *a)[1](weights)),
            args,
            order - 1,
            modes,
            tolerances,
            random,
            f"{history}reverse, then ",
        )


def _floats(arrays: Any) -> list[Any]:
    return [x for x in tree.flatten(arrays)[0] if np.issubdtype(x.dtype, np.inexact)]


def _random_like(array: Array, random: np.random.Generator) -> Array:
    if not np.issubdtype(array.dtype, np.inexact):
        return np.zeros_like(array)
    real, imaginary = random.standard_normal((2, *array.shape))
    return np.asarray(real + 1j * imaginary if np.iscomplexobj(array) else real, array.dtype)


def _difference(function: Callable[..., Any], args: tuple[Any, ...], direction: Any) -> Any:
    """The derivative along a direction by central differences, extrapolated once."""

    def central(step: float) -> list[Array]:
        ahead = tree.flatten(
            function(*tree.map_tree(lambda x, d: _moved(x, d, step), args, direction))
        )[0]
        behind = tree.flatten(
            function(*tree.map_tree(lambda x, d: _moved(x, d, -step), args, direction))
        )[0]
        return [
            (np.asarray(a, _wide(a)) - np.asarray(b, _wide(b))) / (2 * step)
            for a, b in zip(ahead, behind, strict=True)
        ]

    treedef = tree.flatten(function(*args))[1]
    coarse, fine = central(2e-4), central(1e-4)
    return tree.unflatten(treedef, [(4 * f - c) / 3 for f, c in zip(fine, coarse, strict=True)])


def _wide(array: Any) -> Any:
    return np.complex128 if np.iscomplexobj(array) else np.float64


def _moved(array: Array, direction: Array, step: float) -> Array:
    if not np.issubdtype(array.dtype, np.inexact):
        return array
    return np.asarray(array + step * direction, array.dtype)


def _inner(left: Any, right: Any) -> Any:
    """The product that a map and its transpose agree in: real, as derivatives of functions such as
    `abs` are linear over the real numbers only.
    """
    pairs = zip(tree.flatten(left)[0], tree.flatten(right)[0], strict=True)
    return sum(np.sum(np.asarray(a) * np.asarray(b)).real for a, b in pairs)


def _compare(computed: Any, expected: Any, tolerances: tuple[float, float], mode: str) -> None:
    rtol, atol = tolerances
    for number, (one, other) in enumerate(
        zip(tree.flatten(computed)[0], tree.flatten(expected)[0], strict=True)
    ):
        if not np.allclose(one, other, rtol=rtol, atol=atol, equal_nan=True):
            raise GradientError(
                f"{mode} mode gives {np.asarray(one)} for result {number}, differences give "
                f"{np.asarray(other)}"
            )
