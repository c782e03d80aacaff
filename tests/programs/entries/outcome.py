"""What became of a call: what Python gives, or how it differs from that."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import optree

import weft as wf
from tests.programs.entries.cases import arguments
from tests.programs.entries.entry import Entry, Keywords
from weft.compiler.ir.errors import BoundsError, DTypeError, ShapeError, WeftError

EQUAL: Final = "equal"
F32_RTOL: Final = 2e-3
OWN_ERRORS: Final = {ShapeError: ValueError, DTypeError: TypeError, BoundsError: IndexError}


class Difference(AssertionError):
    """The result is not Python's."""


def called(function: Callable[..., Any], given: tuple[Any, ...]) -> tuple[Any, Any]:
    """The result, or the exception, and the arguments as they are after the call."""
    given = copy.deepcopy(given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return with_keywords(function, given), given
        except Exception as error:
            return error, given


def with_keywords(function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    if given and isinstance(given[-1], Keywords):
        return function(*given[:-1], **given[-1])
    return function(*given)


def positional(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """All arguments, those by name in a dict."""
    return tuple([dict(one) if isinstance(one, Keywords) else one for one in given])


def outcome(entry: Entry, case: str, function: Callable[..., Any] | None = None) -> str:
    """`equal`, or in a line what was refused, raised or wrong."""
    given = arguments(entry, case)
    wanted = called(entry.function, given)
    made = called(function or wf.jit(entry.function), given)
    return compared(made, wanted, F32_RTOL if case == "f32" else entry.rtol, entry.atol)


def compared(made: tuple[Any, Any], wanted: tuple[Any, Any], rtol: float, atol: float = 0.0) -> str:
    (result, after), (wanted_result, wanted_after) = made, wanted
    if isinstance(result, WeftError) and not same_error(result, wanted_result):
        return f"refused: {first_line(result)}"
    if isinstance(result, Exception):
        if same_error(result, wanted_result):
            return EQUAL
        return f"raised: {type(result).__name__}: {first_line(result)}"
    if isinstance(wanted_result, Exception):
        return f"wrong: no {type(wanted_result).__name__}: {wanted_result}"
    try:
        check_equal(result, wanted_result, rtol, atol)
        check_equal(positional(after), positional(wanted_after), rtol, atol)
    except Difference as difference:
        return f"wrong: {difference}"
    return EQUAL


def same_error(made: Any, wanted: Any) -> bool:
    """Also where Weft says in its own words that what NumPy is given does not fit together."""
    for own, pythons in OWN_ERRORS.items():
        if isinstance(made, own) and isinstance(wanted, pythons):
            return True
    return type(made) is type(wanted) and str(made) == str(wanted)


def first_line(error: Exception) -> str:
    """What is refused, without advice and folders."""
    text = str(error).split("\n")[0].split("; ")[0]
    return re.sub(r"/\S*?/(?=[\w.]+\.py)", "", re.sub(r"0x[0-9a-f]+", "0x", text))


def check_equal(made: Any, wanted: Any, rtol: float, atol: float = 0.0) -> None:
    flat, tree = optree.tree_flatten(made, none_is_leaf=True)
    wanted_flat, wanted_tree = optree.tree_flatten(wanted, none_is_leaf=True)
    if tree != wanted_tree:
        raise Difference(f"{tree} instead of {wanted_tree}")
    for one, other in zip(flat, wanted_flat, strict=True):
        check_leaf(one, other, rtol, atol)


def check_leaf(made: Any, wanted: Any, rtol: float, atol: float) -> None:
    if wanted is None or isinstance(wanted, str):
        if made is not wanted and made != wanted:
            raise Difference(f"{made!r} instead of {wanted!r}")
        return
    made, wanted = np.asarray(made), np.asarray(wanted)
    if made.dtype != wanted.dtype or made.shape != wanted.shape:
        raise Difference(f"{kind(made)} instead of {kind(wanted)}")
    finite = wanted[np.isfinite(wanted)]
    scale = np.max(np.abs(finite), initial=0.0)
    if not np.allclose(made, wanted, rtol=rtol, atol=atol + rtol * scale, equal_nan=True):
        apart = np.nanmax(np.abs(made - wanted), initial=0.0)
        raise Difference(f"{kind(wanted)} differs by {apart:.3g} of {scale:.3g}")


def kind(x: Any) -> str:
    return f"{x.dtype}{list(x.shape)}"


def gradient_outcome(entry: Entry) -> str:
    """`equal` if the slope along a line is that of differences."""
    assert entry.numbers is not None
    given = entry.arguments()
    gradient = wf.grad(scalar(entry), argnums=entry.numbers)
    made, _ = called(lambda *given: wf.jit(gradient)(*given), given)
    if isinstance(made, WeftError):
        return f"refused: {first_line(made)}"
    if isinstance(made, Exception):
        return f"raised: {type(made).__name__}: {first_line(made)}"
    slope, wanted = along(made, given[entry.numbers]), slope_by_differences(entry, given)
    if abs(slope - wanted) <= 1e-4 * max(abs(wanted), 1e-3):
        return EQUAL
    return f"wrong: slope {slope:.8g} instead of {wanted:.8g}"


def scalar(entry: Entry) -> Callable[..., Any]:
    return lambda *given: entry.value(entry.function(*given))


def direction(tree: Any) -> Any:
    r = np.random.default_rng(3)
    return optree.tree_map(lambda x: r.normal(size=np.shape(x)), tree)


def along(gradient: Any, at: Any) -> float:
    flat, way = optree.tree_leaves(gradient), optree.tree_leaves(direction(at))
    return float(sum(np.sum(g * d) for g, d in zip(flat, way, strict=True)))


def slope_by_differences(entry: Entry, given: tuple[Any, ...]) -> float:
    assert entry.numbers is not None
    where, at = entry.numbers, given[entry.numbers]
    way = direction(at)
    step = 1e-6 * max(np.max(np.abs(leaf), initial=0.0) for leaf in optree.tree_leaves(at))

    def moved(by: float) -> float:
        there = optree.tree_map(lambda x, d: x + by * d, at, way)
        return float(scalar(entry)(*copy.deepcopy((*given[:where], there, *given[where + 1 :]))))

    def central(h: float) -> float:
        return (moved(h) - moved(-h)) / (2 * h)

    return (4 * central(step) - central(2 * step)) / 3
