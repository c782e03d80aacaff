"""Products of matrices of real numbers: packed panels times tiles, on several threads.

The code serves all sizes and strides, so it is compiled once and linked to the programs that call
it by `Kind.symbol`:

    weft_gemm_*(run, lhs, rhs, result, task, data, totals, scratch, first, m, n, k, four strides)

`scratch` is the record of memory that is set aside (`emit.scratch`), or null: then the heap is
asked.

`blocking` says how a product is divided, `tasks` has what threads do.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.lower.llvm.emit.arrays import Array, Env, FusedConsumer
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.scratch import Scratch
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.routines.gemm import tasks, tiles
from weft.compiler.lower.llvm.routines.gemm.blocking import (
    LIMITS,
    Arguments,
    Product,
    blocking_of,
    up,
)
from weft.compiler.lower.llvm.routines.gemm.kinds import ProductKind, kind_of
from weft.compiler.lower.llvm.target import Target

_POINTERS: Final = ("run", "lhs", "rhs", "result", "task", "data", "totals", "scratch")
_NUMBERS: Final = ("first", "m", "n", "k", "lhs_row", "lhs_column", "rhs_row", "rhs_column")


def module_of(kind: ProductKind, target: Target | None = None) -> Module:
    """The module of a kind, for a machine; for this one unless told."""
    module = Module(target)
    define(module, kind)
    return module


def call(
    f: Function,
    env: Env,
    lhs: Array,
    rhs: Array,
    result: Array,
    follower: FusedConsumer | None = None,
    totals: V | None = None,
) -> None:
    """The product of [m, k] and [k, n], any strides, into a row-major [m, n]; k is not 0. `totals`
    is where the n sums of the right operand's columns go, if they are wanted.
    """
    kind = kind_of(lhs.dtype, rhs.dtype, result.dtype)
    assert kind is not None
    goes_on = follower or FusedConsumer(f.const(0, PTR), f.const(0, PTR))
    sizes = (goes_on.first, *result.shape, lhs.shape[1], *lhs.strides, *rhs.strides)
    pointers = [env.run, lhs.pointer, rhs.pointer, result.pointer, goes_on.task, goes_on.data]
    pointers.append(totals or f.const(0, PTR))
    pointers.append((env.scratch or Scratch.none(f)).record)
    f.call(kind.symbol, VOID, [*pointers, *[f.const(size, I64) for size in sizes]])


def define(module: Module, kind: ProductKind) -> None:
    """Define the product of a kind, and its tiles, if it has those."""
    tile = kind.tile(module.target)
    if kind.is_at_work:
        tiles.define(module, tile)
    parameters = [*[(x, PTR) for x in _POINTERS], *[(x, I64) for x in _NUMBERS]]
    f = module.function(kind.symbol, VOID, parameters)
    run, *given = f.arguments
    *arrays, planned = given[: len(_POINTERS) - 1]
    numbers = given[len(_POINTERS) - 1 :]
    env = Env(module, run, kind.symbol, [], scratch=Scratch(planned))
    sums = arrays[2]
    if kind.is_narrowed:
        m, n = numbers[1:3]
        sums = env.workspace(f, m * n * tile.type.itemsize)
    product = Product(kind, module.target, Arguments(*[*arrays, *numbers, sums]))
    _build(f, env, product)
    if kind.is_narrowed:
        env.free(f, sums)
    f.ret()


def _build(f: Function, env: Env, product: Product) -> None:
    tile, k = product.tile, product.given.k
    blocking = blocking_of(f, env, product)
    depth, packed_panels = blocking.slice, blocking.packed_panels
    # The slices that are packed at a time fit the last cache, with what else is there.
    line_bytes = f.maximum(packed_panels * (tile.columns * tile.type.itemsize), 1)
    cached = product.machine.caches.last // LIMITS.last_cache_part
    affordable = f.divide(f.const(cached, I64), line_bytes * depth)
    several = f.minimum(f.maximum(affordable, 1), up(f, k, depth))
    room = several * packed_panels * blocking.panel_room * tile.type.itemsize
    few = f.stack(I64, LIMITS.stack_bytes // 8, align=64)
    packed = f.variable(few)
    is_large = room.gt(LIMITS.stack_bytes)
    with f.when(is_large):
        packed.set(env.workspace(f, room))
    with f.range(0, k, several * depth) as start:
        end = f.minimum(start + several * depth, k)
        span = (start, end)
        with f.when(packed_panels.gt(0)):
            tasks.pack_right(f, env, product, blocking, packed.get(), span)
        tasks.multiply(f, env, product, blocking, packed.get(), span)
    with f.when(is_large):
        env.free(f, packed.get())
    with f.when(product.has_more & blocking.groups.ne(1)):
        tasks.go_on(f, env, product)
