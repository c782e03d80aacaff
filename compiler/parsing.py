"""Reading graphs with the table of primitives at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.compiler.ir import parse as parser
from weft.compiler.ir.graph import Graph
from weft.compiler.ops import TABLE


def parse(text: str, constants: Mapping[str, np.ndarray[Any, Any]] | None = None) -> Graph:
    """The graph that a text writes; the reverse of `str(graph)`.

    `constants` holds the data of large constants when the text does not: `graph.constant_table()`.

    >>> import weft as wf
    >>> g = wf.parse("weft 1 graph @twice(%x: f32[n]) { %y: f32[n] = add(%x, %x) return %y }")
    >>> len(g.ops)
    1
    """
    return parser.parse(text, TABLE, constants)
