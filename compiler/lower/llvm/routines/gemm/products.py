"""Matrix products by the strategies that `strategy` chooses, and the loops for the small ones.

Where the run tells sizes, one function per combination of dtypes chooses then.

A panel is a strip of the right operand, as wide as a vector, packed line by line; four rows of the
left operand are multiplied with it at a time. Convolutions fill panels of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from weft.compiler.lower.llvm.emit.arrays import (
    Array,
    Element,
    Env,
    FusedConsumer,
    contiguous,
    plus,
    times,
)
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.scratch import Scratch
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.routines.common import copies, rows, sizes
from weft.compiler.lower.llvm.routines.common.elements import (
    ElementCell,
    number,
    read,
    splat,
    write,
)
from weft.compiler.lower.llvm.routines.gemm import blas, gemm
from weft.compiler.lower.llvm.routines.gemm.matrix_vector import multiply_vector
from weft.compiler.lower.llvm.routines.gemm.strategy import (
    SHALLOW,
    SMALL,
    SMALL_DEPTH,
    Kinds,
    Strategy,
    widths,
)
from weft.compiler.record import record

_ROWS: Final = 4  # rows of a tile
# The rows of a block that BLAS multiplies are half of all, as a multiple of a unit, between two
# bounds: below, packing the right operand for each block takes a tenth of the time; above, several
# threads have too few blocks. The columns matter less.
_BLOCK_ROWS: Final = (64, 256)
_BLOCK_UNIT: Final = 8
_WIDE: Final = 512


def multiply(
    f: Function,
    env: Env,
    strategy: Strategy,
    lhs: Array,
    rhs: Array,
    result: Array,
    follower: FusedConsumer | None = None,
    totals: V | None = None,
) -> None:
    """The product of a matrix [m, k] and a matrix [k, n] into a row-major one [m, n], by a
    strategy; a follower goes on with its rows. The sums of the right one's columns go to `totals`,
    if that is given.
    """
    kinds = Kinds(lhs.dtype, rhs.dtype, result.dtype)
    if totals is not None and strategy.name != "gemm":
        _sum_columns(f, env, rhs, totals)
    _STRATEGIES[strategy.name](f, env, _Product(kinds, lhs, rhs, result, follower, totals))


def _sum_columns(f: Function, env: Env, matrix: Array, totals: V) -> None:
    """The sums of a matrix's columns, as its product with ones."""
    one = f.stack(matrix.type)
    f.store(f.const(1.0, matrix.type), one)
    depth, columns = matrix.shape
    ones = Array(one, matrix.dtype, (depth,), (0,))
    made = contiguous(f, totals, matrix.dtype, (columns,))
    multiply_vector(f, env, copies.turned(matrix), ones, made)


@record
class _Product:
    """What is multiplied."""

    kinds: Kinds
    lhs: Array
    rhs: Array
    result: Array
    follower: FusedConsumer | None = None
    totals: V | None = None


_Build: TypeAlias = Callable[[Function, Env, _Product], None]


def _follow(f: Function, env: Env, product: _Product) -> None:
    """Let a follower go on after the whole product."""
    if product.follower is not None:
        rows = sizes.value(f, product.result.shape[0])
        product.follower.call(f, env.run, f.const(0, I64), rows)


def _follow_at_once(f: Function, env: Env, product: _Product) -> None:
    """Let a follower go on after the whole product, on several threads."""
    if product.follower is not None:
        rows.follow_at_once(f, env, product.follower, *product.result.shape)


