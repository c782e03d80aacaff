"""Branches, loops and calls back to Python, against the same program as Python control flow."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.ir.graph import Graph
from weft.compiler.loops.pipeline import lower_to_loops
from weft.compiler.passes.pipeline import optimise

Array = np.ndarray[Any, Any]
X = np.array([1.0, -2.0, 3.0])


def op_names(graph: Graph) -> list[str]:
    return [op.name for region in graph.regions() for op in region.ops]


# --- cond and switch ------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [True, False])
def test_cond_chooses(p: bool) -> None:
    def f(p: Any, x: Any, y: Any) -> Any:
        return wf.cond(p, lambda a, b: {"r": a - b["v"]}, lambda a, b: {"r": b["v"]}, x, {"v": y})

    want = X - 1.0 if p else np.ones(3)
    np.testing.assert_array_equal(wf.jit(f)(p, X, np.ones(3))["r"], want)
    np.testing.assert_array_equal(f(np.array(p), X, np.ones(3))["r"], want)
    np.testing.assert_array_equal(f(p, X, np.ones(3))["r"], want)


def test_only_the_chosen_branch_runs() -> None:
    ran: list[str] = []

    def note(name: str) -> Callable[[Any], Any]:
        def branch(x: Any) -> Any:
            wf.callback(lambda: ran.append(name), None)
            return x

        return branch

    f = wf.jit(lambda p, x: wf.cond(p, note("true"), note("false"), x))
    f(True, 1.0)
    f(False, 1.0)
    assert ran == ["true", "false"]


def test_a_static_predicate_leaves_no_branch() -> None:
    graph = wf.trace(lambda x: wf.cond(True, lambda x: np.sin(x), lambda x: (x, "not traced"), x))(
        1.0
    )
    assert op_names(graph) == ["sin"]
    functions: list[Any] = [np.sin, np.cos]
    graph = wf.trace(lambda x: wf.switch(1, functions, x))(1.0)
    assert op_names(graph) == ["cos"]


@pytest.mark.parametrize("index", [-5, 0, 1, 2, 9])
def test_switch_clamps_its_index(index: int) -> None:
    def f(i: Any, x: Any) -> Any:
        return wf.switch(i, [lambda x: x, lambda x: x * 10, lambda x: x * 100], x)

    clamped = min(max(index, 0), 2)
    for given in (index, np.int8(index)):
        np.testing.assert_array_equal(wf.jit(f)(given, X), X * 10.0**clamped)
        np.testing.assert_array_equal(f(given, X), X * 10.0**clamped)
    np.testing.assert_array_equal(wf.jit(f)(np.uint64(clamped), X), X * 10.0**clamped)


def test_branches_may_return_python_scalars() -> None:
    f = wf.jit(lambda p, x: wf.cond(p, lambda x: 0.0, lambda x: x, x))
    assert f(True, np.float32(2.0)).dtype == np.float32
    g = wf.jit(lambda p: wf.cond(p, lambda: 1.5, lambda: 2))
    assert (g(True), g(False)) == (1.5, 2.0)
    assert g(False).dtype == np.float64


CONDS: list[tuple[Callable[..., Any], str]] = [
    (lambda p, x: wf.cond(p, lambda x: (x, x), lambda x: x, x), "different structures"),
    (lambda p, x: wf.cond(p, lambda x: {"a": x}, lambda x: {"b": x}, x), "different structures"),
    (
        lambda p, x: wf.cond(p, lambda x: x, lambda x: x.sum(), x),
        r"different types as result 0: false branch f64\[\], true branch f64\[3\]",
    ),
    (
        lambda p, x: wf.cond(p, lambda x: x, lambda x: x.astype("f4"), x),
        r"false branch f32\[3\], true branch f64\[3\]",
    ),
    (lambda p, x: wf.cond(p, lambda x: 1.5, lambda x: x[0] > 0, x), "different types"),
    (lambda p, x: wf.cond(x, lambda: 1, lambda: 2), r"rank-0 bool predicate, got f64\[3\].*where"),
    (lambda p, x: wf.cond(x[0], lambda: 1, lambda: 2), r"rank-0 bool predicate, got f64\[\]"),
    (lambda p, x: wf.switch(p, [lambda: 1]), r"rank-0 integer index, got bool\[\]"),
    (lambda p, x: wf.switch(x[0], [lambda: 1]), r"rank-0 integer index, got f64\[\]"),
    (lambda p, x: wf.switch(0, []), "at least one branch"),
]


@pytest.mark.parametrize(("function", "match"), CONDS)
def test_branches_that_disagree_are_refused(function: Callable[..., Any], match: str) -> None:
    with pytest.raises(wf.TraceError, match=match) as caught:
        wf.jit(function, control_flow=False)(True, X)
    assert "test_control.py" in str(caught.value)


# --- captures -------------------------------------------------------------------------------------


def test_branches_capture_values_of_the_enclosing_function() -> None:
    def f(x: Any) -> Any:
        doubled = x * 2.0
        return wf.cond(x.sum() > 0, lambda: doubled + x, lambda: doubled - 1.0)

    np.testing.assert_array_equal(wf.jit(f)(X), X * 3.0)
    np.testing.assert_array_equal(wf.jit(f)(-X), -X * 2.0 - 1.0)


def test_captures_reach_through_two_loops() -> None:
    """A scan whose body has a while loop whose body has a cond, each reading outer values."""

    def f(x: Any, w: Any) -> Any:
        offset = x[0] * 10.0

        def step(total: Any, row: Any) -> Any:
            scaled = row * w

            def again(c: Any) -> Any:
                bigger = wf.cond(c[1] > offset, lambda: scaled + offset, lambda: scaled * 2.0)
                return c[0] + 1, c[1] + bigger

            _, grown = wf.while_loop(
                lambda c: (c[1] < offset * 2.0) & (c[0] < 5), again, (0, total)
            )
            return grown, grown - scaled

        return wf.scan(step, 0.0, x)

    def by_hand(x: Array, w: float) -> tuple[float, list[float]]:
        offset, total, outs = x[0] * 10.0, 0.0, []
        for row in x:
            scaled, count = row * w, 0
            while total < offset * 2.0 and count < 5:
                total += scaled + offset if total > offset else scaled * 2.0
                count += 1
            outs.append(total - scaled)
        return total, outs

    x = np.array([1.0, 4.0, 2.5])
    total, outs = wf.jit(f)(x, 0.7)
    want_total, want_outs = by_hand(x, 0.7)
    assert total == pytest.approx(want_total, rel=1e-14)
    np.testing.assert_allclose(outs, want_outs, rtol=1e-14)
    wf.jit(f).trace(x, 0.7).verify()


def test_a_capture_is_passed_once() -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        return wf.scan(lambda c, _: (c + y * y + y, y), x * 0.0, length=3)

    (scan,) = [op for op in wf.trace(f)(X).ops if op.name == "scan"]
    assert scan.attributes["n_consts"] == 1


def test_constants_are_not_captured() -> None:
    table = np.arange(20.0)
    graph = wf.trace(
        lambda x: wf.scan(lambda c, i: (c + table.sum() * i, None), x, np.arange(3.0))
    )(1.0)
    (scan,) = [op for op in graph.ops if op.name == "scan"]
    assert scan.attributes["n_consts"] == 0


# --- while_loop and fori_loop ---------------------------------------------------------------------


def test_while_loop_with_a_tree() -> None:
    def f(n: Any, x: Any) -> Any:
        return wf.while_loop(
            lambda c: c["i"] < n,
            lambda c: {"i": c["i"] + 1, "x": (c["x"][0] * 2.0,)},
            {"i": 0, "x": (x,)},
        )

    for n in (0, 1, 5):
        got = wf.jit(f)(n, X)
        assert got["i"] == n
        np.testing.assert_array_equal(got["x"][0], X * 2.0**n)


def test_loops_run_outside_of_jit() -> None:
    assert wf.while_loop(lambda c: c < 10, lambda c: c * 3, 1) == 27
    assert wf.fori_loop(0, 4, lambda i, c: c + i, 0) == 6
    carry, ys = wf.scan(lambda c, x: (c + x, c), 0.0, X)
    assert carry == 2.0
    np.testing.assert_array_equal(ys, [0.0, 1.0, -1.0])
    assert isinstance(ys, np.ndarray)
    np.testing.assert_array_equal(wf.map(lambda x: x * 2, X), X * 2)


@pytest.mark.parametrize(("lower", "upper"), [(0, 4), (2, 5), (-3, 2), (5, 3), (3, 3)])
def test_fori_loop_is_a_range(lower: int, upper: int) -> None:
    def f(low: Any, high: Any) -> Any:
        return wf.fori_loop(low, high, lambda i, c: c * 3 + i, 1)

    want = 1
    for i in range(lower, upper):
        want = want * 3 + i
    assert wf.jit(lambda: f(lower, upper))() == want
    assert wf.jit(f)(lower, upper) == want
    assert f(np.int64(lower), np.int64(upper)) == want


def test_fori_loop_with_known_bounds_is_a_scan_and_else_a_while() -> None:
    known = wf.trace(lambda x: wf.fori_loop(0, 3, lambda i, c: c + x, x))(1.0)
    assert "scan" in op_names(known) and "while" not in op_names(known)
    traced = wf.trace(lambda n, x: wf.fori_loop(0, n, lambda i, c: c + x, x))(3, 1.0)
    assert "while" in op_names(traced)


@pytest.mark.parametrize("dtype", ["float32", "int32", "float64"])
def test_the_index_of_fori_loop_promotes_as_a_python_int(dtype: str) -> None:
    start = np.zeros(2, dtype)
    for bounds in ((0, 3), (1, 3), (np.array(0), np.array(3))):
        got = wf.fori_loop(*bounds, lambda i, c: c + i, start)
        np.testing.assert_array_equal(got, np.full(2, 3, dtype), strict=True)


def test_fori_loop_over_symbolic_bounds() -> None:
    def f(x: Any) -> Any:
        n = x.shape[0]
        return wf.fori_loop(n - 2, n, lambda i, c: c + x[i] * i, 0.0), wf.fori_loop(
            3, n, lambda i, c: c + 1, 0
        )

    graph = wf.trace(f)(wf.spec("f64[n>=2]"))
    for size in (2, 3, 7):
        x = np.arange(float(size)) + 1.0
        last, count = wf.evaluate(graph, [x])
        assert last == x[-2] * (size - 2) + x[-1] * (size - 1)
        assert count == max(size - 3, 0)


# --- scan and map ---------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_with_trees_both_ways(reverse: bool) -> None:
    def step(carry: Any, row: Any) -> Any:
        a, (b, none) = carry
        assert none is None
        return (a + row["x"], (b * row["y"], None)), {"sum": a, "both": (b, row["x"])}

    rows = {"x": np.arange(4.0), "y": np.arange(8.0).reshape(4, 2) + 1.0}
    got = wf.jit(lambda r: wf.scan(step, (0.0, (np.ones(2), None)), r, reverse=reverse))(rows)
    carry: Any = (0.0, (np.ones(2), None))
    outs: list[Any] = [None] * 4
    for i in range(4)[:: -1 if reverse else 1]:
        carry, outs[i] = step(carry, {"x": rows["x"][i], "y": rows["y"][i]})
    assert got[0][0] == carry[0]
    np.testing.assert_array_equal(got[0][1][0], carry[1][0])
    np.testing.assert_array_equal(got[1]["sum"], [out["sum"] for out in outs])
    np.testing.assert_array_equal(got[1]["both"][0], [out["both"][0] for out in outs])


def test_scan_of_length_zero() -> None:
    carry, ys = wf.jit(lambda xs: wf.scan(lambda c, x: (c + x, (c, x * X)), 5.0, xs))(np.zeros(0))
    assert carry == 5.0
    assert ys[0].shape == (0,) and ys[1].shape == (0, 3)
    assert wf.map(lambda x: x * X, np.zeros((0, 3))).shape == (0, 3)
    assert wf.scan(lambda c, _: (c + 1, None), 5, length=0) == (5, None)


def test_scan_of_symbolic_length() -> None:
    def f(x: Any) -> Any:
        return wf.scan(lambda c, r: (c + r.sum(), r * c), 0.0, x, reverse=True)

    graph = wf.trace(f)(wf.spec("f64[n>=0, 2]"))
    assert str(graph.results[1].type) == "f64[n, 2]"
    for size in (0, 1, 4):
        x = np.arange(2.0 * size).reshape(size, 2)
        got, want = wf.evaluate(graph, [x]), wf.jit(f)(x)
        assert got[0] == want[0]
        np.testing.assert_array_equal(got[1], want[1], strict=True)


def test_scan_with_a_symbolic_length_and_no_sequences() -> None:
    graph = wf.trace(lambda x: wf.scan(lambda c, _: (c + 1, c), 0, length=x.shape[0]))(
        wf.spec("f64[n]")
    )
    total, numbers = wf.evaluate(graph, [np.zeros(4)])
    assert total == 4
    np.testing.assert_array_equal(numbers, np.arange(4))


def test_map_of_trees() -> None:
    got = wf.jit(lambda t: wf.map(lambda r: {"s": r[0] + r[1].sum()}, t))((X, np.ones((3, 2))))
    np.testing.assert_array_equal(got["s"], X + 2.0)


# --- weak carries ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64", "float16"])
def test_a_carry_that_starts_as_a_python_number_takes_the_bodys_dtype(dtype: str) -> None:
    xs = np.arange(3).astype(dtype)
    carry, ys = wf.jit(lambda xs: wf.scan(lambda c, x: (c + x, c), 0, xs))(xs)
    assert carry.dtype == dtype and ys.dtype == dtype
    total = wf.jit(lambda xs: wf.while_loop(lambda c: abs(c) < 5, lambda c: c + xs[2], 0))(xs)
    assert total.dtype == dtype


def test_python_numbers_widen_and_never_narrow() -> None:
    carry, ys = wf.scan(lambda c, x: (1.5, c), 0, np.arange(3))
    assert carry == 1.5
    np.testing.assert_array_equal(ys, [0.0, 1.5, 1.5])
    carry, ys = wf.scan(lambda c, x: (1, c), 0.5, np.arange(3))
    np.testing.assert_array_equal(ys, [0.5, 1.0, 1.0])
    with pytest.raises(wf.TraceError, match=r"enters as i64\[\] and leaves as f64\[\]"):
        wf.scan(lambda c, x: (1.5, c), np.int64(0), np.arange(3))
    with pytest.raises(wf.TraceError, match=r"enters as f64\[\] and leaves as i64\[\]"):
        wf.scan(lambda c, x: (x, c), 0.5, np.arange(3))


LOOPS: list[tuple[Callable[..., Any], str]] = [
    (
        lambda x: wf.scan(lambda c, r: (c.sum(), r), x, x),
        r"scan body: carry 0 enters as f64\[3\] and leaves as f64\[\]; make the two agree",
    ),
    (
        lambda x: wf.scan(lambda c, r: ((c[0], c[1] * 1j), r), (x, x), x),
        r"scan body: carry 1 enters as f64\[3\] and leaves as c128\[3\].*astype\('float64'\)",
    ),
    (lambda x: wf.scan(lambda c, r: c, x, x), r"must return a pair \(carry, y\)"),
    (lambda x: wf.scan(lambda c, r: [c, r], x, x), r"must return a pair \(carry, y\)"),
    (lambda x: wf.scan(lambda c, r: ((c, c), r), x, x), "the carry has the structure"),
    (lambda x: wf.scan(lambda c, r: (c, r), x, x[0]), r"first axis of its sequences.*f64\[\]"),
    (lambda x: wf.scan(lambda c, r: (c, r), x, (x, x[:2])), "has 2 steps, expected 3"),
    (lambda x: wf.scan(lambda c, r: (c, r), x, x, length=4), "has 3 steps, expected 4"),
    (lambda x: wf.scan(lambda c, r: (c, r), x), "needs length="),
    (
        lambda x: wf.while_loop(lambda c: c[0], lambda c: c, x),
        r"condition of while_loop must return a rank-0 bool, it returns f64\[\]",
    ),
    (
        lambda x: wf.while_loop(lambda c: c > 0, lambda c: c, x),
        r"condition of while_loop must return a rank-0 bool, it returns bool\[3\]",
    ),
    (
        lambda x: wf.while_loop(lambda c: c[0] > 0, lambda c: c[1:], x),
        r"while_loop body: carry 0 enters as f64\[3\] and leaves as f64\[2\]",
    ),
    (
        lambda x: wf.while_loop(lambda c: c[1] > 0, lambda c: c[1], (x, 1)),
        "while_loop body: the carry has the structure",
    ),
    (lambda x: wf.fori_loop(0, x[0], lambda i, c: c, x), r"bounds of fori_loop are integers.*f64"),
    (lambda x: wf.fori_loop(0, 3, lambda i, c: c[0], x), r"enters as f64\[3\] and leaves as f64"),
]


@pytest.mark.parametrize(("function", "match"), LOOPS)
def test_loops_that_do_not_fit_are_refused(function: Callable[..., Any], match: str) -> None:
    for call in (wf.jit(function), function):
        with pytest.raises(wf.WeftError, match=match) as caught:
            call(X)
        assert "test_control.py" in str(caught.value)


def test_a_traced_length_points_to_the_loops_that_take_one() -> None:
    f = wf.jit(lambda n: wf.scan(lambda c, r: (c, r), 0.0, length=n), control_flow=False)
    with pytest.raises(
        wf.TraceError, match=r"known while tracing.*wf\.fori_loop or wf\.while_loop"
    ):
        f(3)


# --- callbacks ------------------------------------------------------------------------------------


def test_callbacks_and_prints_happen_in_program_order(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        wf.debug_print("start {}", x[0])

        def step(c: Any, i: Any) -> Any:
            wf.debug_print("step {:.0f}", i)
            return c + i, None

        total, _ = wf.scan(step, 0.0, x)
        wf.cond(total > 0, lambda: wf.debug_print("positive"), lambda: wf.debug_print("not"))
        wf.callback(lambda t: print("called", t), None, total)
        wf.debug_print("end")
        return total

    wf.jit(f)(X)
    assert capsys.readouterr().out.splitlines() == [
        "start 1.0",
        "step 1",
        "step -2",
        "step 3",
        "positive",
        "called 2.0",
        "end",
    ]


def test_debug_print_prints_outside_of_jit_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    wf.debug_print("{} {}", X, 2)
    assert capsys.readouterr().out == "[ 1. -2.  3.] 2\n"


def test_effects_survive_differentiation_and_batching(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        wf.debug_print("x = {}", x)
        return x**2

    assert wf.grad(f)(3.0) == 6.0
    np.testing.assert_array_equal(wf.vmap(f)(X), X**2)
    assert capsys.readouterr().out.splitlines() == ["x = 3.0", "x = 1.0", "x = -2.0", "x = 3.0"]


def test_a_callback_returns_a_tree() -> None:
    specs = {"twice": wf.spec("f64[3]"), "total": "f64[]"}

    def on_host(x: Array) -> dict[str, Any]:
        assert type(x) is np.ndarray
        return {"twice": x * 2, "total": x.sum()}

    got = wf.jit(lambda x: wf.callback(on_host, specs, x))(X)
    np.testing.assert_array_equal(got["twice"], X * 2)
    assert got["total"] == 2.0


def test_a_callback_gets_copies() -> None:
    def clear(x: Array) -> None:
        x[:] = 0.0

    def f(x: Any) -> Any:
        wf.callback(clear, None, x)
        return x + 0.0

    np.testing.assert_array_equal(wf.jit(f)(X), X)


def raises(_: Any) -> Any:
    raise RuntimeError("from the host")


BAD_CALLBACKS: list[tuple[Callable[..., Any], str]] = [
    (lambda x: x.sum(), r"returned float64\[\] where f64\[3\] was declared"),
    (lambda x: x.astype("f4"), r"returned float32\[3\] where f64\[3\] was declared"),
    (lambda x: (x, x), "returned the structure"),
    (raises, "from the host"),
]


@pytest.mark.parametrize(("function", "match"), BAD_CALLBACKS)
def test_a_callback_that_misbehaves_is_reported(function: Callable[..., Any], match: str) -> None:
    f = wf.jit(lambda x: wf.callback(function, wf.spec("f64[3]"), x))
    with pytest.raises(wf.EvaluationError, match=match) as caught:
        f(X)
    assert "test_control.py" in str(caught.value)


def test_a_callback_has_no_derivative() -> None:
    f = wf.grad(lambda x: wf.callback(np.sum, wf.spec("f64[]"), x))
    with pytest.raises(wf.TraceError, match="has no derivative; give it one with custom_vjp"):
        f(X)
    stopped = wf.grad(lambda x: x[0] + wf.callback(np.sum, wf.spec("f64[]"), wf.stop_gradient(x)))
    np.testing.assert_array_equal(stopped(X), [1.0, 0.0, 0.0])


# --- dynamic slices -------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [-3, 0, 1, 2, 9])
def test_dynamic_slices_are_clamped(start: int) -> None:
    low = min(max(start, 0), 1)
    got = wf.jit(lambda x, i: wf.dynamic_slice(x, [i], [2]))(X, start)
    np.testing.assert_array_equal(got, X[low : low + 2])
    want = X.copy()
    want[low : low + 2] = 9.0
    got = wf.jit(lambda x, i: wf.dynamic_update_slice(x, np.full(2, 9), [i]))(X, start)
    np.testing.assert_array_equal(got, want, strict=True)


def test_a_dynamic_slice_that_does_not_fit_is_refused() -> None:
    with pytest.raises(wf.ShapeError, match="a window of size 4 does not fit axis 0 of size 3"):
        wf.jit(lambda x: wf.dynamic_slice(x, [0], [4]))(X)


# --- the work of compiling nested control flow ----------------------------------------------------


def passed_on(depth: int, x: Any, y: Any) -> Any:
    """Branches that hand arrays on as they are, or change the last one in place."""
    if depth == 0:
        return x * 2, y
    return wf.cond(
        x.sum() > depth, lambda x, y: passed_on(depth - 1, x, y), lambda x, y: (y, x), x, y
    )


def changed(depth: int, x: Any) -> Any:
    """Branches that compute with what the branches inside of them return."""
    if depth == 0:
        return np.sin(x)
    return wf.cond(x[0] > depth, lambda x: np.cos(changed(depth - 1, x * x)), lambda x: x, x)


def looped(depth: int, x: Any) -> Any:
    """Branches and loops in turn."""
    if depth == 0:
        return np.sin(x)
    return wf.cond(
        x[0] < depth,
        lambda x: wf.fori_loop(0, 3, lambda i, x: np.cos(looped(depth - 1, x * x)), x),
        lambda x: x,
        x,
    )


def calls_to_compile(function: Any) -> int:
    """How many Python functions are called on the way from a function to its loop program."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        graph, _ = optimise(wf.trace(function)(wf.spec("f64[3]")))
        lower_to_loops(graph, 32)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("derivative", ["value", "grad", "jvp of grad"])
@pytest.mark.parametrize("nested", [lambda d, x: passed_on(d, x, x + 1)[0], changed, looped])
def test_the_work_of_compiling_does_not_double_with_each_level(
    nested: Callable[[int, Any], Any], derivative: str
) -> None:
    def function(depth: int) -> Any:
        def value(x: Any) -> Any:
            return nested(depth, x)

        gradient = wf.grad(lambda x: value(x).sum())
        if derivative == "value":
            return value
        return gradient if derivative == "grad" else lambda x: wf.jvp(gradient, (x,), (x,))

    calls_to_compile(function(1))  # what is imported and cached on the way is no work of nesting
    assert calls_to_compile(function(10)) < 4 * calls_to_compile(function(5))
