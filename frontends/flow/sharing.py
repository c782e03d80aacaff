"""Which arrays the variables of a loop may be: those from before it, or one and the same.

What holds at the start of any step is found from what holds before the first and after each. In
what step two are the same is not followed, so that a write to one is a doubt about the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence, Set

from weft.compiler.record import record
from weft.frontends.tracing.trace import Trace, Tracer

Pairs = set[tuple[int, int]]


@record
class Sharing:
    """Which memory the arrays of some positions may be: arrays from before, by position, and pairs
    of positions that may be the same array.
    """

    outer: dict[int, dict[int, Tracer]]
    pairs: Pairs

    @staticmethod
    def none() -> Sharing:
        return Sharing({}, set())

    @staticmethod
    def of(arrays: Sequence[Tracer | None], inner: Collection[Trace] = ()) -> Sharing:
        """What holds for arrays at one point; those of `inner` traces are not from before."""
        outer: dict[int, dict[int, Tracer]] = {}
        holders: defaultdict[int, list[int]] = defaultdict(list)
        for position, array in enumerate(arrays):
            if array is not None and array.type.shape:
                holders[id(array.memory)].append(position)
        pairs: Pairs = set()
        for position, array in enumerate(arrays):
            if array is None or not array.type.shape:
                continue
            shared = array.possible
            kept = {id(one): one for one in shared if one.region_trace not in inner}
            if kept:
                outer[position] = kept
            for one in shared:
                pairs |= {_pair(position, other) for other in holders[id(one)] if other != position}
        return Sharing(outer, pairs)

    def __or__(self, other: Sharing) -> Sharing:
        positions = self.outer.keys() | other.outer.keys()
        outer = {p: {**self.outer.get(p, {}), **other.outer.get(p, {})} for p in positions}
        return Sharing(outer, self.pairs | other.pairs)

    def same(self, other: Sharing) -> bool:
        mine = {position: arrays.keys() for position, arrays in self.outer.items()}
        theirs = {position: arrays.keys() for position, arrays in other.outer.items()}
        return mine == theirs and self.pairs == other.pairs

    def after_step(self, end: Sharing, sources: dict[int, list[int]]) -> Sharing:
        """What holds after a step, if this holds before it: `end` is what the step itself gives,
        `sources` are the positions of which a position has the array from before the step.
        """
        outer = dict(end.outer)
        for position, origins in sources.items():
            for origin in origins:
                merged = {**outer.get(position, {}), **self.outer.get(origin, {})}
                if merged:
                    outer[position] = merged
        pairs = {
            _pair(position, other)
            for one, two in self.pairs
            for position in _holders(sources, one)
            for other in _holders(sources, two)
            if position != other
        }
        return Sharing(outer, pairs | end.pairs)

    def over_steps(self, end: Sharing, sources: dict[int, list[int]]) -> Sharing:
        """What holds before any step, if this holds before the first."""
        known = self
        while True:
            further = known | known.after_step(end, sources)
            if further.same(known):
                return known
            known = further

    def matters_beyond(
        self, assumed: Sharing, written: set[int], read: Set[int], moved: Collection[int]
    ) -> bool:
        """Whether a step would have differed if all this had been assumed: it wrote to arrays of
        the positions `written`, and it read arrays from before, by identity, and wrote to `moved`.
        """
        for position, arrays in self.outer.items():
            for key in (arrays.keys() - assumed.outer.get(position, {}).keys()) & read:
                if position in written or key in moved:
                    return True
        return any(one in written or two in written for one, two in self.pairs - assumed.pairs)

    def link(self, arrays: Sequence[Tracer | None]) -> None:
        """Link new arrays, one of each position."""
        for position, others in self.outer.items():
            array = arrays[position]
            if array is not None:
                for other in others.values():
                    array.add_alias(other)
        for one, two in self.pairs:
            left, right = arrays[one], arrays[two]
            if left is not None and right is not None:
                left.add_alias(right)
                right.add_alias(left)


def sources_of(
    ends: Sequence[Tracer | None], starts: Sequence[Tracer | None]
) -> dict[int, list[int]]:
    """For each position the positions whose array of the start of a step it may have at the end."""
    owners = {id(start): number for number, start in enumerate(starts) if start is not None}
    return {
        position: [owners[id(one)] for one in end.possible if id(one) in owners]
        for position, end in enumerate(ends)
        if end is not None
    }


def _pair(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


def _holders(sources: dict[int, list[int]], origin: int) -> list[int]:
    return [position for position, origins in sources.items() if origin in origins]
