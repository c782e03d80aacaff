"""Structural identity: when two graphs are the same program, and a stable hash of that."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import blake2b

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Symbol
from weft.compiler.ir.graph import Constant, Graph, Op, Region, Value


def content_hash(graph: Graph) -> str:
    """A hash of structure, types, attributes and constants; the same in every process and on every
    machine.
    """
    return _digest(_canonical(graph.region))


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


class RegionHashes:
    """The same for regions, each computed once: a region inside stands as its own hash, so that
    hashing all regions of a graph takes time in proportion to its ops, however deep they are
    nested.
    """

    def __init__(self) -> None:
        self._known: dict[Region, str | None] = {}

    def hash(self, region: Region) -> str:
        """The hash of one region."""
        return self._closed(region) or _digest(_canonical(region))

    def _closed(self, region: Region) -> str | None:
        """The hash of a region that defines no size that an array has; None where the names of
        such sizes have to be numbered together with those around it.
        """
        if region not in self._known:
            defined = [(op, symbol) for op in region.ops for symbol in _defined(op)]
            nested = [self._closed(inner) for op in region.ops for inner in op.regions]
            self._known[region] = None
            if None not in nested and not any(_has_size(op, symbol) for op, symbol in defined):
                inside = iter([text for text in nested if text is not None])
                parts: list[str] = []
                _write_region(region, parts, lambda _, lines: lines.append(next(inside)))
                text = "\n".join(parts)
                for _, symbol in defined:  # a size that nothing has: its name says nothing
                    text = re.sub(rf"\b{symbol.name}\b", "$", text)
                self._known[region] = _digest(text)
        return self._known[region]


def _defined(op: Op) -> list[Symbol]:
    """The sizes that an op defines."""
    if op.definition.defines is None:
        return []
    return sorted(dims.symbols(op.attributes[op.definition.defines]), key=str)


def _has_size(op: Op, symbol: Symbol) -> bool:
    """Whether a result of an op has a size."""
    sizes = [size for result in op.results for size in result.type.shape]
    return any(symbol in dims.symbols(size) for size in sizes)


def structurally_equal(left: Graph, right: Graph) -> bool:
    """Whether two graphs are equal but for names and source locations."""
    return left is right or _canonical(left.region) == _canonical(right.region)


def _canonical(region: Region) -> str:
    """A text in which values are numbered by position and constants stand as their digests."""
    parts: list[str] = []
    _write_region(region, parts, _write_nested)
    text = "\n".join(parts)
    for number, symbol in enumerate(Graph("", region).defined_symbols):
        text = re.sub(rf"\b{symbol.name}\b", f"${number}", text)
    return text


def _write_nested(region: Region, parts: list[str]) -> None:
    _write_region(region, parts, _write_nested)


def _write_region(
    region: Region, parts: list[str], nested: Callable[[Region, list[str]], None]
) -> None:
    numbers: dict[Value, int] = {}
    for parameter in region.parameters:
        _number(parameter, numbers)
    parts.append(f"({_with_bounds(region)})")
    for op in region.ops:
        parts.append(_op_line(op, numbers))
        for inner in op.regions:
            nested(inner, parts)
        for result in op.results:
            _number(result, numbers)
    parts.append(f"return {','.join(_use(result, numbers) for result in region.results)}")


def _op_line(op: Op, numbers: dict[Value, int]) -> str:
    kinds = op.definition.attributes
    operands = ",".join([_use(operand, numbers) for operand in op.operands])
    attributes = ",".join([f"{k}={kinds[k].format(v)}" for k, v in op.attributes.items()])
    types = ",".join([str(result.type) for result in op.results])
    return f"{op.name}({operands}){{{attributes}}}{len(op.regions)}:{types}"


def _with_bounds(region: Region) -> str:
    types = ",".join([str(type) for type in region.parameter_types])
    symbols = Graph("", region).symbols
    return types + ";" + ",".join([repr(symbol) for symbol in symbols]) if symbols else types


def _number(value: Value, numbers: dict[Value, int]) -> None:
    numbers[value] = len(numbers)


def _use(value: Value, numbers: dict[Value, int]) -> str:
    if isinstance(value, Constant):
        return f"#{value.type}{value.digest.hex()}"
    return str(numbers[value])
