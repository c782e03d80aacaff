"""Which arrays the results of an `if` are: arrays from before in one branch, or one of another.

A result that is `y` in a branch becomes an array with `y` as alias where that branch runs, so that
writes to one are seen through the other there, as in Python.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from weft.compiler.ir.dtypes import bool_, i64
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops.logic import eq, or_
from weft.compiler.record import record
from weft.frontends.flow.parts import TracedPart
from weft.frontends.flow.variables import VariableLeaf
from weft.frontends.numpy.functions.namespace import BY_NUMPY
from weft.frontends.tracing import core
from weft.frontends.tracing.alias import Conditions, all_of
from weft.frontends.tracing.trace import Trace, Tracer, TracerView, current_trace

_BOOL: Final = ArrayType(bool_)
_Base: TypeAlias = "Tracer | int"
_Alias: TypeAlias = "tuple[Tracer, Conditions | None, tuple[TracerView, ...]]"


@record
class _Link:
    """In one branch a result is a view of an array from before, or of another result."""

    branch: int
    position: int
    base: _Base
    conditions: Conditions | None
    path: tuple[TracerView, ...]


class Kinship:
    """What the arrays that branches leave have in common, while the branches are still open."""

    def __init__(
        self,
        branches: Sequence[TracedPart],
        leaves: Sequence[Sequence[VariableLeaf]],
        types: Sequence[ArrayType],
    ) -> None:
        for leaf in [leaf for column in leaves for leaf in column]:
            if leaf.array is not None and not leaf.array.type.shape:
                leaf.array.memory.forked = True
        self._arrays = [
            [_memory_of(leaf, type) for leaf, type in zip(column, types, strict=True)]
            for column in leaves
        ]
        self._traces = [branch.trace for branch in branches]
        self._links: list[_Link] = []
        self._inner: list[tuple[int, Tracer]] = []
        for number, branch in enumerate(branches):
            self._find(number, branch.trace)
        self.types = [*types, *[_BOOL] * len(self._inner)]

    def conditions(self, branch: int) -> list[VariableLeaf]:
        """What the branch has to tell besides: conditions of its own for what its results are."""
        return [
            VariableLeaf(_BOOL, value=condition.value)
            if number == branch
            else VariableLeaf(_BOOL, plain=False)
            for number, condition in self._inner
        ]

    def arrays(
        self, results: Sequence[Value], chosen: Tracer, conditions: Sequence[Tracer]
    ) -> list[Tracer]:
        """The arrays that results of the op are."""
        made = [core.wrap(value) for value in results]
        for position, array in enumerate(made):
            array.forked = not array.type.shape
            twin = self._twin(position)
            if twin is not None:
                made[position] = made[twin]
        outer = {id(one): two for (_, one), two in zip(self._inner, conditions, strict=True)}
        found: dict[tuple[int, int, tuple[int, ...]], list[_Alias]] = {}
        for link in self._links:
            base = made[link.base] if isinstance(link.base, int) else link.base
            if base is made[link.position]:
                continue
            known: Conditions | None = None
            if link.conditions is not None:
                inner = [(outer.get(id(test), test), holds) for test, holds in link.conditions]
                known = ((chosen, bool(link.branch)), *inner)
            key = link.position, id(base), tuple(map(id, link.path))
            found.setdefault(key, []).append((base, known, link.path))
        for (position, *_), aliases in found.items():
            base, _, path = aliases[0]
            made[position].add_alias(base, _any_of([known for _, known, _ in aliases]), path)
        for position, array in enumerate(made):
            array.covered = self._is_covered(position)
        return made

    def _is_covered(self, position: int) -> bool:
        """Whether a result is an array from before in all branches."""
        links = [link for link in self._links if link.position == position]
        return all(link.conditions is not None for link in links) and all(
            arrays[position] is not None and self._is_outer(arrays[position], branch)
            for branch, arrays in enumerate(self._arrays)
        )

    def _is_outer(self, array: Tracer | None, branch: int) -> bool:
        return array is not None and array.memory.region_trace is not self._traces[branch]

    def _twin(self, position: int) -> int | None:
        """An earlier result that is the very same array in both branches."""
        for other in range(position):
            pairs = [(arrays[position], arrays[other]) for arrays in self._arrays]
            if all(one is not None and one is two for one, two in pairs):
                return other
        return None

    def _find(self, branch: int, trace: Trace) -> None:
        arrays = self._arrays[branch]
        for position, array in enumerate(arrays):
            if array is None:
                continue
            for memory, conditions, path in _origins(array):
                if memory.region_trace is not trace:
                    # One that is covered is one of its aliases, which follow.
                    if not (memory.covered and memory is array.memory):
                        self._link(branch, trace, position, memory, conditions, path)
                    continue
                for other in range(len(arrays)):
                    found = arrays[other]
                    if other != position and found is not None and found.memory is memory:
                        self._relate(branch, trace, (position, other), conditions, path)

    def _relate(
        self,
        branch: int,
        trace: Trace,
        positions: tuple[int, int],
        conditions: Conditions | None,
        path: tuple[TracerView, ...],
    ) -> None:
        """Link a result to another one that has the memory of which it is a view."""
        position, other = positions
        one, two = self._arrays[branch][position], self._arrays[branch][other]
        assert one is not None and two is not None
        if one is two:
            path = ()
        elif two.path:  # neither is the whole memory, or the other one will be linked to this
            if one.memory is two.memory and not one.path:
                return
            conditions, path = None, ()
        is_both_ways = one.memory is two.memory and one.path == two.path == ()
        if (is_both_ways or one is two) and other > position:
            return
        self._link(branch, trace, position, other, conditions, path)

    def _link(
        self,
        branch: int,
        trace: Trace,
        position: int,
        base: _Base,
        conditions: Conditions | None,
        path: tuple[TracerView, ...],
    ) -> None:
        if isinstance(base, int) and self._leads_to(base, position):
            conditions, path = None, ()
        for condition, _ in conditions or ():
            is_known = any(condition is known for _, known in self._inner)
            if condition.region_trace is trace and not is_known:
                self._inner.append((branch, condition))
        self._links.append(_Link(branch, position, base, conditions, path))

    def _leads_to(self, start: int, end: int) -> bool:
        """Whether one result follows another already; then that one cannot follow it."""
        seen, queue = {start}, [start]
        while queue:
            position = queue.pop()
            known = [link for link in self._links if link.conditions is not None]
            bases = [link.base for link in known if link.position == position]
            further = {base for base in bases if isinstance(base, int)} - seen
            seen |= further
            queue += further
        return end in seen


def _any_of(ways: Sequence[Conditions | None]) -> Conditions | None:
    """Conditions that hold where those of one way do: as many ways as there are paths through the
    branches before are one condition.
    """
    known = [way for way in ways if way is not None]
    if len(known) < len(ways) or len(ways) == 1:
        return ways[0] if len(ways) == 1 else None
    trace = current_trace()
    tests = [test for test in (all_of(way, trace) for way in known) if test is not None]
    if len(tests) < len(ways):
        return ()
    return ((core.wrap(functools.reduce(or_, tests)), True),)


def element(items: Sequence[Any], place: Tracer) -> Tracer:
    """`items[place]`: one of several arrays, which a write to it is seen by, or of numbers."""
    trace = current_trace()
    if place.type.shape or place.type.dtype.is_inexact:
        raise TypeError(f"list indices must be integers or slices, not {place.type}")
    place = core.wrap(core.cast(core.lift(place), i64))
    value = BY_NUMPY[np.stack](items)[place].value
    arrays = [item for item in items if isinstance(item, Tracer) and item.type.shape]
    if not value.type.shape:
        types = frozenset[type]().union(*map(core.number_types, items))
        return core.with_types(core.wrap(value, weak=core.is_weak(*items)), types)
    kinds = dict.fromkeys([core.lift(item).type.dtype for item in items])
    if len(kinds) > 1:
        raise core.trace_error(
            f"the arrays in a list are of {' and '.join(map(str, kinds))}, so that of the one at a "
            "traced place is not known; make them agree with .astype(...)"
        )
    is_foreign = len(arrays) < len(items)
    owner = "an array from a list that holds others than arrays of the trace"
    made = trace.make_tracer(trace, value, owner=owner if is_foreign else "")
    position = core.cast(place.value, i64)
    for number, item in enumerate(items):
        if isinstance(item, Tracer) and item.type == value.type:
            spots = number, number - len(items)
            here = [eq(position, core.lift(spot, i64)) for spot in spots]
            is_chosen = core.wrap(or_(*here))
            for memory, conditions, path in _origins(item):
                known = None if conditions is None else ((is_chosen, True), *conditions)
                made.add_alias(memory, known, path)
    return made


def _memory_of(leaf: VariableLeaf, type: ArrayType) -> Tracer | None:
    is_array = leaf.array is not None and bool(type.shape) and leaf.array.type == type
    return leaf.array if is_array else None


def _origins(
    array: Tracer,
) -> Iterator[tuple[Tracer, Conditions | None, tuple[TracerView, ...]]]:
    """The memories that an array may be (a view of)."""
    array.become_traced()
    memory, path = array.memory, array.path
    yield memory, (), path
    for alias, other in memory.alive():
        yield other, alias.conditions, (*alias.path, *path)
