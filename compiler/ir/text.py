"""The public text form of a graph; `parse` reads it back. docs/ir.md describes the format."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from weft.compiler.ir.attributes import TEXT
from weft.compiler.ir.dims import Symbol
from weft.compiler.ir.graph import FORMAT_VERSION, Constant, Graph, Op, Region, Value

INLINE_ELEMENTS: Final = 16
"""Constants with more elements than this go to the table before the graph."""


def format_graph(graph: Graph, *, locations: bool = False, embed_constants: bool = False) -> str:
    """The graph as text."""
    return format_named(graph, {}, locations=locations, embed_constants=embed_constants)[0]


def format_named(
    graph: Graph, named: Mapping[Constant, str], *, locations: bool, embed_constants: bool
) -> tuple[str, dict[Value, str]]:
    """The graph as text in which some small constants have names too, and how values are written
    in it.
    """
    table = large_constants(graph)
    printer = _Printer({**table, **named}, locations)
    printer.lines.append(f"weft {FORMAT_VERSION}")
    for constant, name in table.items():
        data = _embedded(constant) if embed_constants else f'hash "{constant.digest.hex()}"'
        printer.lines.append(f"constant @{name}: {constant.type} = {data}")
    for constant, name in named.items():
        printer.lines.append(f"constant @{name} = {format_constant(constant)}")
    parameters = ", ".join(printer.declare(p, p.name) for p in graph.parameters)
    name = clean_name(graph.name) or "graph"
    bounds = format_bounds(dict.fromkeys((*graph.symbols, *graph.defined_symbols)))
    printer.lines.append(f"graph @{name}{bounds}({parameters}) {{")
    printer.region(graph.region, "  ")
    printer.lines.append("}")
    return "\n".join(printer.lines) + "\n", printer.written


def large_constants(graph: Graph) -> dict[Constant, str]:
    """The constants that are not written inline, with their names."""
    large = [c for c in graph.constants if c.array.size > INLINE_ELEMENTS]
    return {constant: f"c{i}" for i, constant in enumerate(large)}


def clean_name(name: str) -> str:
    """A name with `_` for what the text form does not allow in one."""
    return re.sub(r"[^\w.]", "_", name)


def format_op(op: Op) -> str:
    """One op on its own, for messages: operands show their types."""
    operands = ", ".join(
        format_constant(v) if isinstance(v, Constant) and v.array.size <= 4 else str(v.type)
        for v in op.operands
    )
    types = ", ".join(str(result.type) for result in op.results)
    return f"{op.name}({operands}){_format_attributes(op)} -> {types}"


def format_constant(constant: Constant) -> str:
    """A small constant as it stands in an operand list: `2.0: f32`, `[1, 2]: i64[2]`."""
    flat = constant.array.reshape(-1)
    if not constant.type.shape:
        return f"{_format_number(flat[0])}: {constant.type.dtype.name}"
    numbers = ", ".join([_format_number(number) for number in flat])
    return f"[{numbers}]: {constant.type}"


class _Printer:
    """Names the values of a graph and collects the lines of its text."""

    def __init__(self, table: dict[Constant, str], locations: bool) -> None:
        self.table = table
        self.locations = locations
        self.names: dict[Value, str] = {}
        self.written: dict[Value, str] = {}
        self.taken: set[str] = set()
        self.count = 0
        self.lines: list[str] = []

    def declare(self, value: Value, hint: str = "") -> str:
        """Give a value its name and return `%name: type`."""
        name = self._unique(clean_name(hint)) if hint else self._number()
        self.names[value] = name
        self.written[value] = f"%{name}"
        return f"%{name}: {value.type}"

    def region(self, region: Region, indent: str) -> None:
        for op in region.ops:
            self._op(op, indent)
        results = ", ".join([self._use(result) for result in region.results])
        self.lines.append(f"{indent}return {results}".rstrip())

    def _op(self, op: Op, indent: str) -> None:
        results = ", ".join([self.declare(result) for result in op.results])
        operands = ", ".join([self._use(operand) for operand in op.operands])
        head = f"{results} = " if results else ""
        line = f"{indent}{head}{op.name}({operands}){_format_attributes(op)}"
        if self.locations and op.location is not None:
            place = op.location
            line += f" at {TEXT.format(place.file)}:{place.line} {TEXT.format(place.expression)}"
        if not op.regions:
            self.lines.append(line)
            return
        for name, region in zip(region_names(op), op.regions, strict=True):
            outer, self.names = self.names, {}
            parameters = ", ".join([self.declare(parameter) for parameter in region.parameters])
            self.lines.append(f"{line} ^{name}({parameters}) {{")
            self.region(region, indent + "  ")
            self.names = outer
            line = f"{indent}}}"
        self.lines.append(line)

    def _use(self, value: Value) -> str:
        if not isinstance(value, Constant):
            return f"%{self.names[value]}"
        name = self.table.get(value)
        self.written[value] = format_constant(value) if name is None else f"@{name}"
        return self.written[value]

    def _unique(self, name: str) -> str:
        if name[0].isdigit():
            name = f"_{name}"
        unique, suffix = name, 1
        while unique in self.taken:
            unique, suffix = f"{name}_{suffix}", suffix + 1
        self.taken.add(unique)
        return unique

    def _number(self) -> str:
        self.count += 1
        return str(self.count - 1)


def region_names(op: Op) -> list[str]:
    """The names of an op's regions; a last name that starts with * is repeated with numbers."""
    names = [name for name in op.definition.regions if not name.startswith("*")]
    if len(names) < len(op.definition.regions):
        rest = op.definition.regions[-1][1:]
        names += [f"{rest}{i}" for i in range(len(op.regions) - len(names))]
    return names


