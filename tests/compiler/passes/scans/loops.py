"""Graphs for the passes that move work between loops: each the smallest that a pass is for, and
what it must leave alone.
"""

from __future__ import annotations

from tests.compiler.ir.making import graph, number, ops, region
from weft.compiler.ir.graph import Graph, Value

X = {"x": "f32[2, 3]"}


def stretched(x: Value, *shape: int) -> Value:
    return ops.broadcast(x, shape=shape, dims=())


def times(x: Value, w: Value) -> Value:
    return ops.dot_general(x, w, lhs_contract=[x.type.rank - 1], rhs_contract=[0])


def part(x: Value, axis: int, start: int, limit: int) -> Value:
    starts, limits = [0] * x.type.rank, list(x.type.shape)
    starts[axis], limits[axis] = start, limit
    return ops.slice_(x, starts=starts, limits=limits, strides=[1] * x.type.rank)


def padded(x: Value, low: int, high: int) -> Value:
    return ops.pad(x, number(0), low=(0, low), high=(0, high), interior=(0, 0))


def cut_gates() -> Graph:
    def write(x: Value, y: Value, b: Value) -> Value:
        whole = ops.mul(ops.add(x, y), ops.broadcast(b, shape=(2, 6), dims=(1,)))
        return ops.mul(ops.sigmoid(part(whole, 1, 0, 3)), ops.tanh(part(whole, 1, 3, 6)))

    return graph({"x": "f32[2, 6]", "y": "f32[2, 6]", "b": "f32[6]"}, write)


def padded_neighbours() -> Graph:
    """Three in a row between zeros, in any order, one apart, and one over another."""

    def write(x: Value, y: Value, z: Value) -> Value:
        row = ops.add(ops.add(padded(z, 6, 4), padded(x, 1, 9)), padded(y, 4, 7))
        return ops.add(ops.add(row, padded(x, 9, 1)), padded(y, 2, 9))

    return graph({"x": "f32[2, 3]", "y": "f32[2, 2]", "z": "f32[2, 3]"}, write)


def recurrent_gradient() -> Graph:
    """What the backward loop of an RNN does: sums of products in carries, one with a rest."""

    def step(
        w: Value, dw: Value, db: Value, du: Value, g: Value, x: Value, h: Value
    ) -> list[Value]:
        new = times(ops.mul(g, h), w)
        outer = ops.dot_general(x, new, lhs_contract=[0], rhs_contract=[0])
        turned = ops.dot_general(
            ops.transpose(h, permutation=(1, 0)), g, lhs_contract=[1], rhs_contract=[0]
        )
        added = ops.add(ops.sub(w, turned), du)
        return [ops.add(outer, dw), ops.add(db, ops.reduce_sum(new, axes=(0,))), added, new]

    types = ["f32[3, 3]", "f32[4, 3]", "f32[3]", "f32[3, 3]", "f32[2, 3]", "f32[2, 4]", "f32[2, 3]"]
    body = region(types, step)

    def write(w: Value, g: Value, x: Value, h: Value) -> list[Value]:
        zeros = [stretched(number(0), 4, 3), stretched(number(0), 3), w]
        made = ops.scan.emit(
            w, *zeros, g, x, h, n_consts=1, n_carry=4, length=9, reverse=True, regions=[body]
        )
        return list(made)

    parameters = {"w": "f32[3, 3]", "g": "f32[2, 3]", "x": "f32[9, 2, 4]", "h": "f32[9, 2, 3]"}
    return graph(parameters, write)


def recurrent() -> Graph:
    """An RNN with a layer before it, a product from the left and one that no next step needs."""

    def step(w: Value, u: Value, v: Value, h: Value, x: Value) -> list[Value]:
        given = times(ops.tanh(times(x, w)), u)
        left = ops.dot_general(v, x, lhs_contract=[1], rhs_contract=[0])
        new = ops.tanh(ops.add(ops.add(given, left), times(h, u)))
        return [new, ops.exp(times(new, v)), ops.sin(x)]

    body = region(["f32[3, 3]", "f32[3, 3]", "f32[3, 3]", "f32[3]", "f32[3]"], step)

    def write(w: Value, u: Value, v: Value, h: Value, x: Value) -> list[Value]:
        made = ops.scan.emit(w, u, v, h, x, n_consts=3, n_carry=1, length=9, regions=[body])
        return list(made)

    square = dict.fromkeys("wuv", "f32[3, 3]")
    return graph({**square, "h": "f32[3]", "x": "f32[9, 3]"}, write)


