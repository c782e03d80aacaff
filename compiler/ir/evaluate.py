"""The reference evaluator: runs any graph op by op with NumPy, as the oracle of all backends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dims, solving
from weft.compiler.ir.dims import Dim
from weft.compiler.ir.errors import ArgumentError, WeftError
from weft.compiler.ir.graph import Constant, Graph, Op, Region, Value
from weft.compiler.ir.raising import Raised, raise_at
from weft.compiler.ir.types import ArrayType
from weft.compiler.record import record

Array = np.ndarray[Any, Any]
Observer = Callable[[Op, Sequence[Array]], None]
Reference = Callable[..., Any]
Substitute = Callable[[Op], "Reference | None"]


@record
class Hooks:
    """How a run differs from a plain one: who sees each op's results, and what computes an op in
    place of its reference.
    """

    observe: Observer | None = None
    substitute: Substitute | None = None


_PLAIN: Final = Hooks()


def evaluate(
    graph: Graph,
    arguments: Sequence[Array],
    *,
    observe: Observer | None = None,
    substitute: Substitute | None = None,
) -> list[Array]:
    """The results of a graph on arrays of its parameters' types; `observe` sees each op's results
    as they are made, `substitute` may give a function that computes an op.
    """
    if len(arguments) != len(graph.parameters):
        raise ArgumentError(
            f"{graph.name} takes {len(graph.parameters)} arrays, got {len(arguments)}"
        )
    equations = [
        (size, number)
        for parameter, argument in zip(graph.parameters, arguments, strict=True)
        for size, number in zip(parameter.type.shape, argument.shape, strict=True)
    ]
    sizes = solving.solve(equations)
    with np.errstate(all="ignore"):
        return run_region(graph.region, arguments, sizes, Hooks(observe, substitute))


def run_region(
    region: Region,
    arguments: Sequence[Array],
    sizes: Mapping[str, int],
    hooks: Hooks = _PLAIN,
) -> list[Array]:
    """The results of one region, with the values of the symbolic sizes by name."""
    values: dict[Value, Array] = dict(zip(region.parameters, arguments, strict=True))
    sizes = dict(sizes)
    last_use = _last_uses(region)
    for position, op in enumerate(region.ops):
        operands = [_read(values, operand) for operand in op.operands]
        results = _run_op(op, operands, sizes, hooks)
        if hooks.observe is not None:
            hooks.observe(op, results)
        values.update(zip(op.results, results, strict=True))
        if op.definition.defines is not None:
            _learn_size(op, results, sizes)
        for dead in last_use.get(position, ()):
            del values[dead]
    return [_read(values, result) for result in region.results]


class BoundRegion:
    """A region that a reference calls like a function."""

    __slots__ = ("region", "sizes", "hooks")

    def __init__(self, region: Region, sizes: Mapping[str, int], hooks: Hooks) -> None:
        self.region = region
        self.sizes = sizes
        self.hooks = hooks

    @property
    def result_types(self) -> list[ArrayType]:
        """The types of the results with symbolic sizes replaced by numbers."""
        return [_concrete(type, self.sizes) for type in self.region.result_types]

    def __call__(self, *arguments: Array) -> list[Array]:
        return run_region(self.region, arguments, self.sizes, self.hooks)


def _read(values: Mapping[Value, Array], value: Value) -> Array:
    return value.array if isinstance(value, Constant) else values[value]


def _last_uses(region: Region) -> dict[int, list[Value]]:
    """For each op position, the values that nothing after it reads."""
    last: dict[Value, int] = {}
    for position, op in enumerate(region.ops):
        for value in (*op.operands, *op.results):
            if not isinstance(value, Constant):
                last[value] = position
    for result in region.results:
        last.pop(result, None)
    dead: dict[int, list[Value]] = {}
    for value, position in last.items():
        dead.setdefault(position, []).append(value)
    return dead


def _run_op(
    op: Op, operands: Sequence[Array], sizes: Mapping[str, int], hooks: Hooks
) -> list[Array]:
    attributes = {
        name: value if name == op.definition.defines else _concrete(value, sizes)
        for name, value in op.attributes.items()
    }
    if op.definition.regions:
        attributes["regions"] = tuple(BoundRegion(region, sizes, hooks) for region in op.regions)
    compute = hooks.substitute(op) if hooks.substitute is not None else None
    try:
        computed = (compute or op.definition.reference)(*operands, **attributes)
    except WeftError as error:
        raise error.at(op.location, op.name) from error.__cause__
    except Raised as raised:
        failure = raised.error
    else:
        outputs = computed if isinstance(computed, tuple | list) else (computed,)
        pairs = zip(outputs, op.results, strict=True)
        return [_conform(array, result.type) for array, result in pairs]
    raise_at(failure, op.location, op.attributes["function"])


def _learn_size(op: Op, results: Sequence[Array], sizes: dict[str, int]) -> None:
    """Note the size that an op defines: it is the first one of the results that have it."""
    assert op.definition.defines is not None
    defined = op.attributes[op.definition.defines]
    for result, array in zip(op.results, results, strict=True):
        if isinstance(defined, Dim) and result.type.shape[:1] == (defined,):
            sizes[str(defined)] = array.shape[0]


def _concrete(value: Any, sizes: Mapping[str, int]) -> Any:
    """An attribute with symbolic sizes replaced by numbers."""
    if isinstance(value, Dim):
        return dims.evaluate(value, sizes)
    if isinstance(value, tuple):
        return tuple([_concrete(item, sizes) for item in value])
    if isinstance(value, ArrayType):
        return value.with_shape(_concrete(value.shape, sizes))
    return value


def _conform(array: Any, type: ArrayType) -> Array:
    """The computed array in the dtype its type rule promised (NumPy may compute wider)."""
    result: Array = np.asarray(array)
    return result if result.dtype == type.dtype.numpy else result.astype(type.dtype.numpy)
