"""Expressions, places and indices of loop programs as text.

In groups a value at a place is written out, as in `%3[i0, i1 + 1]`; in a kernel it has a name.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Constant
from weft.compiler.ir.index.affine import Guard, Index, Place
from weft.compiler.ir.index.expression import (
    Apply,
    Choose,
    Combined,
    Literal,
    Position,
    Quotient,
    Reduction,
    Ref,
    Resolved,
    Start,
)
from weft.compiler.ir.text import format_constant
from weft.compiler.loops.kernel import Argument, Entry, Kernel, Load, Source, derived_entry
from weft.compiler.loops.naming import Names


class ExpressionText:
    """Writes the expressions of groups, or those of a kernel."""

    def __init__(self, names: Names, kernel: Kernel | None = None) -> None:
        self.names = names
        self.entries = {} if kernel is None else kernel.entries
        self.short: dict[Ref, str] | None = None
        if kernel is not None:
            self.short = {ref: f"v{number}" for number, ref in enumerate(kernel.entries)}

    def expected(self, entry: Entry) -> Entry:
        """An entry with the loops and the level that follow from what it reads."""
        return derived_entry(entry.ref, entry.source, self.entries)

    def ref(self, ref: Ref) -> str:
        """A value at a place."""
        if self.short is not None:
            return self.short[ref]
        return self.at(self.names.values[ref.value], ref.place, isinstance(ref.value, Constant))

    def at(self, value: str, place: Place, is_constant: bool = False) -> str:
        """What a place of a value is called."""
        if not place.indices and not place.guards:
            return value
        if is_constant and not value.startswith("@"):
            value = f"<{value}>"
        inside = ", ".join([self.index(index) for index in place.indices])
        return f"{value}[{inside}{self.guards(place.guards)}]"

    def element(self, array: int, position: Index, guards: Sequence[Guard]) -> str:
        """An element of an array of a kernel."""
        return f"p{array}[{self.index(position)}{self.guards(guards)}]"

    def computed(self, source: Source, ref: Ref) -> str:
        """How a value at a place is computed."""
        match source:
            case Load():
                return f"load {self.element(source.array, source.position, source.guards)}"
            case Argument():
                return f"a{source.number}"
            case Reduction():
                over = ", ".join([self.names.loops[loop] for loop in source.over])
                return f"reduce {source.kind}({self.ref(source.body)}) over ({over})"
            case Combined():
                return f"tree {source.kind}({self._refs(source.operands)})"
            case Apply():
                return f"{source.op.name}({self._refs(source.operands)})"
            case _:
                return self._expression(source)

    def _refs(self, refs: Sequence[Ref]) -> str:
        return ", ".join([self.ref(ref) for ref in refs])

    def _expression(self, source: object) -> str:
        match source:
            case Ref():
                return self.ref(source)
            case Literal():
                return f"literal {format_constant(Constant(source.array))}"
            case Position():
                return f"position({self.index(source.index)}, {source.dtype})"
            case Choose():
                inside, outside = self._expression(source.inside), self._expression(source.outside)
                return f"choice({inside}{self.guards(source.guards)} else {outside})"
            case Resolved():
                return (
                    f"{source.mode}({self.ref(source.position)}, {source.size}, axis {source.axis}"
                    f" of {self.names.ops[source.op]}{self.guards(source.guards)})"
                )
            case Start():
                return f"start({self.ref(source.position)}, {source.limit})"
            case Quotient():
                return f"quotient({self.index(source.index)}, {source.divisor})"
            case _:
                raise AssertionError(f"{source!r} has no text")

    def index(self, index: Index) -> str:
        """A sum of loop counters, terms known at run time and a constant."""
        parts = [self._term(size, self.names.loops[loop]) for loop, size in index.terms]
        parts += [self._term(size, self._expression(extra)) for size, extra in index.extras]
        if not parts or index.constant != 0:
            parts.append(_factor(index.constant))
        return " + ".join(parts)

    def _term(self, size: Size, text: str) -> str:
        return text if size == 1 else f"{_factor(size)}*{text}"

    def guards(self, guards: Sequence[Guard]) -> str:
        """The conditions of a place, with a blank before them."""
        if not guards:
            return ""
        tests = [f"{guard.low} <= {self.index(guard.index)} < {guard.high}" for guard in guards]
        return f" if {' and '.join(tests)}"


def _factor(size: Size) -> str:
    """A size in an index, where a name alone is a loop."""
    return str(size) if isinstance(size, int) else f"({size})"
