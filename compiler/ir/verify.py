"""Checks that a graph keeps the rules of the IR; run after every pass in tests, and on request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Dim, Symbol
from weft.compiler.ir.errors import VerifyError, WeftError
from weft.compiler.ir.graph import Constant, Graph, Op, Region, Value
from weft.compiler.ir.infer import describe, infer_types
from weft.compiler.ir.types import ArrayType


def verify(graph: Graph) -> Graph:
    """The graph itself if it is valid; raises VerifyError with op, operand and source line where it
    is not.
    """
    _verify_symbols(graph)
    for region in graph.regions():
        _verify_region(region)
    return graph


def _verify_region(region: Region) -> None:
    defined: set[Value] = set()
    sizes: set[Symbol] = set()
    for parameter in region.parameters:
        _define(parameter, defined, None)
    for op in region.ops:
        for index, operand in enumerate(op.operands):
            _verify_use(operand, defined, f"{op.definition.operand_name(index)}", op)
        _verify_op(op)
        _verify_defined_size(op, sizes)
        for result in op.results:
            _define(result, defined, op)
    for index, value in enumerate(region.results):
        if not isinstance(value, Constant) and value not in defined:
            raise VerifyError(f"result {index} of a region is not made in it: {value!r}")


def _define(value: Value, defined: set[Value], op: Op | None) -> None:
    if value in defined:
        location = op.location if op is not None else None
        raise VerifyError(f"{value!r} is defined twice", location=location)
    defined.add(value)


def _verify_defined_size(op: Op, sizes: set[Symbol]) -> None:
    """Two loops in one region must not share the name of their number of steps."""
    if op.definition.defines is None:
        return
    for symbol in dims.symbols(op.attributes[op.definition.defines]):
        if symbol in sizes:
            raise VerifyError(f"{op.name} defines the size {symbol} again", location=op.location)
        sizes.add(symbol)


def _verify_use(value: Value, defined: set[Value], name: str, op: Op) -> None:
    if isinstance(value, Constant) or value in defined:
        return
    raise VerifyError(
        f"{op.name}: {name} uses {value!r}, which is not made before it in the same region",
        location=op.location,
    )


def _verify_op(op: Op) -> None:
    about = describe(op.definition, op.operands)
    try:
        attributes = op.definition.normalise(op.attributes)
        types = infer_types(op.definition, op.operands, attributes, op.regions)
    except WeftError as error:
        raise VerifyError(error.message, location=op.location).at(None, about) from None
    if attributes != op.attributes:
        raise VerifyError(
            f"attributes are {op.attributes} but checked and completed {attributes}",
            location=op.location,
        ).at(None, about)
    declared = tuple(result.type for result in op.results)
    if types != declared:
        raise VerifyError(
            f"results are {_list(declared)} but the type rule gives {_list(types)}",
            location=op.location,
        ).at(None, about)


def _list(types: tuple[object, ...]) -> str:
    return "(" + ", ".join(map(str, types)) + ")"


def _verify_symbols(graph: Graph) -> None:
    """A symbol has the same bounds everywhere, and nothing uses one that no parameter has."""
    known: dict[str, Symbol] = {}
    for symbol in graph.symbols:
        if known.setdefault(symbol.name, symbol) != symbol:
            raise VerifyError(f"the symbol {symbol.name} has two sets of bounds")
    for symbol in graph.defined_symbols:
        known.setdefault(symbol.name, symbol)
    for region in graph.regions():
        for op in region.ops:
            for result in op.results:
                _verify_known(result.type, f"makes {result.type}", known, op)
            for name, value in op.attributes.items():
                _verify_known(value, f"has {name}={value}", known, op)


def _verify_known(value: Any, what: str, known: dict[str, Symbol], op: Op) -> None:
    """No symbol in a type or attribute is unknown."""
    for size in _symbolic_sizes(value):
        for symbol in dims.symbols(size):
            if known.get(symbol.name) != symbol:
                raise VerifyError(
                    f"{op.name} {what}, but no parameter has the size {symbol!r}",
                    location=op.location,
                )


def _symbolic_sizes(value: Any) -> Iterator[Dim]:
    if isinstance(value, Dim):
        yield value
    elif isinstance(value, ArrayType):
        yield from _symbolic_sizes(value.shape)
    elif isinstance(value, tuple):
        for item in value:
            yield from _symbolic_sizes(item)
