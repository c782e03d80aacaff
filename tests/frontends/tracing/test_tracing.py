"""From a Python function to a graph: closures, promotion, locations, specs, caching, nesting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as wf

Array = np.ndarray[Any, Any]


class Counted:
    """A function that counts how often Python runs it, that is, how often it is traced."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.count = 0
        self.__name__ = "counted"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.count += 1
        return self.function(*args, **kwargs)


# --- closures -------------------------------------------------------------------------------------


def test_an_array_of_the_closure_is_a_constant() -> None:
    table = np.arange(20.0)
    f = wf.jit(lambda i: table[3] + table.sum() * i, check="off")
    assert f(1.0) == 193.0
    table[:] = 0.0
    assert f(1.0) == 193.0


def test_a_constant_used_twice_is_one_constant() -> None:
    table = np.arange(20.0)
    graph = wf.trace(lambda x: (x + table) * table)(1.0)
    assert len(graph.constants) == 1


def test_an_array_that_changes_between_uses_is_two_constants() -> None:
    def f(x: Any) -> Any:
        table = np.arange(20.0)
        before = x + table
        table[0] = 100.0
        return before, x + table

    assert len(wf.trace(f)(0.0).constants) == 2
    before, after = wf.jit(f)(0.0)
    assert (before[0], after[0]) == (0.0, 100.0)


def test_small_arrays_that_change_keep_their_value_at_use() -> None:
    def f(x: Any) -> Any:
        number = np.array([1.0, 2.0])
        before = x + number
        number[0] = 100.0
        return before, x + number

    before, after = wf.jit(f)(0.0)
    np.testing.assert_array_equal(before, [1.0, 2.0])
    np.testing.assert_array_equal(after, [100.0, 2.0])


@pytest.mark.parametrize("bad", [np.array(["a"]), np.array([object()]), np.array([1], "M8[s]")])
def test_an_array_of_the_closure_with_a_foreign_dtype_is_refused(bad: Array) -> None:
    with pytest.raises(wf.WeftError, match="dtype") as caught:
        wf.jit(lambda x: np.stack([x, bad]))(np.ones(1))
    assert "test_tracing.py" in str(caught.value)


# --- weak promotion -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "complex64"])
@pytest.mark.parametrize("scalar", [2, 2.5, True, 1j, np.float32(2), np.float64(2), np.int16(2)])
def test_python_scalars_promote_as_in_numpy(dtype: str, scalar: Any) -> None:
    """As an argument and as a constant; also after arithmetic among scalars."""
    x = np.ones(2, dtype)
    want = (x * scalar).dtype
    assert wf.jit(lambda x, s: x * s)(x, scalar).dtype == want
    assert wf.jit(lambda x: x * scalar)(x).dtype == want
    if not isinstance(scalar, np.generic | bool):
        assert wf.jit(lambda x, s: x * (s * 2 + 1))(x, scalar).dtype == want


def test_a_scalar_argument_on_its_own_has_numpys_dtype() -> None:
    f = wf.jit(lambda s: s)
    assert [f(s).dtype for s in (True, 1, 1.0, 1j)] == ["bool", "int64", "float64", "complex128"]


def test_a_scalar_is_compiled_once_for_all_values() -> None:
    counted = Counted(lambda x, s: x * s)
    f = wf.jit(counted)
    assert [f(2.0, s) for s in (1.0, 2.0, -3.5)] == [2.0, 4.0, -7.0]
    assert counted.count == 1
    f(2.0, 1)
    assert counted.count == 2


# --- locations ------------------------------------------------------------------------------------


def test_ops_know_their_line_and_expression() -> None:
    def helper(v: Any) -> Any:
        return np.exp(v)  # line of exp

    def f(x: Any) -> Any:
        y = x @ x
        return helper(y) + sum(
            y[i]  # line of the index
            for i in range(1)
        )

    graph = wf.trace(f)(np.ones((2, 2)))
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    places = {}
    for op in graph.ops:
        assert op.location is not None
        assert op.location.file == __file__
        places[op.name] = source[op.location.line - 1].strip(), op.location.expression
    assert places["dot_general"] == ("y = x @ x", "x @ x")
    assert places["exp"] == ("return np.exp(v)  # line of exp", "np.exp(v)")
    assert places["slice"] == ("y[i]  # line of the index", "y[i]")


def test_gradient_ops_carry_the_location_of_the_forward_op() -> None:
    def loss(x: Any) -> Any:
        y = np.sin(x)
        return np.sum(y)

    graph = wf.trace(wf.grad(loss))(np.ones(3))
    (cosine,) = [op for op in graph.ops if op.name == "cos"]
    assert cosine.location is not None
    assert cosine.location.expression == "np.sin(x)"


def test_the_text_shows_locations_on_request() -> None:
    graph = wf.trace(lambda x: np.tanh(x))(1.0)
    assert "np.tanh(x)" in graph.text(locations=True)
    assert "np.tanh(x)" not in str(graph)


# --- specs and symbolic sizes ---------------------------------------------------------------------


