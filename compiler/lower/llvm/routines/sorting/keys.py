"""Elements as unsigned integers in the same order, so that sorting need know of nothing else.

The order is that of `ops.ordering`: NaN last and -0.0 equal to 0.0, so both lose their bits in a
key; complex numbers by real part, then imaginary part, those with NaN after all others. A key
uses the low `key_bits` bits of its type; descending keys are complements, which keeps ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.arrays import Array
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I1, U8, U16, U32, U64, Type, element_type
from weft.compiler.lower.llvm.target import Target

_INFINITY: Final = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF << 52}


def key_bits(dtype: DType) -> int:
    """The bits of a real dtype that its keys use."""
    return 1 if dtype.is_bool else dtype.bits


def key_type(dtype: DType) -> Type:
    """The type of the keys of a real dtype."""
    return U64 if key_bits(dtype) > 32 else U32


def key_count(dtype: DType) -> int:
    """How many keys an element has: complex ones several."""
    return 1 if not dtype.is_complex else 2 if dtype.name == "c64" else 3


def part_types(dtype: DType) -> list[tuple[Type, int]]:
    """Type and used bits of each of an element's keys, the most significant first."""
    if not dtype.is_complex:
        return [(key_type(dtype), key_bits(dtype))]
    parts = [(U64, 64)] * (key_count(dtype) - 1)
    return [(U32, 2), *parts]


def part_key(f: Function, x: Sequence[V], dtype: DType, part: int, descending: bool) -> V:
    """One of the keys of an element given by its bits, the most significant first."""
    if not dtype.is_complex:
        return order_key(f, x[0], dtype, descending)
    if part == 0:
        real, imaginary = (is_nan(f, y, dtype.real).to(U32) for y in x)
        kind = (real << 1) | imaginary
        return kind ^ 3 if descending else kind
    if dtype.bits == 128:
        return order_key(f, x[part - 1], dtype.real, descending)
    high, low = (order_key(f, y, dtype.real, descending).to(U64) for y in x)
    return (high << 32) | low


def raw_type(dtype: DType) -> Type:
    """The type in which elements, or parts of complex ones, are moved about: it keeps their bits
    and needs no arithmetic of small floats.
    """
    return I1 if dtype.is_bool else _unsigned(dtype.real.bits)


def order_key(f: Function, x: V, dtype: DType, descending: bool = False) -> V:
    """The key of a real element given by its bits, or of each lane of a vector of them."""
    kind, bits = key_type(dtype), key_bits(dtype)
    if dtype.is_float:
        x = _float_key(f, x, dtype)
    elif dtype.kind == "int":
        x = x ^ (1 << (bits - 1))
    key = x.to(kind)
    return key ^ _mask(bits) if descending else key


def _float_key(f: Function, raw: V, dtype: DType) -> V:
    """Negative numbers complemented, others above them."""
    bits = dtype.bits
    sign = 1 << (bits - 1)
    size = raw & (sign - 1)
    signed = f.select(size.eq(0), f.const(0, raw.type), raw)
    flips = f.bitcast(f.bitcast(signed, element_type("int", bits)) >> (bits - 1), raw.type) | sign
    return f.select(is_nan(f, raw, dtype), f.const(_mask(bits), raw.type), signed ^ flips)


def is_nan(f: Function, raw: V, dtype: DType) -> V:
    """Whether a float given by its bits is NaN."""
    return (raw & _mask(dtype.bits - 1)).gt(_INFINITY[dtype.name])


def is_lossy(f: Function, raw: V, dtype: DType) -> V:
    """Whether the key of a float forgets something of it: NaN or -0.0."""
    sign = 1 << (dtype.bits - 1)
    return is_nan(f, raw, dtype) | raw.eq(sign)


def from_key(f: Function, key: V, dtype: DType, descending: bool = False) -> V:
    """The bits of the element of a real dtype that has a key."""
    bits = key_bits(dtype)
    if descending:
        key = key ^ _mask(bits)
    if dtype.is_bool:
        return key.ne(0)
    raw = key.to(_unsigned(bits))
    sign = 1 << (bits - 1)
    if dtype.is_float:
        top = f.bitcast(f.bitcast(raw, element_type("int", bits)) >> (bits - 1), raw.type)
        raw = raw ^ (~top | sign)
    elif dtype.kind == "int":
        raw = raw ^ sign
    return raw


def zero_key(dtype: DType, descending: bool) -> int:
    """The key of 0.0."""
    sign = 1 << (dtype.bits - 1)
    return sign ^ _mask(dtype.bits) if descending else sign


def nan_key(dtype: DType, descending: bool) -> int:
    """The key of NaN."""
    return 0 if descending else _mask(dtype.bits)


def _mask(bits: int) -> int:
    return (1 << bits) - 1


def _unsigned(bits: int) -> Type:
    return {8: U8, 16: U16, 32: U32, 64: U64}[bits]


# --- bits in memory -----------------------------------------------------------------------------


def load_bits(f: Function, array: Array, position: Operand, lanes: int = 0) -> list[V]:
    """The bits of an element, or of consecutive ones: one value, two for complex dtypes."""
    kind, address = raw_type(array.dtype), array.at(f, position)
    if not array.dtype.is_complex:
        return [f.load(address, kind.with_lanes(lanes))]
    return [f.load(f.element(address, kind, part), kind) for part in range(2)]


def store_bits(f: Function, array: Array, position: Operand, parts: Sequence[V]) -> None:
    """Write the bits of an element."""
    kind, address = raw_type(array.dtype), array.at(f, position)
    for part, value in enumerate(parts):
        f.store(value, f.element(address, kind, part))


def contiguous_lanes(target: Target, arrays: Sequence[Array], axis: int) -> int:
    """How many elements of rows can be read or written at once: 0 if they are not neighbours."""
    if any(array.strides[axis] != 1 or array.dtype.is_complex for array in arrays):
        return 0
    return target.lanes(max(array.dtype.bits for array in arrays))
