"""What stands in the place of values."""

from __future__ import annotations

from weft.compiler.ir.errors import ArgumentError
from weft.compiler.ir.types import ArrayType
from weft.compiler.record import record


class NumberStandIn:
    """A Python number that is an input of what is gathered, not a part of it."""

    __slots__ = ("value",)

    def __init__(self, value: complex) -> None:
        self.value = value


@record
class GivenAway:
    """Of an array that was donated: the type of its value, and the argument that has it."""

    type: ArrayType
    to: str

    def error(self) -> ArgumentError:
        """What to raise where somebody asks for the value."""
        return ArgumentError(
            f"this array was donated to {self.to} and cannot be used any more; to keep it, donate "
            "a copy: `x.copy()`"
        )

    def __str__(self) -> str:
        return f"{self.type}, donated to {self.to}"
