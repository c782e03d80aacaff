"""Structural identity: when two graphs are the same program, and a stable hash of that."""

from __future__ import annotations

import re
from hashlib import blake2b

from weft.compiler.ir.graph import Constant, Graph, Op, Region, Value


def content_hash(graph: Graph) -> str:
    """A hash of structure, types, attributes and constants; the same in every process and on every
    machine.
    """
    return blake2b(_canonical(graph.region).encode(), digest_size=16).hexdigest()


def region_hash(region: Region) -> str:
    """The same for one region."""
    return blake2b(_canonical(region).encode(), digest_size=16).hexdigest()


def structurally_equal(left: Graph, right: Graph) -> bool:
    """Whether two graphs are equal but for names and source locations."""
    return left is right or _canonical(left.region) == _canonical(right.region)


def _canonical(region: Region) -> str:
    """A text in which values are numbered by position and constants stand as their digests."""
    parts: list[str] = []
    _write_region(region, parts)
    text = "\n".join(parts)
    for number, symbol in enumerate(Graph("", region).defined_symbols):
        text = re.sub(rf"\b{symbol.name}\b", f"${number}", text)
    return text


def _write_region(region: Region, parts: list[str]) -> None:
    numbers: dict[Value, int] = {}
    for parameter in region.parameters:
        _number(parameter, numbers)
    parts.append(f"({_with_bounds(region)})")
    for op in region.ops:
        parts.append(_op_line(op, numbers))
        for inner in op.regions:
            _write_region(inner, parts)
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
