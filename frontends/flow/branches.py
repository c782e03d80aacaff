"""Branches: `if`, conditional expressions, and what they make of variables.

Where the condition is known, one of the two runs, as in Python. Where it is traced, both are traced
and become the branches of one op; the variables that they assign become its results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import control
from weft.frontends.flow import variables
from weft.frontends.flow.identity import drop_ties, objects_in, same_objects, with_objects
from weft.frontends.flow.jumps import VALUE, is_internal
from weft.frontends.flow.kinship import Kinship
from weft.frontends.flow.parts import (
    TracedPart,
    add_written,
    adopt_arrays,
    conditional,
    is_traced,
    is_written_in_place,
    note_undefined,
    resume,
    trace_part,
    truth,
    written_arrays,
)
from weft.frontends.flow.raising import RaisingPart, raise_if
from weft.frontends.flow.saved import HiddenWrite, Saved, unchanged
from weft.frontends.flow.scope import UNDEFINED, Part, ScopeNames, StatementScope
from weft.frontends.flow.state import is_tree
from weft.frontends.flow.variables import State, Taken, VariableLeaf
from weft.frontends.flow.written import store
from weft.frontends.regions.bodies import unify
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import OuterWrite, Tracer, user_line


def if_(test: Any, then: Part, otherwise: Part, names: Any) -> None:
    """The statement `if test: then else: otherwise`."""
    if not is_traced(test):
        (then if test else otherwise)()
        return
    Branching(test, (otherwise, then), StatementScope((then, otherwise), ScopeNames(*names))).run()
    drop_ties()


def if_expression(test: Any, then: Part, otherwise: Part) -> Any:
    """The expression `then if test else otherwise`."""
    if not is_traced(test):
        return then() if test else otherwise()
    made = choose(test, then, otherwise, "this expression")
    drop_ties()
    return made


def choose(test: Any, then: Part, otherwise: Part, what: str) -> Any:
    """The value of one of two functions, by a traced condition; only that one runs."""
    chosen = truth(test, "the condition")
    written: list[Tracer] = []
    parts = [RaisingPart(part) for part in (otherwise, then)]
    while True:
        try:
            with conditional(str(user_line())), unchanged((otherwise, then)):
                branches = [trace_part(part, (), written) for part in parts]
            break
        except OuterWrite as error:
            add_written(written, error)
    if any(part.error is not None for part in parts):
        return raise_if(chosen, parts, branches)
    resume([doubt for branch in branches for doubt in branch.doubts])
    joined = join(what, [branch.returned for branch in branches])
    assert joined is not None
    return _emit(chosen, branches, [joined], written)[0]


class Branching:
    """An `if` on a traced condition."""

    def __init__(self, test: Any, parts: Sequence[Part], scope: StatementScope) -> None:
        self._chosen = truth(test, "the condition of this `if`")
        self._parts = [RaisingPart(part) for part in parts]
        self._names = names = scope.names
        assigned = scope.assigned()
        adopt_arrays(assigned, names)
        self._written = written_arrays(assigned, names)
        live = {*names.live, *names.attributes}
        self._results = [
            slot
            for slot in assigned
            if slot.name in live and not is_written_in_place(slot, slot.get(), names)
        ]
        self._saved = Saved(assigned, scope.variables([*names.read, *names.changed]), scope.parts)

    def run(self) -> None:
        branches = self._branches()
        if any(part.error is not None for part in self._parts):
            raise_if(self._chosen, self._parts, branches)
            return
        resume([doubt for branch in branches for doubt in branch.doubts])
        joined = [self._joined(n, branches) for n in range(len(self._results))]
        kept = [one for one in joined if one is not None]
        values = iter(_emit(self._chosen, branches, kept, self._written))
        for slot, one in zip(self._results, joined, strict=True):
            if one is not None:
                slot.set(next(values))

    def _branches(self) -> list[TracedPart]:
        while True:
            try:
                with conditional(str(user_line())), self._saved.frozen():
                    return [self._branch(part) for part in self._parts]
            except OuterWrite as error:
                self._saved.restore()
                add_written(self._written, error)
            except HiddenWrite as error:
                self._saved.restore()
                self._results += error.slots
            except BaseException:
                self._saved.restore()
                raise

    def _branch(self, part: RaisingPart) -> TracedPart:
        result = trace_part(part, self._results, self._written)
        if part.error is not None:
            self._saved.restore()
            return result
        self._saved.require_known(self._results)
        results = [slot.name for slot in self._results]
        kept = {id(one) for slot in self._results for one in objects_in(slot.get())}
        for name, container, _ in self._saved.altered():
            is_result = name in results and name in self._names.changed
            if not is_result or not is_tree(container) or id(container) not in kept:
                raise core.trace_error(
                    f"{name} is changed by one branch of this `if`, whose condition is only known "
                    "when the program runs; collect values in an array and write x[i] = v"
                )
        self._saved.restore()
        return result

    def _joined(self, number: int, branches: Sequence[TracedPart]) -> Joined | None:
        slot = self._results[number]
        states = [branch.states[number] for branch in branches]
        joined = join(slot.name, states, self._names.is_guard, self._saved.holds)
        if joined is None:
            slot.set(UNDEFINED)
            note_undefined(
                slot,
                "it is assigned only by one branch of an `if` whose condition is traced, "
                f"{user_line()}; give it a value before the `if`",
            )
        return joined


@dataclass
class Joined:
    """The results of a variable: its states, and the types of leaves that are no constants."""

    states: list[Taken]
    types: list[ArrayType | None]

    def dynamic(self, branch: int) -> list[VariableLeaf]:
        """The leaves that are results, as one branch has them."""
        pairs = zip(self.states[branch].leaves, self.types, strict=True)
        return [leaf for leaf, type in pairs if type is not None]

    def value(self, results: Iterator[Tracer]) -> Any:
        """The variable, from the next results of the op."""
        leaves: list[Any] = []
        for column, type in zip(
            zip(*[state.leaves for state in self.states], strict=True), self.types, strict=True
        ):
            if type is None:
                leaves.append(column[0].array if column[0].is_outer else column[0].plain)
                continue
            leaves.append(next(results))
            leaves[-1].weak = all(leaf.weak for leaf in column)
            core.with_types(leaves[-1], variables.joined_numbers(column))
        ways = [state.objects for state in self.states if state.objects]
        value = variables.rebuild(self.states[0], leaves)
        return with_objects(value, same_objects(ways), ways, self.states[0].is_apart)


def join(
    name: str,
    states: Sequence[State],
    is_guard: bool = False,
    is_outer: Callable[[Any], bool] = lambda _: False,
) -> Joined | None:
    """What a variable is after branches; None if it has no value after one of them."""
    taken = [state for state in states if isinstance(state, Taken)]
    if not taken:
        return None
    if len(taken) < len(states):
        if not is_guard and not is_internal(name):
            return None
        first = variables.free_of_part(taken[0], is_outer)
        taken = [first if isinstance(state, Taken) else zeros_like(first) for state in states]
    taken = variables.in_one_form(taken)
    if any(state.treedef != taken[0].treedef for state in taken):
        raise _different(name, taken)
    types: list[ArrayType | None] = []
    for column in zip(*[state.leaves for state in taken], strict=True):
        is_same = variables.same_known(column) or variables.same_array(column)
        type = None if is_same else variables.joined_type(column)
        if type is None and not is_same:
            raise _different(name, taken)
        types.append(type)
    return Joined(taken, types)


def zeros_like(taken: Taken) -> Taken:
    """What stands for a value that is not read where it is missing."""
    return Taken(
        taken.treedef,
        tuple(
            [
                leaf
                if leaf.type is None
                else VariableLeaf(leaf.type, leaf.weak, numbers=leaf.numbers)
                for leaf in taken.leaves
            ]
        ),
        is_apart=taken.is_apart,
    )


def _different(name: str, taken: Sequence[Taken]) -> TraceError:
    otherwise, then = taken
    if name == VALUE:
        return core.trace_error(
            f"the function returns {then} where this condition holds and {otherwise} where it does "
            "not; with a traced condition both ways need the same structure, shapes and dtypes"
        )
    hint = "make the two agree, for example with .astype(...) or np.broadcast_to"
    if any(leaf.type is None for state in taken for leaf in state.leaves):
        hint = "only arrays and numbers can depend on a traced condition"
    return core.trace_error(
        f"{name} is {then} where this condition holds and {otherwise} where it does not; {hint}"
    )


def _emit(
    chosen: Value,
    branches: Sequence[TracedPart],
    joined: Sequence[Joined],
    written: Sequence[Tracer],
) -> list[Any]:
    """The op, and the values of the variables after it."""
    types = [type for one in joined for type in one.types if type is not None]
    leaves = [[leaf for one in joined for leaf in one.dynamic(number)] for number in (0, 1)]
    kinship = Kinship(branches, leaves, types)
    closed = [
        branch.close([*leaves[number], *kinship.conditions(number)], kinship.types)
        for number, branch in enumerate(branches)
    ]
    regions, captured = unify(closed)
    results = list(control.switch.emit(chosen, *captured, regions=regions))
    made, more = results[: len(types)], results[len(types) : len(kinship.types)]
    store(written, results[len(kinship.types) :])
    arrays = iter(kinship.arrays(made, core.wrap(chosen), [core.wrap(value) for value in more]))
    return [one.value(arrays) for one in joined]
