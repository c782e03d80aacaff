"""Arguments that a function writes to, when it is called: what may be given for them, whether the
program may compute in their memory, and how calls through a stub hand back what it computed.

Where a program cannot fail on its way it works in place; else results are copied to the caller's
arrays once it is done, so that an exception leaves these as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from weft.compiler.ir.errors import ArgumentError
from weft.frontends.driver import donation
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import Call
from weft.frontends.tracing.caller import caller_location
from weft.frontends.tracing.writes import Written
from weft.runtime.stub import MISS

if TYPE_CHECKING:
    from weft.compiler.ir.graph import Graph
    from weft.compiler.ir.opdef import OpDef
    from weft.frontends.tracing.trace import Trace

_Getter: TypeAlias = Callable[[tuple[Any, ...], Mapping[str, Any]], Any]
_OF_ANOTHER_KIND: Final = (IndexError, KeyError, AttributeError)
_SPELLING: Final = "x = x.at[...].set(...)"


def writable(call: Call, donated: Sequence[int]) -> dict[int, bool]:
    """The arrays among the arguments of a call that its function may write to, and whether their
    caller is to see it: what is given away is nobody's any more. Rank-0 ones count as numbers,
    which do not change.
    """
    arrays = [number for number, leaf in enumerate(call.leaves) if leaf.type.rank]
    return {number: number not in donated for number in arrays}


def require_writable(
    call: Call, containers: Any, written: Written, held: Sequence[Any], who: str
) -> None:
    """Raise if a call has something in place of an array that can be written to, or if what is
    written to is reached in another way too: `held` are the arrays that the function has besides.
    """
    if written.after is not None:
        _require_tree(containers, who)
    for number in written.arguments:
        value, name = call.values[number], call.leaves[number].name
        if isinstance(value, np.ndarray):
            if not value.flags.writeable:
                raise ValueError(
                    f"assignment destination is read-only: the argument {name} of {who}, which "
                    "writes to it"
                )
            if any(np.shares_memory(value, array) for array in held):
                raise ArgumentError(
                    f"{who} writes to its argument {name}, which it also reaches as a global or "
                    "through a closure; pass a copy",
                    location=caller_location(),
                )
        elif not hasattr(value, donation.GIVE_AWAY):
            raise ArgumentError(
                f"{who} writes to its argument {name}, which is a {type(value).__name__} and no "
                "array of NumPy's or Weft's; pass np.asarray(...) of it",
                location=caller_location(),
            )


def _require_tree(containers: Any, who: str) -> None:
    """Raise if a list or dict that may change stands in two places."""
    seen: set[int] = set()
    queue = [containers]
    while queue:
        part = queue.pop()
        if isinstance(part, tuple | list | dict):
            if id(part) in seen and part:
                raise ArgumentError(
                    f"{who} changes lists or dicts among its arguments, of which one stands in two "
                    "places; pass a copy of one of them",
                    location=caller_location(),
                )
            seen.add(id(part))
            queue += part.values() if isinstance(part, dict) else part


def store(array: Any, result: Any) -> None:
    """Let an array of the caller be a result, if it is not the very memory of it."""
    if isinstance(array, np.ndarray):
        if array is not result:
            np.copyto(array, result, casting="unsafe")
    else:
        array[...] = result


def in_place(graph: Graph, written: Written) -> dict[int, int]:
    """Which results may be computed in the memory of arguments: none if the program may raise on
    its way.
    """
    return {} if _may_raise(graph) else written.places


def _may_raise(graph: Graph) -> bool:
    from weft.compiler.ir.opdef import Trait
    from weft.compiler.ir.walk import walk
    from weft.compiler.ops import ordering, sparse

    def raises(definition: OpDef, mode: object) -> bool:
        is_known = definition in ordering.OPS or definition in sparse.OPS
        return is_known or mode == "raise" or Trait.HOST in definition.traits

    return any(raises(op.definition, op.attributes.get("mode")) for op in walk(graph))


def writing(
    stub: Callable[..., Any], call: Call, written: Written, held: Sequence[Any]
) -> Callable[..., Any] | None:
    """A stub that hands back what its program computed, for calls that are like this one; None
    where calls have to be looked at in Python.
    """
    if held or written.after is not None:
        return None
    simple = _of_positions(stub, call, written)
    if simple is not None:
        return simple
    if call.fixed:  # leaves are counted without them
        return None
    getters = [(number, _getter(call, number)) for number in written.used]

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            values = {number: get(args, kwargs) for number, get in getters}
            if not all(values[number].flags.writeable for number in written.arguments):
                return MISS
        except _OF_ANOTHER_KIND:
            return MISS
        results = stub(*args, **kwargs)
        if results is MISS:
            return MISS
        return written.finish(values, (args, kwargs), results, store)

    return run


def _of_positions(
    stub: Callable[..., Any], call: Call, written: Written
) -> Callable[..., Any] | None:
    """The same, quicker, for functions that return None and write to arguments that come by
    position; None for others.
    """
    positional = call.treedef.child(0)
    owners = donation.owners(call)
    places = [owners[number] for number in written.arguments]
    is_simple = all(isinstance(n, int) and positional.child(n).is_leaf() for n in places)
    if not is_simple or not written.returns_none:
        return None
    pairs: list[Any] = list(enumerate(places, written.first))

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            for _, place in pairs:
                if not args[place].flags.writeable:
                    return MISS
        except _OF_ANOTHER_KIND:
            return MISS
        results = stub(*args, **kwargs)
        if results is MISS:
            return MISS
        made = results if type(results) is tuple else (results,)
        for number, place in pairs:
            if made[number] is not args[place]:
                store(args[place], made[number])
        return None

    return run


def _getter(call: Call, number: int) -> _Getter:
    """What finds an array among the arguments of a call."""
    owners = donation.owners(call)
    owner = owners[number]
    inner = number - owners.index(owner)
    positional, named = call.treedef.children()
    children = dict(zip(named.entries(), named.children(), strict=True))
    spec = positional.child(owner) if isinstance(owner, int) else children[owner]

    def get(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        argument = args[owner] if isinstance(owner, int) else kwargs[owner]
        return argument if spec.is_leaf() else tree.flatten(argument)[0][inner]

    return get


# --- inside of another trace ----------------------------------------------------------------------


def call_traced(
    function: Callable[..., Any],
    name: str,
    call: Call,
    given: tuple[tuple[Any, ...], dict[str, Any]],
    trace: Trace,
) -> Any:
    """A call inside of another trace: one `call` op, whose region is the function. What it writes
    to, the function around writes to.
    """
    from weft.compiler.ops import control
    from weft.frontends.tracing.function import run
    from weft.frontends.tracing.trace import Tracer

    is_traced = [isinstance(value, Tracer) for value in call.values]
    arrays = {n: is_seen for n, is_seen in writable(call, ()).items() if is_traced[n]}
    inner = trace.nested()
    with inner.active():
        outcome = run(function, name, call, inner, arrays)
    region, captured = inner.closed_region(outcome.values)
    operands = [*captured, *[trace.lift(value) for value in call.values]]
    made = control.call.emit(*operands, regions=(region,), function=name)
    results = [trace.wrap(result) for result in made]
    if outcome.written is None:
        return tree.unflatten(outcome.out_tree, results)
    _require_apart(call, outcome.written, captured, name)
    return outcome.written.finish(
        call.values,
        given,
        results,
        lambda array, result: array.assign(result.value, _SPELLING),
    )


def _require_apart(call: Call, written: Written, captured: Sequence[Any], who: str) -> None:
    """Raise if an array that is written to is reached in two ways."""
    for number in written.arguments:
        own, name = call.values[number].memory, call.leaves[number].name
        others = [v for n, v in enumerate(call.values) if n != number and hasattr(v, "possible")]
        is_shared = any(own is one for other in others for one in other.possible)
        if is_shared or own.value in captured:
            raise ArgumentError(
                f"{who} writes to its argument {name}, which it also reaches in another way: pass "
                "a .copy() of one of the two",
                location=caller_location(),
            )
