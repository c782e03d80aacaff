"""Where kernel code stands: the loops that are open, the lanes, and the values computed so far."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from weft.compiler.ir.index.affine import Loop
from weft.compiler.lower.llvm.emit.arrays import Element
from weft.compiler.lower.llvm.emit.function import Function, Operand, V


class Scope:
    """A point in nested loops. Inner scopes see what outer ones hold.

    A counter is a value, or a number where each step is written out.
    In a vector loop the counter is that of lane 0; `mask` says which lanes count (None: all).
    """

    __slots__ = ("f", "parent", "counters", "vector", "lanes", "mask", "values")

    def __init__(self, f: Function, parent: Scope | None = None) -> None:
        self.f = f
        self.parent = parent
        self.counters: dict[Loop, Operand] = dict(parent.counters) if parent else {}
        self.vector: Loop | None = parent.vector if parent else None
        self.lanes: int = parent.lanes if parent else 0
        self.mask: V | None = parent.mask if parent else None
        self.values: dict[Hashable, Element] = {}

    def inside(self, loop: Loop, counter: Operand) -> Scope:
        """The scope of the body of a plain loop."""
        result = Scope(self.f, self)
        result.counters[loop] = counter
        return result

    def along(self, loop: Loop, counter: V, lanes: int, mask: V | None) -> Scope:
        """The scope of the body of a vector loop."""
        result = self.inside(loop, counter)
        result.vector, result.lanes, result.mask = loop, lanes, mask
        return result

    def find(self, key: Hashable) -> Element | None:
        scope: Scope | None = self
        while scope is not None:
            found = scope.values.get(key)
            if found is not None:
                return found
            scope = scope.parent
        return None

    @property
    def loops(self) -> set[Loop]:
        return set(self.counters)


def lanes_of(element: Element) -> int:
    return (element[0] if isinstance(element, tuple) else element).type.lanes


def splat(f: Function, element: Element, lanes: int) -> Element:
    """An element in all lanes."""
    if isinstance(element, tuple):
        return f.splat(element[0], lanes), f.splat(element[1], lanes)
    return f.splat(element, lanes)


def alike(f: Function, elements: Sequence[Element]) -> list[Element]:
    """Elements of one number of lanes: scalars beside vectors are repeated."""
    lanes = max((lanes_of(element) for element in elements), default=0)
    return [splat(f, element, lanes) for element in elements]


def select(f: Function, condition: V, on_true: Element, on_false: Element) -> Element:
    """One of two elements, lane by lane."""
    lanes = max(condition.type.lanes, lanes_of(on_true), lanes_of(on_false))
    a, b = splat(f, on_true, lanes), splat(f, on_false, lanes)
    if condition.type.lanes != lanes:
        condition = f.splat(condition, lanes)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return f.select(condition, a[0], b[0]), f.select(condition, a[1], b[1])
    assert isinstance(a, V) and isinstance(b, V)
    return f.select(condition, a, b)
