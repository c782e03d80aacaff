"""What a traced function has done, at the end of its trace: its results, the arguments that it
wrote to, and the lists and dicts among its arguments that it changed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.graph import Value
from weft.compiler.record import record
from weft.frontends.tracing import core, tree
from weft.frontends.tracing.arguments import Call
from weft.frontends.tracing.lifting import lift_result, lift_results
from weft.frontends.tracing.misuse import made_at, unknown_sharing
from weft.frontends.tracing.trace import Trace, Tracer
from weft.frontends.tracing.writes import KNOWN_CONTAINERS, Given, Made, Part, Written


@record
class Outcome:
    """The results of a program, how they are put together, and what is written back."""

    values: list[Value]
    out_tree: tree.TreeDef
    written: Written | None


class Arguments:
    """The arguments of a function while it is traced. The arrays in `writable` may be written to,
    by number, with whether their caller will see it; None if nothing of arguments may change.
    """

    def __init__(self, call: Call, trace: Trace, writable: Mapping[int, bool] | None) -> None:
        self._call = call
        self._trace = trace
        self._writable = writable or {}
        self._is_open = writable is not None
        self.tracers = [
            trace.argument(
                leaf.type,
                leaf.name,
                weak=leaf.weak,
                owner="" if number in self._writable else f"the argument {leaf.name}",
            )
            for number, leaf in enumerate(call.leaves)
        ]
        self._starts = [tracer.value for tracer in self.tracers]
        self.containers = tree.unflatten(call.treedef, self.tracers)

    def outcome(self, result: Any, name: str) -> Outcome:
        """What the function has done, with what it returned."""
        kept = [number for number, is_seen in self._writable.items() if is_seen]
        written = [n for n in kept if self.tracers[n].value is not self._starts[n]]
        for number in written:
            self._require_shape(number)
        leaves, after_tree = _without_known(*tree.flatten(self.containers))
        is_same = after_tree == self._call.treedef and all(map(_is, leaves, self.tracers))
        if not self._is_open or (not written and is_same):
            values, out_tree = lift_results(result, self._trace, name)
            return Outcome(values, out_tree, None)
        if not is_same:
            _require_known(self.containers)
        return self._written(result, name, written, None if is_same else leaves, after_tree)

    def _require_shape(self, number: int) -> None:
        """Raise if the function has given the caller's array another shape."""
        before, now = self._starts[number].type, self.tracers[number].type
        if before.shape != now.shape:
            raise self._trace.error(
                f"the shape of the argument {self._call.leaves[number].name} is set, which would "
                "change the caller's array; write x = x.reshape(...)"
            )

    def _written(
        self,
        result: Any,
        name: str,
        written: list[int],
        after: Sequence[Any] | None,
        after_tree: tree.TreeDef,
    ) -> Outcome:
        leaves, paths, out_tree = tree.flatten_with_names(result)
        made: list[tuple[Any, Value]] = []
        output = [
            self._part(leaf, f"the result {path}".strip(), name, written, made)
            for leaf, path in zip(leaves, paths, strict=True)
        ]
        everything = range(len(self.tracers))
        kept = [
            self._part(leaf, "what it leaves in an argument", name, everything, made)
            for leaf in after or ()
        ]
        values = [value for _, value in made]
        ends = [self.tracers[number].value for number in written]
        record = Written(
            tuple(written),
            len(values),
            tuple(output),
            out_tree,
            None if after is None else tuple(kept),
            after_tree,
        )
        values += ends
        flat = tree.flatten(tuple(range(len(values))))[1]
        return Outcome(values, flat, record)

    def _part(
        self,
        leaf: Any,
        where: str,
        name: str,
        ours: Collection[int],
        made: list[tuple[Any, Value]],
    ) -> Part:
        """A leaf as an array of the caller, or as one that the program makes."""
        if isinstance(leaf, Tracer):
            given = self._given(leaf, ours)
            if given is not None:
                return given
            for number, (known, _) in enumerate(made):
                if known is leaf:
                    return Made(number, leaf.weak)
        made.append((leaf, lift_result(leaf, where, self._trace, name)))
        is_python = leaf.weak if isinstance(leaf, Tracer) else isinstance(leaf, int | float)
        return Made(len(made) - 1, is_python)

    def _given(self, leaf: Tracer, ours: Collection[int]) -> Given | None:
        by_memory = {id(self.tracers[number]): number for number in ours}
        if id(leaf) in by_memory:
            return Given(by_memory[id(leaf)])
        if not leaf.type.shape:
            return None
        first, *others = leaf.possible
        if any(id(one) in by_memory for one in others):
            raise TraceError(
                "what this function returns is one of its arguments or another array, depending on "
                "values, and it writes to them; return a .copy()",
                location=made_at(leaf),
            )
        if id(first) not in by_memory:
            return None
        for view in leaf.path:
            if not view.certain:
                raise unknown_sharing(leaf, "is written to, and returned to the caller")
        return Given(by_memory[id(first)], self._views(leaf, first))

    def _views(self, leaf: Tracer, base: Tracer) -> tuple[Any, ...]:
        """What makes the same view of the caller's array."""
        views = tuple([view.like for view in leaf.path])
        try:
            example = whole = np.empty(base.type.shape, np.int8)
            for view in views:
                example = view(example)
            is_view = np.may_share_memory(example, whole) or not example.size
        except (TypeError, ValueError):
            is_view = False
        if not is_view:
            raise TraceError(
                "what this function returns is a view of an argument that it writes to, at a place "
                "that is only known when the program runs; return a .copy()",
                location=made_at(leaf),
            )
        return views


def _without_known(leaves: list[Any], treedef: tree.TreeDef) -> tuple[list[Any], tree.TreeDef]:
    """The leaves but for texts and whole numbers that are known, which belong to the structure."""
    known = [n for n, leaf in enumerate(leaves) if type(leaf) in (str, int, bool)]
    if not known:
        return leaves, treedef
    rest = [leaf for n, leaf in enumerate(leaves) if n not in known]
    return rest, tree.with_fixed(treedef, leaves, known)


def _is(one: Any, other: Any) -> bool:
    return one is other


def _require_known(containers: Any) -> None:
    """Raise if something other than plain containers may have been changed."""
    queue = [containers]
    while queue:
        part = queue.pop()
        children = tree.flatten_once(part)
        if (
            children
            and not isinstance(part, KNOWN_CONTAINERS)
            and not dataclasses.is_dataclass(part)
        ):
            raise core.trace_error(
                f"an argument that holds a {type(part).__name__} is changed in place, which cannot "
                "be handed back to the caller; return the new one"
            )
        queue += children
