"""Control flow on traced values: branches and loops as ops, and calls back to Python.

Bodies are ordinary Python functions of pytrees. They may close over traced arrays of the enclosing
function, which become inputs of the op. These functions work inside of a trace; `api.control` has
them for use anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.errors import ArgumentError, ShapeError
from weft.compiler.ir.graph import Parameter, Value
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import control, conversion, shape
from weft.compiler.ops.arithmetic import add
from weft.frontends.regions.bodies import (
    TracedBody,
    lift_all,
    trace_body,
    unify,
    values_of,
    wrapped,
)
from weft.frontends.tracing import core, tree
from weft.frontends.tracing.arguments import function_name
from weft.frontends.tracing.conversion import prepared
from weft.frontends.tracing.spec import spec
from weft.frontends.tracing.trace import ArrayLike, Tracer, current_trace

# --- branches -------------------------------------------------------------------------------------


def cond(
    predicate: ArrayLike,
    true_function: Callable[..., Any],
    false_function: Callable[..., Any],
    *operands: Any,
) -> Any:
    """`true_function(*operands)` if the predicate holds, else `false_function(*operands)`.

    Only the chosen branch runs. Both return the same structure of arrays of the same types.

    >>> import numpy as np, weft as wf
    >>> f = wf.jit(lambda x: wf.cond(x > 0, lambda x: np.sqrt(x), lambda x: -x, x))
    >>> float(f(4.0)), float(f(-3.0))
    (2.0, 3.0)
    """
    if isinstance(predicate, bool | np.bool_):
        return (true_function if predicate else false_function)(*operands)
    chosen = core.lift(predicate)
    if chosen.type.shape or not chosen.type.dtype.is_bool:
        raise core.trace_error(
            f"cond needs a rank-0 bool predicate, got {chosen.type}; for arrays use np.where"
        )
    return _switch(
        chosen, [false_function, true_function], operands, ("false branch", "true branch")
    )


def switch(index: ArrayLike, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """`branches[index](*operands)`, with the index clamped to the range; only the chosen branch
    runs.
    """
    if not branches:
        raise core.trace_error("switch needs at least one branch")
    if isinstance(index, int | np.integer):
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)
    chosen = core.lift(index)
    if chosen.type.shape or not chosen.type.dtype.is_integer:
        raise core.trace_error(f"switch needs a rank-0 integer index, got {chosen.type}")
    return _switch(chosen, branches, operands, [f"branch {i}" for i in range(len(branches))])


def _switch(
    index: Value,
    functions: Sequence[Callable[..., Any]],
    operands: tuple[Any, ...],
    names: Sequence[str],
) -> Any:
    tracers, _ = lift_all(operands)
    types = [(tracer.type, tracer.weak) for tracer in tracers]
    owner = "an operand of a branch"
    bodies = [trace_body(function, operands, types, owner) for function in functions]
    common = _common_types(bodies, names)
    regions, captured = unify([body.close(common) for body in bodies])
    results = control.switch.emit(index, *captured, *values_of(tracers), regions=regions)
    return wrapped(results, bodies[0].out_tree)


def _common_types(bodies: Sequence[TracedBody], names: Sequence[str]) -> list[ArrayType]:
    first = bodies[0]
    for body, name in zip(bodies[1:], names[1:], strict=True):
        if body.out_tree != first.out_tree:
            raise core.trace_error(
                f"the branches return different structures: {names[0]} {first.out_tree}, {name} "
                f"{body.out_tree}"
            )
    common = []
    for number, column in enumerate(zip(*(body.results for body in bodies), strict=True)):
        type = column[0].type.with_dtype(core.result_dtype(*column))
        for result, name in zip(column, names, strict=True):
            if not _becomes(result, type):
                listed = ", ".join(f"{n} {r.type}" for n, r in zip(names, column, strict=True))
                raise core.trace_error(
                    f"the branches return different types as result {number}: {listed} ({name})"
                )
        common.append(type)
    return common


def _becomes(result: Tracer, type: ArrayType) -> bool:
    """Whether a result is of a type, or a Python scalar that takes its dtype as NumPy would."""
    if result.type == type:
        return True
    like = current_trace().wrap(Parameter(type))
    fits = result.weak and result.type.shape == type.shape
    return fits and core.result_dtype(result, like) is type.dtype


# --- loops ----------------------------------------------------------------------------------------


def while_loop(
    condition: Callable[[Any], ArrayLike],
    body: Callable[[Any], Any],
    initial: Any,
    memory: int | None = None,
) -> Any:
    """Repeats `carry = body(carry)` from `initial` as long as `condition(carry)` holds; returns the
    last carry.

    Reverse mode keeps a record of every step, or, with `memory`, at most about so many bytes of
    snapshots, from which it computes the steps again (binomial checkpointing).

    >>> import weft as wf
    >>> wf.jit(lambda n: wf.while_loop(lambda c: c < n, lambda c: c * 2, 1))(100).item()
    128
    """
    carry, treedef = lift_all(initial)
    types, traced_body = _stable_carry(
        lambda c: (prepared(body)(c), ()), initial, carry, [], treedef, "while_loop body"
    )
    traced_condition = trace_body(condition, (initial,), [(type, False) for type in types])
    _require_predicate(traced_condition)
    closed = [traced_condition.close(), traced_body.close(types)]
    regions, captured = unify(closed)
    start = [
        core.cast(value, type.dtype) for value, type in zip(values_of(carry), types, strict=True)
    ]
    results = control.while_.emit(
        *captured, *start, regions=regions, n_consts=len(captured), memory=memory or 0
    )
    return wrapped(results, treedef)


def _require_predicate(body: TracedBody) -> None:
    types = body.types
    if len(types) != 1 or types[0].shape or not types[0].dtype.is_bool:
        listed = ", ".join([str(type) for type in types])
        raise core.trace_error(
            f"the condition of while_loop must return a rank-0 bool, it returns {listed}"
        )


def scan(
    function: Callable[..., Any],
    initial: Any,
    sequences: Any = None,
    length: Size | None = None,
    reverse: bool = False,
) -> Any:
    """Runs `carry, y = function(carry, x)` over the first axis of `sequences`; returns the last
    carry and all ys.

    >>> import numpy as np, weft as wf
    >>> add = wf.jit(lambda xs: wf.scan(lambda c, x: (c + x, c + x), 0.0, xs))
    >>> total, partial = add(np.arange(4.0))
    >>> float(total), partial
    (6.0, array([0., 1., 3., 6.]))
    """
    carry, treedef = lift_all(initial)
    rows, row_tree = lift_all(sequences)
    steps = _length(rows, length)
    row_types = [row.type.with_shape(row.type.shape[1:]) for row in rows]
    row = tree.unflatten(row_tree, row_types)
    types, body = _stable_carry(function, initial, carry, row_types, treedef, "scan body", row)
    n_outputs = len(body.results) - len(carry)
    region, captured = body.close([*types, *body.types[len(carry) :]])
    start = [
        core.cast(value, type.dtype) for value, type in zip(values_of(carry), types, strict=True)
    ]
    results = control.scan.emit(
        *captured,
        *start,
        *values_of(rows),
        regions=(region,),
        n_consts=len(captured),
        n_carry=len(carry),
        length=steps,
        reverse=reverse,
    )
    assert len(results) == len(carry) + n_outputs
    _, output_tree = body.out_tree.children()
    return wrapped(results[: len(carry)], treedef), wrapped(results[len(carry) :], output_tree)


def map(function: Callable[..., Any], sequences: Any) -> Any:
    """`function` applied to each slice along the first axis, the results stacked; the steps are
    independent.
    """

    def step(_: tuple[()], row: Any) -> tuple[tuple[()], Any]:
        return (), prepared(function)(row)

    return scan(step, (), sequences)[1]


def fori_loop(lower: Any, upper: Any, body: Callable[[Any, Any], Any], initial: Any) -> Any:
    """`carry = body(i, carry)` for i from `lower` up to, not including, `upper`; returns the last
    carry.

    With bounds known while tracing it is a scan, else a while loop. As in a Python loop over a
    range, `i` promotes as a Python int does.
    """
    low, high = [int(b) if isinstance(b, np.integer) else b for b in (lower, upper)]

    def numbered(i: Any, carry: Any) -> Any:
        return prepared(body)(core.wrap(core.lift(i), weak=True), carry)

    if isinstance(low, int | Dim) and isinstance(high, int | Dim):
        count = dims.maximum(high - low, 0)
        numbers = shape.iota(dtype=dtypes.i64, shape=(count,), axis=0)
        if low != 0:
            numbers = add(numbers, core.size_value(low, dtypes.i64))
        return scan(lambda carry, i: (numbered(i, carry), ()), initial, core.wrap(numbers))[0]
    start, end = _loop_bound(low), _loop_bound(high)
    _, result = while_loop(
        lambda c: c[0] < end, lambda c: (c[0] + 1, numbered(c[0], c[1])), (start, initial)
    )
    return result


def _loop_bound(bound: ArrayLike) -> Tracer:
    value = core.lift(bound)
    if value.type.shape or not value.type.dtype.is_integer:
        raise core.trace_error(f"the bounds of fori_loop are integers, got {value.type}")
    return core.wrap(core.cast(value, dtypes.i64))


def _length(rows: Sequence[Tracer], length: Size | None) -> Size:
    """The number of steps, on which all sequences must agree."""
    for row in rows:
        if not row.type.shape:
            raise core.trace_error(
                f"scan runs over the first axis of its sequences, but one is {row.type}"
            )
        if length is None:
            length = row.type.shape[0]
        elif row.type.shape[0] != length:
            raise ShapeError(
                f"scan: a sequence has {row.type.shape[0]} steps, expected {length}",
                location=core.trace_error("").location,
            )
    if length is None:
        raise core.trace_error("scan without sequences needs length=")
    if isinstance(length, Tracer):
        raise core.trace_error(
            "the length of a scan must be known while tracing; with a traced number of steps use "
            "wf.fori_loop or wf.while_loop"
        )
    return length


def _stable_carry(
    function: Callable[..., Any],
    initial: Any,
    carry: Sequence[Tracer],
    row_types: Sequence[ArrayType],
    treedef: tree.TreeDef,
    name: str,
    row: Any = None,
) -> tuple[list[ArrayType], TracedBody]:
    """Trace a body so that the carry keeps its types; a carry that starts as a Python scalar adapts
    to the body.
    """
    arguments = (initial,) if name.startswith("while") else (initial, row)
    types = [(tracer.type, tracer.weak) for tracer in carry]
    for _ in range(3):
        rows = [(type, False) for type in row_types]
        body = trace_body(function, arguments, [*types, *rows], "a row of a sequence", len(types))
        stepped = _carry_results(body, treedef, name)
        adapted = [_adapt(before, after) for before, after in zip(types, stepped, strict=True)]
        if adapted == types:
            break
        types = adapted
    for number, ((before, _), after) in enumerate(zip(types, stepped, strict=True)):
        if not _becomes(after, before):
            fix = f"x.astype({before.dtype.numpy.name!r})"
            if before.shape != after.type.shape:
                fix = "np.broadcast_to or reshape, at the start or in the body"
            raise core.trace_error(
                f"{name}: carry {number} enters as {before} and leaves as {after.type}; "
                f"make the two agree, for example with {fix}"
            )
    return [type for type, _ in types], body


def _carry_results(body: TracedBody, treedef: tree.TreeDef, name: str) -> list[Tracer]:
    children = body.out_tree.children() if body.out_tree.num_children == 2 else []
    if len(children) != 2 or body.out_tree.type is not tuple:
        raise core.trace_error(
            f"{name}: the function must return a pair (carry, y), got {body.out_tree}"
        )
    if children[0] != treedef:
        raise core.trace_error(
            f"{name}: the carry has the structure {treedef} but the body returns {children[0]}"
        )
    return body.results[: treedef.num_leaves]


def _adapt(before: tuple[ArrayType, bool], after: Tracer) -> tuple[ArrayType, bool]:
    """The type of a carry that starts as a Python scalar, when a step returned another dtype."""
    type, weak = before
    if not weak or after.type.shape != type.shape:
        return before
    start = current_trace().wrap(Parameter(type), weak=True)
    return type.with_dtype(core.result_dtype(start, after)), after.weak


# --- other ops that take functions or mark values -------------------------------------------------


def stop_gradient(tree_of_arrays: Any) -> Any:
    """The same arrays, through which no derivative flows."""
    return tree.map_tree(
        lambda x: core.wrap(conversion.stop_gradient(core.lift(x)), weak=core.is_weak(x)),
        tree_of_arrays,
    )


def probe(name: str, array: ArrayLike) -> Any:
    """The same array, with a name by which gradients and tools find it."""
    return core.wrap(conversion.probe(core.lift(array), name=name), weak=core.is_weak(array))


def checkpoint(
    function: Callable[..., Any], *, policy: str = "nothing", names: Sequence[str] = ()
) -> Callable[..., Any]:
    """The same function; its intermediate values are recomputed for the backward part instead of
    kept.

    `policy` says what is kept: "nothing", "everything", "dots" (matrix products), or "names"
    (probes in `names`).
    """

    def recomputed(*operands: Any) -> Any:
        tracers, _ = lift_all(operands)
        types = [(tracer.type, tracer.weak) for tracer in tracers]
        body = trace_body(function, operands, types, "an argument of a checkpoint")
        region, captured = body.close()
        results = control.checkpoint.emit(
            *captured, *values_of(tracers), regions=(region,), policy=policy, names=tuple(names)
        )
        return wrapped(results, body.out_tree)

    return recomputed


def callback(
    function: Callable[..., Any], results: Any, *operands: ArrayLike, pure: bool = False
) -> Any:
    """Calls a Python function with NumPy arrays when the program runs; `results` is a pytree of
    specs of what it returns.

    A call that is not `pure` happens even when its results are not used, and in program order.
    """
    types, treedef = tree.flatten(results)
    outputs = control.host_call.emit(
        *[core.lift(operand) for operand in operands],
        function=_flat_results(function, treedef),
        results=tuple([spec(type) for type in types]),
        pure=pure,
    )
    return wrapped(outputs, treedef)


def _flat_results(function: Callable[..., Any], treedef: tree.TreeDef) -> Callable[..., Any]:
    def call(*arrays: Any) -> list[Any]:
        returned, structure = tree.flatten(function(*arrays))
        if structure != treedef:
            raise ArgumentError(
                f"the callback returned the structure {structure}, declared was {treedef}"
            )
        return returned

    call.__name__ = function_name(function)
    return call


def debug_print(template: str, *operands: ArrayLike) -> None:
    """Prints `template.format(*arrays)` when the program runs."""

    def show(*arrays: Any) -> None:
        print(template.format(*arrays))

    show.__name__ = "print"
    control.host_call.emit(*[core.lift(operand) for operand in operands], function=show)


def dynamic_slice(array: ArrayLike, starts: Sequence[ArrayLike], sizes: Sequence[Size]) -> Any:
    """The block of fixed `sizes` that begins at `starts`, which may be traced; clamped to lie
    inside the array.
    """
    return core.wrap(
        shape.dynamic_slice(
            core.lift(array), *[core.lift(s, dtypes.i64) for s in starts], sizes=tuple(sizes)
        )
    )


def dynamic_update_slice(array: ArrayLike, update: ArrayLike, starts: Sequence[ArrayLike]) -> Any:
    """The array with the block that begins at `starts` replaced; clamped to lie inside."""
    value = core.lift(array)
    block = core.lift(update, value.type.dtype)
    return core.wrap(
        shape.dynamic_update_slice(value, block, *[core.lift(s, dtypes.i64) for s in starts])
    )