def residuals() -> Graph:
    """A loop that scans what follows from what else it scans, and a value twice."""

    def forward(h: Value, x: Value) -> list[Value]:
        y = ops.tanh(ops.add(h, x))
        return [y, y, ops.sub(number(1), ops.mul(y, y)), ops.exp(x), y]

    def backward(
        g: Value, y: Value, slope: Value, e: Value, more: Value, again: Value
    ) -> list[Value]:
        total = ops.add(ops.mul(g, slope), ops.mul(ops.add(y, e), ops.mul(more, again)))
        return [total]

    def write(h: Value, x: Value) -> Value:
        body = region(["f32[3]", "f32[3]"], forward)
        _, y, slope, e, again = ops.scan.emit(h, x, n_carry=1, length=9, regions=[body])
        body = region(["f32[3]"] * 6, backward)
        more = ops.mul(ops.exp(y), stretched(number(2), 9, 3))
        given = (y, slope, e, more, again)
        return ops.scan.emit(h, *given, n_carry=1, length=9, reverse=True, regions=[body])[0]

    return graph({"h": "f32[3]", "x": "f32[9, 3]"}, write)


def same_in_all_steps() -> Graph:
    """A sequence that is a stretched row, and an out that is a turned constant."""

    def step(w: Value, h: Value, row: Value) -> list[Value]:
        return [ops.add(h, row), ops.transpose(w, permutation=(1, 0))]

    body = region(["f32[2, 3]", "f32[3]", "f32[3]"], step)

    def write(w: Value, h: Value, row: Value) -> list[Value]:
        rows = ops.broadcast(row, shape=(9, 3), dims=(1,))
        return list(ops.scan.emit(w, h, rows, n_consts=1, n_carry=1, length=9, regions=[body]))

    return graph({"w": "f32[2, 3]", "h": "f32[3]", "row": "f32[3]"}, write)


# --- left alone -----------------------------------------------------------------------------------


def cut_in_other_ways() -> Graph:
    """Slices that overlap, that products read, that are not all, and one alone."""

    def write(x: Value, y: Value) -> list[Value]:
        overlapping, read, returned, once = (op(x) for op in (ops.exp, ops.sin, ops.cos, ops.tanh))
        twice = ops.add(part(overlapping, 1, 0, 4), part(overlapping, 1, 2, 6))
        product = times(part(read, 1, 0, 2), times(y, part(read, 1, 2, 6)))
        rest = ops.mul(part(returned, 1, 0, 3), part(returned, 1, 3, 6))
        return [twice, product, rest, returned, ops.neg(part(once, 1, 1, 3))]

    return graph({"x": "f32[2, 6]", "y": "f32[2, 2]"}, write)


def padded_apart() -> Graph:
    """Arrays with a gap, over each other, between ones, along two axes, and with crops."""

    def write(x: Value, y: Value) -> list[Value]:
        gap = ops.add(padded(x, 0, 4), padded(x, 4, 0))
        over = ops.add(padded(x, 0, 2), padded(x, 2, 0))
        one = {"interior": (0, 0), "low": (0, 3), "high": (0, 0)}
        ones = ops.add(ops.pad(x, number(1), **one), padded(x, 0, 3))
        both = ops.pad(y, number(0), low=(1, 3), high=(0, 0), interior=(0, 0))
        corner = ops.add(both, padded(x, 0, 3))
        crop = ops.pad(x, number(0), low=(0, 3), high=(0, -1), interior=(0, 0))
        return [gap, over, ones, corner, ops.add(crop, padded(x, 0, 2))]

    return graph({**X, "y": "f32[1, 3]"}, write)


def sums_that_stay() -> Graph:
    """A carry that a step reads, one that is scaled, one that is stacked, a product that is used
    otherwise, and a sum of numbers that no product makes.
    """

    def step(*values: Value) -> list[Value]:
        read, scaled, seen, shared, plain, h, x = values
        outer = ops.dot_general(x, h, lhs_contract=[0], rhs_contract=[0])
        other = ops.dot_general(h, h, lhs_contract=[0], rhs_contract=[0])
        next_seen = ops.add(seen, ops.dot_general(x, x, lhs_contract=[0], rhs_contract=[0]))
        new = ops.tanh(ops.add(times(h, read), times(x, other)))
        kept = ops.add(shared, other)
        halved = ops.add(ops.mul(scaled, number(0.5)), outer)
        return [ops.add(read, outer), halved, next_seen, kept, ops.add(plain, new), new, next_seen]

    square = ["f32[3, 3]"] * 4
    body = region([*square, *["f32[2, 3]"] * 3], step)

    def write(w: Value, h: Value, x: Value) -> list[Value]:
        start = [w, w, w, w, h, h]
        return list(ops.scan.emit(*start, x, n_carry=6, length=9, regions=[body]))

    return graph({"w": "f32[3, 3]", "h": "f32[2, 3]", "x": "f32[9, 2, 3]"}, write)


