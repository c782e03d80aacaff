"""The types of LLVM values: an element kind and width, and a number of lanes (0: not a vector).

Signedness belongs to the type here, so that division, comparison and conversion need no further
hint; in LLVM's text both signs are spelled alike.
"""

from __future__ import annotations

import functools
from typing import Final

from weft.compiler.ir.dtypes import DType

# A bf16 is to LLVM the integer of its bits: its own type `bfloat` goes through f32, and on machines
# without instructions for it through a library function that no process has, even where values are
# only moved.
_FLOAT_NAMES: Final = {
    ("float", 16): "half",
    ("float", 32): "float",
    ("float", 64): "double",
}


class Type:
    """One LLVM type; equal types are the same object, so `is` compares."""

    __slots__ = ("kind", "bits", "lanes", "text", "_vectors")

    def __init__(self, kind: str, bits: int, lanes: int = 0) -> None:
        self.kind: Final = kind
        self.bits: Final = bits
        self.lanes: Final = lanes
        self.text: Final = f"<{lanes} x {self._element_text()}>" if lanes else self._element_text()
        self._vectors: dict[int, Type] = {}

    def _element_text(self) -> str:
        if self.kind in ("ptr", "void"):
            return self.kind
        return _FLOAT_NAMES.get((self.kind, self.bits), f"i{self.bits}")

    @property
    def is_float(self) -> bool:
        return self.kind in ("float", "bfloat")

    @property
    def is_bool(self) -> bool:
        return self.kind == "bool"

    @property
    def is_signed(self) -> bool:
        return self.kind == "int"

    @property
    def is_pointer(self) -> bool:
        return self.kind == "ptr"

    @property
    def itemsize(self) -> int:
        """Bytes of one element in memory."""
        return max(self.bits // 8, 1)

    @property
    def element(self) -> Type:
        """The type of one lane."""
        return element_type(self.kind, self.bits)

    def with_lanes(self, lanes: int) -> Type:
        """The same element in `lanes` lanes; 0: a scalar."""
        base = self.element
        if not lanes:
            return base
        if lanes not in base._vectors:
            base._vectors[lanes] = Type(self.kind, self.bits, lanes)
        return base._vectors[lanes]

    @property
    def suffix(self) -> str:
        """How overloaded intrinsics spell the type: `f32`, `v8f32`, `i64`."""
        letter = {"float": "f", "bfloat": "bf", "ptr": "p"}.get(self.kind, "i")
        name = "p0" if self.is_pointer else f"{letter}{self.bits}"
        return f"v{self.lanes}{name}" if self.lanes else name

    def __repr__(self) -> str:
        return f"<type {self.kind}{self.bits}{f'x{self.lanes}' if self.lanes else ''}>"


@functools.cache
def element_type(kind: str, bits: int) -> Type:
    """The one scalar type of a kind and width."""
    return Type(kind, bits)


VOID: Final = element_type("void", 0)
PTR: Final = element_type("ptr", 64)
I1: Final = element_type("bool", 1)
I8: Final = element_type("int", 8)
I16: Final = element_type("int", 16)
I32: Final = element_type("int", 32)
I64: Final = element_type("int", 64)
U8: Final = element_type("uint", 8)
U16: Final = element_type("uint", 16)
U32: Final = element_type("uint", 32)
U64: Final = element_type("uint", 64)
F16: Final = element_type("float", 16)
BF16: Final = element_type("bfloat", 16)
F32: Final = element_type("float", 32)
F64: Final = element_type("float", 64)


def of_dtype(dtype: DType) -> Type:
    """The type in which values of a real dtype are computed; bools as i1, complex ones have two
    values of their real dtype.
    """
    if dtype.is_bool:
        return I1
    kind = "bfloat" if dtype.name == "bf16" else dtype.kind
    if dtype.is_complex:
        return element_type("float", dtype.bits // 2)
    return element_type(kind, dtype.bits)
