"""One compiled version of a function, and its graph after all passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weft.compiler.ir.ambient import sealed
from weft.compiler.ir.types import ArrayType
from weft.compiler.lower.choice import Products
from weft.compiler.record import record
from weft.frontends.driver.cache.entry import ProgramEntry
from weft.frontends.driver.fallback import Fallback
from weft.frontends.driver.frozen.guard import Guard
from weft.frontends.tracing import tree
from weft.frontends.tracing.writes import Written

if TYPE_CHECKING:
    from weft.compiler.ir.graph import Graph
    from weft.compiler.passes.running import Report, Step
    from weft.frontends.driver.tiers import Tiered
    from weft.frontends.tracing.function import TracedFunction


@record
class OptimisedGraph:
    """The graph after all passes, what these did, and which results may be written over which
    parameters.
    """

    graph: Graph
    report: Report | None
    donated: dict[int, int]


class Specialisation:
    """One compiled version of a function: what runs it, and what it was made of. A program that
    was found on disk is traced, and its graph optimised, only if somebody asks for that.
    """

    def __init__(
        self,
        trace: Callable[[], tuple[TracedFunction, list[Step]]],
        optimise: Callable[[TracedFunction, list[Step]], OptimisedGraph],
        reason: str,
        entry: ProgramEntry | None,
        products: Products,
    ) -> None:
        self.reason = reason
        self.entry = entry
        self.products = products
        self.is_stored = False
        self.guard: Guard
        self.objects: tuple[Any, ...] = ()
        self.calls_back = False
        self.fixed: tuple[tuple[str, Any], ...] = ()
        self.written: Written | None = None
        self.program: Fallback | Tiered
        self.parameters: tuple[ArrayType, ...]
        self.out_tree: tree.TreeDef
        self._trace = trace
        self._optimise = optimise
        self._traced: tuple[TracedFunction, list[Step]] | None = None
        self._optimised: OptimisedGraph | None = None

    @property
    @sealed
    def traced(self) -> TracedFunction:
        if self._traced is None:
            self._traced = self._trace()
        return self._traced[0]

    def is_like(self, other: Specialisation) -> bool:
        """Whether both were traced, and to the same graph."""
        if self._traced is None or other._traced is None:
            return False
        mine, theirs = self.traced, other.traced
        same = mine.out_tree == theirs.out_tree and mine.written == theirs.written
        return same and mine.graph.content_hash() == theirs.graph.content_hash()

    @property
    @sealed
    def optimised(self) -> OptimisedGraph:
        if self._optimised is None:
            traced = self.traced
            assert self._traced is not None
            self._optimised = self._optimise(traced, self._traced[1])
        return self._optimised

    @property
    def graph(self) -> Graph:
        return self.optimised.graph

    @property
    def report(self) -> Report | None:
        return self.optimised.report
