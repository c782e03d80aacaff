"""Taking what a region gathers from its parameters out of it.

A function of many small parts, such as the errors of many observations, begins with gathers: each
part reads its own few parameters. By what was gathered its derivative has far simpler a pattern
than by the parameters, which many parts share, and is the same otherwise: each gathered element is
one of the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weft.compiler.ir.build import Builder
from weft.compiler.ir.edit import Rewriter
from weft.compiler.ir.errors import BoundsError
from weft.compiler.ir.graph import Constant, Op, Region, Result, Value
from weft.compiler.ir.walk import dependencies
from weft.compiler.record import record
from weft.compiler.transforms.dependence import is_plain, numbered, shape_of
from weft.compiler.transforms.prune import prune_region

Ints = NDArray[np.integer[Any]]

SELECTING: Final = frozenset({"gather", "slice", "reshape", "transpose", "reverse"})
"""Ops whose results are elements of their first operand, if the others say where."""


@record
class Selection:
    """A region in two: `gathered` makes of its parameters what it gathers, `rest` makes the results
    of these, followed by all parameters.

    `sources` says for each element of each gathered value which element of which parameter it is,
    as the number of the parameter and the numbers of elements.
    """

    gathered: Region
    rest: Region
    sources: tuple[tuple[int, Ints], ...]


def split_gathers(region: Region, marked: Sequence[bool]) -> Selection | None:
    """The region without what it gathers from its marked parameters at known places, or None if
    there is no such gather.
    """
    origin: dict[Value, tuple[int, Ints]] = {
        parameter: (number, numbered(shape_of(parameter)))
        for number, (parameter, mark) in enumerate(zip(region.parameters, marked, strict=True))
        if mark
    }
    for op in region.ops:
        if op.name in SELECTING and op.operands[0] in origin:
            number, elements = origin[op.operands[0]]
            moved = _moved(op, elements)
            if moved is not None:
                origin[op.result] = number, moved
    gathered = [op.result for op in region.ops if op.name == "gather" and op.result in origin]
    if not gathered:
        return None
    sources = tuple([(origin[value][0], origin[value][1].reshape(-1)) for value in gathered])
    return Selection(_before(region, gathered), _after(region, gathered), sources)


def _moved(op: Op, elements: Ints) -> Ints | None:
    """Where the elements get, if each element of the result is one of them."""
    places = op.operands[1:]
    if not is_plain(op) or not all(isinstance(place, Constant) for place in places):
        return None
    arrays = [place.array for place in places if isinstance(place, Constant)]
    try:  # counted from 1, as zeros are what some ops fill in
        moved = op.definition.reference(elements + 1, *arrays, **op.attributes) - 1
    except BoundsError:
        return None
    return None if np.any(moved < 0) else moved


def _before(region: Region, gathered: Sequence[Result]) -> Region:
    """The gathers alone."""
    builder = Builder()
    rewriter = Rewriter(builder)
    rewriter.parameters(region)
    for op in dependencies(gathered):
        rewriter.copy(op)
    return builder.region([rewriter.value(value) for value in gathered])


def _after(region: Region, gathered: Sequence[Result]) -> Region:
    """What comes of the gathers, with a parameter for each."""
    builder = Builder()
    rewriter = Rewriter(builder)
    for number, value in enumerate(gathered):
        rewriter.substitution[value] = builder.parameter(value.type, f"gathered.{number}")
    rewriter.parameters(region)
    gathers = {value.op for value in gathered}
    for op in region.ops:
        if op not in gathers:
            rewriter.copy(op)
    return prune_region(builder.region(rewriter.results(region)))
