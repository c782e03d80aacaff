"""By which strategy a matrix product is computed: `products` does it, and users are told.

Products with few elements whose sizes are known are written out; there are ways for products with
a vector, for those of few elements or of integers (in panels), and for large ones of real floats.
BLAS has the large complex ones, in blocks that depend on sizes alone, and others where it was asked
for or measured to be faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.choice import LEAST_GAIN, Products
from weft.compiler.lower.llvm.emit.arrays import Array, Element
from weft.compiler.lower.llvm.routines.common import sizes
from weft.compiler.lower.llvm.routines.common.elements import (
    join,
    multiply_add,
    vector_lanes,
    working,
)
from weft.compiler.lower.llvm.routines.gemm import blas
from weft.compiler.lower.llvm.routines.gemm.kinds import ProductKind, kind_of
from weft.compiler.lower.llvm.target import Target
from weft.compiler.record import record

SMALL: Final = 16**3  # multiplications of matrices that are multiplied in panels on one thread
SMALL_DEPTH: Final = 512  # terms of their sums, as one panel is on the stack
SHALLOW: Final = 4  # terms of a sum below which panels are faster than BLAS
SINGLE_THREADED: Final = 64**3  # multiplications up to which OpenBLAS uses no threads of its own
_WRITTEN_OUT: Final = 64  # vector multiplications that are written out


@record
class Kinds:
    """The dtypes of a product: of its operands, its result, and its sums."""

    lhs: DType
    rhs: DType
    result: DType

    @property
    def sums(self) -> DType:
        return working(self.result)

    @property
    def is_of_blas(self) -> bool:
        """Whether BLAS has such products."""
        return self.lhs is self.rhs is self.result and self.result in blas.LETTERS

    @property
    def gemm(self) -> ProductKind | None:
        """What `gemm` calls such products, if it has them."""
        return kind_of(self.lhs, self.rhs, self.result)

    @property
    def lanes(self) -> int:
        """The width of a panel; complex elements have two vectors, of half the bytes."""
        return vector_lanes(self.sums, 32 if self.sums.is_complex else 64)

    @property
    def parts(self) -> int:
        return 2 if self.sums.is_complex else 1

    @property
    def add(self) -> Callable[[Element, Element, Element], Element]:
        """total + x * y, or its like for bools."""
        return join if self.result.is_bool else multiply_add

    @property
    def name(self) -> str:
        return f"{self.lhs}.{self.rhs}.{self.result}"

    @property
    def line_bytes(self) -> int:
        """The bytes of one line of a panel."""
        return self.lanes * self.sums.itemsize


@record
class Strategy:
    """How a product is computed: a name that `products` knows, and words for users."""

    name: str
    text: str


def strategy_of(
    lhs: Array,
    rhs: Array,
    result: Array,
    choice: Products,
    target: Target,
    *,
    several: bool = False,
) -> Strategy:
    """How the product of two matrices is computed; `several` says that others run at once."""
    kinds = Kinds(lhs.dtype, rhs.dtype, result.dtype)
    shape = (*result.shape, lhs.shape[1])
    if not sizes.all_known(shape):
        return _late_strategy(kinds, choice)
    count, columns, depth = shape
    if 0 in result.shape:
        return Strategy("nothing", "nothing to compute")
    if _is_written_out(kinds, rhs, count, columns, depth):
        return Strategy("written out", "written out")
    if columns == 1:
        return Strategy("one column", "matrix times vector")
    if count == 1:
        return Strategy("one row", "vector times matrix")
    own = _own_strategy(kinds, count * columns * depth, depth, target)
    if not kinds.is_of_blas or choice.wanted == "generated":
        return own
    if choice.wanted == "blas":
        return _asked_strategy(own, lhs, rhs)
    return _best_strategy(own, lhs, rhs, result, choice, several)


def _own_strategy(kinds: Kinds, steps: int, depth: int, target: Target) -> Strategy:
    """How generated code multiplies matrices."""
    if steps <= SMALL:
        is_deep = depth > SMALL_DEPTH
        return Strategy("panels", "panels") if is_deep else Strategy("small", "small panels")
    kind = kinds.gemm
    if kind is None or depth <= SHALLOW:
        return Strategy("panels", "panels")
    tile = kind.tile(target)
    return Strategy("gemm", f"generated, tiles of {tile.rows} x {tile.columns}")


def _asked_strategy(own: Strategy, lhs: Array, rhs: Array) -> Strategy:
    """BLAS, but for operands that it does not take."""
    known = [blas.is_fit(matrix) for matrix in (lhs, rhs)]
    if False in known:
        return Strategy(own.name, f"{own.text} (BLAS does not take an operand that lies like this)")
    if None in known:
        return Strategy("blas", "BLAS (asked for), if it takes the operands as they lie")
    return Strategy("blas", "BLAS (asked for)")


def _best_strategy(
    own: Strategy, lhs: Array, rhs: Array, result: Array, choice: Products, several: bool
) -> Strategy:
    """BLAS where it was measured to be faster, or where there is nothing better than panels."""
    if False in [blas.is_fit(matrix) for matrix in (lhs, rhs)]:
        return own
    if result.dtype.is_complex:
        depth = sizes.known(lhs.shape[1])
        if own.name != "panels" or depth <= SHALLOW:
            return own
        return Strategy("blas blocks", "BLAS, block by block")
    layout = _letter(lhs) + _letter(rhs)
    shape = [sizes.known(size) for size in (*result.shape, lhs.shape[1])]
    gain = choice.gain(result.dtype.name, layout, *shape, several=several)
    if gain < LEAST_GAIN:
        return own
    return Strategy("blas", f"BLAS ({gain:.1f}x faster here, by weft tune)")


def _letter(matrix: Array) -> str:
    """How a matrix lies, as `choice.Point` has it; "?" if only the run tells."""
    known = [sizes.is_known(stride) and stride == 1 for stride in matrix.strides]
    return "n" if known[1] else "t" if known[0] else "?"


def _late_strategy(kinds: Kinds, choice: Products) -> Strategy:
    """Where the run tells sizes."""
    if not kinds.is_of_blas or choice.wanted == "generated":
        return Strategy("chosen", "chosen when it runs")
    if choice.wanted == "blas":
        return Strategy("chosen asked", "chosen when it runs, BLAS where that can be (asked for)")
    if kinds.result.is_complex:
        return Strategy("chosen complex", "chosen when it runs, BLAS by blocks for large ones")
    return Strategy("chosen", "chosen when it runs")


def _is_written_out(kinds: Kinds, rhs: Array, count: int, columns: int, depth: int) -> bool:
    """Whether the vectors of a product are few enough."""
    return count * depth * len(widths(kinds, rhs, columns)) <= _WRITTEN_OUT


def widths(kinds: Kinds, rhs: Array, columns: int) -> list[int]:
    """The columns as a sum of powers of two, large ones first."""
    most = kinds.lanes if rhs.strides[1] == 1 else 1
    result: list[int] = []
    while columns:
        result.append(min(most, 1 << (columns.bit_length() - 1)))
        columns -= result[-1]
    return result
