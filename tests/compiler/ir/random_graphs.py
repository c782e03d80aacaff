"""Random graphs for property tests: elementwise ops, reductions, changes of shape, and regions."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.compiler.ir.making import number, ops, region
from weft.compiler.ir import dims
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.dtypes import BY_NAME
from weft.compiler.ir.graph import Graph, Value
from weft.compiler.ir.types import ArrayType

UNARY = ("neg", "abs", "sign", "exp", "tanh", "stop_gradient")
BINARY = ("add", "sub", "mul", "maximum", "lt", "eq")


@st.composite
def graphs(draw: st.DrawFn, most_ops: int = 8, can_run: bool = False) -> Graph:
    """A valid graph; one symbol, with bounds, may appear in its shapes. One that can run has a
    parameter from which the symbol's value follows.
    """
    n = dims.symbol("n", lower=draw(st.integers(0, 3)), upper=draw(st.sampled_from([None, 9])))
    builder = Builder()
    values: list[Value] = [builder.parameter(ArrayType(BY_NAME["f32"], [n]))] if can_run else []
    for name in draw(st.lists(st.sampled_from(["x", "w", "x y", "", "3"]), min_size=1, max_size=3)):
        values.append(builder.parameter(draw(types(n)), name))
    with builder.active():
        for _ in range(draw(st.integers(0, most_ops))):
            operand = draw(st.sampled_from(values))
            values += draw(st.sampled_from(STEPS))(draw, operand, values)
    results = draw(st.lists(st.sampled_from(values), max_size=3))
    return builder.graph("random", results)


@st.composite
def types(draw: st.DrawFn, n: Dim) -> ArrayType:
    sizes: st.SearchStrategy[Size] = st.sampled_from([0, 1, 2, 3, n, 2 * n + 1, n // 2 + 1])
    dtype = draw(st.sampled_from(["f32", "f32", "f64", "bf16", "i32"]))
    return ArrayType(BY_NAME[dtype], draw(st.lists(sizes, max_size=3)))


def _is_arithmetic(value: Value) -> bool:
    return not value.type.dtype.is_bool


def _unary(draw: st.DrawFn, x: Value, values: list[Value]) -> list[Value]:
    if not x.type.dtype.is_float:
        return []
    return [getattr(ops, draw(st.sampled_from(UNARY)))(x)]


def _binary(draw: st.DrawFn, x: Value, values: list[Value]) -> list[Value]:
    if not _is_arithmetic(x):
        return []
    partners = [v for v in values if v.type == x.type]
    partners.append(number(draw(st.integers(-3, 3)), x.type.dtype.name))
    return [getattr(ops, draw(st.sampled_from(BINARY)))(x, draw(st.sampled_from(partners)))]


def _reduce(draw: st.DrawFn, x: Value, values: list[Value]) -> list[Value]:
    if not _is_arithmetic(x):
        return []
    axes = draw(st.sets(st.integers(0, x.type.rank - 1)) if x.type.rank else st.just(set()))
    return [ops.reduce_sum(x, axes=sorted(axes))]


def _reshape(draw: st.DrawFn, x: Value, values: list[Value]) -> list[Value]:
    return [ops.reshape(x, shape=(x.type.size, 1))]


def _transpose(draw: st.DrawFn, x: Value, values: list[Value]) -> list[Value]:
    return [ops.transpose(x, permutation=draw(st.permutations(range(x.type.rank))))]


def _broadcast(draw: st.DrawFn, x: Value, values: list[Value]) -> list[Value]:
    shape = (draw(st.integers(0, 3)), *x.type.shape)
    return [ops.broadcast(x, shape=shape, dims=tuple(range(1, len(shape))))]


def _concatenate(draw: st.DrawFn, x: Value, values: list[Value]) -> list[Value]:
    if not x.type.rank:
        return []
    return [ops.concatenate(x, x, axis=draw(st.integers(0, x.type.rank - 1)))]


def _call(draw: st.DrawFn, x: Value, values: list[Value]) -> list[Value]:
    body = region([x.type], lambda p: [p, *_transpose(draw, p, []), *_unary(draw, p, [])])
    return list(ops.call.emit(x, function=draw(st.text(max_size=4)), regions=[body]))


def _scan(draw: st.DrawFn, x: Value, values: list[Value]) -> list[Value]:
    if not x.type.rank:
        return []
    step = x.type.with_shape(x.type.shape[1:])
    body = region([step], lambda row: [row, *_binary(draw, row, [row])])
    reverse = draw(st.booleans())
    made = ops.scan.emit(x, n_carry=0, length=x.type.shape[0], reverse=reverse, regions=[body])
    return list(made)


STEPS = (_unary, _binary, _reduce, _reshape, _transpose, _broadcast, _concatenate, _call, _scan)
