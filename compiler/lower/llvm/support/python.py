"""Python objects and coded instructions, as native support code reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from weft.compiler.abi import OBJECT_TYPE, ArrayField, DTypeField, Shared
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I32, I64, PTR, U8, VOID

Case = TypeVar("Case", bound=int)
# Options of functions that are called from one place: they are apart only for the reader.
INLINE: Final[dict[str, Any]] = {"internal": True, "attributes": "alwaysinline"}
_NATIVE_ORDER: Final = (ord("="), ord("|"))


def word(f: Function, base: V, position: Operand) -> V:
    """The 64-bit number at a position."""
    return f.load(f.element(base, I64, position), I64)


def pointer(f: Function, base: V, position: Operand) -> V:
    """The address at a position."""
    return f.load(f.element(base, I64, position), PTR)


def put(f: Function, value: V, base: V, position: Operand) -> None:
    """Store a 64-bit number or an address."""
    f.store(value, f.element(base, I64, position))


def type_of(f: Function, thing: V) -> V:
    return f.load(f.offset(thing, OBJECT_TYPE), PTR)


def is_a(f: Function, thing: V, shared: V, type: Shared) -> V:
    """Whether an object is exactly of a type of the shared table."""
    return type_of(f, thing).eq(pointer(f, shared, type))


def array_pointer(f: Function, array: V, field: ArrayField) -> V:
    return f.load(f.offset(array, field), PTR)


def array_number(f: Function, array: V, field: ArrayField) -> V:
    """A 32-bit field of an array."""
    return f.load(f.offset(array, field), I32)


def dtype_number(f: Function, dtype: V) -> V:
    return f.load(f.offset(dtype, DTypeField.NUMBER), I32).to(I64)


def is_native(f: Function, dtype: V) -> V:
    """Whether a dtype has its bytes in this machine's order."""
    order = f.load(f.offset(dtype, DTypeField.BYTE_ORDER), U8)
    return order.eq(_NATIVE_ORDER[0]) | order.eq(_NATIVE_ORDER[1])


def saturating_product(f: Function, x: V, y: V) -> V:
    """The product of two numbers that are not negative; the largest one if it is too large."""
    return f.call("llvm.smul.fix.sat.i64", I64, [x, y, f.const(0, I32)])


def keep(f: Function, thing: V) -> V:
    """The object, with one more reference."""
    f.call("Py_IncRef", VOID, [thing])
    return thing


def drop(f: Function, thing: V) -> None:
    """One reference fewer; null is allowed."""
    f.call("Py_DecRef", VOID, [thing])


def switch(f: Function, value: V, cases: Mapping[Case, Callable[[], object]]) -> None:
    """Run the case of an i64 value; for a value without a case nothing."""
    done = f.label("after")
    labels = {number: f.label("case") for number in cases}
    table = " ".join(f"i64 {int(number)}, label %{label}" for number, label in labels.items())
    f.line(f"switch i64 {value.ref}, label %{done} [ {table} ]")
    for number, emit in cases.items():
        f.begin(labels[number])
        emit()
        f.jump(done)
    f.begin(done)