def _call(f: Function, env: Env, strategy: str, build: _Build, product: _Product) -> None:
    """Call the function of a strategy, which is built once for its dtypes and for the strides that
    are known to be 1.
    """
    kinds, lhs, rhs, result = product.kinds, product.lhs, product.rhs, product.result
    strides = (*lhs.strides, *rhs.strides)
    ones = "".join("1" if sizes.is_known(x) and x == 1 else "n" for x in strides)
    followed = [] if product.follower is None else ["task", "data"]
    name = f"product.{strategy}.{kinds.name}.{ones}{'.followed' if followed else ''}"
    names: tuple[str, ...] = ("down", "across", "deeper", "along", "rows", "columns", "depth")
    pointers = [(pointer, PTR) for pointer in ("run", "scratch", "lhs", "rhs", "result", *followed)]

    def make(g: Function) -> None:
        run, scratch, x, y, z, *numbers = g.arguments
        follower = None
        if followed:
            task, data, *numbers, first = numbers
            follower = FusedConsumer(task, data, first)
        *steps, count, columns, depth = numbers
        known = [1 if mark == "1" else step for mark, step in zip(ones, steps, strict=True)]
        given = _Product(
            kinds,
            Array(x, kinds.lhs, (count, depth), tuple(known[:2])),
            Array(y, kinds.rhs, (depth, columns), tuple(known[2:])),
            contiguous(g, z, kinds.result, (count, columns)),
            follower,
        )
        g.attributes = "noinline nounwind"
        build(g, Env(g.module, run, name, [], scratch=Scratch(scratch)), given)
        g.ret()

    names += ("first",) if followed else ()
    rows.shared(f.module, name, VOID, [*pointers, *[(number, I64) for number in names]], make)
    scratch = (env.scratch or Scratch.none(f)).record
    addresses = [env.run, scratch, lhs.pointer, rhs.pointer, result.pointer]
    numbers = [*strides, *result.shape, lhs.shape[1]]
    if product.follower is not None:
        addresses += [product.follower.task, product.follower.data]
        numbers.append(product.follower.first)
    f.call(name, VOID, [*addresses, *[sizes.value(f, number) for number in numbers]])


# --- the ways -----------------------------------------------------------------------------------


def _by_nothing(f: Function, env: Env, product: _Product) -> None:
    return


def _by_writing_out(f: Function, env: Env, product: _Product) -> None:
    _write_out(f, product)
    _follow(f, env, product)


def _by_one_column(f: Function, env: Env, product: _Product) -> None:
    rhs = product.rhs
    vector = Array(rhs.pointer, rhs.dtype, rhs.shape[:1], rhs.strides[:1])
    multiply_vector(f, env, product.lhs, vector, product.result)
    _follow(f, env, product)


def _by_one_row(f: Function, env: Env, product: _Product) -> None:
    lhs = product.lhs
    vector = Array(lhs.pointer, lhs.dtype, lhs.shape[1:], lhs.strides[1:])
    multiply_vector(f, env, copies.turned(product.rhs), vector, product.result)
    _follow(f, env, product)


def _by_small(f: Function, env: Env, product: _Product) -> None:
    _call(f, env, "small", _build_small, product)


def _by_panels(f: Function, env: Env, product: _Product) -> None:
    _call(f, env, "panels", _build_panels, product)


def _by_own(f: Function, env: Env, product: _Product) -> None:
    """Our own code for large products."""
    if product.kinds.gemm is not None:
        arrays = product.lhs, product.rhs, product.result
        gemm.call(f, env, *arrays, product.follower, product.totals)
    else:
        _by_panels(f, env, product)


def _by_blas(f: Function, env: Env, product: _Product) -> None:
    """BLAS, or our own code if operands turn out not to fit."""
    operands = product.lhs, product.rhs
    left, right = [blas.laid_out(f, matrix) for matrix in operands]

    def call() -> None:
        with blas.threads_of_call(f, env.run):
            blas.gemm(f, *operands, product.result, left, right)
        _follow_at_once(f, env, product)

    if all(blas.is_fit(matrix) for matrix in operands):
        call()
        return
    with f.otherwise(left.fits & right.fits) as choice:
        call()
        choice.otherwise()
        _by_own(f, env, product)


def _by_blas_blocks(f: Function, env: Env, product: _Product) -> None:
    _call(f, env, "blas.blocks", _build_blas_blocks, product)


