"""Reading pieces of the text form: tokens, sizes, types and constants, with errors that name line
and column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, NoReturn, TypeVar

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.dtypes import BY_NAME, DType, dtype
from weft.compiler.ir.errors import ParseError, WeftError
from weft.compiler.ir.graph import Constant
from weft.compiler.ir.text import parse_float
from weft.compiler.ir.types import ArrayType

T = TypeVar("T")

SYMBOL: Final = r"[A-Za-z_]\w*(?:\.\w+)*"  # strides of parameters have dots in their names
_SPACE = re.compile(r"(?:\s+|#[^\n]*)*")
_FLOAT = r'x"[0-9a-f]*"|[+-]?(?:inf|nan|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)'


_MOST_DIGITS: Final = 20  # of an integer of 64 bits, with its sign
_LARGEST_POWER: Final = 64  # of a symbol in a size: 2**64 already fits into no integer of 64 bits


@contextmanager
def nesting_as_parse_error() -> Iterator[None]:
    """Text that is nested deeper than Python's stack can follow is no valid text."""
    try:
        yield
    except RecursionError:
        raise ParseError("the text is nested too deeply") from None


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


class Reader:
    """A position in a text."""

    def __init__(self, text: str, *, inline_bounds: bool = False) -> None:
        self.text = text
        self.position = 0
        self.symbols: dict[str, Dim] = {}
        self.inline_bounds = inline_bounds
        self._types: dict[str, ArrayType] = {}
        self.skip()

    # --- tokens ---

    def skip(self) -> None:
        """Pass over white space and comments."""
        match = _SPACE.match(self.text, self.position)
        assert match is not None
        self.position = match.end()

    def accept(self, pattern: str) -> str | None:
        """The token at the position if it matches, else None."""
        match = _compile(pattern).match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        self.skip()
        return match[0]

    def expect(self, pattern: str, what: str) -> str:
        """The token at the position, or ParseError that says what was expected."""
        token = self.accept(pattern)
        if token is None:
            self.fail(f"expected {what}")
        return token

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        """Raise ParseError at a position, with the line and a caret."""
        position = self.position if position is None else position
        line = self.text.count("\n", 0, position) + 1
        start = self.text.rfind("\n", 0, position) + 1
        column = position - start + 1
        source = self.text[start:].split("\n", 1)[0]
        raise ParseError(
            f"line {line}, column {column}: {message}\n  {source}\n  {' ' * (column - 1)}^"
        )

    def read_integer(self, pattern: str = r"-?\d+", what: str = "an integer") -> int:
        """An integer of 64 bits behind what else the pattern has."""
        start = self.position
        digits = self.expect(pattern, what).lstrip("<>=:p \t\n")
        if len(digits) > _MOST_DIGITS or not -(2**63) <= int(digits) < 2**63:
            self.fail("the number does not fit into 64 bits", start)
        return int(digits)

    def at_end(self) -> bool:
        return self.position >= len(self.text)

    def read_list(self, opening: str, closing: str, item: Callable[[], T]) -> list[T]:
        """Items between brackets, separated by commas."""
        self.expect(re.escape(opening), repr(opening))
        items: list[T] = []
        while not self.accept(re.escape(closing)):
            if items:
                self.expect(",", f"',' or {closing!r}")
            items.append(item())
        return items

    # --- sizes and types ---

    def declare_symbol(self, name: str, lower: int | None = None, upper: int | None = None) -> None:
        """Set bounds of a symbol; must come before its first use outside of a spec."""
        self.symbols[name] = dims.symbol(name, lower=1 if lower is None else lower, upper=upper)

    def read_size(self) -> Size:
        """A size: sums and products of integers, symbols, quotients and `max(a, b)`."""
        try:
            return self._read_sum()
        except ParseError:
            raise
        except WeftError as error:
            self.fail(str(error))

    def _read_sum(self) -> Size:
        total: Size = -self._read_product() if self.accept("-") else self._read_product()
        while sign := self.accept(r"[+-]"):
            term = self._read_product()
            total = total + term if sign == "+" else total - term
        return total

    def _read_product(self) -> Size:
        start = self.position
        value = self._read_power()
        while sign := self.accept(r"\*(?!\*)|//|%"):
            factor = self._read_power()
            if sign == "*":
                value = value * factor
            elif sign == "//":
                value = dims.floor_divide(value, factor)
            else:
                value = value - factor * dims.floor_divide(value, factor)
        return self._bounded(value, start)

    def _bounded(self, size: Size, start: int) -> Size:
        if isinstance(size, int) and not -(2**63) <= size < 2**63:
            self.fail("a size that does not fit into 64 bits", start)
        return size

    def _read_power(self) -> Size:
        base = self._read_atom()
        if self.accept(r"\*\*"):
            start = self.position
            power = self.read_integer(r"\d+", "an integer power")
            if power > _LARGEST_POWER:
                self.fail(f"a power above {_LARGEST_POWER}", start)
            return self._bounded(base**power, start)
        return base

    def _read_atom(self) -> Size:
        if _compile(r"\d").match(self.text, self.position):
            return self.read_integer(r"\d+")
        if self.accept(r"\("):
            inner = self._read_sum()
            self.expect(r"\)", "')'")
            return inner
        start = self.position
        name = self.expect(SYMBOL, "a size: an integer or a name")
        if name == "max" and self.text.startswith("(", self.position):
            left, right = self._read_two(start)
            return dims.maximum(left, right)
        return self._read_symbol(name)

    def _read_two(self, start: int) -> tuple[Size, Size]:
        sizes = self.read_list("(", ")", self._read_sum)
        if len(sizes) != 2:
            self.fail("max takes two sizes", start)
        return sizes[0], sizes[1]

    def _read_symbol(self, name: str) -> Dim:
        if self.inline_bounds:
            low, high = self._read_bound(">="), self._read_bound("<=")
            if low is not None or high is not None:
                if name in self.symbols:
                    self.fail(f"give the bounds of {name} where it is used first")
                self.declare_symbol(name, low, high)
        if name not in self.symbols:
            self.declare_symbol(name)
        return self.symbols[name]

    def _read_bound(self, relation: str) -> int | None:
        if not _compile(relation + r"\s*\d").match(self.text, self.position):
            return None
        return self.read_integer(relation + r"\s*\d+")

    def read_dtype(self) -> DType:
        start = self.position
        name = self.expect(r"[A-Za-z_]\w*", "a dtype such as f32")
        if name in BY_NAME:
            return BY_NAME[name]
        if self.inline_bounds:
            try:
                return dtype(name)
            except WeftError as error:
                self.fail(error.message, start)
        self.fail(f"unknown dtype {name!r}; known are {', '.join(BY_NAME)}", start)

    def read_type(self) -> ArrayType:
        """A type such as `f32[n, 784]`; the brackets may be left out for rank 0."""
        match = _compile(r"\w+\[[^\]]*\]").match(self.text, self.position)
        known = self._types.get(match[0]) if match else None
        if match and known is not None:
            self.position = match.end()
            self.skip()
            return known
        start = self.position
        element = self.read_dtype()
        has_shape = self.text.startswith("[", self.position)
        shape = self.read_list("[", "]", self._read_length) if has_shape else []
        try:
            result = ArrayType(element, shape)
        except WeftError as error:
            self.fail(error.message, start)
        if match:
            self._types[match[0]] = result
        return result

    def _read_length(self) -> Size:
        start = self.position
        size = self.read_size()
        if isinstance(size, int) and size < 0:
            self.fail(f"the size {size} is negative", start)
        return size

    # --- constants ---

    def read_constant(self) -> Constant:
        """A small constant such as `2.0: f32` or `[1, 2]: i64[2]`."""
        start = self.position
        if self.text.startswith("[", start):
            tokens = self.read_list("[", "]", self._read_number)
        else:
            tokens = [self._read_number()]
        self.expect(":", "':' and the type of the constant")
        type = self.read_type()
        if type.size != len(tokens):
            self.fail(f"{len(tokens)} numbers for a constant of type {type}", start)
        try:
            numbers = [_number(token, type.dtype) for token in tokens]
            array = np.array(numbers, dtype=type.dtype.numpy).reshape(_static(type))
        except (ValueError, ArithmeticError, TypeError):
            self.fail(f"a number that is no {type.dtype}", start)
        array.setflags(write=False)
        return Constant(array)

    def _read_number(self) -> str:
        if self.accept(r"\("):
            real = self.expect(_FLOAT, "a number")
            self.expect(",", "','")
            imaginary = self.expect(_FLOAT, "a number")
            self.expect(r"\)", "')'")
            return f"{real},{imaginary}"
        return self.expect(f"true|false|{_FLOAT}", "a number, %value or @constant")


def _number(token: str, dtype: DType) -> Any:
    if dtype.is_bool:
        return {"true": True, "false": False}[token] if token in ("true", "false") else _refuse()
    if dtype.is_integer:
        return int(token)
    if dtype.is_complex:
        real, imaginary = token.split(",")
        pair = np.array(
            [parse_float(t, dtype.real.numpy) for t in (real, imaginary)], dtype.real.numpy
        )
        return pair.view(dtype.numpy)[0]
    return parse_float(token, dtype.numpy)


def _refuse() -> NoReturn:
    raise ValueError


def _static(type: ArrayType) -> tuple[int, ...]:
    return tuple([size for size in type.shape if isinstance(size, int)])


def parse_type(text: str, symbols: Mapping[str, Dim] | None = None) -> ArrayType:
    """The type that a spec such as `f32[n, 784]` or `f64[n>=8, 2*n]` writes.

    >>> parse_type("f32[n, 2*n + 1]")
    f32[n, 2*n + 1]
    """
    reader = Reader(text, inline_bounds=True)
    reader.symbols.update(symbols or {})
    with nesting_as_parse_error():
        type = reader.read_type()
    if not reader.at_end():
        reader.fail("expected the end of the type")
    return type
