"""Lists that grow in a loop of the program: one step is traced, so all have to append the same,
whatever earlier ones have appended, and which arrays the items may be has to be known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NoReturn

from weft.compiler.ir.errors import TraceError, WeftError
from weft.compiler.ir.graph import Value
from weft.compiler.record import record
from weft.frontends.flow.sharing import Pairs, Sharing, sources_of
from weft.frontends.flow.variables import VariableLeaf
from weft.frontends.tracing import core
from weft.frontends.tracing.conversion import conversion
from weft.frontends.tracing.trace import Trace, Tracer, current_trace, user_line

_OWNER: Final = "an array that several steps may have appended to a list"


class EarlierItem:
    """Stands for what an earlier step has appended: it can be kept, but not used."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise core.trace_error("what an earlier step has appended to a list is read")


def _used(self: EarlierItem, *args: Any, **kwargs: Any) -> NoReturn:
    raise core.trace_error("what an earlier step has appended to a list is read")


_OPERATORS: Final = (
    "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or".split()
)
for _name in (
    *_OPERATORS,
    *[f"r{name}" for name in _OPERATORS],
    *"neg pos abs invert round trunc floor ceil bool int float complex index".split(),
    *"eq ne lt le gt ge hash len iter contains getitem setitem delitem call".split(),
    *"str repr format array array_ufunc array_function copy deepcopy reduce_ex".split(),
):
    setattr(EarlierItem, f"__{_name}__", _used)

EARLIER: Final = EarlierItem()


def depends_on_earlier(name: str, error: Exception | None = None) -> TraceError:
    """The error for a step that is not the same for all that was appended before."""
    place = error.location if isinstance(error, WeftError) else None
    return TraceError(
        f"{name} grows in this loop, and a step depends on what is in it; keep what the next step "
        "needs in a variable (x = ...; xs.append(x)), or unroll the loop: for ... in "
        "wf.unrolled(...)",
        location=place or user_line(),
    )


@contextmanager
def measured() -> Iterator[set[int]]:
    """The lists whose length is asked for inside, by identity; known afterwards."""
    around, found = conversion.get(), set[int]()
    start = 0 if around is None else len(around.measured)
    yield found
    found.update([] if around is None else around.measured[start:])


@record
class Item:
    """What one array that steps append may be: `same`, one from before the loop, in all steps; or
    one that carried variables of these positions have after the step or a later one, `starts`
    before it, or `outer` ones from before the loop. It `is_repeated` if several steps may have
    appended the same.
    """

    same: Tracer | None = None
    carried: frozenset[int] = frozenset()
    starts: frozenset[int] = frozenset()
    outer: tuple[Tracer, ...] = ()
    memories: frozenset[int] = frozenset()
    is_repeated: bool = False

    def meets(self, other: Item) -> bool:
        """Whether an item of one list may be one of the other."""
        positions = (self.carried | self.starts) & (other.carried | other.starts)
        return bool(positions or self.memories & other.memories)


def items_of(
    leaves: Sequence[VariableLeaf],
    trace: Trace,
    starts: Sequence[Tracer | None],
    ends: Sequence[Tracer | None],
    sharing: Sharing,
) -> list[Item]:
    """The same for all that a step has appended, by the arrays of the carried variables before and
    after it, and what may be the same before any step.
    """
    sources = sources_of(ends, starts)
    return [
        _item(leaf, trace, starts, ends, sources, sharing)
        if leaf.array is not None and leaf.array.type.shape
        else Item()
        for leaf in leaves
    ]


def _item(
    leaf: VariableLeaf,
    trace: Trace,
    starts: Sequence[Tracer | None],
    ends: Sequence[Tracer | None],
    sources: dict[int, list[int]],
    sharing: Sharing,
) -> Item:
    array = leaf.array
    assert array is not None
    if leaf.is_outer:
        return Item(same=array)
    possible = array.possible
    memories = frozenset(map(id, possible))
    carried = _over_steps(_having(memories, ends), sources, sharing.pairs)
    positions = frozenset(n for n, one in enumerate(starts) if id(one) in memories)
    before = [one for n in positions for one in sharing.outer.get(n, {}).values()]
    outer = tuple([one for one in [*possible, *before] if one.region_trace is not trace])
    kept = bool(outer) and bool(_having({id(one) for one in outer}, ends))
    is_view = array.memory.region_trace is not trace
    is_repeated = kept or is_view or bool(positions & carried)
    return Item(None, carried, positions, outer, memories, is_repeated)


def _having(memories: Collection[int], arrays: Sequence[Tracer | None]) -> set[int]:
    """The positions whose arrays may be one of these."""
    return {
        number
        for number, array in enumerate(arrays)
        if array is not None and any(id(one) in memories for one in array.possible)
    }


def _over_steps(positions: set[int], sources: dict[int, list[int]], pairs: Pairs) -> frozenset[int]:
    """All positions that may have the array of one of these in this step or a later one."""
    while True:
        further = {two for pair in pairs for two in pair if positions & set(pair)}
        further |= {number for number, origins in sources.items() if positions & set(origins)}
        if further <= positions:
            return frozenset(positions)
        positions = positions | further


def require_kept(
    name: str, items: Sequence[Item], written: set[int], memories: Collection[int]
) -> None:
    """Raise if arrays that were appended are written to by later steps: those of carried variables
    of these positions are, and arrays from before the loop, by identity.
    """
    for item in items:
        if item.carried & written or any(id(one) in memories for one in item.outer):
            raise core.trace_error(
                f"an array that was appended to {name} is written to by later steps of this loop; "
                "append a .copy()"
            )


def stacked(value: Value, item: Item) -> Tracer:
    """The array of which the items of all steps are rows."""
    trace = current_trace()
    return trace.make_tracer(trace, value, owner=_OWNER if item.is_repeated else "")


def link(
    items: Sequence[Item],
    made: Sequence[Tracer],
    after: Sequence[Tracer | None],
    entries: Sequence[Tracer | None],
) -> None:
    """Let the arrays of all items be related to what these may be after the loop: to the arrays
    that carried variables have then or had before it, to others from before, and to one another.
    """
    for number, (item, array) in enumerate(zip(items, made, strict=True)):
        if item.same is not None or not array.type.shape:
            continue
        held = [after[n] for n in item.carried] + [entries[n] for n in item.starts]
        others = [one for found in held if found is not None for one in found.possible]
        others += [two for one, two in zip(items[:number], made, strict=False) if item.meets(one)]
        for other in {id(one): one for one in [*item.outer, *others]}.values():
            if other.type.shape and other is not array:
                array.add_alias(other)
