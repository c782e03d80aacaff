"""Steps of random graphs that are more than one loop: reductions, lookups, products, sorting, and
ops with regions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.compiler.ir.making import ops
from tests.compiler.lower.llvm.program.random_graphs import (
    SIMPLE,
    SMALL,
    Program,
    Step,
    has_rank,
    is_integer,
    is_number,
    is_ordered,
    is_real,
)
from weft.compiler.ir import dims
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import bool_, i64
from weft.compiler.ir.graph import Constant, Parameter, Region, Value
from weft.compiler.ir.types import ArrayType

MOST_IN_AXIS = 10_000


def nonempty(size: Size) -> bool:
    return (dims.lower(size) or 0) > 0


def count(program: Program, sizes: Sequence[Size]) -> int:
    return max(1, program.elements(sizes))


# --- along axes ---------------------------------------------------------------------------------


def reduction(program: Program) -> Sequence[Value]:
    x = program.pick(has_rank)
    if x is None:
        return []
    shape, dtype = x.type.shape, x.type.dtype
    axes = [axis for axis in range(len(shape)) if program.chance(0.6)]
    if dtype.is_bool:
        return [program.random.choice([ops.reduce_any, ops.reduce_all])(x, axes=axes)]
    kinds = ["sum", "sum"] + ["prod", "max", "min"] * (not dtype.is_complex)
    kind = program.random.choice(kinds)
    if kind in ("max", "min"):
        axes = [axis for axis in axes if nonempty(shape[axis])]
    if kind == "prod" and not dtype.is_integer:
        x = program.fit(x, 1)
    bound = program.bound(x)
    if kind == "sum":
        x = program.fit(x)
        bound = program.bound(x) * count(program, [shape[axis] for axis in axes])
    made = getattr(ops, f"reduce_{kind}")(x, axes=axes)
    return [program.note(made, math.inf if dtype.is_integer else bound)]


def extreme_place(program: Program) -> Sequence[Value]:
    x = program.pick(lambda value: has_rank(value) and is_real(value))
    if x is None:
        return []
    axis = program.random.randrange(x.type.rank)
    if not nonempty(x.type.shape[axis]):
        return []
    op = program.random.choice([ops.argmax, ops.argmin])
    made = op(x, axis=axis, dtype=program.random.choice(["i64", "i32"]))
    return [program.note(made, MOST_IN_AXIS)]


def cumulative(program: Program) -> Sequence[Value]:
    x = program.pick(lambda value: has_rank(value) and is_real(value))
    if x is None:
        return []
    axis = program.random.randrange(x.type.rank)
    name = program.random.choice(["cumsum", "cumsum", "cumprod", "cummax", "cummin"])
    bound = program.bound(x)
    if name == "cumprod" and not is_integer(x):
        x = program.fit(x, 1)
    if name == "cumsum":
        x = program.fit(x)
        bound = SMALL * count(program, [x.type.shape[axis]])
    made = getattr(ops, name)(x, axis=axis, reverse=program.chance(0.3))
    return [program.note(made, math.inf if is_integer(x) else bound)]


def recurrence(program: Program) -> Sequence[Value]:
    x = program.pick(lambda value: has_rank(value) and value.type.dtype.is_float)
    if x is None:
        return []
    axis = program.random.randrange(x.type.rank)
    factor = program.fit(program.of_type(x.type), 1)
    made = ops.linear_recurrence(factor, program.fit(x), axis=axis, reverse=program.chance(0.3))
    return [program.note(made, SMALL * count(program, [x.type.shape[axis]]))]


def windows(program: Program) -> Sequence[Value]:
    x = program.pick(lambda value: has_rank(value) and is_real(value))
    if x is None or program.special:
        return []
    rank = x.type.rank
    kind = program.random.choice(["sum", "max", "min"])
    x = program.fit(x)
    made = ops.reduce_window(
        x,
        kind=kind,
        window=[program.random.choice([1, 2, 3]) for _ in range(rank)],
        strides=[program.random.choice([1, 1, 2]) for _ in range(rank)],
        padding=[(program.random.randint(0, 1),) * 2 for _ in range(rank)],
        base_dilation=[1] * rank,
        window_dilation=[1] * rank,
    )
    # A window of nothing but padding has an infinite maximum.
    return [made] if kind != "sum" and not is_integer(x) else [program.note(made, SMALL * 81)]


# --- order --------------------------------------------------------------------------------------


def sorting(program: Program) -> Sequence[Value]:
    x = program.pick(lambda value: has_rank(value) and is_number(value))
    if x is None:
        return []
    axis = program.random.randrange(x.type.rank)
    kind = program.random.randrange(3)
    if kind == 0 and is_ordered(x):
        most = min(dims.lower(x.type.shape[axis]) or 0, 20)
        k = program.random.randint(0, most)
        values, places = ops.top_k.emit(x, k=k, axis=axis, largest=program.chance(0.5))
        return [program.note(values, program.bound(x)), program.note(places, MOST_IN_AXIS)]
    others = [v for v in program.values if v.type.shape == x.type.shape]
    operands = [x, *program.random.sample(others, min(len(others), program.random.randint(0, 2)))]
    keys = program.random.randint(1, len(operands))
    made = ops.sort.emit(
        *operands, axis=axis, num_keys=min(keys, 2), descending=program.chance(0.3)
    )
    return [program.note(m, program.bound(o)) for m, o in zip(made, operands, strict=True)]


def search(program: Program) -> Sequence[Value]:
    x = program.pick(lambda value: value.type.rank == 1 and is_real(value))
    if x is None:
        return []
    y = program.pick(lambda value: value.type.dtype is x.type.dtype and has_rank(value))
    (row,) = ops.sort.emit(x, axis=0)
    side = program.random.choice(["left", "right"])
    return [program.note(ops.searchsorted(row, y or x, side=side), MOST_IN_AXIS)]


# --- positions ----------------------------------------------------------------------------------


def places(program: Program, size: Size, mode: str, batch: Size | None = None) -> Value | None:
    """Integers to look up with; inside of the axis for mode raise."""

    def accepts(value: Value) -> bool:
        fits = value.type.rank <= 2 and (batch is None or value.type.shape[:1] == (batch,))
        return is_integer(value) and fits

    found = program.pick(accepts)
    if found is None:
        return None
    if mode != "raise":
        return found
    if not nonempty(size):
        return None
    wide = ops.cast(found, dtype="i64")
    most = Constant(np.int64(size)) if isinstance(size, int) else ops.dim_value(dim=size)
    inside = ops.remainder(wide, most)
    return ops.sub(inside, most) if program.chance(0.2) else inside


def gather(program: Program) -> Sequence[Value]:
    made = indexed(program)
    if made is None:
        return []
    x, indices, options = made
    result = ops.gather(x, *indices, **options)
    return [program.note(result, program.bound(x))]


def scatter(program: Program) -> Sequence[Value]:
    made = indexed(program)
    if made is None:
        return []
    x, indices, options = made
    dtype, bound = x.type.dtype, program.bound(x)
    kinds = ["set", "set"]
    if not dtype.is_bool:
        kinds += ["add", "add"] + ["min", "max", "mul"] * (not dtype.is_complex)
    kind = program.random.choice(kinds)
    rest = [axis for axis in range(x.type.rank) if axis not in options["axes"]]
    kept = [x.type.shape[axis] for axis in rest if axis >= options["batch_dims"]]
    shape = (*indices[0].type.shape, *kept)
    if not program.fits(shape):
        return []
    updates = program.of_type(ArrayType(dtype, shape))
    if kind == "mul" and not dtype.is_integer:
        updates = program.fit(updates, 1)
    if kind == "add":
        updates, x = program.fit(updates), program.fit(x)
        bound = program.bound(x) + 2 * SMALL * count(program, shape)
    elif kind != "mul":
        bound = max(bound, program.bound(updates))
    result = ops.scatter(x, updates, *indices, kind=kind, **options)
    return [program.note(result, math.inf if dtype.is_integer else bound)]


def indexed(program: Program) -> tuple[Value, list[Value], dict[str, Any]] | None:
    """An array, positions in it, and attributes, for gather and scatter."""
    x = program.pick(has_rank)
    if x is None:
        return None
    rank, shape = x.type.rank, x.type.shape
    mode = program.random.choice(["raise", "raise", "clip", "fill"])
    batched = rank > 1 and program.chance(0.3)
    axis = program.random.randrange(int(batched), rank)
    if mode == "clip" and not nonempty(shape[axis]):
        return None
    index = places(program, shape[axis], mode, shape[0] if batched else None)
    if index is None:
        return None
    axes, indices = [axis], [index]
    others = [a for a in range(int(batched), rank) if a != axis and nonempty(shape[a])]
    if others and program.chance(0.3):
        axes.append(program.random.choice(others))
        size = shape[axes[1]]
        room = dims.lower(size) or 1
        wide = ops.cast(index, dtype="i64")
        indices.append(ops.remainder(wide, Constant(np.int64(room))))
    return x, indices, {"axes": axes, "batch_dims": int(batched), "mode": mode}


# --- products -----------------------------------------------------------------------------------


def product(program: Program) -> Sequence[Value]:
    """A sum of products over any axes that fit, with or without batch axes."""
    x = program.pick(lambda value: has_rank(value) and is_number(value))
    if x is None:
        return []
    dtype = x.type.dtype
    y = program.pick(lambda value: has_rank(value) and value.type.dtype is dtype)
    if y is None:
        return []
    pairs: list[tuple[int, int]] = []
    for left in program.random.sample(range(x.type.rank), x.type.rank):
        fitting = [
            right
            for right in range(y.type.rank)
            if y.type.shape[right] == x.type.shape[left] and right not in [r for _, r in pairs]
        ]
        if fitting and program.chance(0.7):
            pairs.append((left, program.random.choice(fitting)))
    batch = pairs[1:] if program.chance(0.4) else []
    contract = [pair for pair in pairs if pair not in batch]
    free = x.type.rank + y.type.rank - 2 * len(pairs) + len(batch)
    if free > 3:
        return []
    x, y = program.fit(x), program.fit(y)
    made = ops.dot_general(
        x,
        y,
        lhs_contract=[left for left, _ in contract],
        rhs_contract=[right for _, right in contract],
        lhs_batch=[left for left, _ in batch],
        rhs_batch=[right for _, right in batch],
    )
    terms = count(program, [x.type.shape[left] for left, _ in contract])
    bound = 2 * max(program.bound(x), 1) * max(program.bound(y), 1) * terms
    return [program.note(made, math.inf if is_integer(x) else bound)]


def convolution(program: Program) -> Sequence[Value]:
    x = program.pick(lambda value: value.type.rank == 2 and value.type.dtype.is_float)
    if x is None or program.special or not all(isinstance(size, int) for size in x.type.shape):
        return []
    image = ops.reshape(program.fit(x), shape=[1, 1, *x.type.shape])
    random = np.random.default_rng(program.random.randrange(100))
    kernel = Constant(random.integers(-2, 3, (2, 1, 2, 3)).astype(x.type.dtype.numpy))
    made = ops.convolution(
        image,
        kernel,
        strides=[1, program.random.choice([1, 2])],
        padding=[(1, 1), (program.random.randint(0, 2), 1)],
        lhs_dilation=[1, 1],
        rhs_dilation=[1, program.random.choice([1, 2])],
    )
    return [program.note(made, 2 * SMALL * 6)]


WHOLE: list[Step] = [
    *[reduction, reduction, reduction, extreme_place, cumulative, recurrence, windows],
    *[sorting, search, gather, gather, scatter, scatter, product, product, convolution],
]


# --- regions ------------------------------------------------------------------------------------


def body(program: Program, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> Region:
    """A random region of these types, with operands and results of small numbers."""
    builder = Builder()
    inner = Program(program.random, program.depth - 1, program.n, program.special, program.most)
    inner.values = [inner.note(builder.parameter(type), 2 * SMALL) for type in types]
    with builder.active():
        inner.grow(program.random.randint(1, 6), ALL)
        made = [inner.fit(inner.of_type(type, new=0.1)) for type in results]
    return builder.region(made)


def some(program: Program, least: int, most: int) -> list[Value]:
    """Operands of a region: values of small numbers."""
    wanted = min(program.random.randint(least, most), len(program.values))
    return [program.fit(value) for value in program.random.sample(program.values, wanted)]


def noted(program: Program, made: Sequence[Value]) -> list[Value]:
    return [program.note(value, 2 * SMALL) for value in made]


def call(program: Program) -> Sequence[Value]:
    if not program.depth:
        return []
    operands = some(program, 1, 3)
    types = [value.type for value in operands]
    inside = body(program, types, types[:2])
    if program.chance(0.5):
        return noted(program, ops.call.emit(*operands, function="f", regions=[inside]))
    return noted(program, ops.checkpoint.emit(*operands, regions=[inside]))


def switch(program: Program) -> Sequence[Value]:
    index = program.pick(lambda v: not v.type.rank and (is_integer(v) or v.type.dtype is bool_))
    if not program.depth or index is None:
        return []
    operands = some(program, 1, 3)
    types = [value.type for value in operands]
    several = 2 if index.type.dtype is bool_ else program.random.randint(1, 3)
    branches = [body(program, types, types[:2]) for _ in range(several)]
    return noted(program, ops.switch.emit(index, *operands, regions=branches))


def scan(program: Program) -> Sequence[Value]:
    if not program.depth:
        return []
    consts, carry = some(program, 0, 2), some(program, 1, 2)
    first = program.pick(has_rank)
    length: Size = program.random.choice([0, 1, 3, 9])
    sequences: list[Value] = []
    if first is not None and program.chance(0.6) and program.size(first.type.shape[0]) <= 33:
        length = first.type.shape[0]
        same = [v for v in program.values if has_rank(v) and v.type.shape[0] == length]
        sequences = [program.fit(v) for v in program.random.sample(same, min(2, len(same)))]
    steps = [v.type.with_shape(v.type.shape[1:]) for v in sequences]
    types = [*[v.type for v in (*consts, *carry)], *steps]
    results = [v.type for v in carry]
    inside = body(program, types, [*results, *(results + steps)[:1]])
    made = ops.scan.emit(
        *consts,
        *carry,
        *sequences,
        n_consts=len(consts),
        n_carry=len(carry),
        length=length,
        reverse=program.chance(0.3),
        regions=[inside],
    )
    return noted(program, made)


def while_(program: Program) -> Sequence[Value]:
    """A loop of a few steps; how many, a constant says or an array of the program."""
    if not program.depth:
        return []
    consts, carry = some(program, 0, 2), some(program, 1, 2)
    types = [v.type for v in (*consts, *carry)]
    inside = body(program, types, types[len(consts) :])
    number = ArrayType(i64)
    found = program.pick(lambda value: value.type == number)
    most = Constant(np.int64(3)) if found is None else program.fit(found)

    def of(write: Callable[[list[Parameter]], list[Value]]) -> Region:
        builder = Builder()
        parameters = [builder.parameter(type) for type in (number, *types[: len(consts)], number)]
        parameters += [builder.parameter(type) for type in types[len(consts) :]]
        with builder.active():
            return builder.region(write(parameters))

    def step(p: list[Parameter]) -> list[Value]:
        from weft.compiler.ops.regions import inline_here

        own = [*p[1 : len(consts) + 1], *p[len(consts) + 2 :]]
        counter = ops.add(p[len(consts) + 1], Constant(np.int64(1)))
        return [counter, *inline_here(inside, own)]

    def condition(p: list[Parameter]) -> list[Value]:
        return [ops.lt(p[len(consts) + 1], p[0])]

    made = ops.while_.emit(
        *[most, *consts, Constant(np.int64(0)), *carry],
        n_consts=len(consts) + 1,
        regions=[of(condition), of(step)],
    )
    return noted(program, made[1:])


ALL: list[Step] = [*SIMPLE, *SIMPLE, *WHOLE, *[call, switch, scan, while_]]
