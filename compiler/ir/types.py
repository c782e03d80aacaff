"""The type of a value: an element type and a shape whose dims are ints or symbolic sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.dtypes import DType, dtype
from weft.compiler.ir.errors import ShapeError

Shape: TypeAlias = tuple[Size, ...]

LARGEST_BYTES: Final = 2**63 - 1
"""What positions in an array, which are signed integers of 64 bits, can reach: no value may have
more, whether it is ever in memory or not. Sizes that are numbers are checked where a type is made,
here; symbolic ones when a program is called, before it takes memory (`lower/llvm/program`)."""


class ArrayType:
    """An immutable dtype and shape, printed as `f32[n, 784]`."""

    __slots__ = ("dtype", "shape", "rank", "_hash", "_size", "_text")

    def __init__(self, dtype: DType, shape: Iterable[Size] = ()) -> None:
        self.dtype: Final = dtype
        self.shape: Final[Shape] = tuple(shape)
        self.rank: Final = len(self.shape)
        self._text: str | None = None
        total = dtype.itemsize
        for size in self.shape:
            if type(size) is int and size:
                total *= size
        if total > LARGEST_BYTES:
            raise ShapeError(f"{self} has more than 2**63 - 1 bytes, so it cannot be indexed")
        self._hash = hash((dtype.name, self.shape))
        self._size: Size | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the hash, which is another one in another process."""
        return ArrayType, (self.dtype, self.shape)

    @property
    def size(self) -> Size:
        """The number of elements."""
        if self._size is None:
            self._size = dims.product(self.shape)
        return self._size

    @property
    def is_static(self) -> bool:
        """Whether every dim is a known number."""
        return not any(isinstance(size, Dim) for size in self.shape)

    def with_shape(self, shape: Iterable[Size]) -> ArrayType:
        return ArrayType(self.dtype, shape)

    def with_dtype(self, dtype: DType) -> ArrayType:
        return ArrayType(dtype, self.shape)

    def __str__(self) -> str:
        if self._text is None:
            self._text = f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"
        return self._text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, ArrayType) and self.dtype is other.dtype and self.shape == other.shape
        )

    def __hash__(self) -> int:
        return self._hash


def type_of(array: np.ndarray[Any, Any] | np.generic) -> ArrayType:
    """The type of a NumPy array."""
    return ArrayType(dtype(array.dtype), array.shape)


def format_shape(shape: Iterable[Size]) -> str:
    """A shape as messages show it: `(n, 784)`."""
    sizes = [str(size) for size in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"
