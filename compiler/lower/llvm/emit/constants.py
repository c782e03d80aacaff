"""Python numbers as LLVM writes them."""

from __future__ import annotations

import struct

import numpy as np

from weft.compiler.lower.llvm.emit.types import F16, F32, F64, Type


def constant_text(value: int | float | bool, type: Type) -> str:
    """A Python number as LLVM writes it for a type."""
    if type.lanes:
        return f"splat ({type.element.text} {constant_text(value, type.element)})"
    if type.is_pointer:
        return "null" if not value else f"inttoptr (i64 {int(value)} to ptr)"
    if type.is_bool:
        return "true" if value else "false"
    if not type.is_float:
        return str(int(value))
    return _float_text(float(value), type)


def _float_text(value: float, type: Type) -> str:
    if type is F64:
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    if type is F32:
        with np.errstate(over="ignore"):
            rounded = float(np.float32(value))
        return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"
    if type is F16:
        with np.errstate(over="ignore"):
            return f"0xH{int(np.float16(value).view(np.uint16)):04X}"
    bits = int(np.float32(value).view(np.uint32))
    if bits & 0x7FFFFFFF <= 0x7F800000:  # round to nearest even; NaN keeps its upper bits
        bits += 0x7FFF + ((bits >> 16) & 1)
    return str((bits >> 16) & 0xFFFF)  # bf16: see `types`
