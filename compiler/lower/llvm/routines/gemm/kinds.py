"""The products of matrices that are generated: their dtypes, and the names of their functions."""

from __future__ import annotations

from typing import Final

from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm import linkage
from weft.compiler.lower.llvm.emit.types import of_dtype
from weft.compiler.lower.llvm.routines.common.elements import working
from weft.compiler.lower.llvm.routines.gemm import tiles
from weft.compiler.lower.llvm.routines.gemm.tiles import ProductTile, tile_of
from weft.compiler.lower.llvm.target import Target
from weft.compiler.record import record


@record
class ProductKind:
    """The dtypes of a product: of its operands, and of its result. Sums of halves are made in f32.
    So are those of bytes, a slice at a time: up to 2**24 they are exact.
    """

    operands: DType
    result: DType

    @property
    def is_of_bytes(self) -> bool:
        return self.operands.is_integer

    @property
    def sums(self) -> DType:
        return dtypes.f32 if self.is_of_bytes else working(self.result)

    @property
    def is_at_work(self) -> bool:
        """Whether the operands are of the dtype of the sums already."""
        return self.operands is self.sums

    @property
    def is_narrowed(self) -> bool:
        """Whether sums have memory of their own, and are converted once they are finished."""
        return self.result is not self.sums and not self.is_of_bytes

    @property
    def name(self) -> str:
        same = self.operands is self.result
        return self.operands.name if same else f"{self.operands.name}{self.result.name}"

    @property
    def symbol(self) -> str:
        """The function of the product; `gemm` has its parameters."""
        return linkage.gemm(self.name)

    def tile(self, target: Target) -> ProductTile:
        return tile_of(of_dtype(self.sums), target)

    def exports(self, target: Target) -> list[str]:
        """The functions of its module that programs may call; the module of operands that are sums
        has the tiles, for others too.
        """
        return [self.symbol, *(tiles.names(self.tile(target)) if self.is_at_work else ())]


KINDS: Final = {
    kind.name: kind
    for kind in (
        ProductKind(dtypes.f32, dtypes.f32),
        ProductKind(dtypes.f64, dtypes.f64),
        ProductKind(dtypes.f16, dtypes.f16),
        ProductKind(dtypes.bf16, dtypes.bf16),
        ProductKind(dtypes.f16, dtypes.f32),
        ProductKind(dtypes.bf16, dtypes.f32),
        ProductKind(dtypes.i8, dtypes.i8),
        ProductKind(dtypes.i8, dtypes.i32),
        ProductKind(dtypes.u8, dtypes.u8),
        ProductKind(dtypes.u8, dtypes.i32),
    )
}


def kind_of(lhs: DType, rhs: DType, result: DType) -> ProductKind | None:
    """The kind of a product, if it is one of those that are generated here."""
    if lhs is not rhs:
        return None
    kind = ProductKind(lhs, result)
    return KINDS.get(kind.name)