def _build_blas_blocks(f: Function, env: Env, product: _Product) -> None:
    """BLAS on one thread for each block of the result, or our own code if operands turn out not to
    fit. The blocks, and so the order of sums, depend on sizes alone.
    """
    lhs, rhs, result = product.lhs, product.rhs, product.result
    left, right = [blas.laid_out(f, matrix) for matrix in (lhs, rhs)]
    with f.otherwise(left.fits & right.fits) as choice:
        count, columns = [sizes.value(f, size) for size in result.shape]
        half = rows.round_up(f, f.divide(count + 1, 2), _BLOCK_UNIT)
        high = f.minimum(f.maximum(f.const(half, I64), _BLOCK_ROWS[0]), _BLOCK_ROWS[1])
        down, across = f.divide(count + high - 1, high), f.divide(columns + (_WIDE - 1), _WIDE)
        steps = high * _WIDE * sizes.value(f, lhs.shape[1])
        with blas.one_thread(f):
            numbers = [across, high]
            rows.parallel(f, env, down * across, steps, [lhs, rhs, result], numbers, _blocks)
        _follow_at_once(f, env, product)
        choice.otherwise()
        _by_own(f, env, product)


def _blocks(
    g: Function, env: Env, begin: V, end: V, arrays: list[Array], numbers: list[Operand]
) -> None:
    """Some blocks of a result, counted along its rows."""
    lhs, rhs, result = arrays
    across, high = [sizes.value(g, number) for number in numbers]
    left, right = [blas.laid_out(g, matrix) for matrix in (lhs, rhs)]
    count, columns = [sizes.value(g, size) for size in result.shape]
    with g.range(begin, end) as block:
        row, column = g.divide(block, across) * high, g.remainder(block, across) * _WIDE
        height, width = g.minimum(high, count - row), g.minimum(columns - column, _WIDE)
        x = lhs.moved(g, g.const(times(g, row, lhs.strides[0]), I64))
        y = rhs.moved(g, g.const(times(g, column, rhs.strides[1]), I64))
        z = result.moved(g, result.position(g, (row, column)))
        blas.gemm(
            g,
            Array(x.pointer, x.dtype, (height, x.shape[1]), x.strides),
            Array(y.pointer, y.dtype, (y.shape[0], width), y.strides),
            Array(z.pointer, z.dtype, (height, width), z.strides),
            left,
            right,
        )


# --- ways that the run chooses ------------------------------------------------------------------


def _chosen(strategy: str, of_matrices: _Build) -> _Build:
    """Products with a vector have their ways, and those of matrices the given one."""

    def build(f: Function, env: Env, product: _Product) -> None:
        count, columns = [sizes.value(f, size) for size in product.result.shape]
        with f.otherwise(columns.eq(1)) as one_column:
            _by_one_column(f, env, product)
            one_column.otherwise()
            with f.otherwise(count.eq(1)) as one_row:
                _by_one_row(f, env, product)
                one_row.otherwise()
                of_matrices(f, env, product)

    def call(f: Function, env: Env, product: _Product) -> None:
        with f.when(f.compare("gt", sizes.value(f, product.result.shape[0]), 0)):
            _call(f, env, strategy, build, product)

    return call


def _unless_small(of_large: _Build) -> _Build:
    """Few elements are multiplied in panels."""

    def build(f: Function, env: Env, product: _Product) -> None:
        shape = (*product.result.shape, product.lhs.shape[1])
        count, columns, depth = [sizes.value(f, size) for size in shape]
        is_small = (count * columns * depth).le(SMALL) & depth.le(SMALL_DEPTH)
        with f.otherwise(is_small) as few:
            _by_small(f, env, product)
            few.otherwise()
            of_large(f, env, product)

    return build


def _by_depth(f: Function, env: Env, product: _Product) -> None:
    """BLAS for sums of more than a few terms."""
    with f.otherwise(sizes.value(f, product.lhs.shape[1]).gt(SHALLOW)) as choice:
        _by_blas_blocks(f, env, product)
        choice.otherwise()
        _by_panels(f, env, product)


_STRATEGIES: Final[Mapping[str, _Build]] = {
    "nothing": _by_nothing,
    "written out": _by_writing_out,
    "one column": _by_one_column,
    "one row": _by_one_row,
    "small": _by_small,
    "panels": _by_panels,
    "gemm": _by_own,
    "blas": _by_blas,
    "blas blocks": _by_blas_blocks,
    "chosen": _chosen("product", _unless_small(_by_own)),
    "chosen complex": _chosen("product.complex", _unless_small(_by_depth)),
    "chosen asked": _chosen("product.asked", _by_blas),
}


# --- written out --------------------------------------------------------------------------------


