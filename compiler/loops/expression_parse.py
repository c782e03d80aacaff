"""Reads expressions, places and indices of loop programs; the reverse of `expression_text`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op, Result, Value
from weft.compiler.ir.index.affine import Guard, Index, Loop, Place
from weft.compiler.ir.index.expression import (
    Apply,
    Choose,
    Combined,
    Computed,
    Expression,
    Literal,
    Position,
    Quotient,
    Reduction,
    Ref,
    Resolved,
    Start,
)
from weft.compiler.ir.parse import GraphReader
from weft.compiler.loops.kernel import Argument, Load, Source

T = TypeVar("T")


class ExpressionReader:
    """Reads the expressions of groups, or those of a kernel, in which values at places have names.

    `loops` are those that may be named.
    """

    def __init__(self, values: GraphReader, ops: Mapping[str, Op], loops: dict[str, Loop]) -> None:
        self.values = values
        self.reader = values.reader
        self.ops = ops
        self.loops = loops
        self.short: dict[str, Ref] | None = None

    # --- names ---

    def lookup(self, pattern: str, known: Mapping[str, T], what: str) -> T:
        """What a name stands for; ParseError if it is unknown."""
        start = self.reader.position
        name = self.reader.expect(pattern, what)
        if name not in known:
            self.reader.fail(f"unknown {what} {name!r}", start)
        return known[name]

    def value(self) -> Value:
        """A value of the graph."""
        return self.values.read_value(self.values.names)

    def op(self) -> Op:
        """An op, by its first result."""
        return self.lookup(r"%[\w.]+|!\d+", self.ops, "op")

    def loop(self) -> Loop:
        return self.lookup(r"[ij]\d+", self.loops, "loop")

    def loop_list(self) -> tuple[Loop, ...]:
        return tuple(self.reader.read_list("(", ")", self.loop))

    def declared_loop(self) -> tuple[str, Loop]:
        """A new loop such as `i0 < 8`."""
        name = self.reader.expect(r"[ij]\d+", "a loop such as i0")
        self.reader.expect("<", "'<' and the size of the loop")
        return name, Loop(self.reader.read_size())

    def rows(self) -> tuple[Size, int]:
        """The rows of a chain: how many, and how many of them for each row of the producer."""
        self._word("in")
        rows = self.reader.read_size()
        self.reader.expect(r"rows,", "'rows,'")
        parts = self.integer()
        self.reader.expect(r"of each row\b", "'of each row'")
        return rows, parts

    def integer(self) -> int:
        return self.reader.read_integer()

    # --- values at places ---

    def ref(self) -> Ref:
        """A value at a place, or the name of one."""
        if self.short is not None:
            return self.lookup(r"v\d+", self.short, "entry")
        return Ref(*self.at())

    def at(self) -> tuple[Value, Place]:
        """A value and a place of it, written out."""
        reader = self.reader
        if reader.accept("<"):
            value = self.value()
            reader.expect(">", "'>'")
        else:
            value = self.value()
        return value, self._place()

    def full_ref(self) -> Ref:
        """A value at a place, written out, also in a kernel."""
        short, self.short = self.short, None
        ref = Ref(*self.at())
        self.short = short
        return ref

    def _place(self) -> Place:
        reader = self.reader
        if not reader.accept(r"\["):
            return Place(())
        indices: list[Index] = []
        while not reader.text.startswith(("]", "if "), reader.position):
            if indices:
                reader.expect(",", "',', 'if' or ']'")
            indices.append(self.index())
        guards = self.guards()
        reader.expect(r"\]", "']'")
        return Place(tuple(indices), guards)

    def element(self) -> tuple[int, Index, tuple[Guard, ...]]:
        """An element of an array of a kernel."""
        array = self.reader.read_integer(r"p\d+", "an array such as p0")
        self.reader.expect(r"\[", "'['")
        position, guards = self.index(), self.guards()
        self.reader.expect(r"\]", "']'")
        return array, position, guards

    # --- indices ---

    def index(self) -> Index:
        """A sum of loop counters, terms known at run time and a constant."""
        terms: list[tuple[Loop, Size]] = []
        extras: list[tuple[Size, Expression]] = []
        constant: Size = 0
        while True:
            factor = self._factor()
            if factor is not None and not self.reader.accept(r"\*"):
                constant = factor
            elif self.reader.text[self.reader.position : self.reader.position + 1] in ("i", "j"):
                terms.append((self.loop(), 1 if factor is None else factor))
            else:
                extras.append((1 if factor is None else factor, self._extra()))
            if not self.reader.accept(r"\+"):
                return Index(tuple(terms), constant, tuple(extras))

    def _factor(self) -> Size | None:
        reader = self.reader
        number = reader.accept(r"-?\d+")
        if number is not None:
            return int(number)
        if not reader.accept(r"\("):
            return None
        size = reader.read_size()
        reader.expect(r"\)", "')'")
        return size

    def _extra(self) -> Expression:
        reader = self.reader
        kind = reader.expect(
            r"(raise|clip|fill|start|quotient)(?=\()",
            "a loop, 'raise', 'clip', 'fill', 'start' or 'quotient'",
        )
        reader.expect(r"\(", "'('")
        if kind == "quotient":
            index = self.index()
            result: Expression = Quotient(index, self._after_comma(reader.read_size))
        elif kind == "start":
            position = self.ref()
            result = Start(position, self._after_comma(reader.read_size))
        else:
            position = self.ref()
            size = self._after_comma(reader.read_size)
            axis = self._after_comma(self._axis)
            self._word("of")
            result = Resolved(position, size, kind, self.op(), axis, self.guards())
        reader.expect(r"\)", "')'")
        return result

    def _axis(self) -> int:
        self._word("axis")
        return self.integer()

    def _after_comma(self, read: Callable[[], T]) -> T:
        self.reader.expect(",", "','")
        return read()

    def _word(self, word: str) -> None:
        self.reader.expect(rf"{word}\b", repr(word))

    def guards(self) -> tuple[Guard, ...]:
        """The conditions of a place, if there are any."""
        if not self.reader.accept(r"if\b"):
            return ()
        guards = [self._guard()]
        while self.reader.accept(r"and\b"):
            guards.append(self._guard())
        return tuple(guards)

    def _guard(self) -> Guard:
        low = self.reader.read_size()
        self.reader.expect("<=", "'<='")
        index = self.index()
        self.reader.expect("<", "'<'")
        return Guard(index, low, self.reader.read_size())

    # --- expressions ---

    def group_computed(self, ref: Ref) -> Computed:
        """How a group computes a value at a place."""
        source = self.computed(ref)
        assert not isinstance(source, Load | Argument)
        return source

    def computed(self, ref: Ref) -> Source:
        """How a value at a place is computed: also by a load or a number that a kernel has."""
        reader = self.reader
        if reader.accept(r"reduce\b"):
            kind = reader.expect(r"\w+", "the kind of a reduction")
            (body,) = reader.read_list("(", ")", self.ref)
            self._word("over")
            return Reduction(kind, body, self.loop_list(), self._own_op(ref))
        if reader.accept(r"tree\b"):
            kind = reader.expect(r"\w+", "the kind of a reduction")
            operands = tuple(reader.read_list("(", ")", self.ref))
            return Combined(kind, self._own_op(ref), operands)
        if self.short is not None and reader.accept(r"load\b"):
            array, position, guards = self.element()
            return Load(array, position, guards, ref.value.type.dtype)
        if self.short is not None and (argument := reader.accept(r"a\d+\b(?!\()")):
            return Argument(int(argument[1:]), ref.value.type.dtype)
        start = reader.position
        name = reader.accept(r"(?!(?:position|choice)\()[A-Za-z_]\w*(?=\()")
        return self._expression() if name is None else self._apply(name, ref, start)

    def _apply(self, name: str, ref: Ref, start: int) -> Apply:
        op = self._own_op(ref)
        if op.name != name:
            self.reader.fail(f"the value is made by {op.name}, not by {name}", start)
        assert isinstance(ref.value, Result)
        return Apply(op, ref.value.index, tuple(self.reader.read_list("(", ")", self.ref)))

    def _own_op(self, ref: Ref) -> Op:
        if not isinstance(ref.value, Result):
            self.reader.fail("only the result of an op is computed")
        return ref.value.op

    def _expression(self) -> Expression:
        reader = self.reader
        if reader.accept(r"literal\b"):
            constant = reader.read_constant()
            return Literal(constant.array, constant.type.dtype)
        if reader.accept(r"position\("):
            index = self.index()
            dtype = self._after_comma(reader.read_dtype)
            reader.expect(r"\)", "')'")
            return Position(index, dtype)
        if reader.accept(r"choice\("):
            inside, guards = self._expression(), self.guards()
            self._word("else")
            outside = self._expression()
            reader.expect(r"\)", "')'")
            return Choose(guards, inside, outside)
        return self.ref()