def test_one_trace_serves_several_sizes() -> None:
    counted = Counted(lambda x, w: np.tanh(x @ w).sum(axis=0))
    f = wf.jit(counted, specs=("f64[n, m]", "f64[m, 3]"))
    for n, m in ((1, 1), (4, 2), (7, 5), (4, 2)):
        x, w = np.random.default_rng(n).normal(size=(n, m)), np.ones((m, 3))
        np.testing.assert_allclose(f(x, w), np.tanh(x @ w).sum(axis=0))
    assert counted.count == 1


def test_specs_for_some_arguments_and_trees() -> None:
    f = wf.jit(lambda p, x: p["w"] * x.sum(), specs=({"w": "f32[n]"}, ...))
    assert f({"w": np.ones(3, "f4")}, np.ones(2)).shape == (3,)
    assert f({"w": np.ones(5, "f4")}, np.ones(2)).shape == (5,)


def test_trace_takes_specs_in_place_of_arrays() -> None:
    graph = wf.trace(lambda p: p["w"].T)({"w": wf.spec("f32[n, 2*n]")})
    assert str(graph.results[0].type) == "f32[2*n, n]"
    assert wf.evaluate(graph, [np.ones((2, 4), "f4")])[0].shape == (4, 2)


def test_shapes_are_symbolic_while_tracing() -> None:
    def f(x: Any) -> Any:
        n, m = x.shape
        longer = np.concatenate([x, np.zeros_like(x, shape=(n + 2, m))])
        return longer.reshape(-1, m * 2), x.size, x / n

    graph = wf.trace(f)(wf.spec("f64[n, 4]"))
    assert [str(result.type) for result in graph.results] == ["f64[n + 1, 8]", "i64[]", "f64[n, 4]"]
    x = np.ones((3, 4))
    for got, want in zip(wf.evaluate(graph, [x]), f(x), strict=True):
        np.testing.assert_array_equal(got, want)


BAD_CALLS: list[tuple[Any, ...]] = [
    (wf.ShapeError, (np.ones((4, 5)), np.ones(3)), r"y has shape \(3,\).*m is 5 here, not 3"),
    (wf.ShapeError, (np.ones(4), np.ones(3)), r"x has shape \(4,\), expected f64\[n, m\]"),
    (wf.DTypeError, (np.ones((4, 3), "f4"), np.ones(3)), "x has dtype float32, expected float64"),
    (wf.ShapeError, (np.ones((0, 3)), np.ones(3)), "n is 0 here, but it was declared n >= 1"),
    (wf.ArgumentError, (np.ones((4, 3)),), "given 2 specs but is called with 1 arrays"),
]


@pytest.mark.parametrize(("error", "arguments", "match"), BAD_CALLS)
def test_wrong_sizes_are_refused_and_the_function_still_works(
    error: type[Exception], arguments: tuple[Array, ...], match: str
) -> None:
    f = wf.jit(lambda x, y: x @ y, specs=("f64[n, m]", "f64[m]"))
    with pytest.raises(error, match=match):
        f(*arguments)
    np.testing.assert_array_equal(f(np.ones((2, 3)), np.ones(3)), [3.0, 3.0])


def test_a_declared_bound_is_kept() -> None:
    f = wf.jit(lambda x: x[:4] + x[-4:], specs=("f64[n>=4]",))
    assert f(np.ones(4)).shape == (4,)
    with pytest.raises(wf.ShapeError, match="declared n >= 4"):
        f(np.ones(3))


def test_a_python_scalar_takes_the_declared_dtype() -> None:
    f = wf.jit(lambda x: x * 2, specs=("f32[]",))
    assert f(1.5) == 3.0
    assert f(2).dtype == np.float32
    with pytest.raises(wf.DTypeError, match="expected int32"):
        wf.jit(lambda x: x, specs=("i32[]",))(1.5)


@pytest.mark.parametrize(
    ("text", "match"),
    [("f32[n", "expected ',' or ']'"), ("q7[n]", "'q7' is no dtype"), ("", "line 1")],
)
def test_a_bad_spec_shows_the_place(text: str, match: str) -> None:
    with pytest.raises(wf.ParseError, match=match):
        wf.spec(text)


# --- caching --------------------------------------------------------------------------------------


def test_the_same_kind_is_traced_once() -> None:
    counted = Counted(lambda tree, x: tree["a"] * x)
    f = wf.jit(counted)
    kinds = [
        ({"a": np.ones(2)}, 1.0),
        ({"a": np.ones(2)}, 5.0),
        ({"a": np.zeros(2)}, 1.0),
        ({"a": np.ones(2)[::-1]}, 1.0),
    ]
    for arguments in kinds:
        f(*arguments)
    assert counted.count == 1
    f({"a": np.ones(3)}, 1.0)
    f({"a": np.ones(2, "f4")}, 1.0)
    f({"a": np.ones(2), "b": 1.0}, 1.0)
    f({"a": np.ones(2)}, np.float64(1.0))
    assert counted.count == 5
    for arguments in kinds:
        f(*arguments)
    assert counted.count == 5


