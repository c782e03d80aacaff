"""Random programs for the passes: arithmetic, views, products, lookups, loops and branches.

Everything is bounded and continuous in the floats, so that a change of rounding stays one: floats
are compared only where they enter, and exponentials get small arguments only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from tests.compiler.ir.making import ops
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dtypes import bool_, f64, i64
from weft.compiler.ir.graph import Constant, Graph, Parameter, Region, Value
from weft.compiler.ir.types import ArrayType, Shape

SHAPES: list[Shape] = [(), (3,), (2, 3), (3, 3), (3, 1), (1, 3), (2, 3, 2)]
F64, I64 = [[ArrayType(dtype, shape) for shape in SHAPES] for dtype in (f64, i64)]


class Program:
    """Values so far, and what can be done with them next."""

    def __init__(self, random: Random, depth: int) -> None:
        self.random = random
        self.depth = depth
        self.values: list[Value] = []

    def pick(self, accepts: Callable[[Value], bool]) -> Value | None:
        found = [value for value in self.values if accepts(value)]
        return self.random.choice(found) if found else None

    def of_type(self, type: ArrayType) -> Value:
        """Any value of a type; a constant if there is none."""
        found = self.pick(lambda value: value.type == type)
        return self.number(type) if found is None or self.random.random() < 0.2 else found

    def number(self, type: ArrayType) -> Value:
        """A constant that rules look for: one number of few, or an array of such."""
        few: list[Any] = [0, 1, 2, -1, 4] if type.dtype is i64 else [0.0, -0.0, 1.0, 2.0, 0.5]
        if self.random.random() < 0.7:
            return Constant(np.array(self.random.choice(few), type.dtype.numpy))
        shape = tuple([int(size) for size in type.shape])
        items = [self.random.choice(few) for _ in range(int(np.prod(shape)))]
        return Constant(np.array(items, type.dtype.numpy).reshape(shape))

    def grow(self, steps: int) -> None:
        for _ in range(steps):
            made = self.random.choice(STEPS)(self)
            self.values += [made] if isinstance(made, Value) else made


def is_float(value: Value) -> bool:
    return value.type.dtype is f64


def is_integer(value: Value) -> bool:
    return value.type.dtype is i64


# --- elementwise --------------------------------------------------------------------------------


def small(x: Value) -> Value:
    return ops.tanh(x)


UNARY: list[Callable[[Value], Value]] = [
    ops.neg,
    ops.abs_,
    ops.sin,
    ops.tanh,
    ops.sigmoid,
    ops.stop_gradient,
    lambda x: ops.exp(small(x)),
    lambda x: ops.log(ops.add(Constant(np.float64(1)), ops.exp(small(x)))),
    lambda x: ops.div(
        Constant(np.float64(1)), ops.add(ops.exp(ops.neg(small(x))), Constant(np.float64(1)))
    ),
    lambda x: ops.pow_(small(x), Constant(np.float64(2))),
    lambda x: ops.cast(ops.cast(x, dtype="c128"), dtype="f64"),
]


def unary(program: Program) -> Sequence[Value]:
    x = program.pick(is_float)
    return [] if x is None else [program.random.choice(UNARY)(x)]


def binary(program: Program) -> Sequence[Value]:
    x = program.pick(is_float)
    if x is None:
        return []
    y = program.of_type(x.type)
    op = program.random.choice([ops.add, ops.sub, ops.mul, ops.maximum, ops.minimum])
    pair = (x, y) if program.random.random() < 0.5 else (y, x)
    return [small(op(*pair)) if program.random.random() < 0.3 else op(*pair)]


def quotient(program: Program) -> Sequence[Value]:
    x = program.pick(is_float)
    divisor = Constant(np.float64(program.random.choice([1, 2, 3, -4])))
    return [] if x is None else [ops.div(x, divisor)]


def integers(program: Program) -> Sequence[Value]:
    x = program.pick(is_integer)
    if x is None:
        return []
    names = ["add", "sub", "mul", "and", "or", "xor", "maximum", "floor_divide", "remainder"]
    op = getattr(ops, program.random.choice(names))
    y = program.of_type(x.type)
    return [op(x, y) if program.random.random() < 0.7 else op(y, x)]


def choice(program: Program) -> Sequence[Value]:
    x = program.pick(is_integer)
    y = None if x is None else program.pick(lambda v: is_float(v) and v.type.shape == x.type.shape)
    if x is None or y is None:
        return []
    name = program.random.choice(["lt", "le", "gt", "ge", "eq", "ne"])
    asked = getattr(ops, name)(x, program.of_type(x.type))
    if program.random.random() < 0.3:
        asked = ops.not_(asked)
    return [ops.select(asked, y, program.of_type(y.type))]


# --- views and sums -----------------------------------------------------------------------------


def view(program: Program) -> Sequence[Value]:
    x = program.pick(lambda value: is_float(value) and value.type.rank > 0)
    if x is None or 0 in x.type.shape:
        return []
    rank, sizes = x.type.rank, [int(size) for size in x.type.shape]
    random = program.random
    zeros, ones = [0] * rank, [1] * rank
    makers: list[Callable[[], Value]] = [
        lambda: ops.transpose(x, permutation=random.sample(range(rank), rank)),
        lambda: ops.reverse(x, axes=[random.randrange(rank)]),
        lambda: ops.reshape(x, shape=[int(np.prod(sizes))]),
        lambda: ops.reshape(x, shape=[1, *sizes]),
        lambda: ops.reshape(ops.reduce_sum(x, axes=range(rank)), shape=[1]),
        lambda: ops.reshape(ops.slice_(x, starts=zeros, limits=ones, strides=ones), shape=()),
        lambda: ops.broadcast(x, shape=[2, *sizes], dims=range(1, rank + 1)),
        lambda: ops.slice_(x, starts=zeros, limits=sizes, strides=[random.choice([1, 2])] * rank),
        lambda: ops.pad(x, Constant(np.float64(0)), low=zeros, high=zeros, interior=zeros),
        lambda: ops.concatenate(x, x, axis=random.randrange(rank)),
        lambda: ops.broadcast(ops.reduce_sum(x, axes=range(rank)), shape=sizes, dims=()),
    ]
    made = random.choice(makers)()
    return [made] if made.type.rank <= 4 and made.type.size <= 200 else []


def reduction(program: Program) -> Sequence[Value]:
    x = program.pick(lambda value: is_float(value) and value.type.rank > 0)
    if x is None or 0 in x.type.shape:
        return []
    axes = [axis for axis in range(x.type.rank) if program.random.random() < 0.6]
    kind = program.random.choice([ops.reduce_sum, ops.reduce_max])
    return [small(kind(x, axes=axes))]


def softmax(program: Program) -> Sequence[Value]:
    x = program.pick(lambda value: is_float(value) and value.type.rank == 2)
    if x is None:
        return []
    top = ops.exp(x if program.random.random() < 0.2 else small(x))
    total = ops.broadcast(ops.reduce_sum(top, axes=(1,)), shape=x.type.shape, dims=(0,))
    share = ops.div(top, total)
    return [share, ops.log(share)]


def product(program: Program) -> Sequence[Value]:
    x = program.pick(lambda value: is_float(value) and value.type.rank > 0)
    if x is None:
        return []
    axis = program.random.randrange(x.type.rank)
    size = x.type.shape[axis]
    y = program.pick(lambda value: is_float(value) and size in value.type.shape)
    if y is None or x.type.rank + y.type.rank > 5:
        return []
    made = ops.dot_general(
        small(x), y, lhs_contract=[axis], rhs_contract=[y.type.shape.index(size)]
    )
    return [small(made)]


def lookup(program: Program) -> Sequence[Value]:
    labels = program.pick(lambda value: is_integer(value) and value.type.rank == 1)
    table = program.of_type(ArrayType(f64, (3, 3)))
    if labels is None or not table.type.rank:
        return []
    rows = labels.type.shape[0]
    spread = ops.broadcast(labels, shape=(rows, 3), dims=(0,))
    counted = ops.iota(dtype="i64", shape=(rows, 3), axis=1)
    mask = ops.cast(ops.eq(spread, counted), dtype="f64")
    return [ops.dot_general(mask, table, lhs_contract=[1], rhs_contract=[0])]


# --- regions ------------------------------------------------------------------------------------


def body(
    program: Program, types: Sequence[ArrayType], results: Sequence[ArrayType], steps: int = 5
) -> Region:
    """A random region of these types."""
    builder = Builder()
    inner = Program(program.random, program.depth - 1)
    inner.values = [builder.parameter(type) for type in types]
    with builder.active():
        inner.grow(steps)
        made = [_made(inner, type) for type in results]
    return builder.region(made)


def _made(program: Program, type: ArrayType) -> Value:
    found = program.pick(lambda value: value.type == type)
    if found is None:
        zero = Constant(np.zeros((), type.dtype.numpy))
        return ops.broadcast(zero, shape=type.shape, dims=())
    return small(found) if is_float(found) else found


def _types(program: Program, least: int, most: int) -> list[Value]:
    usable = [value for value in program.values if value.type.dtype in (f64, i64)]
    count = min(program.random.randint(least, most), len(usable))
    return program.random.sample(usable, count)


def call(program: Program) -> Sequence[Value]:
    if not program.depth:
        return []
    operands = _types(program, 1, 3)
    types = [value.type for value in operands]
    inside = body(program, types, types[:2])
    if program.random.random() < 0.5:
        return ops.call.emit(*operands, function="f", regions=[inside])
    return ops.checkpoint.emit(*operands, regions=[inside])


def switch(program: Program) -> Sequence[Value]:
    index = program.pick(lambda value: is_integer(value) and not value.type.rank)
    if not program.depth or index is None:
        return []
    operands = _types(program, 1, 3)
    types = [value.type for value in operands]
    branches = [body(program, types, types[:2]) for _ in range(2)]
    chosen = index if program.random.random() < 0.7 else Constant(np.int64(1))
    return ops.switch.emit(chosen, *operands, regions=branches)


def scan(program: Program) -> Sequence[Value]:
    if not program.depth:
        return []
    consts, carry = _types(program, 0, 3), _types(program, 1, 2)
    if program.random.random() < 0.3:
        consts.append(Constant(np.full((3, 3), 0.5)))
    sequences = [v for v in _types(program, 0, 2) if v.type.shape[:1] == (3,)]
    steps = [v.type.with_shape(v.type.shape[1:]) for v in sequences]
    types = [*[v.type for v in (*consts, *carry)], *steps]
    results = [v.type for v in carry]
    inside = body(program, types, [*results, *results[:1]], steps=8)
    return ops.scan.emit(
        *consts,
        *carry,
        *sequences,
        n_consts=len(consts),
        n_carry=len(carry),
        length=3 if sequences else program.random.choice([0, 1, 3, 9]),
        reverse=program.random.random() < 0.3,
        regions=[inside],
    )


def while_(program: Program) -> Sequence[Value]:
    """A loop of three steps, whose condition reads a constant of the loop too."""
    if not program.depth:
        return []
    consts, carry = _types(program, 0, 2), _types(program, 1, 2)
    types = [v.type for v in (*consts, *carry)]
    count = ArrayType(i64)

    def of(write: Callable[[list[Parameter]], list[Value]]) -> Region:
        builder = Builder()
        parameters = [builder.parameter(type) for type in (*types[: len(consts)], count)]
        parameters += [builder.parameter(type) for type in types[len(consts) :]]
        with builder.active():
            return builder.region(write(parameters))

    inside = body(program, types, types[len(consts) :])

    def step(p: list[Parameter]) -> list[Value]:
        from weft.compiler.ops.regions import inline_here

        own = [*p[: len(consts)], *p[len(consts) + 1 :]]
        counter = ops.add(p[len(consts)], Constant(np.int64(1)))
        return [counter, *inline_here(inside, own)]

    def condition(p: list[Parameter]) -> list[Value]:
        limit = ops.add(Constant(np.int64(1)), Constant(np.int64(2)))
        if consts and types[0].dtype is f64:
            total = ops.reduce_sum(ops.abs_(p[0]), axes=range(types[0].rank))
            asked = ops.ge(total, Constant(np.float64(0)))
            return [ops.and_(ops.lt(p[len(consts)], limit), asked)]
        return [ops.lt(p[len(consts)], limit)]

    start = Constant(np.int64(0))
    made = ops.while_.emit(
        *consts, start, *carry, n_consts=len(consts), regions=[of(condition), of(step)]
    )
    return made[1:]


STEPS: list[Callable[[Program], Sequence[Value]]] = [
    *[unary, binary, binary, view, view] * 2,
    quotient,
    integers,
    choice,
    reduction,
    softmax,
    product,
    product,
    lookup,
    call,
    switch,
    scan,
    while_,
]


def random_program(random: Random, steps: int = 15) -> Graph:
    """A valid graph whose operands have no symbolic sizes."""
    builder = Builder()
    program = Program(random, depth=2)
    types = [random.choice(F64), ArrayType(f64, (3, 3)), random.choice(I64), ArrayType(i64)]
    types += [ArrayType(f64, (3,)), ArrayType(i64, (3,)), ArrayType(f64, (2, 3))]
    program.values = [builder.parameter(type, f"x{n}") for n, type in enumerate(types)]
    with builder.active():
        program.grow(steps)
    made = [value for value in program.values if value.type.dtype is not bool_]
    return builder.graph("random", random.sample(made, min(4, len(made))))


def random_arguments(made: Graph, seed: int) -> list[Any]:
    """Arrays for its parameters."""
    random = np.random.default_rng(seed)
    return [
        random.integers(-2, 5, p.type.shape)
        if p.type.dtype is i64
        else np.asarray(random.standard_normal(p.type.shape))
        for p in made.parameters
    ]
