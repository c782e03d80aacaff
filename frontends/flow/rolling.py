"""A loop of the program from a loop of Python: one step is traced, with the variables that it
changes as what is carried from step to step.

A step is traced until the types of the carried variables do not change any more: a number that
starts as 0 may turn out to be f32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from weft.compiler.ir import dtypes
from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.graph import Region, Value
from weft.compiler.ir.identity import RegionHashes
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import control
from weft.compiler.ops.arithmetic import add
from weft.frontends.flow import containers, growing, variables
from weft.frontends.flow.branches import zeros_like
from weft.frontends.flow.carrying import CarriedObjects
from weft.frontends.flow.growing import EARLIER, Item, depends_on_earlier
from weft.frontends.flow.identity import forgetting_ties, objects_in
from weft.frontends.flow.iteration import Steps
from weft.frontends.flow.jumps import is_internal
from weft.frontends.flow.objects import flatten
from weft.frontends.flow.parts import (
    Doubt,
    TracedPart,
    add_written,
    adopt_arrays,
    conversion_state,
    is_written_in_place,
    note_undefined,
    resume,
    trace_part,
    written_arrays,
)
from weft.frontends.flow.raising import refusing_raise
from weft.frontends.flow.saved import HiddenWrite, Saved
from weft.frontends.flow.scope import UNDEFINED, Part, Slot, StatementScope
from weft.frontends.flow.sharing import Sharing, sources_of
from weft.frontends.flow.state import is_tree
from weft.frontends.flow.variables import State, Taken, VariableLeaf
from weft.frontends.flow.written import store
from weft.frontends.regions.bodies import unify
from weft.frontends.tracing import core, tree
from weft.frontends.tracing.intervals import LONGEST
from weft.frontends.tracing.trace import OuterWrite, Trace, Tracer, current_trace, user_line

MOST_ATTEMPTS: Final = 8
_NUMBER: Final = ArrayType(dtypes.i64)


@dataclass
class TracedStep:
    """A traced step: where its rows go in, and what it adds to lists."""

    made: TracedPart
    number: Value | None
    lists: list[tuple[str, list[Any]]]


class RolledLoop:
    """A loop on its way into the program; `is_sure` says that it has at least one step."""

    def __init__(self, scope: StatementScope, is_sure: bool) -> None:
        names = scope.names
        self._names = names
        self._is_sure = is_sure
        assigned = scope.assigned()
        adopt_arrays(assigned, names)
        self._written = written_arrays(assigned, names)
        self._named = len(self._written)
        live = {*names.live, *names.attributes}
        kept = [p for p in assigned if not is_written_in_place(p, p.get(), names)]
        self._carried: list[Slot] = [slot for slot in kept if slot.name in live]
        self._temporary = [slot for slot in kept if slot.name not in live]
        self._read = scope.variables([*names.read, *names.changed])
        self._saved = Saved(assigned, self._read, scope.parts)
        self._entry: list[Any] = []
        self._states: list[State] = []
        self._parameters: list[Tracer | None] = []
        self._renewed: list[containers.Renewed] = []
        self._kept: dict[int, bool] = {}
        self._writes: set[int] = set()
        self._objects = CarriedObjects()
        self._doubts: list[Doubt] = []
        self._items: list[Item] = []
        self._earlier: dict[int, list[Any]] = {}
        self._arrays_after: list[Tracer] = []
        self._has_steps = False
        carried, self._carried = self._carried, []
        self._add_carried(carried)
        self._sharing = self._after = Sharing.of(self._entry_arrays())

    def _add_carried(self, slots: Sequence[Slot]) -> None:
        values = [slot.get() for slot in slots]
        self._carried = [*self._carried, *slots]
        self._entry += values
        self._states += [variables.take(value, current_trace()) for value in values]

    def scan(self, body: Part, steps: Steps) -> None:
        """A loop whose number of steps is known."""
        rows, row_tree = tree.flatten(steps.rows())
        values = [core.lift(row) for row in rows]
        types = [value.type.with_shape(value.type.shape[1:]) for value in values]

        def run(given: Sequence[Tracer], _: Any) -> None:
            body(steps.item(tree.unflatten(row_tree, given)))

        self._has_steps = isinstance(steps.count, int)
        step = self._stable(run, types, with_number=False)
        self._require_fixed(rows)
        outputs = self._outputs(step)
        self._items = self._items_of(step, outputs)
        region, captured = closed = self._close(step, [leaf.lifted for leaf in outputs])
        if step.lists and isinstance(steps.count, int):
            for number in sorted({1, steps.count - 1} - {0}):
                self._require_same(number, lambda: self._step(run, types, False), step, closed)
        results = control.scan.emit(
            *captured,
            *self._start(),
            *values,
            regions=(region,),
            n_consts=len(captured),
            n_carry=len(self._types()) + len(self._written),
            length=steps.count,
            reverse=False,
        )
        count = len(results) - len(outputs)
        self._finish(results[:count])
        self._grow(step, results[count:], steps.count)

    def _require_same(
        self,
        number: int,
        run: Callable[[], TracedStep],
        first: TracedStep,
        closed: tuple[Region, list[Value]],
    ) -> None:
        """Raise if a later step, which finds in the lists what earlier ones have appended, is not
        the same as the first.
        """
        name = first.lists[0][0]
        returned = first.made.returned
        assert isinstance(returned, Taken)
        added = tree.unflatten(returned.treedef, [EARLIER] * len(returned.leaves))
        try:
            with self._saved.frozen(), forgetting_ties():
                for (_, container), items in zip(first.lists, added, strict=True):
                    container.extend(items * number)
                    self._earlier[id(container)] = items * number
                later = run()
                self._saved.require_known(self._carried)
            self._saved.restore()
            region, captured = self._close(later, [leaf.lifted for leaf in self._outputs(later)])
        except MemoryError:
            raise
        except Exception as error:
            raise depends_on_earlier(name, error) from error
        finally:
            self._earlier.clear()
            self._saved.restore()
        states, others = (step.made.states + [step.made.returned] for step in (first, later))
        is_same = list(map(_kind, states)) == list(map(_kind, others)) and captured == closed[1]
        if not is_same or RegionHashes().hash(region) != RegionHashes().hash(closed[0]):
            raise depends_on_earlier(name)

    def _require_fixed(self, rows: Sequence[Any]) -> None:
        """Raise if the loop writes to what it runs over: a scan takes all rows as they are before
        its first step.
        """
        changed = {id(array) for array in self._written} | {id(a) for a, _ in self._doubts}
        for row in rows:
            if isinstance(row, Tracer) and any(id(one) in changed for one in row.possible):
                raise core.trace_error(
                    "this loop writes to the array over whose rows it runs; take a .copy() of the "
                    "array, or write `for i in range(len(x))` and x[i]"
                )

    def while_loop(
        self, goes_on: Callable[[Any], Value], body: Callable[[Any], None], with_number: bool
    ) -> None:
        """A loop that runs as long as a condition holds, both of the number of the step."""
        step = self._stable(lambda _, number: body(number), [], with_number)
        if step.lists:
            raise core.trace_error(
                f"{step.lists[0][0]} grows in this loop, whose number of steps is only known when "
                "the program runs; make an array of fixed size before it and write x[i] = v"
            )
        condition = self._condition(goes_on, with_number)
        regions, captured = unify([condition, self._close(step, [])])
        numbers = [core.lift(0)] if with_number else []
        results = control.while_.emit(
            *captured, *numbers, *self._start(), regions=regions, n_consts=len(captured), memory=0
        )
        self._finish(results[len(numbers) :])

    # --- one step -------------------------------------------------------------------------------

    def _stable(
        self, run: Callable[[Any, Any], None], rows: Sequence[ArrayType], with_number: bool
    ) -> TracedStep:
        for _ in range(MOST_ATTEMPTS):
            try:
                with self._saved.frozen(), forgetting_ties():
                    step = self._step(run, rows, with_number)
                self._saved.require_known(self._carried)
                for slot, state in zip(self._carried, step.made.states, strict=True):
                    self._objects.leave(slot.name, state)
                self._objects.require_followed(self._saved)
                adapted = [self._adapted(n, state) for n, state in enumerate(step.made.states)]
            except OuterWrite as error:
                self._saved.restore()
                add_written(self._written, error)
                continue
            except HiddenWrite as error:
                self._saved.restore()
                self._add_carried(error.slots)
                del self._written[self._named :]  # those that are carried now were among these
                self._sharing = Sharing.of(self._entry_arrays())
                continue
            except BaseException:
                self._saved.restore()
                raise
            self._saved.restore()
            is_stable = list(map(_kind, adapted)) == list(map(_kind, self._states))
            if is_stable and self._shares_as_assumed(step.made):
                return step
            if not is_stable:
                self._states = adapted
                self._sharing = Sharing.of(self._entry_arrays())
        raise core.trace_error("the types of variables in this loop do not settle")

    @contextmanager
    def _in_step(self) -> Iterator[None]:
        state = conversion_state()
        state.steps += 1
        try:
            yield
        finally:
            state.steps -= 1

    def _step(
        self, run: Callable[[Any, Any], None], rows: Sequence[ArrayType], with_number: bool
    ) -> TracedStep:
        trace = current_trace().nested()
        number = _step_number(trace) if with_number else None
        entering = self._enter(trace)
        owner = "a row of a sequence"
        given = [trace.argument(type, owner=owner) for type in rows]
        grown: list[tuple[str, list[Any]]] = []

        def part() -> list[Any]:
            self._agree()
            with growing.measured() as lengths, self._in_step():
                run(given, number)
            containers.require_own(self._renewed, self._carried, self._entry, self._read)
            added = self._appended(grown)
            for name, container in grown:
                if id(container) in lengths:
                    raise depends_on_earlier(name)
            return added

        made = trace_part(refusing_raise(part), self._carried, self._written, trace, entering)
        made.states = list(map(variables.in_form_of, made.states, self._states))
        after = None
        if number is not None:
            with trace.active():
                after = add(trace.read(number), core.lift(1))
        return TracedStep(made, after, grown)

    def _enter(self, trace: Trace) -> list[Value]:
        """Give the carried variables parameters of a region as values; those of arrays that are
        written to are returned.
        """
        self._parameters, self._renewed = [], []
        for slot, state, entry in zip(self._carried, self._states, self._entry, strict=True):
            if not isinstance(state, Taken):
                slot.set(UNDEFINED)
                continue
            leaves = [
                leaf.plain if leaf.type is None else _parameter(trace, leaf)
                for leaf in state.leaves
            ]
            self._parameters += [leaf for leaf in leaves if isinstance(leaf, Tracer)]
            slot.set(variables.rebuild(state, leaves))
            self._objects.enter(slot.name, slot.get(), entry, state.is_apart)
            self._renewed += containers.renewed(slot, objects_in(entry))
        for parameter in self._parameters:
            if parameter is not None:
                parameter.forked = not parameter.type.shape
        self._sharing.link(self._parameters)
        for array, line in self._doubts:  # by the steps before
            array.cast_doubt(line, trace)
        for slot in self._temporary:
            slot.set(UNDEFINED)
        return [trace.parameter(array.type) for array in self._written]

    def _agree(self) -> None:
        """At the start of a step variables agree with the arrays that they may be."""
        for parameter in self._parameters:
            if parameter is not None:
                parameter.settle()

    def _appended(self, grown: list[tuple[str, list[Any]]]) -> list[Any]:
        """What a step appended to lists, which go into `grown`."""
        added: list[Any] = []
        carried = [slot.name for slot in self._carried if slot.name in self._names.changed]
        for name, container, content in self._saved.altered():
            if name in carried and is_tree(container):
                continue
            before = [*content, *self._earlier.get(id(container), ())]
            count = len(before)
            is_longer = type(container) is list and len(container) > count
            if not is_longer or any(a is not b for a, b in zip(container, before, strict=False)):
                raise core.trace_error(
                    f"{name} is changed in this loop in another way than by append, at each step "
                    "the same; use an array, or unroll the loop: for ... in wf.unrolled(...)"
                )
            grown.append((name, container))
            added.append(container[count:])
        return added

    def _condition(
        self, goes_on: Callable[[Any], Value], with_number: bool
    ) -> tuple[Region, list[Value]]:
        trace = current_trace().nested()
        number = _step_number(trace) if with_number else None
        entering = self._enter(trace)
        made: list[Value] = []

        def tested() -> None:
            self._agree()
            with self._in_step():
                made.append(goes_on(number))

        try:
            trace_part(tested, (), self._written, trace, entering)
        finally:
            self._saved.restore()
        return trace.closed_region(made)

    # --- arrays that may be the same ------------------------------------------------------------

    def _shares_as_assumed(self, step: TracedPart) -> bool:
        """Whether a step was traced with all that matters to it of what its variables may have in
        common with other arrays, and of what the steps before may have written to.
        """
        ends = [leaf.array for leaf in self._leaves(step.states)]
        end, sources = Sharing.of(ends, [step.trace]), sources_of(ends, self._parameters)
        found = Sharing.of(self._entry_arrays()).over_steps(end, sources)
        moved = {id(array) for array in self._written}
        read = step.trace.read_arrays.keys() | moved
        doubted = {id(array) for array, _ in step.doubts}
        written = {
            number
            for number, array in enumerate(self._parameters)
            if array is not None and (array.is_written or id(array) in doubted)
        }
        self._writes = written
        matters = found.matters_beyond(self._sharing, written, read, moved)
        known = {id(array) for array, _ in self._doubts}
        line = step.doubts[0][1] if step.doubts else user_line() or True
        reached = [a for number in written for a in found.outer.get(number, {}).values()]
        further = [*step.doubts, *[(array, line) for array in reached]]
        self._doubts += [doubt for doubt in further if id(doubt[0]) not in known]
        self._sharing = found
        self._after = found.after_step(end, sources) if self._has_steps else found
        self._kept = {
            number: start.is_written
            for number, (end, start) in enumerate(zip(ends, self._parameters, strict=True))
            if end is start and start is not None and start.type.shape
        }
        return not matters and not ({id(array) for array, _ in further} - known) & read

    def _arrays(self, results: Sequence[Value]) -> list[Tracer]:
        """What carried variables are after the loop: arrays of their own, or those from before."""
        leaves = [leaf for leaf in self._leaves(self._states) if leaf.type is not None]
        made = [
            core.with_types(core.wrap(value, weak=leaf.weak), leaf.numbers)
            for value, leaf in zip(results, leaves, strict=True)
        ]
        for array in [*made, *self._entry_arrays()]:
            if array is not None and not array.type.shape:
                array.memory.forked = True
        self._after.link(made)
        for number, entry in enumerate(self._entry_arrays()):
            if entry is None or number not in self._kept:
                continue
            if self._kept[number]:
                entry.overwrite(made[number].value)
            made[number] = entry
        return made

    def _entry_arrays(self) -> list[Tracer | None]:
        """The arrays that carried variables are before the loop."""
        arrays: list[Tracer | None] = []
        for value, state in zip(self._entry, self._states, strict=True):
            if isinstance(state, Taken):
                leaves = (
                    [None] * len(state.leaves)
                    if value is UNDEFINED
                    else flatten(value, state.is_apart)[0]
                )
                arrays += [
                    leaf if isinstance(leaf, Tracer) else None
                    for leaf, own in zip(leaves, state.leaves, strict=True)
                    if own.type is not None
                ]
        return arrays

    # --- what is carried ------------------------------------------------------------------------

    def _adapted(self, number: int, after: State) -> State:
        """What a variable has to be at the start of a step, by what it is at the end of one."""
        slot, before = self._carried[number], self._states[number]
        if not isinstance(before, Taken):
            may_start = self._is_sure or is_internal(slot.name)
            if not isinstance(after, Taken) or not may_start:
                return UNDEFINED
            return zeros_like(variables.free_of_part(after, self._saved.holds))
        if isinstance(after, Taken):
            before, after = variables.in_one_form([before, after])
        if not isinstance(after, Taken) or after.treedef != before.treedef:
            raise self._unstable(slot, before, after)
        pairs = zip(before.leaves, after.leaves, strict=True)
        leaves = [_adapted_leaf(b, a) for b, a in pairs]
        if any(leaf is None for leaf in leaves):
            raise self._unstable(slot, before, after)
        known = tuple([leaf for leaf in leaves if leaf is not None])
        return Taken(before.treedef, known, (), before.apart, before.is_apart)

    def _unstable(self, slot: Slot, before: Taken, after: State) -> TraceError:
        hint = "give it before the loop what it will be, an array of the same structure and shape"
        if isinstance(after, Taken) and after.treedef == before.treedef:
            if _shapes(before) == _shapes(after):
                hint = f"make the dtypes agree, for example with .astype({_dtype(before)!r})"
        return core.trace_error(
            f"{slot.name} is {before} before a step of this loop and {after} after it; {hint}"
        )

    def _types(self) -> list[ArrayType]:
        return [leaf.type for leaf in self._leaves(self._states) if leaf.type is not None]

    def _leaves(self, states: Sequence[State]) -> list[VariableLeaf]:
        """The leaves of carried variables that are arrays."""
        return [
            leaf
            for state, known in zip(states, self._states, strict=True)
            if isinstance(state, Taken) and isinstance(known, Taken)
            for leaf, own in zip(state.leaves, known.leaves, strict=True)
            if own.type is not None
        ]

    def _start(self) -> list[Value]:
        entry = [variables.take(value, current_trace()) for value in self._entry]
        taken = map(variables.in_form_of, entry, self._states)
        first = [
            state if before is UNDEFINED else before
            for before, state in zip(taken, self._states, strict=True)
        ]
        values = [
            core.cast(leaf.lifted(), type.dtype)
            for leaf, type in zip(self._leaves(first), self._types(), strict=True)
        ]
        return values + [current_trace().read(array) for array in self._written]

    def _close(
        self, step: TracedStep, more: Sequence[Callable[[], Value]]
    ) -> tuple[Region, list[Value]]:
        numbers = [] if step.number is None else [VariableLeaf(_NUMBER, value=step.number)]
        with step.made.trace.active():
            outputs = [make() for make in more]
        leaves = [*numbers, *self._leaves(step.made.states)]
        types = [_NUMBER] * len(numbers) + self._types()
        return step.made.close(leaves, types, outputs)

    def _finish(self, results: Sequence[Value]) -> None:
        count = len(self._types())
        resume(self._doubts)
        store(self._written, results[count:])
        self._arrays_after = self._arrays(results[:count])
        given = iter(self._arrays_after)
        for slot, before, state in zip(self._carried, self._entry, self._states, strict=True):
            if not isinstance(state, Taken):
                slot.set(UNDEFINED)
                self._explain(slot)
                continue
            leaves = [leaf.plain if leaf.type is None else next(given) for leaf in state.leaves]
            value = variables.rebuild(state, leaves)
            slot.set(self._objects.after(slot.name, value, before, state.is_apart))
        for slot in self._temporary:
            slot.set(UNDEFINED)
            self._explain(slot)

    def _explain(self, slot: Slot) -> None:
        note_undefined(
            slot,
            "it is assigned only inside of a loop that may have no step at all, "
            f"{user_line()}; give it a value before the loop",
        )

    # --- lists ----------------------------------------------------------------------------------

    def _items_of(self, step: TracedStep, outputs: Sequence[VariableLeaf]) -> list[Item]:
        """Which arrays a step has appended, none of which later steps may write to."""
        ends = [leaf.array for leaf in self._leaves(step.made.states)]
        trace, starts = step.made.trace, self._parameters
        items = growing.items_of(outputs, trace, starts, ends, self._sharing)
        changed = {id(array) for array in [*self._written, *[array for array, _ in self._doubts]]}
        if step.lists:
            growing.require_kept(step.lists[0][0], items, self._writes, changed)
        return items

    def _outputs(self, step: TracedStep) -> list[VariableLeaf]:
        returned = step.made.returned
        assert isinstance(returned, Taken)
        for leaf in returned.leaves:
            if leaf.type is None:
                raise core.trace_error(
                    f"{step.lists[0][0]} gets {leaf} in this loop, which is no array or number; "
                    "unroll the loop: for ... in wf.unrolled(...)"
                )
        return list(returned.leaves)

    def _grow(self, step: TracedStep, values: Sequence[Value], count: Any) -> None:
        """Append to lists what the steps have left, item by item: joined again they are the array
        that they are rows of.
        """
        if not step.lists:
            return
        if not isinstance(count, int):
            raise core.trace_error(f"{step.lists[0][0]} grows in a loop of {count} steps")
        returned = step.made.returned
        assert isinstance(returned, Taken)
        arrays = [growing.stacked(*pair) for pair in zip(values, self._items, strict=True)]
        growing.link(self._items, arrays, self._arrays_after, self._entry_arrays())
        pairs = list(zip(arrays, self._items, strict=True))
        steps = [
            variables.rebuild(
                returned,
                [array[k] if item.same is None else item.same for array, item in pairs],  # type: ignore[index]
            )
            for k in range(count)
        ]
        for number, (_, container) in enumerate(step.lists):
            container.extend([item for made in steps for item in made[number]])


def _parameter(trace: Trace, leaf: VariableLeaf) -> Tracer:
    """What a carried variable is at the start of a step."""
    assert leaf.type is not None
    return core.with_types(trace.argument(leaf.type, weak=leaf.weak), leaf.numbers)


def _step_number(trace: Trace) -> Tracer:
    """The number of a step, as a parameter."""
    number = trace.argument(_NUMBER, weak=True)
    trace.intervals[number.value] = 0, LONGEST
    return number


def _adapted_leaf(before: VariableLeaf, after: VariableLeaf) -> VariableLeaf | None:
    if before.type is None:
        return before if variables.same_known([before, after]) else None
    if after.type is None:
        return None
    type = variables.joined_type([VariableLeaf(before.type, before.weak), after])
    if type is None or (not before.weak and type != before.type):
        return None
    numbers = variables.joined_numbers([before, after])
    return VariableLeaf(type, before.weak and after.weak, numbers=numbers)


def _kind(state: State) -> Any:
    if not isinstance(state, Taken):
        return None
    leaves = [
        (leaf.type, leaf.weak, leaf.numbers, leaf.type is None and leaf.plain)
        for leaf in state.leaves
    ]
    return state.treedef, leaves


def _shapes(state: Taken) -> list[Any]:
    return [None if leaf.type is None else leaf.type.shape for leaf in state.leaves]


def _dtype(state: Taken) -> str:
    type = next((leaf.type for leaf in state.leaves if leaf.type is not None), None)
    return "" if type is None else type.dtype.numpy.name
