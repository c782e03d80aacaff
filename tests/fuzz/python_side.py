"""What a converted program has to compute: what Python computes, in values and types, or nothing,
with a word. An exception of Python's is one of the program, or it is refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import weft as wf
from tests.fuzz.case import Case
from tests.fuzz.outcome import Failure, Refused, Skipped

_ORDER = "biufc"


def check_python(case: Case, expected: object = None) -> None:
    """The program on some arguments, and on others of the same types."""
    backend = case.options.get("backend", "reference")
    compiled = wf.jit(case.traced(), control_flow=True, backend=backend)
    plain = case.plain()
    refusals: list[str] = []
    for change in VARIANTS:
        given = [change(value) for value in case.values()]
        wanted = _run(plain, given)
        made = _run(compiled, [change(value) for value in case.values()])
        if isinstance(made, wf.WeftError) and not isinstance(made, wf.CompilerError):
            if len(str(made)) < 20:
                raise Failure(f"a refusal without a word: {made}")
            refusals.append(str(made))
            continue
        if isinstance(wanted, IndexError) and backend == "cpu":
            continue  # an element that nothing needs is not looked for: docs/numpy.md
        if isinstance(wanted, ZeroDivisionError) and isinstance(made, Exception):
            continue  # what is raised in any case may come before: docs/control_flow.md
        _compare(wanted, made)
    if refusals:
        raise Refused(refusals[0])


def _negated(value: Any) -> Any:
    return value if isinstance(value, bool) else -value


def _larger(value: Any) -> Any:
    return not value if isinstance(value, bool) else value + 3


VARIANTS: tuple[Callable[[Any], Any], ...] = (lambda value: value, _negated, _larger)
"""Arguments of other values."""


def _run(function: Callable[..., Any], arguments: list[Any]) -> Any:
    """The result, or the exception."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*arguments)
        except RecursionError as error:
            raise Skipped("recursion") from error
        except Exception as error:
            return error


def _compare(wanted: Any, made: Any) -> None:
    if isinstance(wanted, Exception) or isinstance(made, Exception):
        if type(wanted) is not type(made):
            raise Failure(f"the program ends with {_shown(made)}, Python with {_shown(wanted)}")
        return
    _compare_parts(wanted, made, "result")


def _shown(result: Any) -> str:
    if isinstance(result, Exception):
        return f"{type(result).__name__}: {result}"
    return "values"


def _compare_parts(wanted: Any, made: Any, where: str) -> None:
    if isinstance(wanted, list | tuple):
        if type(made) is not type(wanted) or len(made) != len(wanted):
            raise Failure(f"{where} has another structure: {made} for {wanted}")
        for number, (one, other) in enumerate(zip(wanted, made, strict=True)):
            _compare_parts(one, other, f"{where}.{number}")
        return
    one, other = np.asarray(wanted), np.asarray(made)
    is_number = not isinstance(wanted, np.ndarray | np.generic)
    is_wider = is_number and _ORDER.index(one.dtype.kind) < _ORDER.index(other.dtype.kind)
    if one.shape != other.shape or not (one.dtype == other.dtype or is_wider):
        raise Failure(f"{where} types: {other.dtype}{other.shape} for {one.dtype}{one.shape}")
    if not np.allclose(other, one, rtol=1e-9, atol=1e-12, equal_nan=True):
        raise Failure(f"{where} values at []: {made!r} for {wanted!r}")
