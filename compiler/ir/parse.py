"""Reads the text form of a graph back. Every op passes through the builder, so what parses is well
typed.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from weft.compiler.ir.attributes import TEXT
from weft.compiler.ir.build import Builder
from weft.compiler.ir.errors import ParseError, WeftError
from weft.compiler.ir.graph import FORMAT_VERSION, Constant, Graph, Region, Value
from weft.compiler.ir.location import Location
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.reader import SYMBOL, Reader, nesting_as_parse_error
from weft.compiler.ir.types import ArrayType

_VALUE = r"%[\w.]+"


def parse(
    text: str,
    ops: Mapping[str, OpDef],
    constants: Mapping[str, np.ndarray[Any, Any]] | None = None,
) -> Graph:
    """The graph that `text` writes; `constants` holds large ones whose data is not in it."""
    reader = GraphReader(text, ops, constants or {})
    with nesting_as_parse_error():
        graph = reader.read()
    if not reader.reader.at_end():
        reader.reader.fail("expected the end of the text")
    return graph


class GraphReader:
    """Reads a graph and remembers the names of its values, for a text in which more follows.

    Where equal small constants are `shared`, they are read as one.
    """

    def __init__(
        self,
        text: str,
        ops: Mapping[str, OpDef],
        constants: Mapping[str, np.ndarray[Any, Any]],
        *,
        shared: bool = False,
    ) -> None:
        self.reader = Reader(text)
        self.ops = ops
        self.shared: dict[object, Constant] | None = {} if shared else None
        self.names: dict[str, Value] = {}
        self.given = constants
        self.values: dict[str, Value] = {}
        self.constants: dict[str, Constant] = {}

    def read(self) -> Graph:
        """The graph; leaves the reader behind it."""
        reader = self.reader
        self._read_version()
        while reader.accept(r"constant\b"):
            self._read_constant()
        reader.expect(r"graph\b", "'graph'")
        name = reader.expect(r"@[\w.]+", "a graph name such as @loss")[1:]
        self.read_bounds()
        return Graph(name, self._read_region(Builder(), named=True))

    def _read_version(self) -> None:
        reader = self.reader
        start = reader.position
        reader.expect(r"weft\b", "'weft' and the format version")
        version = reader.read_integer(r"\d+", "the format version")
        if version > FORMAT_VERSION:
            reader.fail(
                f"format version {version} is newer than {FORMAT_VERSION}, which this reads", start
            )

    # --- bounds and constants ---

    def read_bounds(self) -> None:
        """Bounds of symbols in angle brackets, if there are any."""
        reader = self.reader
        if not reader.accept("<"):
            return
        start = reader.position
        bounds: dict[str, dict[str, int]] = {}
        while True:
            name = reader.expect(SYMBOL, "a symbol")
            relation = reader.expect(r">=|<=", "'>=' or '<='")
            number = reader.read_integer()
            bounds.setdefault(name, {})["lower" if relation == ">=" else "upper"] = number
            if not reader.accept(","):
                reader.expect(">", "',' or '>'")
                break
        for name, limits in bounds.items():
            try:
                reader.declare_symbol(name, limits.get("lower"), limits.get("upper"))
            except WeftError as error:
                reader.fail(error.message, start)

    def _read_constant(self) -> None:
        reader = self.reader
        start = reader.position
        name = reader.expect(r"@\w+", "a constant name such as @c0")[1:]
        if reader.accept("="):
            self.constants[name] = reader.read_constant()
            return
        reader.expect(":", "':' or '='")
        type = reader.read_type()
        reader.expect("=", "'='")
        form = reader.expect(r"hash\b|base64\b", "'hash' or 'base64'")
        data = TEXT.read(reader)
        array = self._decode(type, data, start) if form == "base64" else self._given(name, start)
        constant = Constant(array)
        if constant.type != type:
            reader.fail(
                f"constant @{name} is declared {type} but its data is {constant.type}", start
            )
        if form == "hash" and constant.digest.hex() != data:
            reader.fail(
                f"the array given for constant @{name} has other contents than the graph's", start
            )
        self.constants[name] = constant

    def _decode(self, type: ArrayType, data: str, start: int) -> np.ndarray[Any, Any]:
        try:
            raw = base64.b64decode(data, validate=True)
            little = type.dtype.numpy.newbyteorder("<")
            return np.frombuffer(raw, little).reshape([int(size) for size in type.shape])
        except ValueError as error:
            self.reader.fail(f"the data of the constant does not fit {type}: {error}", start)

    def _given(self, name: str, start: int) -> np.ndarray[Any, Any]:
        if name not in self.given:
            self.reader.fail(
                f"the data of constant @{name} is not in the text; pass "
                "constants=graph.constant_table(), "
                "or print with embed_constants=True",
                start,
            )
        return np.asarray(self.given[name])

    # --- regions and ops ---

    def _read_region(self, builder: Builder, *, named: bool) -> Region:
        """Parameters, body and results; leaves the reader behind the closing brace."""
        reader = self.reader
        reader.read_list("(", ")", lambda: self._read_parameter(builder, named))
        reader.expect(r"\{", "'{'")
        while not reader.accept(r"return\b"):
            self._read_op(builder)
        results: list[Value] = []
        while not reader.accept(r"\}"):
            if results:
                reader.expect(",", "',' or '}'")
            results.append(self._read_operand())
        return builder.region(results)

    def _read_parameter(self, builder: Builder, named: bool) -> None:
        start = self.reader.position
        name, type = self._read_declaration()
        hint = name if named and not name.isdigit() else ""
        self._define(name, builder.parameter(type, hint), start)

    def _read_declaration(self) -> tuple[str, ArrayType]:
        name = self.reader.expect(_VALUE, "a value such as %x")[1:]
        self.reader.expect(":", "':' and a type")
        return name, self.reader.read_type()

    def _define(self, name: str, value: Value, start: int) -> None:
        if name in self.values:
            self.reader.fail(f"%{name} is defined twice", start)
        self.values[name] = self.names[name] = value

    def _read_op(self, builder: Builder) -> None:
        reader = self.reader
        start = reader.position
        declared: list[tuple[str, ArrayType]] = []
        if reader.text.startswith("%", reader.position):
            declared.append(self._read_declaration())
            while reader.accept(","):
                declared.append(self._read_declaration())
            reader.expect("=", "',' or '='")
        op_start = reader.position
        definition = self._read_definition()
        operands = reader.read_list("(", ")", self._read_operand)
        attributes = self._read_attributes(definition)
        location = self._read_location()
        regions = self._read_regions()
        try:
            results = builder.emit(definition, operands, attributes, regions, location)
        except ParseError:
            raise
        except WeftError as error:
            reader.fail(str(error), op_start)
        if len(results) != len(declared):
            reader.fail(f"{definition.name} has {len(results)} results, not {len(declared)}", start)
        for (name, type), result in zip(declared, results, strict=True):
            if result.type != type:
                reader.fail(
                    f"%{name} is declared {type} but {definition.name} makes {result.type}", start
                )
            self._define(name, result, start)

    def _read_definition(self) -> OpDef:
        start = self.reader.position
        name = self.reader.expect(r"[A-Za-z_]\w*", "the name of an op")
        definition = self.ops.get(name)
        if definition is None:
            self._unknown(f"unknown op {name!r}", name, list(self.ops), start)
        return definition

    def _read_operand(self) -> Value:
        return self.read_value(self.values)

    def read_value(self, values: Mapping[str, Value]) -> Value:
        """A value, by its name among these or among constants, or a small constant."""
        reader = self.reader
        start = reader.position
        token = reader.accept(r"[%@][\w.]+")
        if token is None:
            return self._small_constant()
        name = token[1:]
        known: Mapping[str, Value] = values if token[0] == "%" else self.constants
        if name not in known:
            self._unknown(f"unknown value {token!r}", token, [token[0] + k for k in known], start)
        return known[name]

    def _small_constant(self) -> Constant:
        constant = self.reader.read_constant()
        if self.shared is None:
            return constant
        return self.shared.setdefault((constant.type, constant.array.tobytes()), constant)

    def _unknown(self, message: str, name: str, known: list[str], start: int) -> NoReturn:
        from difflib import get_close_matches

        close = get_close_matches(name, known, n=1)
        self.reader.fail(f"{message}; did you mean {close[0]}?" if close else message, start)

    def _read_attributes(self, definition: OpDef) -> dict[str, object]:
        reader = self.reader
        attributes: dict[str, object] = {}

        def read_one() -> None:
            start = reader.position
            name = reader.expect(r"[A-Za-z_]\w*", "an attribute")
            if name not in definition.attributes:
                known = list(definition.attributes)
                self._unknown(f"{definition.name} has no attribute {name!r}", name, known, start)
            if name in attributes:
                reader.fail(f"the attribute {name!r} is given twice", start)
            reader.expect("=", "'='")
            attributes[name] = definition.attributes[name].read(reader)

        if reader.text.startswith("{", reader.position):
            reader.read_list("{", "}", read_one)
        return attributes

    def _read_location(self) -> Location | None:
        reader = self.reader
        if not reader.accept(r'at(?=\s*")'):
            return None
        file = TEXT.read(reader)
        line = reader.read_integer(r":\d+", "':' and a line number")
        return Location(file, line, TEXT.read(reader))

    def _read_regions(self) -> list[Region]:
        regions: list[Region] = []
        while self.reader.accept(r"\^\w+"):
            outer, self.values = self.values, {}
            regions.append(self._read_region(Builder(), named=False))
            self.values = outer
        return regions
