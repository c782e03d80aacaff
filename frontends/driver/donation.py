"""Donated arguments: whose memory results may take, and that nobody else uses it.

A donated array may be written over, so no other argument of the call may lie in its memory. NumPy
arrays cannot tell of later uses; arrays that can are told that they were given away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.compiler.ir.errors import ArgumentError
from weft.frontends.tracing.arguments import Call, FunctionSignature
from weft.frontends.tracing.caller import caller_location

if TYPE_CHECKING:
    from weft.compiler.ir.graph import Graph

Array = np.ndarray[Any, Any]
GIVE_AWAY: Final = "__weft_give_away__"  # method(to): the array must not be used any more
# In finding out whether elements between others are shared; NumPy's stubs know of -1 and 0 only.
_MOST_WORK: Final = 10_000


def donated_parameters(
    donate: int | str | Iterable[int | str], signature: FunctionSignature
) -> frozenset[int | str]:
    """The donated parameters, by number and by name, however they were named."""
    given = (donate,) if isinstance(donate, int | str) else tuple(donate)
    found: set[int | str] = set()
    for one in given:
        if isinstance(one, str):
            signature.require_known("donate", one)
            found |= {one, *[n for n, name in enumerate(signature.names) if name == one]}
        elif isinstance(one, int) and not isinstance(one, bool) and one >= 0:
            found |= {one, *signature.names[one : one + 1]}
        else:
            raise ArgumentError(
                f"donate: {one!r} is neither the number nor the name of an argument"
            )
    return frozenset(found)


def donated_results(
    graph: Graph, donated: Sequence[int], taken: Collection[int] = ()
) -> dict[int, int]:
    """Which result may be written over which parameter: donated ones in order, to results of the
    same type that are not `taken`.
    """
    free = [number for number in donated if graph.parameters[number].type.rank]
    reused: dict[int, int] = {}
    for number, result in enumerate(graph.results):
        for parameter in free:
            if number not in taken and graph.parameters[parameter].type == result.type:
                reused[number] = parameter
                free.remove(parameter)
                break
    return reused


def donated_arguments(call: Call, donated: frozenset[int | str]) -> list[int]:
    """The numbers of the arrays that belong to donated parameters."""
    if not donated:
        return []
    return [number for number, owner in enumerate(owners(call)) if owner in donated]


def owners(call: Call) -> list[int | str]:
    """For each array, the number or keyword of the argument that it belongs to."""
    owners: list[int | str] = []
    positional, keywords = call.treedef.children()
    for number, child in enumerate(positional.children()):
        owners += [number] * child.num_leaves
    for keyword, child in zip(keywords.entries(), keywords.children(), strict=True):
        owners += [str(keyword)] * child.num_leaves
    return owners


def require_apart(
    call: Call,
    arrays: Sequence[Array],
    donated: Sequence[int],
    who: str,
    written: Collection[int] = (),
) -> None:
    """Raise ArgumentError if a donated array, or one that is written to, shares memory with another
    one.
    """
    given_away = {*donated, *written}
    for left, right in _candidates(arrays, given_away):
        if not _share_memory(arrays[left], arrays[right]):
            continue
        first, second = (number for number in sorted((left, right)))
        names = [call.leaves[number].name for number in (first, second)]
        both = {first, second} <= given_away
        owner = "both are" if both else f"{call.leaves[left].name} is"
        what = "written to" if left in written else "donated"
        raise ArgumentError(
            f"the arguments {names[0]} and {names[1]} of {who} share memory, but {owner} {what}: "
            "what is written over one would change the other; pass a copy of one of them",
            location=caller_location(),
        )


def _candidates(arrays: Sequence[Array], donated: set[int]) -> list[tuple[int, int]]:
    """Pairs of a donated array and another one that may overlap, by where they start and end."""
    extents = sorted(
        (*np.lib.array_utils.byte_bounds(array), number)
        for number, array in enumerate(arrays)
        if array.size
    )
    pairs: list[tuple[int, int]] = []
    open: list[tuple[int, int]] = []  # those that reach to where we are, with their ends
    for start, end, number in extents:
        open = [(other, last) for other, last in open if last > start]
        for other, _ in open:
            if number in donated:
                pairs.append((number, other))
            elif other in donated:
                pairs.append((other, number))
        open.append((number, end))
    return pairs


def _share_memory(left: Array, right: Array) -> bool:
    try:
        return np.shares_memory(left, right, max_work=_MOST_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def give_away(call: Call, donated: Sequence[int], who: str) -> None:
    """Tell the donated arrays that can tell of later uses."""
    for number in donated:
        method = getattr(call.values[number], GIVE_AWAY, None)
        if method is not None:
            method(f"the argument {call.leaves[number].name} of {who}")
