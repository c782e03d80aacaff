"""Each pass on the smallest case it is for, as golden text, and on what it must leave alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.compiler.ir.golden import assert_golden
from tests.compiler.ir.making import graph, number, ops, region
from tests.compiler.passes.scans import loops
from tests.compiler.passes.scans.loops import X, stretched, times
from weft.compiler.ir.attributes import HostFunction
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Graph, Value
from weft.compiler.passes.algebra.canonicalize import canonicalize
from weft.compiler.passes.algebra.eliminate import eliminate_common_ops, eliminate_dead_ops
from weft.compiler.passes.algebra.fold import fold_constants
from weft.compiler.passes.algebra.gather_one_hot import gather_one_hot
from weft.compiler.passes.algebra.inline import inline_calls
from weft.compiler.passes.algebra.merge_products import merge_products
from weft.compiler.passes.algebra.simplify import add_in_place, simplify, stabilise
from weft.compiler.passes.layout.channels import lay_out_channels
from weft.compiler.passes.layout.join_padded import join_padded
from weft.compiler.passes.layout.push_slices_up import push_slices_up
from weft.compiler.passes.layout.sink_views import sink_views
from weft.compiler.passes.pipeline import DEFAULT
from weft.compiler.passes.scans.batch_products import batch_scan_products
from weft.compiler.passes.scans.defer_sums import defer_scan_sums
from weft.compiler.passes.scans.hoist import hoist_invariants
from weft.compiler.passes.scans.prove_indices import prove_indices
from weft.compiler.passes.scans.recompute import recompute_scanned
from weft.compiler.passes.scans.sink_results import sink_from_scan
from weft.compiler.passes.scans.unroll import unroll_scans

Run = Callable[[Graph], Graph]


# --- what they do -------------------------------------------------------------------------------


def called() -> Graph:
    body = region(["f32[2, 3]"], lambda p: ops.exp(p))
    branches = [region(["f32[2, 3]"], ops.sin), region(["f32[2, 3]"], ops.cos)]

    def write(x: Value) -> Value:
        (y,) = ops.call.emit(x, function="f", regions=[body])
        return ops.switch.emit(number(1, "i32"), y, regions=branches)[0]

    return graph(X, write)


def scattered_forms() -> Graph:
    def write(x: Value) -> Value:
        y = ops.add(number(2), ops.reshape(ops.reshape(x, shape=(6,)), shape=(2, 3)))
        y = ops.mul(y, stretched(number(3), 2, 3))
        z = ops.transpose(ops.transpose(y, permutation=(1, 0)), permutation=(1, 0))
        z = ops.cast(ops.cast(z, dtype="f64"), dtype="f32")
        w = ops.transpose(number(np.eye(3).tolist()), permutation=(1, 0))
        return ops.dot_general(z, w, lhs_contract=[1], rhs_contract=[0])

    return graph(X, write)


def on_constants() -> Graph:
    def write(x: Value) -> Value:
        two = ops.mul(number([1, 2, 3]), number(2))
        return ops.add(x, ops.broadcast(ops.exp(two), shape=(2, 3), dims=(1,)))

    return graph(X, write)


def algebra() -> Graph:
    def write(x: Value, i: Value) -> list[Value]:
        y = ops.div(ops.mul(ops.neg(ops.neg(x)), number(1)), number(4))
        return [y, ops.add(ops.sub(i, i), ops.mul(i, number(1, "i32")))]

    return graph({**X, "i": "i32[2]"}, write)


def log_of_softmax() -> Graph:
    def write(x: Value) -> Value:
        total = ops.reduce_sum(ops.exp(x), axes=(1,))
        share = ops.div(ops.exp(x), ops.broadcast(total, shape=(2, 3), dims=(0,)))
        return ops.log(share)

    return graph(X, write)


def twice() -> Graph:
    def write(x: Value, y: Value) -> Value:
        left, right = ops.add(x, y), ops.add(y, x)
        return ops.mul(ops.exp(left), ops.exp(right))

    return graph({"x": "f32[2]", "y": "f32[2]"}, write)


def unused() -> Graph:
    def write(x: Value) -> Value:
        body = region(
            ["f32[3]", "f32[3]", "f32[3]"], lambda a, b, row: [ops.add(a, row), ops.sin(b), a]
        )
        zero = stretched(number(0), 3)
        made = ops.scan.emit(zero, zero, x, n_carry=2, length=2, regions=[body])
        ops.cos(x)
        return made[0]

    return graph(X, write)


def one_hot() -> Graph:
    def write(labels: Value, w: Value) -> Value:
        spread = ops.broadcast(labels, shape=(4, 5), dims=(0,))
        mask = ops.eq(spread, ops.iota(dtype="i32", shape=(4, 5), axis=1))
        return times(ops.cast(mask, dtype="f32"), w)

    return graph({"labels": "i32[4]", "w": "f32[5, 3]"}, write)


def transposed_chain() -> Graph:
    def write(x: Value, y: Value, b: Value) -> Value:
        left = ops.transpose(x, permutation=(1, 0))
        right = ops.transpose(y, permutation=(1, 0))
        bias = ops.broadcast(b, shape=(3, 2), dims=(1,))
        return ops.tanh(ops.add(ops.add(left, right), bias))

    return graph({"x": "f32[2, 3]", "y": "f32[2, 3]", "b": "f32[2]"}, write)


def loop_with_invariants() -> Graph:
    def step(w: Value, h: Value, row: Value) -> list[Value]:
        positive = ops.exp(ops.transpose(w, permutation=(1, 0)))
        new = ops.tanh(ops.add(times(h, positive), row))
        return [new, ops.mul(new, ops.broadcast(number(2), shape=(3,), dims=()))]

    body = region(["f32[3, 3]", "f32[3]", "f32[3]"], step)

    def write(w: Value, h: Value, x: Value) -> list[Value]:
        made = ops.scan.emit(w, h, x, n_consts=1, n_carry=1, length=9, regions=[body])
        return list(made)

    return graph({"w": "f32[3, 3]", "h": "f32[3]", "x": "f32[9, 3]"}, write)


def gates() -> Graph:
    """A loop whose body has two products with its constants, and a product with arguments."""

    def step(u: Value, v: Value, h: Value, row: Value) -> list[Value]:
        return [ops.tanh(ops.add(ops.mul(times(h, u), times(h, v)), row))]

    body = region(["f32[3, 3]", "f32[3, 3]", "f32[3]", "f32[3]"], step)

    def write(u: Value, v: Value, h: Value, x: Value) -> Value:
        made = ops.scan.emit(u, v, h, x, n_consts=2, n_carry=1, length=9, regions=[body])
        return made[0]

    parameters = {"u": "f32[3, 3]", "v": "f32[3, 3]", "h": "f32[3]", "x": "f32[9, 3]"}
    return graph(parameters, write)


def short_loop() -> Graph:
    body = region(["f32[3]", "f32[3]"], lambda h, row: [ops.add(h, row), ops.mul(h, row)])

    def write(h: Value, x: Value) -> list[Value]:
        made = ops.scan.emit(h, x, n_carry=1, length=2, reverse=True, regions=[body])
        return list(made)

    return graph({"h": "f32[3]", "x": "f32[2, 3]"}, write)


IMAGES = {"x": "f32[2, 64, 2, 2]", "w": "f32[64, 64, 1, 1]"}


def one_tap() -> Graph:
    def write(x: Value, w: Value) -> Value:
        return ops.tanh(convolved(x, w))

    return graph(IMAGES, write)


def convolved(x: Value, w: Value, **options: Any) -> Value:
    plain = {"strides": (1, 1), "padding": ((0, 0), (0, 0))}
    dilations = {"lhs_dilation": (1, 1), "rhs_dilation": (1, 1)}
    return ops.convolution(x, w, **{**plain, **dilations, **options})


def transposed_images() -> Graph:
    """Channels last behind a convolution, and all that does not mind."""

    def write(x: Value, w: Value) -> list[Value]:
        made = ops.transpose(convolved(x, w), permutation=(0, 2, 3, 1))
        padded = ops.pad(
            made, number(0), low=(0, 1, 0, 0), high=(0, 1, 0, 2), interior=(0, 0, 0, 0)
        )
        some = ops.slice_(padded, starts=(0, 1, 0, 3), limits=(2, 5, 4, 7), strides=(1, 2, 1, 1))
        twice = ops.concatenate(made, made, axis=3)
        ones = (1, 1, 1, 1)
        pooled = ops.reduce_window(
            twice,
            kind="max",
            window=(1, 2, 2, 1),
            strides=(1, 2, 2, 1),
            padding=((0, 0),) * 4,
            base_dilation=ones,
            window_dilation=ones,
        )
        return [some, pooled, ops.reshape(made, shape=(2, 2, 2, 2, 2, 5))]

    return graph({"x": "f32[2, 3, 4, 4]", "w": "f32[5, 3, 1, 1]"}, write)


def gradient_of_reads() -> Graph:
    """What is read from a row, from the middle of one, and from a window, added up."""

    def write(x: Value, row: Value, middle: Value) -> Value:
        zeros = stretched(number(0.0), 2, 3)
        at = number(1, "i64")
        rows = ops.scatter(zeros, row, at, axes=(0,), kind="add")
        narrow = stretched(number(0.0), 2, 1)
        part = ops.scatter(narrow, middle, at, axes=(0,), kind="add")
        ends = {"low": (0, 1), "high": (0, 1), "interior": (0, 0)}
        padded = ops.pad(part, number(0.0), **ends)
        window = ops.reshape(middle, shape=(1, 1))
        windows = ops.dynamic_update_slice(zeros, window, at, number(2, "i64"))
        return ops.add(windows, ops.add(ops.add(x, rows), padded))

    return graph({**X, "row": "f32[3]", "middle": "f32[1]"}, write)


FIRES: dict[str, tuple[Run, Callable[[], Graph]]] = {
    "lay_out_channels": (lay_out_channels, one_tap),
    "lay_out_channels_below": (lay_out_channels, transposed_images),
    "inline_calls": (inline_calls, called),
    "canonicalize": (canonicalize, scattered_forms),
    "fold_constants": (fold_constants, on_constants),
    "simplify": (simplify, algebra),
    "stabilise": (stabilise, log_of_softmax),
    "eliminate_common_ops": (eliminate_common_ops, twice),
    "eliminate_dead_ops": (eliminate_dead_ops, unused),
    "gather_one_hot": (gather_one_hot, one_hot),
    "add_in_place": (add_in_place, gradient_of_reads),
    "sink_views": (sink_views, transposed_chain),
    "push_slices_up": (push_slices_up, loops.cut_gates),
    "join_padded": (join_padded, loops.padded_neighbours),
    "prove_indices": (prove_indices, loops.neighbours_that_are_read),
    "hoist_invariants": (hoist_invariants, loop_with_invariants),
    "hoist_invariants_stretched": (hoist_invariants, loops.same_in_all_steps),
    "merge_products": (merge_products, gates),
    "defer_scan_sums": (defer_scan_sums, loops.recurrent_gradient),
    "batch_scan_products": (batch_scan_products, loops.recurrent),
    "sink_from_scan": (sink_from_scan, loops.recurrent),
    "recompute_scanned": (recompute_scanned, loops.residuals),
    "unroll_scans": (unroll_scans, short_loop),
}


@pytest.mark.parametrize("name", FIRES)
def test_pass_on_its_smallest_case(name: str) -> None:
    run, make = FIRES[name]
    before = make().verify()
    after = run(before).verify()
    assert_golden(f"passes/{name}", after.text())
    assert run(after) is after, "a second run changes something"
    random = np.random.default_rng(0)
    arrays = [_random(parameter.type, random) for parameter in before.parameters]
    for made, wanted in zip(evaluate(after, arrays), evaluate(before, arrays), strict=True):
        np.testing.assert_allclose(made, wanted, rtol=1e-5)


def _random(type: Any, random: np.random.Generator) -> Any:
    if type.dtype.is_integer:
        return random.integers(-1, 6, type.shape).astype(type.dtype.numpy)
    return np.asarray(random.standard_normal(type.shape), type.dtype.numpy)


# --- what they leave alone ----------------------------------------------------------------------


def checkpointed() -> Graph:
    body = region(["f32[2, 3]"], ops.exp)
    return graph(X, lambda x: ops.checkpoint.emit(x, regions=[body])[0])


def sums_of_updates() -> Graph:
    """Of arrays that are not zeros, by another kind of update, and of large windows."""

    def write(x: Value, row: Value) -> list[Value]:
        zeros, at = stretched(number(0.0), 2, 3), number(1, "i64")
        ends = {"low": (0, 0), "high": (1, 0), "interior": (0, 0)}
        window = ops.reshape(row, shape=(1, 3))
        return [
            ops.add(x, ops.scatter(x, row, at, axes=(0,), kind="add")),
            ops.add(x, ops.scatter(zeros, row, at, axes=(0,), kind="set")),
            ops.add(x, ops.pad(window, number(0.0), **ends)),
            ops.add(x, ops.dynamic_update_slice(zeros, x, at, at)),
        ]

    return graph({**X, "row": "f32[3]"}, write)


def canonical() -> Graph:
    def write(x: Value, b: Value) -> Value:
        wide = ops.cast(ops.cast(x, dtype="f16"), dtype="f32")
        y = ops.mul(wide, ops.broadcast(b, shape=(2, 3), dims=(1,)))
        y = ops.reshape(ops.transpose(y, permutation=(1, 0)), shape=(6,))
        return ops.sub(number(1), ops.probe(stretched(ops.reduce_sum(y, axes=(0,)), 4), name="p"))

    return graph({**X, "b": "f32[3]"}, write)


def not_to_fold() -> Graph:
    def write(x: Value) -> list[Value]:
        table = number([1.0, 2.0])
        outside = ops.gather(table, number([5], "i64"), axes=(0,))
        bits = ops.threefry2x32(number(0, "u32"), number(0, "u32"), number([1, 2], "u64"))
        large = ops.exp(number(np.arange(5000.0).tolist()))
        return [outside, bits, large, ops.iota(dtype="i32", shape=(3,), axis=0)]

    return graph(X, write)


def algebra_that_floats_have_not() -> Graph:
    def write(x: Value) -> list[Value]:
        zero = number(0.0)
        return [
            ops.add(x, zero),
            ops.mul(x, zero),
            ops.sub(x, x),
            ops.div(x, number(3)),
            ops.div(x, x),
            ops.eq(x, x),
            ops.pow_(x, number(0.25)),
        ]

    return graph(X, write)


def unlike_softmax() -> Graph:
    def write(x: Value, y: Value) -> list[Value]:
        total = ops.reduce_sum(ops.exp(y), axes=(0,))
        share = ops.div(ops.exp(x), ops.broadcast(total, shape=(2, 3), dims=(1,)))
        return [share, ops.log(ops.add(x, number(2))), ops.sub(ops.exp(x), y)]

    return graph({**X, "y": "f32[2, 3]"}, write)


def shifted_softmax() -> Graph:
    def write(x: Value) -> Value:
        highest = ops.reduce_max(x, axes=(1,))
        top = ops.exp(ops.sub(x, ops.broadcast(highest, shape=(2, 3), dims=(0,))))
        total = ops.reduce_sum(top, axes=(1,))
        return ops.div(top, ops.broadcast(total, shape=(2, 3), dims=(0,)))

    return graph(X, write)


def effects() -> Graph:
    shout = HostFunction("shout", lambda *_: None)

    def write(x: Value) -> list[Value]:
        for _ in range(2):
            ops.host_call.emit(x, function=shout)
        return [ops.sub(x, x), ops.exp(x)]

    return graph(X, write)


def hot_along_another_axis() -> Graph:
    """The gradient of a lookup: the contraction runs over the labels, not over the classes."""

    def write(labels: Value, g: Value, f: Value) -> list[Value]:
        spread = ops.broadcast(labels, shape=(4, 5), dims=(0,))
        mask = ops.cast(ops.eq(spread, ops.iota(dtype="i32", shape=(4, 5), axis=1)), dtype="f32")
        counted = ops.broadcast(f, shape=(4, 5), dims=(0,))
        soft = ops.eq(counted, ops.iota(dtype="f32", shape=(4, 5), axis=1))
        made = ops.dot_general(mask, g, lhs_contract=[0], rhs_contract=[0])
        w = ops.reshape(g, shape=(3, 4))
        return [made, times(ops.transpose(ops.cast(soft, dtype="f32"), permutation=(1, 0)), g), w]

    return graph({"labels": "i32[4]", "g": "f32[4, 3]", "f": "f32[4]"}, write)


def crossed_transposes() -> Graph:
    def write(x: Value, y: Value, c: Value) -> list[Value]:
        left = ops.transpose(x, permutation=(1, 0, 2))
        right = ops.transpose(y, permutation=(2, 1, 0))
        across = ops.broadcast(c, shape=(2, 2, 2), dims=(0, 1))
        return [ops.add(left, right), ops.mul(left, across), ops.add(left, y)]

    cube = "f32[2, 2, 2]"
    return graph({"x": cube, "y": cube, "c": "f32[2, 2]"}, write)


def loop_that_must_keep_all() -> Graph:
    def step(table: Value, index: Value, h: Value, row: Value) -> list[Value]:
        may_raise = ops.gather(table, index, axes=(0,))
        turned = ops.transpose(table, permutation=(1, 0))
        seen = ops.reshape(
            ops.slice_(turned, starts=(0, 0), limits=(1, 3), strides=(1, 1)), shape=(3,)
        )
        new = ops.add(ops.add(h, may_raise), ops.add(row, ops.reduce_sum(h, axes=())))
        return [new, ops.mul(seen, h)]

    body = region(["f32[3, 3]", "i64[]", "f32[3]", "f32[3]"], step)

    def write(table: Value, index: Value, h: Value, x: Value) -> list[Value]:
        made = ops.scan.emit(table, index, h, x, n_consts=2, n_carry=1, length=9, regions=[body])
        return list(made)

    parameters = {"t": "f32[3, 3]", "i": "i64[]", "h": "f32[3]", "x": "f32[9, 3]"}
    return graph(parameters, write)


def products_apart() -> Graph:
    """Too few rows for a copy to pay, weights that are computed, and different contractions."""

    def write(x: Value, u: Value, v: Value) -> list[Value]:
        few = [times(x, u), times(x, v)]
        wide = ops.broadcast(x, shape=(64, 2, 3), dims=(1, 2))
        computed = [times(wide, ops.exp(u)), times(wide, ops.sin(v))]
        other = ops.dot_general(x, u, lhs_contract=[1], rhs_contract=[1])
        return [*few, *computed, other]

    return graph({**X, "u": "f32[3, 3]", "v": "f32[3, 3]"}, write)


def long_loop() -> Graph:
    body = region(["f32[3]", "f32[3]"], lambda h, row: [ops.add(h, row)])
    return graph(
        {"h": "f32[3]", "x": "f32[5, 3]"},
        lambda h, x: ops.scan.emit(h, x, n_carry=1, length=5, regions=[body])[0],
    )


def images_to_leave() -> Graph:
    """Few channels, one image, full tiles, a stride, more taps; a reshape that mixes axes."""

    def write(x: Value, w: Value, small: Value, few: Value, full: Value, k: Value) -> list[Value]:
        one = ops.slice_(x, starts=(0,) * 4, limits=(1, 64, 2, 2), strides=(1,) * 4)
        turned = ops.transpose(convolved(small, few), permutation=(0, 2, 3, 1))
        return [
            ops.tanh(convolved(small, few)),
            ops.tanh(convolved(one, w)),
            ops.tanh(convolved(full, w)),
            ops.tanh(convolved(x, w, strides=(2, 2))),
            ops.tanh(convolved(x, k, padding=((1, 1), (1, 1)))),
            ops.reshape(turned, shape=(2, 32)),
        ]

    small = {"small": "f32[2, 8, 2, 2]", "few": "f32[8, 8, 1, 1]"}
    return graph({**IMAGES, **small, "full": "f32[2, 64, 8, 8]", "k": "f32[64, 64, 3, 3]"}, write)


def test_number_behind_a_reshape_stays_a_number() -> None:
    def write(x: Value, y: Value) -> Value:
        return ops.mul(ops.reshape(x, shape=(6,)), ops.reshape(y, shape=()))

    after = sink_views(graph({**X, "y": "f32[1]"}, write)).verify()
    assert [op.name for op in after.ops] == ["reshape", "mul", "reshape"]


LEFT_ALONE: dict[str, tuple[Run, Callable[[], Graph]]] = {
    "inline a checkpoint": (inline_calls, checkpointed),
    "canonicalize": (canonicalize, canonical),
    "fold_constants": (fold_constants, not_to_fold),
    "simplify": (simplify, algebra_that_floats_have_not),
    "stabilise what is no softmax": (stabilise, unlike_softmax),
    "stabilise what is stable": (stabilise, shifted_softmax),
    "share effects": (eliminate_common_ops, effects),
    "prune effects": (eliminate_dead_ops, effects),
    "gather_one_hot": (gather_one_hot, hot_along_another_axis),
    "add_in_place": (add_in_place, sums_of_updates),
    "sink_views": (sink_views, crossed_transposes),
    "lay_out_channels": (lay_out_channels, images_to_leave),
    "push_slices_up": (push_slices_up, loops.cut_in_other_ways),
    "join_padded": (join_padded, loops.padded_apart),
    "defer_scan_sums": (defer_scan_sums, loops.sums_that_stay),
    "batch_scan_products": (batch_scan_products, loops.products_of_the_step),
    "sink_from_scan": (sink_from_scan, loops.outs_that_stay),
    "recompute_scanned": (recompute_scanned, loops.residuals_that_stay),
    "prove_indices": (prove_indices, loops.neighbours_beyond_the_end),
    "hoist_invariants": (hoist_invariants, loop_that_must_keep_all),
    "merge_products": (merge_products, products_apart),
    "unroll_scans": (unroll_scans, long_loop),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_pass_leaves_alone(name: str) -> None:
    run, make = LEFT_ALONE[name]
    made = make().verify()
    assert run(made) is made, run(made).text()


def test_every_pass_has_a_case_and_one_that_it_leaves_alone() -> None:
    names = {item.run.__name__ for item in DEFAULT} - {"block_rows"}  # see blocking/test_rows.py
    assert {run.__name__ for run, _ in FIRES.values()} == names
    assert {run.__name__ for run, _ in LEFT_ALONE.values()} == names
