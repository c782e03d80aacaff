"""The reference evaluator on control ops, symbolic sizes and host calls, against plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.ir.making import Array, graph, number, ops, region
from tests.compiler.ir.random_graphs import graphs
from tests.compiler.ir.samples import SAMPLES
from weft.compiler.ir import dims
from weft.compiler.ir.build import Builder
from weft.compiler.ir.errors import EvaluationError, ShapeError
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Constant, Graph, Op, Value
from weft.compiler.ir.location import Location
from weft.compiler.ir.reader import parse_type
from weft.compiler.ir.walk import walk
from weft.compiler.parsing import parse

X = np.array([1.0, -2.0, 4.0], np.float32)
ONE_ULP = 2.0**-23  # of f32, by which exp may differ from NumPy's


def run(made: Graph, *arguments: Any) -> list[Any]:
    """The results as Python numbers and lists."""
    arrays = [np.asarray(argument) for argument in arguments]
    return [result.tolist() for result in evaluate(made.verify(), arrays)]


def i32(value: int) -> Array:
    return np.array(value, np.int32)


def f32(value: object) -> Array:
    return np.array(value, np.float32)


# --- switch -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "branch"), [(0, 0), (1, 1), (2, 2), (3, 2), (2**31 - 1, 2), (-1, 0), (-(2**31), 0)]
)
def test_switch_runs_the_chosen_branch_and_clamps(index: int, branch: int) -> None:
    expected = [(-X).tolist(), X.tolist(), [1.0, 2.0, 3.0]]
    assert run(SAMPLES["switch"](), i32(index), X) == [expected[branch]]


@pytest.mark.parametrize("dtype", ["i8", "u8", "u64", "i64"])
def test_switch_takes_any_integer(dtype: str) -> None:
    sides = [region(["f32[]"], ops.neg), region(["f32[]"], lambda x: x)]
    made = graph(
        {"i": f"{dtype}[]", "x": "f32[]"}, lambda i, x: ops.switch.emit(i, x, regions=sides)
    )
    largest = np.iinfo(made.parameters[0].type.dtype.numpy).max
    index = np.array([0, largest], made.parameters[0].type.dtype.numpy)
    assert run(made, index[0], f32(3)) == [-3.0]
    assert run(made, index[1], f32(3)) == [3.0]


def test_false_is_branch_0() -> None:
    made = SAMPLES["nested_regions"]()
    xs = f32([0.0, 1.0, 2.0, 3.0])
    assert run(made, False, xs) == [(-xs).tolist()]
    np.testing.assert_allclose(run(made, True, xs), [np.exp(xs)], rtol=ONE_ULP)


def test_only_the_chosen_branch_runs() -> None:
    called: list[str] = []

    def branch(name: str) -> Callable[[Value], Sequence[Value]]:
        def write(x: Value) -> Sequence[Value]:
            ops.host_call.emit(x, function=lambda _: called.append(name))
            return ()

        return write

    sides = [region(["f32[]"], branch(name)) for name in ("left", "right")]
    made = graph({"i": "bool[]", "x": "f32[]"}, lambda i, x: ops.switch.emit(i, x, regions=sides))
    assert run(made, True, f32(0)) == []
    assert called == ["right"]


# --- while --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "start", "end", "steps"), [(10, 1, 16, 4), (10, 10, 10, 0), (1, 5, 5, 0)]
)
def test_while_repeats_as_long_as_its_condition_holds(
    limit: float, start: float, end: float, steps: int
) -> None:
    assert run(SAMPLES["while"](), f32(limit), f32(start)) == [end, steps]


@pytest.mark.parametrize(("start", "seen"), [(0.0, [0.0, 1.0, 2.0]), (2.5, [2.5]), (7.0, [])])
def test_while_stacks_what_each_step_records(start: float, seen: list[float]) -> None:
    last = seen[-1] + 1 if seen else start
    (end, recorded) = evaluate(SAMPLES["while_that_records"](), [f32(start)])
    assert end == last
    assert recorded.tolist() == seen
    assert recorded.dtype == np.float32


def test_a_size_that_a_loop_defines_serves_the_ops_behind_it() -> None:
    trips = dims.symbol("t", lower=0)

    def write(x: Value) -> Sequence[Value]:
        loop = SAMPLES["while_that_records"]().ops[0]
        _, seen = ops.while_.emit(x, trips=trips, regions=loop.regions)
        return ops.dim_value(dim=trips + 1), ops.reshape(seen, shape=(trips, 1))

    made = graph({"x": "f32[]"}, write)
    assert run(made, f32(1)) == [3, [[1.0], [2.0]]]
    assert run(made, f32(5)) == [1, []]


def test_a_loop_without_carries_that_never_starts() -> None:
    condition = region([], lambda: Constant(np.array(False)))
    body = region([], lambda: ())
    assert run(graph({}, lambda: ops.while_.emit(regions=[condition, body]))) == []


# --- scan ---------------------------------------------------------------------------------------


def scan_in_python(
    scale: Array, start: Array, rows: Array, *, reverse: bool
) -> tuple[Array, list[Array]]:
    carry, seen = start, [start] * len(rows)
    for i in reversed(range(len(rows))) if reverse else range(len(rows)):
        carry = scale * carry + rows[i]
        seen[i] = carry
    return carry, seen


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 6), st.booleans(), st.integers(0, 2**16))
def test_scan_is_a_loop_over_the_first_axis(length: int, reverse: bool, seed: int) -> None:
    text = str(SAMPLES["scan"]()).replace("graph @scan(", "graph @scan<n >= 0>(")
    made = parse(text if reverse else text.replace(", reverse=true", ""))
    rng = np.random.default_rng(seed)
    rows, start = (rng.normal(size=s).astype(np.float32) for s in ((length, 2), 2))
    carry, seen = evaluate(made.verify(), [f32(0.5), start, rows])
    end, expected = scan_in_python(f32(0.5), start, rows, reverse=reverse)
    np.testing.assert_array_equal(carry, end)
    np.testing.assert_array_equal(seen, np.array(expected, np.float32).reshape(length, 2))


def test_scan_without_sequences_counts() -> None:
    one = number(1, "i64")
    body = region(["i64[]"], lambda count: (ops.add(count, one), count))
    made = graph(
        {"x": "f32[n]"},
        lambda x: ops.scan.emit(
            number(0, "i64"), n_carry=1, length=2 * dims.symbol("n"), regions=[body]
        ),
    )
    assert run(made, f32([0, 0])) == [4, [0, 1, 2, 3]]


def test_scan_over_several_sequences_with_consts_and_no_carry() -> None:
    body = region(["f32[]", "f32[]", "i32[2]"], lambda c, x, k: (ops.mul(c, x), k))
    made = graph(
        {"c": "f32[]", "x": "f32[3]", "k": "i32[3, 2]"},
        lambda *values: ops.scan.emit(
            *values, n_consts=1, n_carry=0, length=3, reverse=True, regions=[body]
        ),
    )
    k = np.arange(6, dtype=np.int32).reshape(3, 2)
    assert run(made, f32(2), X, k) == [(2 * X).tolist(), k.tolist()]


def test_scan_of_no_steps_returns_the_carry_and_empty_stacks() -> None:
    body = region(["f32[2]"], lambda x: (ops.neg(x), x))
    made = graph({"x": "f32[2]"}, lambda x: ops.scan.emit(x, n_carry=1, length=0, regions=[body]))
    carry, stacked = evaluate(made, [f32([1, 2])])
    assert carry.tolist() == [1, 2]
    assert stacked.shape == (0, 2)
    assert stacked.dtype == np.float32


def test_scans_nest() -> None:
    """The sum of each row, then the running sum of these."""
    add = region(["f32[]", "f32[]"], lambda total, x: ops.add(total, x))

    def step(total: Value, row: Value) -> Sequence[Value]:
        (inner,) = ops.scan.emit(number(0.0), row, n_carry=1, length=3, regions=[add])
        total = ops.add(total, inner)
        return total, total

    outer = region(["f32[]", "f32[3]"], step)
    made = graph(
        {"x": "f32[n, 3]"},
        lambda x: ops.scan.emit(
            number(0.0), x, n_carry=1, length=dims.symbol("n"), regions=[outer]
        ),
    )
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    assert run(made, x) == [66.0, [3.0, 15.0, 36.0, 66.0]]


# --- calls --------------------------------------------------------------------------------------


def test_calls_run_their_function() -> None:
    x = f32([0.5, 2.0])
    assert run(SAMPLES["call"](), x) == [x.tolist(), (-x).tolist()]
    np.testing.assert_allclose(run(SAMPLES["checkpoint"](), x), [np.exp(x)] * 2, rtol=ONE_ULP)
    e, i = run(SAMPLES["custom_jvp"](), x, i32(3))
    np.testing.assert_allclose(e, np.exp(x), rtol=ONE_ULP)
    assert i == 3
    y = np.array([0.5, 2.0, 3.0])
    np.testing.assert_allclose(run(SAMPLES["custom_vjp"](), y), [np.sin(y)], rtol=1e-15)


def test_rules_of_custom_derivatives_do_not_run() -> None:
    seen: list[str] = []
    evaluate(
        SAMPLES["custom_vjp"](), [np.ones(2)], observe=lambda op, results: seen.append(op.name)
    )
    assert seen == ["sin", "custom_vjp"]


# --- the host -----------------------------------------------------------------------------------


def calling_back(function: Callable[..., Any], *results: str) -> Graph:
    builder = Builder()
    x = builder.parameter(parse_type("f32[n]"), "x")
    with builder.active(), builder.at(Location("model.py", 4, "callback(x)")):
        types = [parse_type(text) for text in results]
        return builder.graph("g", ops.host_call.emit(x, function=function, results=types))


def test_effects_happen_in_program_order() -> None:
    seen: list[float] = []

    def note(x: Array) -> None:
        seen.append(float(x))

    def write(x: Value) -> Value:
        ops.host_call.emit(x, function=note)
        body = region(["f32[]"], lambda x: ops.host_call.emit(x, function=note))
        ops.call.emit(ops.neg(x), function="f", regions=[body])
        ops.host_call.emit(ops.add(x, x), function=note)
        return x

    run(graph({"x": "f32[]"}, write), f32(3))
    assert seen == [3.0, -3.0, 6.0]


def test_effects_in_a_loop_happen_at_every_step() -> None:
    seen: list[float] = []

    def step(x: Value) -> Sequence[Value]:
        ops.host_call.emit(x, function=lambda x: seen.append(float(x)))
        return ()

    made = graph(
        {"x": "f32[3]"},
        lambda x: ops.scan.emit(
            x, n_carry=0, length=3, reverse=True, regions=[region(["f32[]"], step)]
        ),
    )
    run(made, X)
    assert seen == [4.0, -2.0, 1.0]


def test_a_host_function_may_return_several_arrays() -> None:
    made = calling_back(lambda x: (x + 1, x.sum()), "f32[n]", "f32[]")
    assert run(made, X) == [(X + 1).tolist(), 3.0]
    assert run(calling_back(lambda x: [x * 2], "f32[n]"), X) == [(X * 2).tolist()]


def test_a_host_function_cannot_write_to_the_graph_s_arrays() -> None:
    def spoil(x: Array) -> None:
        x[:] = 0

    argument = X.copy()
    run(calling_back(spoil), argument)
    np.testing.assert_array_equal(argument, X)


@pytest.mark.parametrize(
    ("returned", "results", "message"),
    [
        (lambda x: None, ["f32[n]"], "@f returned object[] where f32[3] was declared"),
        (lambda x: (x, x), ["f32[n]"], "@f returned 2 arrays instead of 1"),
        (lambda x: x, [], "@f returned 1 arrays instead of 0"),
        (lambda x: (), ["f32[n]"], "@f returned 0 arrays instead of 1"),
        (lambda x: x[:2], ["f32[n]"], "@f returned float32[2] where f32[3] was declared"),
        (lambda x: x * 1.0, ["f64[n]"], "@f returned float32[3] where f64[3] was declared"),
    ],
)
def test_wrong_results_of_a_host_function(
    returned: Callable[[Array], Any], results: list[str], message: str
) -> None:
    def f(x: Array) -> Any:
        return returned(x)

    with pytest.raises(EvaluationError) as caught:
        run(calling_back(f, *results), X)
    assert str(caught.value) == f"host_call: {message}\n  at model.py:4: callback(x)"


def test_a_host_function_read_from_text_is_not_bound() -> None:
    made = parse(calling_back(lambda x: x, "f32[n]").text(locations=True))
    with pytest.raises(EvaluationError) as caught:
        run(made, X)
    assert str(caught.value) == (
        "host_call: the host function @lambda is only a name here: graphs read from text do not "
        "carry code\n  at model.py:4: callback(x)"
    )


# --- sizes, observers, arguments ----------------------------------------------------------------


def test_symbolic_sizes_are_solved_from_the_arguments() -> None:
    n, m = dims.symbol("n"), dims.symbol("m")
    made = graph(
        {"x": "f32[2*n + 1, m]", "y": "f32[n*m]"},
        lambda x, y: (
            ops.dim_value(dim=n),
            ops.dim_value(dim=m),
            ops.reshape(y, shape=(m, n)),
            ops.iota(dtype=np.int32, shape=(n + m,), axis=0),
        ),
    )
    assert run(made, np.zeros((5, 3), np.float32), f32(range(6))) == [
        2,
        3,
        [[0, 1], [2, 3], [4, 5]],
        [0, 1, 2, 3, 4],
    ]


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((4, 3), (6,)), "no integer n makes 2*n + 1 = 4"),
        (((5, 3), (7,)), "m*n is 6 here, not 7"),
        (((1, 3), (0,)), "n is 0 here, but it was declared n >= 1"),
    ],
)
def test_arguments_that_no_size_fits(shapes: tuple[tuple[int, ...], ...], message: str) -> None:
    made = graph({"x": "f32[2*n + 1, m]", "y": "f32[n*m]"}, lambda x, y: x)
    with pytest.raises(ShapeError) as caught:
        evaluate(made, [np.zeros(shape, np.float32) for shape in shapes])
    assert message in str(caught.value)


def test_observe_sees_every_op_as_it_runs() -> None:
    seen: list[tuple[str, list[Any]]] = []

    def observe(op: Op, results: Sequence[Array]) -> None:
        seen.append((op.name, [result.tolist() for result in results]))

    made = SAMPLES["while"]()
    evaluate(made, [f32(3), f32(1)], observe=observe)
    assert seen == [
        ("lt", [True]),
        ("add", [2.0]),
        ("add", [1]),
        ("lt", [True]),
        ("add", [4.0]),
        ("add", [2]),
        ("lt", [False]),
        ("while", [4.0, 2]),
    ]


def test_results_have_the_declared_dtype() -> None:
    made = graph({"x": "f16[2]"}, lambda x: ops.exp(x))
    (result,) = evaluate(made, [np.zeros(2, np.float16)])
    assert result.dtype == np.float16


@settings(deadline=None, max_examples=60)
@given(graphs(can_run=True), st.integers(3, 6))
def test_arguments_and_constants_are_never_written_to(random: Graph, n: int) -> None:
    arguments = [argument_of(parameter.type, n) for parameter in random.parameters]
    before = [argument.tobytes() for argument in (*arguments, *(c.array for c in random.constants))]
    results = evaluate(random, arguments)
    after = [argument.tobytes() for argument in (*arguments, *(c.array for c in random.constants))]
    assert before == after
    for result, value in zip(results, random.results, strict=True):
        assert result.dtype == value.type.dtype.numpy
        assert result.shape == tuple(dims.evaluate(size, {"n": n}) for size in value.type.shape)


def argument_of(type: Any, n: int) -> Array:
    shape = [dims.evaluate(size, {"n": n}) for size in type.shape]
    return (
        np.arange(1, 1 + int(np.prod(shape)), dtype=np.int64)
        .reshape(shape)
        .astype(type.dtype.numpy)
    )


@pytest.mark.parametrize("name", ["switch", "while", "scan", "nested_regions", "custom_jvp"])
def test_arguments_of_loops_and_branches_are_never_written_to(name: str) -> None:
    made = SAMPLES[name]()
    arguments = [argument_of(parameter.type, 3) for parameter in made.parameters]
    for argument in arguments:
        argument.setflags(write=False)
    evaluate(made, arguments)


def test_a_fault_in_a_region_names_the_line_of_the_op_that_failed() -> None:
    builder = Builder()
    x = builder.parameter(parse_type("f32[n>=0]"), "x")
    body_builder = Builder()
    inner = body_builder.parameter(x.type)
    with body_builder.active(), body_builder.at(Location("model.py", 9, "x.max()")):
        body = body_builder.region([ops.reduce_max(inner, axes=(0,))])
    with builder.active(), builder.at(Location("model.py", 3, "f(x)")):
        made = builder.graph("g", ops.call.emit(x, function="f", regions=[body]))
    with pytest.raises(ShapeError) as caught:
        evaluate(made, [np.zeros(0, np.float32)])
    assert str(caught.value).startswith("reduce_max: axis 0 is empty")
    assert str(caught.value).endswith("\n  at model.py:9: x.max()")


def test_walk_and_observe_agree_on_straight_code() -> None:
    made = graph({"x": "f32[3]"}, lambda x: ops.exp(ops.neg(ops.add(x, x))))
    seen: list[Op] = []
    evaluate(made, [X], observe=lambda op, results: seen.append(op))
    assert seen == list(walk(made))
