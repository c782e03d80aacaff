"""Random loops for the passes that move work out of them: a loop over sequences that carries a
state and sums of products, and one in the other direction over what the first one stacked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import numpy as np

from tests.compiler.ir.making import ops
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType, f64
from weft.compiler.ir.graph import Constant, Graph, Region, Value
from weft.compiler.ir.types import ArrayType

STATE, SQUARE, ROW = (2, 3), (3, 3), (3,)


class Body:
    """The values of a loop's body so far."""

    def __init__(self, random: Random, values: Sequence[Value]) -> None:
        self.random = random
        self.values = list(values)

    def pick(self, shape: tuple[int, ...]) -> Value:
        return self.random.choice([v for v in self.values if v.type.shape == shape])

    def grow(self, count: int) -> None:
        for _ in range(count):
            self.values.append(self.random.choice(STEPS)(self))

    def bounded(self, x: Value) -> Value:
        """A float that stays small however long the loop is; integers may wrap."""
        return ops.tanh(x) if x.type.dtype.is_inexact else x

    def product(self) -> Value:
        """A sum of outer products, written in one of several ways."""
        a, b = self.pick(STATE), self.pick(STATE)
        match self.random.randrange(4):
            case 0:
                return ops.dot_general(a, b, lhs_contract=[0], rhs_contract=[0])
            case 1:
                turned = ops.transpose(a, permutation=(1, 0))
                return ops.dot_general(turned, b, lhs_contract=[1], rhs_contract=[0])
            case 2:
                made = ops.dot_general(a, b, lhs_contract=[0], rhs_contract=[0])
                return ops.neg(ops.transpose(made, permutation=(1, 0)))
            case _:
                row = ops.dot_general(self.pick(ROW), b, lhs_contract=[], rhs_contract=[])
                return ops.reduce_sum(row, axes=(1,))

    def summed(self, total: Value) -> Value:
        """A carry with products and other things added, in any order."""
        for _ in range(self.random.randrange(1, 4)):
            term = self.product()
            if self.random.random() < 0.3:
                term = ops.add(self.product(), term)
            if self.random.random() < 0.3:
                term = self.pick(SQUARE)
            if self.random.random() < 0.2:
                row = self.pick(ROW)
                term = ops.dot_general(row, self.pick(ROW), lhs_contract=[0], rhs_contract=[0])
            match self.random.randrange(3):
                case 0:
                    total = ops.add(total, term)
                case 1:
                    total = ops.add(term, total)
                case _:
                    total = ops.sub(total, term)
        return total


def _elementwise(body: Body) -> Value:
    x = body.pick(body.random.choice([STATE, ROW, SQUARE]))
    y = body.pick(x.type.shape)  # type: ignore[arg-type]
    return body.bounded(body.random.choice([ops.add, ops.sub, ops.mul])(x, y))


def _unary(body: Body) -> Value:
    x = body.pick(STATE)
    two = Constant(np.array(2, x.type.dtype.numpy))
    return ops.neg(x) if body.random.random() < 0.5 else ops.sub(two, ops.mul(x, x))


def _times_weights(body: Body) -> Value:
    made = ops.dot_general(body.pick(STATE), body.pick(SQUARE), lhs_contract=[1], rhs_contract=[0])
    return body.bounded(made)


def _from_the_left(body: Body) -> Value:
    made = ops.dot_general(body.pick(SQUARE), body.pick(ROW), lhs_contract=[0], rhs_contract=[0])
    return body.bounded(made)


def _stretched_row(body: Body) -> Value:
    return ops.broadcast(body.pick(ROW), shape=STATE, dims=(1,))


def _summed_rows(body: Body) -> Value:
    return ops.reduce_sum(body.pick(STATE), axes=(0,))


def _cut_and_joined(body: Body) -> Value:
    x = ops.neg(body.pick(STATE))
    left = ops.slice_(x, starts=(0, 0), limits=(2, 1), strides=(1, 1))
    right = ops.slice_(x, starts=(0, 1), limits=(2, 3), strides=(1, 1))
    zero = Constant(np.array(0, x.type.dtype.numpy))
    pieces = [
        ops.pad(ops.mul(right, right), zero, low=(0, 0), high=(0, 1), interior=(0, 0)),
        ops.pad(ops.neg(left), zero, low=(0, 2), high=(0, 0), interior=(0, 0)),
    ]
    return ops.add(*body.random.sample(pieces, 2))


def _turned(body: Body) -> Value:
    return ops.transpose(body.pick(SQUARE), permutation=(1, 0))


STEPS: list[Callable[[Body], Value]] = [
    _elementwise,
    _unary,
    _times_weights,
    _times_weights,
    _from_the_left,
    _stretched_row,
    _summed_rows,
    _cut_and_joined,
    _turned,
]


def _body(random: Random, dtype: DType, n_steps: int, n_sums: int) -> Region:
    """(weights, row; state, sums; rows, states) -> (state, sums; some values)."""
    builder = Builder()
    shapes = [SQUARE, ROW, STATE, *[SQUARE] * n_sums, ROW, *[STATE] * n_steps]
    values = [builder.parameter(ArrayType(dtype, shape)) for shape in shapes]
    sums = values[3 : 3 + n_sums]
    with builder.active():
        body = Body(random, [*values[:3], *values[3 + n_sums :]])
        if random.random() < 0.2:
            body.values += sums
        body.grow(random.randrange(2, 10))
        state = body.bounded(body.pick(STATE))
        next_sums = [body.summed(total) for total in sums]
        outs = [body.pick(STATE) for _ in range(random.randrange(1, 4))]
        more = [random.choice(body.values)] if random.random() < 0.5 else []
    return builder.region([state, *next_sums, *outs, *more])


def random_loops(random: Random, dtype: DType = f64, length: Size | None = None) -> Graph:
    """A loop, elementwise work on what it stacks, and a loop over that."""
    if length is None:
        length = random.choice([0, 1, 5, 6])
    builder = Builder()
    n_sums = random.randrange(3)
    shapes = {"w": SQUARE, "row": ROW, "h": STATE, "rows": (length, *ROW), "x": (length, *STATE)}
    w, row, h, rows, x = [builder.parameter(ArrayType(dtype, s), n) for n, s in shapes.items()]
    reverse = random.random() < 0.5

    def loop(sequences: Sequence[Value], reverse: bool) -> tuple[Value, ...]:
        body = _body(random, dtype, len(sequences), n_sums)
        attributes = {"n_consts": 2, "n_carry": 1 + n_sums, "length": length, "reverse": reverse}
        return ops.scan.emit(
            w, row, h, *[w] * n_sums, rows, *sequences, regions=[body], **attributes
        )

    with builder.active():
        first = loop([x], reverse)
        stacks = [v for v in first[1 + n_sums :] if v.type.shape[1:] == STATE]
        read = [*stacks, ops.neg(stacks[0]), ops.mul(x, stacks[-1]), x]
        read = [random.choice(read) for _ in range(3)]
        second = loop(read, not reverse)
    return builder.graph("loops", [*first, *second])
