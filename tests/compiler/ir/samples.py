"""The graphs that the golden texts show, each small and about one thing; other tests reuse them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tests.compiler.ir.making import Array, graph, number, ops, region
from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.build import Builder
from weft.compiler.ir.graph import Constant, Graph, Value
from weft.compiler.ir.location import Location
from weft.compiler.ir.reader import parse_type


def constants_of_every_dtype() -> Graph:
    single = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-45, 0.1, 3.4028235e38], "f4")
    double = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 5e-324, 0.1, 1.7976931348623157e308])
    written: dict[str, Any] = {
        "bool": np.array([True, False]),
        **{d.name: _extremes(d.numpy) for d in dtypes.ALL if d.is_integer},
        "f16": np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 6e-8, 0.1], np.float16),
        "bf16": np.array([np.nan, -np.inf, -0.0, 9e-41, 0.1], ml_dtypes.bfloat16),
        "f32": single,
        "f64": double,
        "f32 signalling": np.array([0x7F800001, 0xFFC12345], np.uint32).view(np.float32),
        "c64": single.view(np.complex64),
        "c128": double.view(np.complex128),
        "scalar": np.float32(0.5),
        "empty": np.zeros((0, 3), np.float32),
        "matrix": np.arange(6, dtype=np.int64).reshape(2, 3),
        "transposed": np.arange(6, dtype=np.int64).reshape(2, 3).T,
    }

    return graph(
        {},
        lambda: [ops.probe(Constant(value), name=name) for name, value in written.items()],
        name="constants",
    )


def _extremes(integer: np.dtype[Any]) -> Array:
    limits = np.iinfo(integer)
    return np.array([limits.min, 0, limits.max], integer)


def large_constants() -> Graph:
    weights = Constant(np.arange(20, dtype=np.float32).reshape(4, 5))
    mask = Constant(np.arange(17) % 3 == 0)
    inline = Constant(np.arange(16, dtype=np.int8))
    return graph(
        {"x": "f32[4, 5]"},
        lambda x: (ops.add(ops.mul(x, weights), weights), ops.not_(mask), inline),
        name="large_constants",
    )


def symbolic_sizes() -> Graph:
    bounds = {"n": dims.symbol("n", lower=0, upper=64), "m": dims.symbol("m", lower=8)}
    n, m, k = bounds["n"], bounds["m"], dims.symbol("k")
    return graph(
        {"x": "f32[n, m]", "y": "f32[2*m + 1, k]"},
        lambda x, y: (
            ops.reshape(x, shape=(n * m,)),
            ops.slice(x, starts=(0, 0), limits=(n, m - 1), strides=(1, 2)),
            ops.iota(dtype="i32", shape=(dims.maximum(n, k), 7 // k), axis=0),
            ops.dim_value(dim=dims.minimum(m, k) + n**2),
        ),
        name="symbolic_sizes",
        symbols=bounds,
    )


def switch() -> Graph:
    return graph(
        {"index": "i32[]", "x": "f32[3]"},
        lambda index, x: ops.switch.emit(
            index,
            x,
            regions=[
                region(["f32[3]"], ops.neg),
                region(["f32[3]"], lambda x: x),
                region(["f32[3]"], lambda x: Constant(np.array([1, 2, 3], np.float32))),
            ],
        ),
        name="switch",
    )


def while_() -> Graph:
    """Doubles x until it reaches the limit, counting; the limit is a const of the loop."""
    types = ["f32[]", "f32[]", "i64[]"]
    return graph(
        {"limit": "f32[]", "x": "f32[]"},
        lambda limit, x: ops.while_.emit(
            limit,
            x,
            number(0, "i64"),
            n_consts=1,
            regions=[
                region(types, lambda limit, x, count: ops.lt(x, limit)),
                region(
                    types, lambda limit, x, count: (ops.add(x, x), ops.add(count, number(1, "i64")))
                ),
            ],
        ),
        name="while",
    )


def while_that_records() -> Graph:
    """Counts up to 3 and keeps each value on the way; how many there are, only the run tells."""
    return graph(
        {"x": "f32[]"},
        lambda x: ops.while_.emit(
            x,
            trips=dims.symbol("t", lower=0),
            regions=[
                region(["f32[]"], lambda x: ops.lt(x, number(3.0))),
                region(["f32[]"], lambda x: (ops.add(x, number(1.0)), x)),
            ],
        ),
        name="while_that_records",
    )


def scan() -> Graph:
    """carry = scale * carry + row, from the last row to the first, keeping every carry."""

    def step(scale: Value, carry: Value, row: Value) -> Sequence[Value]:
        carry = ops.add(ops.mul(scale, carry), row)
        return carry, carry

    return graph(
        {"scale": "f32[]", "start": "f32[2]", "rows": "f32[n, 2]"},
        lambda *operands: ops.scan.emit(
            *operands,
            n_consts=1,
            n_carry=1,
            length=dims.symbol("n"),
            reverse=True,
            regions=[region(["f32[]", "f32[2]", "f32[2]"], step)],
        ),
        name="scan",
    )


def nested_regions() -> Graph:
    """A scan whose body calls a function that branches."""

    def branch(is_on: Value, x: Value) -> Sequence[Value]:
        sides = [region(["f32[]"], ops.neg), region(["f32[]"], ops.exp)]
        return ops.switch.emit(is_on, x, regions=sides)

    def step(is_on: Value, x: Value) -> Sequence[Value]:
        body = region(["bool[]", "f32[]"], branch)
        return ops.call.emit(is_on, x, function="branch", regions=[body])

    return graph(
        {"is_on": "bool[]", "xs": "f32[4]"},
        lambda is_on, xs: ops.scan.emit(
            is_on,
            xs,
            n_consts=1,
            n_carry=0,
            length=4,
            regions=[region(["bool[]", "f32[]"], step)],
        ),
        name="nested",
    )


def call() -> Graph:
    return graph(
        {"x": "f32[2]"},
        lambda x: ops.call.emit(
            x, function='the "f" of a\\b', regions=[region(["f32[2]"], lambda x: (x, ops.neg(x)))]
        ),
        name="call",
    )


def checkpoint() -> Graph:
    body = region(["f32[2]"], lambda x: ops.probe(ops.exp(x), name="e"))
    return graph(
        {"x": "f32[2]"},
        lambda x: (
            *ops.checkpoint.emit(x, regions=[body]),
            *ops.checkpoint.emit(x, policy="names", names=["e", "é\n"], regions=[body]),
        ),
        name="checkpoint",
    )


def custom_jvp() -> Graph:
    rule = region(
        ["f32[2]", "i32[]", "f32[2]", "i32[]", "f32[2]"],
        lambda x, i, y, j, tangent: (ops.mul(tangent, y),),
    )
    return graph(
        {"x": "f32[2]", "i": "i32[]"},
        lambda x, i: ops.custom_jvp.emit(
            x, i, regions=[region(["f32[2]", "i32[]"], lambda x, i: (ops.exp(x), i)), rule]
        ),
        name="custom_jvp",
    )


def custom_vjp() -> Graph:
    def forward(x: Value) -> Sequence[Value]:
        y = ops.sin(x)
        return y, x

    return graph(
        {"x": "f64[n]"},
        lambda x: ops.custom_vjp.emit(
            x,
            regions=[
                region(["f64[n]"], ops.sin),
                region(["f64[n]"], forward),
                region(["f64[n]", "f64[n]"], lambda x, cotangent: ops.mul(ops.cos(x), cotangent)),
            ],
        ),
        name="custom_vjp",
    )


def log(x: Array) -> None:
    """A host function that returns nothing."""


def halve(x: Array) -> Array:
    """A host function that returns one array."""
    return np.asarray(x / 2, x.dtype)


def host_call() -> Graph:
    def write(x: Value) -> Value:
        ops.host_call.emit(x, function=log)
        return ops.host_call(x, function=halve, results=[x.type], pure=True)

    return graph({"x": "f32[n]"}, write, name="host_call")


def fail() -> Graph:
    def write(x: Value) -> Value:
        form = '[["tuple", ["text", "x is ", ["shown", ["value", 0, true], ":.1f"]]], {}, false]'
        ops.fail.emit(ops.gt(x, ops.neg(x)), x, error="ValueError", form=form, function="f")
        return x

    return graph({"x": "f32[]"}, write, name="fail")


def locations() -> Graph:
    builder = Builder(locate=lambda: Location("model.py", 7))
    x = builder.parameter(parse_type("f32[2]"), "x")
    with builder.active():
        y = ops.exp(x)
        with builder.at(Location('a "b"\\c.py', 12, 'f(x, "s")\n  + 1')):
            z = ops.mul(y, y)
        body = region(["f32[2]"], ops.neg)
        (w,) = ops.call.emit(z, function="f", regions=[body])
    return builder.graph("locations", [w])


def defaults() -> Graph:
    """Attributes that have their default are left out."""
    return graph(
        {"x": "f32[2, 3]"},
        lambda x: (
            ops.argmax(x, axis=1),
            ops.argmax(x, axis=1, dtype=np.int64),
            ops.argmax(x, axis=1, dtype=np.int32),
            ops.reduce_sum(x, axes=()),
        ),
        name="defaults",
    )


def names() -> Graph:
    """Parameter names that the text form cannot hold, or that clash."""
    given = ["x", "x", "x_1", "params['w']", "0", "12ab", "layer.0.bias", "", "größe", "a b", "a_b"]
    builder = Builder()
    parameters = [builder.parameter(parse_type("f32[]"), name) for name in given]
    return builder.graph("loss <lambda> 1", parameters)


SAMPLES: dict[str, Callable[[], Graph]] = {
    "constants": constants_of_every_dtype,
    "large_constants": large_constants,
    "symbolic_sizes": symbolic_sizes,
    "switch": switch,
    "while": while_,
    "while_that_records": while_that_records,
    "scan": scan,
    "nested_regions": nested_regions,
    "call": call,
    "checkpoint": checkpoint,
    "custom_jvp": custom_jvp,
    "custom_vjp": custom_vjp,
    "host_call": host_call,
    "fail": fail,
    "locations": locations,
    "defaults": defaults,
    "names": names,
}
