"""Small graphs and regions for the tests of the IR, made through the builder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Dim
from weft.compiler.ir.graph import Constant, Graph, Op, Region, Result, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.reader import parse_type
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import TABLE

Array = np.ndarray[Any, Any]
Symbols = Mapping[str, Dim]
# What a test writes between parameters and results; the number of parameters varies.
Write = Callable[..., "Value | Sequence[Value]"]


class Table:
    """The primitives as attributes, by the names of the text form: `ops.add`, `ops.while_`."""

    def __getattr__(self, name: str) -> OpDef:
        return TABLE[name.rstrip("_")]


ops = Table()


def region(
    types: Sequence[str | ArrayType], write: Write, symbols: Symbols | None = None
) -> Region:
    """The region that takes these types and returns what `write` emits for its parameters."""
    return _fill([(type, "") for type in types], write, symbols).region


def graph(
    parameters: Mapping[str, str | ArrayType],
    write: Write,
    *,
    name: str = "g",
    symbols: Symbols | None = None,
) -> Graph:
    """The graph with these parameters that returns what `write` emits for them."""
    filled = _fill([(type, key) for key, type in parameters.items()], write, symbols)
    return Graph(name, filled.region)


def _fill(
    parameters: Sequence[tuple[str | ArrayType, str]], write: Write, symbols: Symbols | None
) -> Graph:
    builder = Builder()
    values = [
        builder.parameter(parse_type(type, symbols) if isinstance(type, str) else type, name)
        for type, name in parameters
    ]
    with builder.active():
        made = write(*values)
    return builder.graph("", [made] if isinstance(made, Value) else made)


def made_by(value: Value) -> Op:
    """The op that makes a value."""
    assert isinstance(value, Result)
    return value.op


def number(value: object, dtype: str = "f32") -> Constant:
    """A constant of rank 0 or, from a list, of more."""
    return Constant(np.array(value, parse_type(dtype).dtype.numpy))
