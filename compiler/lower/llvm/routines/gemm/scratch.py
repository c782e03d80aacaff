"""How much memory products of matrices work in, when a program is planned.

The functions mirror what is emitted. Where a decision is left to the run, because a size or stride
is a symbol, the larger side counts.
"""

from __future__ import annotations

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.routines.common import planning
from weft.compiler.lower.llvm.routines.common.elements import working
from weft.compiler.lower.llvm.routines.gemm import matrix_vector, packing, tiles
from weft.compiler.lower.llvm.routines.gemm.blocking import LIMITS, most_slice
from weft.compiler.lower.llvm.routines.gemm.kinds import ProductKind
from weft.compiler.lower.llvm.routines.gemm.strategy import Kinds, Strategy
from weft.compiler.lower.llvm.target import Target
from weft.compiler.record import record

Strides = tuple[Size, Size] | None  # None: known only at run time


@record
class Matrices:
    """A product [m, k] times [k, n] as the plan knows it."""

    kinds: Kinds
    m: Size
    n: Size
    k: Size
    lhs: Strides
    rhs: Strides
    target: Target
    threads: Size

    @property
    def is_known(self) -> bool:
        """Whether nothing of the product is left to the run but its elements."""
        sizes = (self.m, self.n, self.k, *(self.lhs or ()), *(self.rhs or ()))
        return None not in (self.lhs, self.rhs) and all(isinstance(x, int) for x in sizes)


def product_bytes(product: Matrices, strategy: Strategy) -> Size:
    """What a product takes that is computed in a given way."""
    name = strategy.name
    if name in ("nothing", "written out", "small"):
        return 0
    if name == "one column":
        return vector_bytes(product.kinds.result, product.m, product.k, product.lhs, product.rhs)
    if name == "one row":
        turned = None if product.rhs is None else (product.rhs[1], product.rhs[0])
        return vector_bytes(product.kinds.result, product.n, product.k, turned, product.lhs)
    if name == "panels":
        return _panel_bytes(product)
    if name in ("gemm", "blas", "blas blocks"):
        return _own_bytes(product)
    return planning.largest(_late_bytes(product))


def _late_bytes(product: Matrices) -> list[Size]:
    """What each of the ways takes that are left to the run."""
    columns = vector_bytes(product.kinds.result, product.m, product.k, None, None)
    rows = vector_bytes(product.kinds.result, product.n, product.k, None, None)
    return [columns, rows, _panel_bytes(product), _own_bytes(product)]


def _own_bytes(product: Matrices) -> Size:
    """Our own code, which BLAS leaves operands to that it does not take."""
    kind = product.kinds.gemm
    return _panel_bytes(product) if kind is None else gemm_bytes(product, kind)


def _panel_bytes(product: Matrices) -> Size:
    kinds = product.kinds
    panels = _up(product.n, kinds.lanes)
    chunks = planning.chunks(panels, product.k * (product.m + kinds.lanes))
    return planning.tasks(product.k * kinds.line_bytes, product.threads, chunks)


# --- generated products -------------------------------------------------------------------------


def gemm_bytes(product: Matrices, kind: ProductKind) -> Size:
    """What `weft_gemm_*` takes: sums of another dtype than the result, packed panels of the right
    operand, and what tasks pack of the left one.
    """
    tile = kind.tile(product.target)
    panels = _up(product.n, tile.columns)
    sums: Size = 0
    if kind.is_narrowed:
        sums = planning.part(product.m * product.n * tile.type.itemsize)
    sums += _left_bytes(product, kind)
    if product.is_known:
        assert isinstance(panels, int) and isinstance(product.n, int)
        in_place = product.n // tile.columns if _is_read_in_place(product, kind) else 0
        return sums + _packed_bytes(product, kind, panels - in_place)
    return sums + _most_packed_bytes(product, kind)


