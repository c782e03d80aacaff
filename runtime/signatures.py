"""What a program takes and gives, as plain data from which a call stub is made.

Arguments and results are trees: tuples, lists and dicts with arrays and numbers as leaves. Leaves
are numbered in the order in which they appear. A size is a number, the name of a symbol, or a tuple
of an operator and two sizes: `("+", "n", 1)`; the operators are +, *, // and max.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from weft.compiler.record import record

Size: TypeAlias = "int | str | tuple[str, Size, Size]"
Layout: TypeAlias = 'Literal["C", "F"] | tuple[int | None, ...]'

OPERATORS: Final = ("+", "*", "//", "max")


class Unsupported(ValueError):
    """A program that the call stub cannot serve: it needs `Caller.call_entry`."""


@record
class ArrayOf:
    """An argument that is a NumPy array. The layouts "C" and "F" are the contiguous orders; a tuple
    gives the strides in elements, with None for those that the program is told of.

    For the layout "C", arrays that lie otherwise are copied if they have `copied` bytes or fewer
    (-1: none is). What that takes, and contiguous arrays, are no arguments of a layout with strides
    and the same `copied`. A `donated` array may be written over.
    """

    dtype: np.dtype[Any]
    shape: tuple[Size, ...]
    layout: Layout = "C"
    copied: int = -1
    donated: bool = False


@record
class HeldArray:
    """An argument of exactly this type that holds an array in one of its slots; where it holds none
    it does after `attribute` was asked for.
    """

    type: type
    slot: str
    attribute: str
    array: ArrayOf


@record
class NumberOf:
    """An argument that is a Python number or a NumPy scalar of exactly this type, passed as an
    array of rank 0.
    """

    type: type
    dtype: np.dtype[Any]


@record
class Same:
    """An argument that is this very object, or the object as a part of the output. Python's numbers
    and texts only have to be equal and of the same type.
    """

    value: Any


@record
class TupleOf:
    """A tuple; as an argument also a namedtuple, of exactly this type."""

    items: tuple[Any, ...]
    type: type = tuple


@record
class ListOf:
    """A list of this length."""

    items: tuple[Any, ...]


@record
class DictOf:
    """A dict with these keys and no others, which are in this order in it: the numbers of the
    first, second, ... key; that of the keys if it is not given.
    """

    keys: tuple[Any, ...]
    items: tuple[Any, ...]
    order: tuple[int, ...] = ()


@record
class FieldsOf:
    """An object of exactly this type, whose attributes are the items."""

    type: type
    names: tuple[str, ...]
    items: tuple[Any, ...]


@record
class Leaf:
    """A result as a part of the output."""

    number: int


@record
class CallOf:
    """A part of the output that a callable makes from other parts, such as a namedtuple."""

    function: Callable[..., Any]
    items: tuple[Any, ...]


Argument: TypeAlias = ArrayOf | HeldArray | NumberOf | Same | TupleOf | ListOf | DictOf | FieldsOf
Output: TypeAlias = Leaf | Same | TupleOf | ListOf | DictOf | CallOf


@record
class Symbol:
    """A size that is known when the program is called, and what it may be."""

    name: str
    lower: int = 0
    upper: int | None = None


@record
class Result:
    """An array that the program fills; `label` is what messages call it. With `written_over`, it is
    in the memory of the donated leaf of this number.
    """

    dtype: np.dtype[Any]
    shape: tuple[Size, ...]
    label: str = ""
    written_over: int | None = None


@record
class Signature:
    """All that a stub knows of a program's calls.

    The numbers that the program gets are the values of the symbols and then the strides that it is
    told of, by argument and axis. `constants` are arrays whose addresses follow those of the
    leaves. `output` is the only result if it is left out, or a tuple of all. `names` are those of
    the arguments, for calls by keyword: None where there is none. The last `keyword_only` arguments
    come in no other way.
    """

    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    symbols: tuple[Symbol, ...] = ()
    output: Output | None = None
    names: tuple[str | None, ...] = ()
    keyword_only: int = 0
    constants: tuple[np.ndarray[Any, Any], ...] = ()

    @property
    def tree(self) -> Output:
        """The output that is meant."""
        if self.output is not None:
            return self.output
        leaves = tuple(Leaf(number) for number in range(len(self.results)))
        return leaves[0] if len(leaves) == 1 else TupleOf(leaves)


def evaluate(size: Size, values: dict[str, int]) -> int:
    """A size for given values of the symbols.

    >>> evaluate(("+", ("*", 2, "n"), 1), {"n": 3})
    7
    """
    if isinstance(size, int):
        return size
    if isinstance(size, str):
        return values[size]
    operator, left, right = size[0], evaluate(size[1], values), evaluate(size[2], values)
    if operator == "+":
        return left + right
    if operator == "*":
        return left * right
    return left // right if operator == "//" else max(left, right)
