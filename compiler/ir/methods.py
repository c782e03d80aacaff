"""The methods of graphs that need modules above `graph`: text, verification, hash.

Those modules are written in terms of graphs, so that `graph` cannot import them; `build`, without
which there is no graph, registers these. They load their modules when they are first asked for:
most graphs are never printed, verified or hashed.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from weft.compiler.ir.graph import Graph, Methods


class _Methods:
    def text(self, graph: Graph, *, locations: bool, embed_constants: bool) -> str:
        from weft.compiler.ir.text import format_graph

        return format_graph(graph, locations=locations, embed_constants=embed_constants)

    def constant_table(self, graph: Graph) -> dict[str, np.ndarray[Any, Any]]:
        from weft.compiler.ir.text import large_constants

        return {name: constant.array for constant, name in large_constants(graph).items()}

    def verify(self, graph: Graph) -> Graph:
        from weft.compiler.ir.verify import verify

        return verify(graph)

    def content_hash(self, graph: Graph) -> str:
        from weft.compiler.ir.identity import content_hash

        return content_hash(graph)


METHODS: Final[Methods] = _Methods()