def _format_attributes(op: Op) -> str:
    """The attributes that differ from their defaults."""
    kinds, defaults = op.definition.attributes, op.definition.defaults
    parts = [
        f"{name}={kinds[name].format(value)}"
        for name, value in op.attributes.items()
        if name not in defaults or defaults[name] != value
    ]
    return f" {{{', '.join(parts)}}}" if parts else ""


def format_bounds(symbols: Iterable[Symbol]) -> str:
    """The bounds of symbols that have others than most: `<n >= 0, n <= 64>`."""
    parts = []
    for symbol in symbols:
        if symbol.lower != 1:
            parts.append(f"{symbol} >= {symbol.lower}")
        if symbol.upper is not None:
            parts.append(f"{symbol} <= {symbol.upper}")
    return f"<{', '.join(parts)}>" if parts else ""


def _format_number(number: Any) -> str:
    """A number that reads back as the same bytes; odd NaNs are written as their bytes."""
    if isinstance(number, np.bool_):
        return "true" if number else "false"
    if isinstance(number, np.integer):
        return str(int(number))
    if isinstance(number, np.complexfloating):
        return f"({_format_number(number.real)}, {_format_number(number.imag)})"
    text = _shortest(number)
    if parse_float(text, number.dtype).tobytes() == number.tobytes():
        return text
    return f'x"{number.tobytes().hex()}"'


def _shortest(number: Any) -> str:
    return str(number) if isinstance(number, np.float32) else repr(float(number))


def parse_float(text: str, dtype: np.dtype[Any]) -> Any:
    """The number that `_format_number` wrote for a real float; ArithmeticError if it is too large
    for the dtype.
    """
    if text.startswith("x"):
        (number,) = np.frombuffer(bytes.fromhex(text[2:-1]), dtype)
        return number
    number = float(text)
    if math.isinf(number) and "inf" not in text:
        raise OverflowError(text)
    with np.errstate(over="raise"):
        return np.asarray(number).astype(dtype)[()]


def _embedded(constant: Constant) -> str:
    data = np.ascontiguousarray(constant.array)
    little = data.astype(data.dtype.newbyteorder("<"), copy=False)
    return f'base64 "{base64.b64encode(little.tobytes()).decode()}"'
