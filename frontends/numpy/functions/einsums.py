"""NumPy's einsum: reading its two notations, then one labelled contraction.

A label is a letter, or an int where sublists are given; the axes that an ellipsis stands for are
counted from the right, as (-1,), (-2,) and so on, so that they broadcast together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import EllipsisType
from typing import Any

from weft.compiler.ir import dtypes
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.frontends.numpy.functions.labels import Label, Labels, Path, Term, contract
from weft.frontends.tracing.core import check_no, lift, promote, trace_error, wrap
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = ["einsum"]

Subscripts = list["Label | EllipsisType"]


def einsum(
    *operands: Any,
    out: None = None,
    optimize: Any = False,
    dtype: object = None,
    order: str = "K",
    casting: str = "safe",
) -> Tracer:
    """As `numpy.einsum`; the order of contraction is always optimised, unless a path is given.

    >>> import numpy as np, weft as wf
    >>> wf.numpy.einsum("ij,jk->ik", np.eye(2), np.ones((2, 3)))
    array([[1., 1., 1.],
           [1., 1., 1.]])
    """
    check_no("einsum", out=out)
    arrays, inputs, output = _read(operands)
    values = _values(arrays, dtype)
    if len(values) != len(inputs):
        raise trace_error(f"einsum: {len(inputs)} subscripts are given for {len(values)} operands")
    labels = [_expand(s, values[i].type.rank, i) for i, s in enumerate(inputs)]
    terms = [Term(value, given) for value, given in zip(values, labels, strict=True)]
    result = _output(output, terms)
    try:
        return wrap(contract(terms, result, _given_path(optimize)))
    except ShapeError as error:
        types = ", ".join(str(value.type) for value in values)
        raise error.at(trace_error("").location, f"einsum of {types}") from None


def _values(arrays: Sequence[ArrayLike], dtype: object) -> list[Value]:
    if dtype is None:
        return promote(*arrays)
    return [lift(array, dtypes.dtype(dtype)) for array in arrays]


def _given_path(optimize: Any) -> Path | None:
    if isinstance(optimize, bool | str) or not optimize or optimize[0] != "einsum_path":
        return None
    return [tuple(step) for step in optimize[1:]]


# --- notations ---------------------------------------------------------------------------------


def _read(
    operands: Sequence[Any],
) -> tuple[Sequence[ArrayLike], list[Subscripts], Subscripts | None]:
    """The arrays, the subscripts of each, and those of the output if they are given."""
    if not operands:
        raise trace_error("einsum needs subscripts and at least one operand")
    if isinstance(operands[0], str):
        inputs, arrow, output = operands[0].partition("->")
        subscripts = [_letters(part) for part in inputs.split(",")]
        return operands[1:], subscripts, _letters(output) if arrow else None
    arrays, sublists = operands[0::2], operands[1::2]
    given = None
    if len(operands) % 2:
        arrays, given = arrays[:-1], list(arrays[-1])
    return arrays, [list(sublist) for sublist in sublists], given


def _letters(text: str) -> Subscripts:
    """The letters of one operand; dots stand for an ellipsis and come in threes."""
    before, dots, after = text.replace(" ", "").partition("...")
    middle: Subscripts = [...] if dots else []
    for letter in before + after:
        if not letter.isalpha():
            raise trace_error(
                f"einsum: {letter!r} in {text!r} is no subscript; use letters and one ..."
            )
    return [*before, *middle, *after]


def _expand(subscripts: Subscripts, rank: int, position: int) -> Labels:
    """One label per axis, with the ellipsis filled in."""
    named = [s for s in subscripts if s is not ...]
    missing = rank - len(named)
    if missing < 0 or (missing > 0 and ... not in subscripts) or subscripts.count(...) > 1:
        raise ShapeError(
            f"einsum: operand {position} has rank {rank}, but {len(named)} subscripts; give one "
            "for each axis, or one ... for the rest"
        )
    filled = [(axis,) for axis in range(-missing, 0)]
    return tuple(label for s in subscripts for label in (filled if s is ... else [s]))


def _output(given: Subscripts | None, terms: Sequence[Term]) -> Labels:
    """The labels of the output: those given, else the ones that occur once, in order."""
    counts = Counter(label for term in terms for label in term.labels)
    ellipsis = sorted(label for label in counts if isinstance(label, tuple))
    if given is None:
        once: list[Any] = [s for s, n in counts.items() if n == 1 and not isinstance(s, tuple)]
        return (*ellipsis, *sorted(once))
    if ellipsis and ... not in given:
        raise ShapeError("einsum: the operands have axes under ..., so the output needs ... too")
    named = [s for s in given if s is not ...]
    if len(set(named)) < len(named):
        raise trace_error(f"einsum: the output has a subscript twice: {named}")
    unknown = [s for s in named if s not in counts]
    if unknown:
        raise trace_error(f"einsum: the output subscript {unknown[0]!r} is in no operand")
    return tuple(label for s in given for label in (ellipsis if s is ... else [s]))