def products_of_the_step() -> Graph:
    """A product of the carry, one that may fail, and a large one of two scanned values."""

    def step(w: Value, index: Value, h: Value, x: Value) -> list[Value]:
        row = ops.gather(w, index, axes=(0,))
        outer = ops.dot_general(x, x, lhs_contract=[], rhs_contract=[])
        new = ops.add(
            ops.add(
                times(h, w), times(x, ops.mul(w, stretched(ops.reduce_sum(row, axes=(0,)), 3, 3)))
            ),
            x,
        )
        return [ops.add(new, ops.reduce_max(outer, axes=(0,)))]

    body = region(["f32[3, 3]", "i64[]", "f32[3]", "f32[3]"], step)

    def write(w: Value, index: Value, h: Value, x: Value) -> Value:
        return ops.scan.emit(w, index, h, x, n_consts=2, n_carry=1, length=9, regions=[body])[0]

    return graph({"w": "f32[3, 3]", "i": "i64[]", "h": "f32[3]", "x": "f32[9, 3]"}, write)


def outs_that_stay() -> Graph:
    """What the carry goes into, and what costs the loop work that the next step needs too."""

    def step(w: Value, h: Value, x: Value) -> list[Value]:
        e = ops.exp(x)
        new = ops.add(times(h, w), e)
        return [new, ops.sin(new), ops.mul(e, number(2)), ops.mul(h, h)]

    body = region(["f32[3, 3]", "f32[3]", "f32[3]"], step)

    def write(w: Value, h: Value, x: Value) -> list[Value]:
        return list(ops.scan.emit(w, h, x, n_consts=1, n_carry=1, length=9, regions=[body]))

    return graph({"w": "f32[3, 3]", "h": "f32[3]", "x": "f32[9, 3]"}, write)


def residuals_that_stay() -> Graph:
    """Dear ones, one that two scanned values would have to replace, and one that others read."""

    def write(h: Value, x: Value, y: Value) -> list[Value]:
        forward = region(["f32[3]", "f32[3]"], lambda h, x: [ops.sin(h), ops.mul(h, x)])
        end, product = ops.scan.emit(h, x, n_carry=1, length=9, regions=[forward])
        dear, two, seen = ops.exp(x), ops.mul(ops.exp(x), ops.sin(x)), ops.neg(y)
        backward = region(
            ["f32[3]"] * 5,
            lambda g, a, b, c, d: [ops.add(ops.mul(g, a), ops.mul(b, ops.mul(c, d)))],
        )
        given = (product, dear, two, seen)
        made = ops.scan.emit(end, *given, n_carry=1, length=9, regions=[backward])
        return [made[0], seen, ops.reduce_sum(dear, axes=(0,))]

    return graph({"h": "f32[3]", "x": "f32[9, 3]", "y": "f32[9, 3]"}, write)


def neighbours(low: int, high: int) -> Graph:
    """Each number becomes the sum of its neighbours, from the one at `low` on to before `high`."""

    def step(x: Value, y: Value, i: Value) -> Value:
        before, after = ops.sub(i, number(1, "i64")), ops.add(i, number(1, "i64"))
        new = ops.add(ops.gather(y, before, axes=(0,)), ops.gather(x, after, axes=(0,)))
        return ops.scatter(y, new, i, axes=(0,), kind="set")

    body = region(["f32[9]", "f32[9]", "i64[]"], step)

    def write(x: Value) -> Value:
        counted = ops.add(ops.iota(dtype="i64", shape=(high - low,), axis=0), number(low, "i64"))
        options = {"n_consts": 1, "n_carry": 1, "length": high - low}
        return ops.scan.emit(x, x, counted, **options, regions=[body])[0]

    return graph({"x": "f32[9]"}, write)


def neighbours_that_are_read() -> Graph:
    return neighbours(1, 8)


def neighbours_beyond_the_end() -> Graph:
    """Nothing is known of `i`, which the caller gives, nor of what follows from it."""

    def write(x: Value, i: Value) -> list[Value]:
        read = ops.gather(x, ops.add(i, number(1, "i64")), axes=(0,))
        return [read, ops.scatter(x, read, ops.maximum(i, number(0, "i64")), axes=(0,), kind="set")]

    return graph({"x": "f32[9]", "i": "i64[]"}, write)