def test_a_failed_trace_is_not_kept() -> None:
    fails = [False, True]
    f = wf.jit(lambda x: x + np.ones(3) if fails.pop() else x)
    with pytest.raises(wf.ShapeError):
        f(np.ones(2))
    np.testing.assert_array_equal(f(np.ones(2)), [1.0, 1.0])


def test_arguments_and_results_share_no_memory() -> None:
    constant = np.ones(2)
    f = wf.jit(lambda x: (x, x, constant, x.T, x[:1]))
    x = np.zeros(2)
    results = f(x)
    for result in results:
        assert not np.shares_memory(result, x)
        result[:] = 7.0
    np.testing.assert_array_equal(x, [0.0, 0.0])
    np.testing.assert_array_equal(f(x)[2], [1.0, 1.0])


@pytest.mark.parametrize(
    "x",
    [
        np.arange(12.0).reshape(3, 4).T,
        np.arange(12.0)[::-2],
        np.broadcast_to(np.float64(3.0), (2, 3)),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(3.0).astype(">f8"),
    ],
    ids=["transposed", "reversed", "broadcast", "column-major", "big-endian"],
)
def test_arguments_of_any_memory_layout(x: Array) -> None:
    np.testing.assert_array_equal(wf.jit(lambda x: x * 2)(x), x * 2)


# --- explain --------------------------------------------------------------------------------------


def test_explain_before_and_after() -> None:
    table = np.zeros(1 << 18)

    def lookup(i: Any) -> Any:
        return table[0] + table * i

    f = wf.jit(lookup)
    assert "lookup has not been compiled yet" in f.explain()
    f(1.0)
    text = f.explain()
    assert "lookup(i: f64[]) -> f64[262144]" in text
    assert "1 mul" in text
    assert "closes over an array f64[262144] of 2.0 MiB" in text
    assert "table * i" in text
    assert "pass it as an argument" in text


def test_explain_says_nothing_of_small_constants() -> None:
    table = np.zeros(100)
    f = wf.jit(lambda i: table * i)
    f(1.0)
    f(np.ones(100))
    text = f.explain()
    assert "note" not in text
    assert text.count("lambda(") == 2


# --- nesting and leaks ----------------------------------------------------------------------------


def test_a_nested_jit_is_a_call() -> None:
    def square(x: Any) -> Any:
        return x * x

    compiled = wf.jit(square)

    def f(x: Any, y: Any) -> Any:
        return compiled(x + y) + compiled(y)

    graph = wf.trace(f)(1.0, 2.0)
    calls = [op for op in graph.ops if op.name == "call"]
    assert [op.attributes["function"] for op in calls] == ["square", "square"]
    assert [len(op.regions[0].ops) for op in calls] == [1, 1]
    assert wf.jit(f)(1.0, 2.0) == 13.0


def test_a_nested_jit_keeps_structure_statics_and_captures() -> None:
    inner = wf.jit(lambda p, n: {"y": p["x"] ** n}, static_argnums=1)

    def f(x: Any) -> Any:
        captured = x * 2.0
        closes_over = wf.jit(lambda y: y + captured)
        return inner({"x": x}, 3)["y"] + closes_over(1.0)

    assert wf.jit(f)(2.0) == 13.0


def store(x: Any, where: list[Any]) -> Any:
    where.append(x * 2)
    return x


def test_a_leaked_array_says_where_it_was_made() -> None:
    kept: list[Any] = []
    wf.jit(lambda x: store(x, kept))(1.0)
    for use in (lambda: float(kept[0]), lambda: wf.jit(lambda y: y + kept[0])(1.0)):
        with pytest.raises(wf.TraceError, match="return it as a result instead of storing it") as e:
            use()
        assert "x * 2" in str(e.value)
    with pytest.raises(wf.TraceError, match="return it as a result instead of storing it"):
        kept[0] + 1.0
    assert repr(kept[0]) == "TracedArray(f64[], weak)"


def test_an_array_that_leaks_from_a_loop_body_is_refused() -> None:
    def f(x: Any) -> Any:
        kept: list[Any] = []
        wf.scan(lambda c, i: (store(c, kept), None), x, np.arange(3.0))
        return kept[0] + 1.0

    with pytest.raises(wf.TraceError, match="loop body that made it"):
        wf.jit(f)(np.ones(2))


def test_an_exception_of_the_user_passes_through() -> None:
    def f(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        wf.jit(f)(1.0)
    assert wf.jit(lambda x: x + 1)(1.0) == 2.0


def test_wrong_argument_counts_are_pythons_own_error() -> None:
    def f(x: Any, y: Any) -> Any:
        return x

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        wf.jit(f)(1.0)


def test_a_jitted_function_keeps_its_name_and_doc() -> None:
    @wf.jit
    def documented(x: Any) -> Any:
        """What it does."""
        return x

    assert documented.__name__ == "documented"
    assert documented.__doc__ == "What it does."
    assert "documented, 0 versions" in repr(documented)