def _left_bytes(product: Matrices, kind: ProductKind) -> Size:
    """What the tasks at work pack their rows into, if they do."""
    tile = kind.tile(product.target)
    if kind.is_at_work and product.lhs is not None:
        strides = [abs(stride) for stride in product.lhs if isinstance(stride, int)]
        is_far = len(strides) < 2 or max(strides) >= tiles.FAR_BYTES // tile.type.itemsize
        if 1 in strides and not is_far:
            return 0
    lines = dims.floor_divide(_slice(product, kind) + tile.lanes - 1, tile.lanes) * tile.lanes
    room = lines * tile.rows + packing.overlap(tile, tile.rows)
    steps = product.m * product.n * product.k
    is_small = isinstance(steps, int) and steps < 2 * LIMITS.task_steps
    tasks = _up(product.m, LIMITS.tiles * tile.rows) if is_small else product.threads
    return planning.tasks(room * (LIMITS.tiles * tile.type.itemsize), product.threads, tasks)


def _most_packed_bytes(product: Matrices, kind: ProductKind) -> Size:
    """The same as `_packed_bytes` of a product of which sizes are known only at run time, at most:
    all of the right operand, or what the last cache holds of it, or a single slice.
    """
    tile, target = kind.tile(product.target), product.target
    most, overlap = most_slice(kind, target), packing.overlap(tile, tile.columns)
    width, itemsize = product.n + tile.columns, tile.type.itemsize
    lines = product.k + dims.minimum(product.k, most) + 2 * tile.lanes
    if overlap:
        return planning.part(width * (lines + lines * overlap) * itemsize)
    cached = target.caches.last // LIMITS.last_cache_part
    one_slice = width * ((most + tile.lanes) * itemsize)
    return planning.part(dims.minimum(width * lines * itemsize, dims.maximum(one_slice, cached)))


def _packed_bytes(product: Matrices, kind: ProductKind, panels: Size) -> Size:
    """The slices that are packed at a time, of so many panels."""
    tile, target = kind.tile(product.target), product.target
    depth = _slice(product, kind)
    line_bytes = dims.maximum(panels * (tile.columns * tile.type.itemsize), 1)
    cached = target.caches.last // LIMITS.last_cache_part
    affordable = dims.floor_divide(cached, dims.maximum(line_bytes * depth, 1))
    several = dims.minimum(dims.maximum(affordable, 1), _up(product.k, depth))
    room = depth * tile.columns + packing.overlap(tile, tile.columns)
    bytes = several * panels * room * tile.type.itemsize
    is_on_stack = isinstance(bytes, int) and bytes <= LIMITS.stack_bytes
    return 0 if is_on_stack else planning.part(bytes)


def _slice(product: Matrices, kind: ProductKind) -> Size:
    tile = kind.tile(product.target)
    slices = dims.maximum(_up(product.k, most_slice(kind, product.target)), 1)
    return _up(_up(product.k, slices), tile.lanes) * tile.lanes


def _is_read_in_place(product: Matrices, kind: ProductKind) -> bool:
    """What `blocking` decides of a right operand, all of which is known."""
    if not kind.is_at_work:
        return False
    assert product.rhs is not None
    tile, second = kind.tile(product.target), product.target.caches.second
    m, n, k, down, along, depth = [
        int(size) for size in (product.m, product.n, product.k, *product.rhs, _slice(product, kind))
    ]
    apart = abs(down) * tile.type.itemsize
    has_room = (apart & -apart) * depth <= second
    is_small = n * k * tile.type.itemsize <= second
    is_near = apart <= tiles.FAR_BYTES and has_room and (is_small or m <= LIMITS.few_rows)
    return along == 1 and (is_near or m <= LIMITS.tiles * tile.rows)


# --- matrices times vectors ---------------------------------------------------------------------


def vector_bytes(result: DType, rows: Size, depth: Size, matrix: Strides, vector: Strides) -> Size:
    """What a matrix [rows, depth] times a vector takes: the vector in one piece, if it is not, and
    the sums of parts.
    """
    down, across = (None, None) if matrix is None else matrix
    copied = planning.part(depth * max(result.itemsize, 8))
    sums: Size = 0
    if across != 1 and result is working(result) and result.is_float:
        least = dims.maximum(
            _up(matrix_vector.PART_SIZE, dims.maximum(rows, 1)), matrix_vector.PART_COLUMNS
        )
        columns = dims.maximum(dims.minimum(least, depth), 1)
        parts = dims.maximum(_up(depth, columns), 1)
        sums = planning.part(parts * rows * result.itemsize)
        is_single = isinstance(parts, int) and parts == 1
        sums = 0 if is_single else sums
    return copied + sums


def _up(size: Size, step: Size) -> Size:
    return dims.floor_divide(size + step - 1, step)
