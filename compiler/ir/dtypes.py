"""The element types of arrays, their short names in text, and NumPy 2 promotion between them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy._core import umath

from weft.compiler.ir.errors import DTypeError


def _bfloat16() -> np.dtype[Any]:
    """NumPy's dtype of bfloat16. The library that has it adds loops to NumPy's ufuncs, which it
    takes to be ufuncs without asking; our tables have them as keys.
    """
    for name, ufunc in vars(umath).items():
        current = getattr(np, name, ufunc)
        if isinstance(ufunc, np.ufunc) and not _is_numpys_own(current, ufunc):
            raise ImportError(
                f"np.{name} has been replaced by {current!r}, and weft needs NumPy's own when it "
                "loads; replace it afterwards"
            )
    import ml_dtypes

    result: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return result


def _is_numpys_own(current: object, ufunc: np.ufunc) -> bool:
    """Whether this is the ufunc, or NumPy's function around it, such as `np.clip`."""
    if isinstance(current, np.ufunc):
        return current is ufunc
    return (getattr(current, "__module__", None) or "").partition(".")[0] == "numpy"


class DType:
    """An element type; one object exists per type, so `is` compares."""

    __slots__ = ("name", "kind", "bits", "numpy")

    def __init__(self, name: str, kind: str, bits: int, numpy: np.dtype[Any]) -> None:
        self.name: Final = name
        self.kind: Final = kind
        self.bits: Final = bits
        self.numpy: Final = numpy

    @property
    def itemsize(self) -> int:
        return self.numpy.itemsize

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_complex(self) -> bool:
        return self.kind == "complex"

    @property
    def is_inexact(self) -> bool:
        """Whether derivatives exist: floating point, real or complex."""
        return self.kind in ("float", "complex")

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def is_signed(self) -> bool:
        return self.kind in ("int", "float", "complex")

    @property
    def is_bool(self) -> bool:
        return self.kind == "bool"

    @property
    def real(self) -> DType:
        """The type of the real part."""
        return {c64: f32, c128: f64}.get(self, self)

    @property
    def working(self) -> DType:
        """What elements are computed and added up in: f32 for the 16-bit floats, on all targets."""
        return f32 if self.is_float and self.bits == 16 else self

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (self.name,)


bool_ = DType("bool", "bool", 8, np.dtype(np.bool_))
i8 = DType("i8", "int", 8, np.dtype(np.int8))
i16 = DType("i16", "int", 16, np.dtype(np.int16))
i32 = DType("i32", "int", 32, np.dtype(np.int32))
i64 = DType("i64", "int", 64, np.dtype(np.int64))
u8 = DType("u8", "uint", 8, np.dtype(np.uint8))
u16 = DType("u16", "uint", 16, np.dtype(np.uint16))
u32 = DType("u32", "uint", 32, np.dtype(np.uint32))
u64 = DType("u64", "uint", 64, np.dtype(np.uint64))
f16 = DType("f16", "float", 16, np.dtype(np.float16))
bf16 = DType("bf16", "float", 16, _bfloat16())
f32 = DType("f32", "float", 32, np.dtype(np.float32))
f64 = DType("f64", "float", 64, np.dtype(np.float64))
c64 = DType("c64", "complex", 64, np.dtype(np.complex64))
c128 = DType("c128", "complex", 128, np.dtype(np.complex128))

ALL: Final = (bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128)
BY_NAME: Final = {d.name: d for d in ALL}
_BY_NUMPY: Final = {d.numpy: d for d in ALL}


def named(name: str) -> DType:
    """The `DType` of a name in the text form."""
    return BY_NAME[name]


def dtype(of: object) -> DType:
    """The `DType` of a NumPy dtype, type or name, a Python scalar type, or a name of the text form.

    A name that both NumPy and the text form have means what it means in NumPy: "i8" has 8 bytes.

    >>> dtype("f32"), dtype(np.int8), dtype(float), dtype("i8")
    (f32, i8, f64, i64)
    """
    if isinstance(of, DType):
        return of
    try:
        as_numpy = np.dtype(of)  # type: ignore[call-overload]
        result = _BY_NUMPY.get(as_numpy.newbyteorder("="))
    except (TypeError, ValueError, SyntaxError):  # the last two from descriptions of records
        result = None
    if result is None and isinstance(of, str):
        result = BY_NAME.get(of)
    if result is None:
        raise DTypeError(f"{of!r} is no dtype that arrays can have; known are {', '.join(BY_NAME)}")
    return result


def is_supported(of: np.dtype[Any]) -> bool:
    """Whether arrays of this NumPy dtype (in any byte order) can enter a graph."""
    return of.newbyteorder("=") in _BY_NUMPY


def promote(*dtypes: DType) -> DType:
    """The common type of several, by NumPy 2's rules; bfloat16 promotes as float16 does.

    >>> promote(f32, i32), promote(bf16, f16), promote(i64, u64)
    (f64, f32, f64)
    """
    if bf16 not in dtypes:
        return _BY_NUMPY[np.result_type(*(d.numpy for d in dtypes))]
    stand_in = _BY_NUMPY[np.result_type(*(f16.numpy if d is bf16 else d.numpy for d in dtypes))]
    if stand_in is not f16:
        return stand_in
    return f32 if f16 in dtypes else bf16