def _write_out(f: Function, product: _Product) -> None:
    kinds, lhs, rhs, result = product.kinds, product.lhs, product.rhs, product.result
    count, columns, depth = [sizes.known(x) for x in (*result.shape, lhs.shape[1])]
    terms: dict[tuple[int, int], Element] = {}
    for row in range(count):
        for k in range(depth):
            place = lhs.position(f, (row, k))
            terms[row, k] = read(f, lhs, place, 0, kinds.sums)
    first = 0
    for width in widths(kinds, rhs, columns):
        lines = [
            read(f, rhs, rhs.position(f, (k, first)), 0 if width == 1 else width, kinds.sums)
            for k in range(depth)
        ]
        for row in range(count):
            lanes = 0 if width == 1 else width
            total = number(f, 0, kinds.sums, lanes)
            for k in range(depth):
                total = kinds.add(total, splat(f, terms[row, k], lanes), lines[k])
            write(f, result, result.position(f, (row, first)), total, kinds.sums)
        first += width


# --- panels -------------------------------------------------------------------------------------


def _build_small(f: Function, env: Env, product: _Product) -> None:
    """All panels on this thread, with room for one on the stack."""
    panel = f.stack(I64, SMALL_DEPTH * product.kinds.line_bytes // 8, align=64)
    count = _panel_count(f, product)
    _multiply_panels(f, product, panel, f.const(0, I64), count)
    _follow(f, env, product)


def _build_panels(f: Function, env: Env, product: _Product) -> None:
    """Panels on several threads at once."""
    kinds, lhs = product.kinds, product.lhs
    steps = sizes.value(f, lhs.shape[1]) * f.add(sizes.value(f, lhs.shape[0]), kinds.lanes)

    def chunk(
        g: Function, inner: Env, begin: V, end: V, given: list[Array], _: list[Operand]
    ) -> None:
        x, y, z = given
        panel = inner.workspace(g, times(g, x.shape[1], kinds.line_bytes))
        _multiply_panels(g, _Product(kinds, x, y, z), panel, begin, end)
        inner.free(g, panel)

    arrays = [lhs, product.rhs, product.result]
    bytes = times(f, lhs.shape[1], kinds.line_bytes)
    rows.parallel(f, env, _panel_count(f, product), steps, arrays, [], chunk, scratch=bytes)
    _follow(f, env, product)


def _panel_count(f: Function, product: _Product) -> V:
    lanes = product.kinds.lanes
    return f.divide(sizes.value(f, product.result.shape[1]) + (lanes - 1), lanes)


def _multiply_panels(f: Function, product: _Product, panel: V, begin: V, end: V) -> None:
    kinds, rhs, result = product.kinds, product.rhs, product.result
    with f.range(begin, end) as strip:
        first = strip * kinds.lanes
        width = f.minimum(sizes.value(f, result.shape[1]) - first, kinds.lanes)
        place = f.const(times(f, first, rhs.strides[1]), I64)
        _pack(f, kinds, rhs.moved(f, place), width, panel)
        multiply_panel(f, kinds, product.lhs, panel, result.moved(f, first), width)


def _pack(f: Function, kinds: Kinds, rhs: Array, width: V, panel: V) -> None:
    """Lines of `width` elements as lines of a panel, with zeros behind them."""
    is_one = sizes.is_known(rhs.strides[1]) and rhs.strides[1] == 1
    name = f"product.pack.{kinds.rhs}.{kinds.result}.{'1' if is_one else 'n'}"
    numbers = [(number, I64) for number in ("depth", "deeper", "along", "width")]

    def build(g: Function) -> None:
        x, strip, depth, deeper, along, wide = g.arguments
        given = Array(x, kinds.rhs, (depth, wide), (deeper, 1 if is_one else along))
        g.attributes = "noinline nounwind"
        _build_pack(g, kinds, given, wide, strip)

    rows.shared(f.module, name, VOID, [("rhs", PTR), ("panel", PTR), *numbers], build)
    given = (rhs.shape[0], *rhs.strides, width)
    f.call(name, VOID, [rhs.pointer, panel, *[sizes.value(f, number) for number in given]])


def _build_pack(f: Function, kinds: Kinds, rhs: Array, width: V, panel: V) -> None:
    lanes = kinds.lanes
    with f.otherwise(width.eq(lanes) & sizes.equal(f, rhs.strides[1], 1)) as choice:
        with f.range(0, rhs.shape[0]) as k:
            line = read(f, rhs, f.mul(k, rhs.strides[0]), lanes, kinds.sums)
            put_line(f, kinds, panel, k, line)
        choice.otherwise()
        with f.range(0, rhs.shape[0]) as k:
            put_line(f, kinds, panel, k, number(f, 0, kinds.sums, lanes))
            with f.range(0, width) as lane:
                made = read(f, rhs, rhs.position(f, (k, lane)), 0, kinds.sums)
                _put_element(f, kinds, panel, k, lane, made)
    f.ret()


def put_line(f: Function, kinds: Kinds, panel: V, line: V, made: Element) -> None:
    """Store a whole line of a panel."""
    for part, value in enumerate(made if isinstance(made, tuple) else (made,)):
        first = line * (kinds.parts * kinds.lanes) + part * kinds.lanes
        f.store(value, f.element(panel, value.type, first), align=32)


def _put_element(
    f: Function, kinds: Kinds, panel: V, line: V, lane: Operand, made: Element
) -> None:
    """Store one element of a line of a panel."""
    for part, value in enumerate(made if isinstance(made, tuple) else (made,)):
        place = line * (kinds.parts * kinds.lanes) + part * kinds.lanes
        f.store(value, f.element(panel, value.type, plus(f, place, lane)))


def _line(f: Function, kinds: Kinds, panel: V, line: V) -> Element:
    packed = contiguous(f, panel, kinds.sums.real, ())
    first = line * (kinds.parts * kinds.lanes)
    loaded = [
        f.load(
            packed.at(f, first + part * kinds.lanes), packed.type.with_lanes(kinds.lanes), align=32
        )
        for part in range(kinds.parts)
    ]
    return loaded[0] if len(loaded) == 1 else (loaded[0], loaded[1])


def multiply_panel(
    f: Function, kinds: Kinds, lhs: Array, panel: V, result: Array, width: V
) -> None:
    """lhs times a panel, into the first `width` columns of a result with unit stride in them."""
    names = ("rows", "depth", "down", "across", "width", "spacing")
    parameters = [("lhs", PTR), ("panel", PTR), ("result", PTR)] + [(name, I64) for name in names]

    def build(g: Function) -> None:
        g.attributes = "noinline nounwind"
        _build_tiles(g, kinds)

    name = rows.shared(f.module, f"product.tiles.{kinds.name}", VOID, parameters, build)
    numbers = (*lhs.shape, *lhs.strides, width, result.strides[0])
    values = [sizes.value(f, number) for number in numbers]
    f.call(name, VOID, [lhs.pointer, panel, result.pointer, *values])


def _build_tiles(f: Function, kinds: Kinds) -> None:
    """Tiles of four rows. Beyond the last row that one is computed again, which changes nothing."""
    x, panel, y, count, depth, down, across, width, spacing = f.arguments
    lhs = Array(x, kinds.lhs, (count, depth), (down, across))
    result = Array(y, kinds.result, (count, width), (spacing, 1))
    held = Array(f.stack(I64, kinds.line_bytes // 8, align=64), kinds.result, (), ())
    with f.range(0, count, _ROWS) as first:
        picked = [f.minimum(first + row, count - 1) for row in range(_ROWS)]
        totals = [ElementCell(f, number(f, 0, kinds.sums, kinds.lanes)) for _ in picked]
        starts = [lhs.at(f, row * down) for row in picked]
        with f.range(0, depth) as k:
            line = _line(f, kinds, panel, k)
            for start, total in zip(starts, totals, strict=True):
                there = Array(start, kinds.lhs, (), ())
                term = splat(f, read(f, there, k * across, 0, kinds.sums), kinds.lanes)
                total.set(kinds.add(total.get(), term, line))
        with f.otherwise(width.eq(kinds.lanes)) as choice:
            for row, total in zip(picked, totals, strict=True):
                write(f, result, row * spacing, total.get(), kinds.sums)
            choice.otherwise()
            for row, total in zip(picked, totals, strict=True):
                write(f, held, 0, total.get(), kinds.sums)
                with f.range(0, width) as lane:
                    result.store(f, row * spacing + lane, held.load(f, lane))
    f.ret()
