"""The values of variables as branches and loops see them: pytrees of arrays and of things that are
known while tracing, taken apart and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from weft.compiler.ir.dims import Dim
from weft.compiler.ir.dtypes import is_supported
from weft.compiler.ir.graph import Parameter, Value
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops.helpers import zeros
from weft.compiler.record import record
from weft.frontends.flow.identity import objects_in
from weft.frontends.flow.objects import comes_apart, flatten, is_object
from weft.frontends.flow.scope import UNDEFINED, Undefined
from weft.frontends.tracing import core, tree
from weft.frontends.tracing.arguments import short
from weft.frontends.tracing.trace import Trace, Tracer, current_trace

NumberTypes: TypeAlias = frozenset[type]


@record
class VariableLeaf:
    """A part of a variable's value: an array of a type, or `plain`, which is known.

    A Python number is both: it has a type, and a value while it is the same on all ways. What has
    a type only stands for a value that nobody reads, and is zero. `array` is the traced array
    itself, which other names may stand for too; `is_outer` tells that it is one from before the
    branch or loop. `numbers` are the types that a Python number may have.
    """

    type: ArrayType | None
    weak: bool = False
    value: Value | None = None
    plain: Any = UNDEFINED
    array: Tracer | None = None
    is_outer: bool = False
    numbers: NumberTypes = frozenset()

    @property
    def is_known(self) -> bool:
        return self.plain is not UNDEFINED

    def lifted(self) -> Value:
        """The value in the trace in force."""
        if self.value is not None:
            return self.value
        if self.is_known:
            return core.lift(self.plain)
        assert self.type is not None
        return zeros(self.type)

    def __str__(self) -> str:
        if self.type is None:
            return short(self.plain)
        return f"the number {short(self.plain)}" if self.is_known else str(self.type)


@record
class Taken:
    """The value of a variable, taken apart; `objects` are its lists and other nodes that can change
    and its NumPy arrays. Objects of Python's classes are leaves; `apart` is the same with these
    taken apart, for where they differ, and `is_apart` tells that this is such a form.
    """

    treedef: tree.TreeDef
    leaves: tuple[VariableLeaf, ...]
    objects: tuple[Any, ...] = ()
    apart: Taken | None = None
    is_apart: bool = False

    def __str__(self) -> str:
        if self.treedef.num_nodes == 1 and self.leaves:
            return str(self.leaves[0])
        parts = [str(leaf) for leaf in self.leaves]
        return str(tree.unflatten(self.treedef, [_Shown(part) for part in parts]))


class _Shown:
    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


State: TypeAlias = "Taken | Undefined"


def take(value: Any, trace: Trace, moved: Sequence[Tracer] = ()) -> State:
    """The value of a variable as of now, arrays read in a trace; those that were moved into it are
    from before.
    """
    if isinstance(value, Undefined):
        return value
    apart = _taken(value, trace, moved, True) if comes_apart(value) else None
    return _taken(value, trace, moved, False, apart)


def _taken(
    value: Any, trace: Trace, moved: Sequence[Tracer], is_apart: bool, apart: Taken | None = None
) -> Taken:
    leaves, treedef = flatten(value, is_apart)
    taken = tuple([_leaf(leaf, trace, moved) for leaf in leaves])
    return Taken(treedef, taken, tuple(objects_in(value, is_apart)), apart, is_apart)


def in_one_form(taken: Sequence[Taken]) -> list[Taken]:
    """Values of a variable, with objects taken apart if they are not the same ones everywhere."""
    if all(one.apart is None for one in taken) or any(
        one.apart is None and not one.is_apart for one in taken
    ):
        return list(taken)
    if not any(one.is_apart or one.treedef != taken[0].treedef for one in taken):
        columns = zip(*[one.leaves for one in taken], strict=True)
        if all(column[0].type is not None or same_known(column) for column in columns):
            return list(taken)
    return [one.apart or one for one in taken]


def in_form_of(state: State, known: State) -> State:
    """A value in the form that another value of the same variable has."""
    if isinstance(state, Taken) and isinstance(known, Taken) and known.is_apart:
        return state.apart or state
    return state


def free_of_part(taken: Taken, is_outer: Callable[[Any], bool]) -> Taken:
    """A value of which objects that a part has made are taken apart: they hold arrays of it."""
    if taken.apart is None:
        return taken
    held = [leaf.plain for leaf in taken.leaves if leaf.type is None and is_object(leaf.plain)]
    return taken if all(map(is_outer, held)) else taken.apart


def _leaf(leaf: Any, trace: Trace, moved: Sequence[Tracer]) -> VariableLeaf:
    if isinstance(leaf, Tracer):
        leaf.become_traced()
        is_outer = leaf.region_trace is not trace or any(leaf is array for array in moved)
        return VariableLeaf(
            leaf.type,
            leaf.weak,
            trace.read(leaf),
            array=leaf,
            is_outer=is_outer,
            numbers=core.number_types(leaf),
        )
    if isinstance(leaf, np.ndarray | np.generic) and is_supported(leaf.dtype):
        value = trace.lift(leaf)
        return VariableLeaf(value.type, False, value)
    if isinstance(leaf, bool | int | float | complex):
        value = trace.lift(leaf)
        return VariableLeaf(value.type, True, None, leaf, numbers=core.number_types(leaf))
    if isinstance(leaf, Dim):
        type = trace.lift(leaf).type
        return VariableLeaf(type, True, None, leaf, numbers=frozenset((int,)))
    return VariableLeaf(None, plain=leaf)


def same_known(leaves: Sequence[VariableLeaf]) -> bool:
    """Whether all leaves are known, and the same."""
    first = leaves[0]
    return first.is_known and all(
        leaf.is_known and _is_same(first.plain, leaf.plain) for leaf in leaves
    )


def same_array(leaves: Sequence[VariableLeaf]) -> bool:
    """Whether all leaves are one and the same array from before."""
    first = leaves[0]
    return first.is_outer and all(leaf.array is first.array for leaf in leaves)


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, float | complex):
        return repr(one) == repr(other)
    if isinstance(one, bool | int | str | bytes | type(None) | Dim | slice | range):
        return bool(one == other)
    return False


def joined_type(leaves: Sequence[VariableLeaf]) -> ArrayType | None:
    """The type that all leaves can be cast to as NumPy would cast numbers; None if there is none.

    Arrays have to agree; numbers take the dtype of what they meet.
    """
    types = [leaf.type for leaf in leaves]
    first = types[0]
    if first is None or any(type is None or type.shape != first.shape for type in types):
        return None
    trace = current_trace()
    stand_ins = [
        trace.wrap(Parameter(type), weak=leaf.weak)
        for leaf, type in zip(leaves, types, strict=True)
        if type is not None
    ]
    joined = first.with_dtype(core.result_dtype(*stand_ins))
    strong = [leaf.type for leaf in leaves if not leaf.weak]
    return joined if all(type == joined for type in strong) else None


def joined_numbers(leaves: Sequence[VariableLeaf]) -> NumberTypes:
    """The types that a number may have which is one of these."""
    return NumberTypes().union(*[leaf.numbers for leaf in leaves])


def rebuild(taken: Taken, leaves: Sequence[Any]) -> Any:
    """A value of the same structure."""
    return tree.unflatten(taken.treedef, leaves)
