"""SSA values and variables: Python expressions over them emit instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from weft.compiler.lower.llvm.emit.types import Type

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.emit.function import Function

Operand: TypeAlias = "V | int | float | bool"


class V:
    """An SSA value or constant; operators emit into the function that made it.

    `/` is floating-point division; integers use `f.divide` and `f.remainder`. Comparisons are
    methods (`x.lt(y)`), as `==` keeps its Python meaning. Python numbers become constants of the
    other operand's type.
    """

    __slots__ = ("f", "ref", "type")

    def __init__(self, f: Function, ref: str, type: Type) -> None:
        self.f = f
        self.ref = ref
        self.type = type

    def __add__(self, other: Operand) -> V:
        return self.f.add(self, other)

    def __radd__(self, other: Operand) -> V:
        return self.f.add(self.f.like(other, self), self)

    def __sub__(self, other: Operand) -> V:
        return self.f.sub(self, other)

    def __rsub__(self, other: Operand) -> V:
        return self.f.sub(self.f.like(other, self), self)

    def __mul__(self, other: Operand) -> V:
        return self.f.mul(self, other)

    def __rmul__(self, other: Operand) -> V:
        return self.f.mul(self.f.like(other, self), self)

    def __truediv__(self, other: Operand) -> V:
        return self.f.divide(self, other)

    def __rtruediv__(self, other: Operand) -> V:
        return self.f.divide(self.f.like(other, self), self)

    def __neg__(self) -> V:
        return self.f.neg(self)

    def __and__(self, other: Operand) -> V:
        return self.f.binary("and", self, other)

    def __or__(self, other: Operand) -> V:
        return self.f.binary("or", self, other)

    def __xor__(self, other: Operand) -> V:
        return self.f.binary("xor", self, other)

    def __invert__(self) -> V:
        return self.f.binary("xor", self, -1 if not self.type.is_bool else True)

    def __lshift__(self, other: Operand) -> V:
        return self.f.binary("shl", self, other)

    def __rshift__(self, other: Operand) -> V:
        """Keeps the sign of signed types."""
        return self.f.binary("ashr" if self.type.is_signed else "lshr", self, other)

    def eq(self, other: Operand) -> V:
        return self.f.compare("eq", self, other)

    def ne(self, other: Operand) -> V:
        """Not equal; true beside NaN."""
        return self.f.compare("ne", self, other)

    def lt(self, other: Operand) -> V:
        return self.f.compare("lt", self, other)

    def le(self, other: Operand) -> V:
        return self.f.compare("le", self, other)

    def gt(self, other: Operand) -> V:
        return self.f.compare("gt", self, other)

    def ge(self, other: Operand) -> V:
        return self.f.compare("ge", self, other)

    def to(self, type: Type) -> V:
        """The value converted to another element type, lane by lane."""
        return self.f.convert(self, type)

    def bits(self, type: Type) -> V:
        """The bits read as another element type of the same width."""
        return self.f.bitcast(self, type)

    def __repr__(self) -> str:
        return f"<{self.type.text} {self.ref}>"


class Variable:
    """A mutable place on the stack, which LLVM turns into registers."""

    __slots__ = ("f", "pointer", "type")

    def __init__(self, f: Function, pointer: V, type: Type) -> None:
        self.f = f
        self.pointer = pointer
        self.type = type

    def get(self) -> V:
        return self.f.load(self.pointer, self.type)

    def set(self, value: Operand) -> None:
        self.f.store(self.f.const(value, self.type), self.pointer)
