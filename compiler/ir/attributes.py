"""The kinds of attribute an op can declare, each with its check, its text, and how the text is read
back.
"""

from __future__ import annotations

import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.dtypes import DType, dtype
from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.types import ArrayType
from weft.compiler.record import record

if TYPE_CHECKING:
    from weft.compiler.ir.reader import Reader


class AttributeKind(ABC):
    """One kind of attribute value. All objects of exactly the type `own` are in their one form."""

    own: type | None = None

    @abstractmethod
    def normalise(self, value: Any) -> Any:
        """The value in its one immutable form, or VerifyError."""

    @abstractmethod
    def format(self, value: Any) -> str:
        """The value as text."""

    @abstractmethod
    def read(self, reader: Reader) -> Any:
        """The value that starts where the reader stands."""


class _Int(AttributeKind):
    own = int

    def normalise(self, value: Any) -> int:
        try:
            return operator.index(value)
        except TypeError:
            raise VerifyError(f"expected an int, got {value!r}") from None

    def format(self, value: int) -> str:
        return str(value)

    def read(self, reader: Reader) -> int:
        return reader.read_integer()


class _Size(AttributeKind):
    own = int

    def normalise(self, value: Any) -> Size:
        return value if isinstance(value, Dim) else INT.normalise(value)

    def format(self, value: Size) -> str:
        return str(value)

    def read(self, reader: Reader) -> Size:
        return reader.read_size()


class _Bool(AttributeKind):
    def normalise(self, value: Any) -> bool:
        return bool(value)

    def format(self, value: bool) -> str:
        return "true" if value else "false"

    def read(self, reader: Reader) -> bool:
        return reader.expect(r"true|false", "true or false") == "true"


class _Text(AttributeKind):
    def normalise(self, value: Any) -> str:
        if not isinstance(value, str):
            raise VerifyError(f"expected a string, got {value!r}")
        return value

    def format(self, value: str) -> str:
        return '"' + re.sub(r'[\\"\n]', _escape, value) + '"'

    def read(self, reader: Reader) -> str:
        quoted = reader.expect(r'"(?:[^"\\]|\\.)*"', "a quoted string")
        return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], quoted[1:-1])


def _escape(match: re.Match[str]) -> str:
    return "\\n" if match[0] == "\n" else "\\" + match[0]


class _DType(AttributeKind):
    def normalise(self, value: Any) -> DType:
        return dtype(value)

    def format(self, value: DType) -> str:
        return value.name

    def read(self, reader: Reader) -> DType:
        return reader.read_dtype()


class _Type(AttributeKind):
    def normalise(self, value: Any) -> ArrayType:
        if not isinstance(value, ArrayType):
            raise VerifyError(f"expected a type such as spec('f32[2, 3]'), got {value!r}")
        return value

    def format(self, value: ArrayType) -> str:
        return str(value)

    def read(self, reader: Reader) -> ArrayType:
        return reader.read_type()


@dataclass(frozen=True)
class Choice(AttributeKind):
    """One of a few bare words."""

    words: tuple[str, ...]

    def normalise(self, value: Any) -> str:
        if value not in self.words:
            raise VerifyError(f"expected one of {', '.join(self.words)}, got {value!r}")
        return str(value)

    def format(self, value: str) -> str:
        return value

    def read(self, reader: Reader) -> str:
        words = "|".join(self.words)
        return reader.expect(rf"(?:{words})(?!\w)", f"one of {', '.join(self.words)}")


@dataclass(frozen=True)
class TupleOf(AttributeKind):
    """A tuple of values of one kind, written `[a, b]`."""

    item: AttributeKind

    def normalise(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, tuple | list | Iterable):  # asking an abstract class is slow
            raise VerifyError(f"expected a sequence, got {value!r}")
        own, normalise = self.item.own, self.item.normalise
        return tuple([item if type(item) is own else normalise(item) for item in value])

    def format(self, value: tuple[Any, ...]) -> str:
        return f"[{', '.join([self.item.format(item) for item in value])}]"

    def read(self, reader: Reader) -> tuple[Any, ...]:
        return tuple(reader.read_list("[", "]", lambda: self.item.read(reader)))


@dataclass(frozen=True)
class Optional(AttributeKind):
    """A value of one kind, or None, written `none`, where the op has a choice of its own."""

    item: AttributeKind

    def normalise(self, value: Any) -> Any:
        return None if value is None else self.item.normalise(value)

    def format(self, value: Any) -> str:
        return "none" if value is None else self.item.format(value)

    def read(self, reader: Reader) -> Any:
        return None if reader.accept(r"none\b") else self.item.read(reader)


@record
class HostFunction:
    """A Python function that a graph calls back into; text keeps its name only, so a parsed one is
    not bound.
    """

    name: str
    function: Callable[..., Any] | None = None


class _Host(AttributeKind):
    def normalise(self, value: Any) -> HostFunction:
        if isinstance(value, HostFunction):
            return value
        if not callable(value):
            raise VerifyError(f"expected a function, got {value!r}")
        name = str(getattr(value, "__name__", "") or "callback").replace("<lambda>", "lambda")
        return HostFunction(re.sub(r"^(?=[^A-Za-z_])|\W", "_", name), value)

    def format(self, value: HostFunction) -> str:
        return f"@{value.name}"

    def read(self, reader: Reader) -> HostFunction:
        return HostFunction(reader.expect(r"@[A-Za-z_]\w*", "a function name such as @log")[1:])


INT = _Int()
SIZE = _Size()
BOOL = _Bool()
TEXT = _Text()
DTYPE = _DType()
TYPE = _Type()
HOST = _Host()
INTS = TupleOf(INT)
SIZES = TupleOf(SIZE)
PAIRS = TupleOf(SIZES)
