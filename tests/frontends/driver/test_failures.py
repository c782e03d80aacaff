"""What goes wrong inside of native code, or with the arguments given to it, is an exception that
says what and where; afterwards the function works as before.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as wf

Array = np.ndarray[Any, Any]
HERE = Path(__file__).name
BIG = 200_000  # elements: enough for several threads

# --- positions out of range ---------------------------------------------------------------------


def plain(x: Any, i: Any) -> Any:
    return x[i] * 2  # looks up


def filled(x: Any, i: Any) -> Any:
    y = np.sin(x)
    return np.where(y > 2, y[0], y[i].sum())  # looks up


def in_scan(x: Any, i: Any) -> Any:
    def step(carry: Any, position: Any) -> Any:
        return carry + x[position], carry  # looks up

    return wf.scan(step, 0.0, i)


def in_loop(x: Any, i: Any) -> Any:
    def step(c: Any) -> Any:
        return c[0] + 1, c[1] + x[i[c[0]]]  # looks up

    return wf.while_loop(lambda c: c[0] < i.shape[0], step, (0, 0.0))


def in_branch(x: Any, i: Any) -> Any:
    return wf.cond(i.shape[0] > 1, lambda: x[i].sum(), lambda: x[0])  # looks up


def written(x: Any, i: Any) -> Any:
    y = wf.numpy.asarray(x * 1)
    y[i] = 3.0  # looks up
    return y


def of_rows(x: Any, i: Any) -> Any:
    table = x[:, None] * np.ones(3)
    return np.exp(table[i]).sum(axis=1)  # looks up


LOOKUPS = [plain, filled, in_scan, in_loop, in_branch, written, of_rows]


def line_of(function: Callable[..., Any]) -> int:
    """The line of a function that looks up."""
    lines = Path(__file__).read_text().splitlines()
    first = function.__code__.co_firstlineno
    return next(n for n in range(first, len(lines)) if lines[n - 1].endswith("# looks up"))


@pytest.mark.parametrize("position", [7, -8, 1 << 40, -(1 << 62)])
@pytest.mark.parametrize("function", LOOKUPS, ids=lambda f: f.__name__)
def test_position_out_of_range(function: Callable[..., Any], position: int) -> None:
    f = wf.jit(function)
    x = np.arange(7.0)
    good, bad = np.array([0, 3, -7, 6]), np.array([0, 3, position, 6])
    wanted = wf.jit(function, backend="reference")(x, good)
    for _ in range(2):
        _assert_same(f(x, good), wanted)
        with pytest.raises(wf.BoundsError) as raised:
            f(x, bad)
        assert f"{HERE}:{line_of(function)}" in str(raised.value), raised.value
        assert str(position) in str(raised.value)
        assert "7" in str(raised.value)
    _assert_same(f(x, good), wanted)


@pytest.mark.parametrize("function", [plain, written, of_rows], ids=lambda f: f.__name__)
def test_position_out_of_range_in_a_parallel_kernel(function: Callable[..., Any]) -> None:
    f = wf.jit(function)
    x = np.linspace(0, 1, 1000)
    good = np.random.default_rng(0).integers(0, 1000, BIG)
    bad = good.copy()
    bad[BIG - 5] = 1000
    wanted = wf.jit(function, backend="reference")(x, good)
    for _ in range(3):
        with wf.threads(4), pytest.raises(wf.BoundsError, match=f"{HERE}:{line_of(function)}"):
            f(x, bad)
        _assert_same(f(x, good), wanted)


def test_position_in_an_empty_axis() -> None:
    f = wf.jit(plain)
    assert f(np.zeros(0), np.zeros(0, np.int64)).shape == (0,)
    with pytest.raises(wf.BoundsError):
        f(np.zeros(0), np.zeros(2, np.int64))


def _assert_same(made: Any, wanted: Any) -> None:
    for new, old in zip(_leaves(made), _leaves(wanted), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-12)


def _leaves(tree: Any) -> list[Any]:
    return [x for item in tree for x in _leaves(item)] if isinstance(tree, tuple) else [tree]


# --- calls back to Python -----------------------------------------------------------------------


class Odd(Exception):
    pass


def test_callback_that_raises() -> None:
    def check(x: Array) -> Array:
        if (x < 0).any():
            raise Odd("a negative number")
        return x + 1

    @wf.jit
    def f(x: Any) -> Any:
        return wf.callback(check, wf.spec("f64[3]"), x * 2) * 10

    good = np.arange(3.0)
    for _ in range(3):
        np.testing.assert_array_equal(f(good), (good * 2 + 1) * 10)
        with pytest.raises(wf.EvaluationError, match="Odd: a negative number") as raised:
            f(-1 - good)
        assert isinstance(raised.value.__cause__, Odd)
    np.testing.assert_array_equal(f(good), (good * 2 + 1) * 10)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_callback_that_finds_no_memory(backend: str) -> None:
    def huge(x: Array) -> Array:
        if x[0] < 0:
            raise MemoryError("8 EiB")
        return x

    f = wf.jit(lambda x: wf.callback(huge, wf.spec("f64[2]"), x) + 1, backend=backend)
    for _ in range(2):
        np.testing.assert_array_equal(f(np.ones(2)), [2.0, 2.0])
        with pytest.raises(MemoryError, match=f"(?s)huge raised MemoryError: 8 EiB.*{HERE}"):
            f(-np.ones(2))


def test_callback_that_raises_in_a_loop_ends_the_loop() -> None:
    seen: list[int] = []

    def check(i: Array) -> Array:
        seen.append(int(i))
        if i == 5:
            raise Odd("five")
        return i

    @wf.jit
    def f(n: Any) -> Any:
        body = lambda i, c: c + wf.callback(check, wf.spec("i64"), i)  # noqa: E731
        return wf.fori_loop(0, n, body, 0)

    assert f(4) == 6
    seen.clear()
    with pytest.raises(wf.EvaluationError, match=f"(?s)Odd: five.*{HERE}"):
        f(1000)
    assert seen == [0, 1, 2, 3, 4, 5]
    assert f(4) == 6


def test_failure_ends_a_loop_that_would_not_end() -> None:
    def endless(x: Any, step: Any) -> Any:
        def body(c: Any) -> Any:
            return c[0] + x[c[1]], (c[1] + step) % 9

        return wf.while_loop(lambda c: c[1] >= 0, body, (0.0, 0))[0]

    f = wf.jit(endless)
    for _ in range(2):
        with pytest.raises(wf.BoundsError, match="index 8 is out of range"):
            f(np.arange(7.0), 2)


def test_callback_that_returns_another_shape() -> None:
    f = wf.jit(lambda x: wf.callback(lambda x: x[:2], wf.spec("f64[3]"), x))
    with pytest.raises(wf.WeftError, match=r"\[2\]|\(2,\)"):
        f(np.ones(3))


def test_callback_calls_a_compiled_function() -> None:
    inner = wf.jit(lambda x: np.exp(x).sum())
    f = wf.jit(lambda x: wf.callback(inner, wf.spec("f64"), x * 2) + 1)
    x = np.linspace(0, 1, BIG)
    for _ in range(2):
        np.testing.assert_allclose(f(x), np.exp(x * 2).sum() + 1)


def test_callback_keeps_its_operands() -> None:
    kept: list[Array] = []
    f = wf.jit(lambda x: wf.fori_loop(0, 3, lambda i, c: _seen(c + i, kept), x * 2))
    x = np.arange(5.0)
    f(x)
    f(x + 100)
    for made, offset in zip(kept, [0, 1, 3, 200, 201, 203], strict=True):
        np.testing.assert_array_equal(made, x * 2 + offset)


def _seen(x: Any, kept: list[Array]) -> Any:
    def keep(array: Array) -> Array:
        kept.append(array)
        return array

    return wf.callback(keep, wf.spec("f64[5]"), x)


# --- arguments ----------------------------------------------------------------------------------


class Strange:
    pass


@pytest.mark.parametrize(
    "given",
    [Strange(), b"text", np.array(["a"]), np.array([None, 1]), np.zeros(3, "datetime64[s]")],
    ids=["object", "text", "strings", "objects", "dates"],
)
def test_argument_that_is_no_array_of_numbers(given: Any) -> None:
    f = wf.jit(lambda x: x + 1)
    for _ in range(2):
        with pytest.raises((wf.WeftError, TypeError)) as raised:
            f(given)
        assert "x" in str(raised.value)
        np.testing.assert_array_equal(f(np.ones(2)), np.full(2, 2.0))


def test_argument_that_its_spec_does_not_allow() -> None:
    f = wf.jit(lambda x, y: x + y, specs=["f64[n]", "f64[n]"])
    x = np.ones(3)
    np.testing.assert_array_equal(f(x, x), x + x)
    with pytest.raises(wf.DTypeError, match="y has dtype float32"):
        f(x, x.astype(np.float32))
    with pytest.raises(wf.ShapeError, match=r"y has shape \(4,\)"):
        f(x, np.ones(4))
    with pytest.raises(wf.ShapeError, match=r"x has shape \(3, 1\)"):
        f(x[:, None], x)
    with pytest.raises((wf.ArgumentError, TypeError)):
        f(x)
    np.testing.assert_array_equal(f(np.ones(9), np.ones(9)), np.full(9, 2.0))


def test_other_dtypes_and_ranks_are_compiled_for() -> None:
    f = wf.jit(lambda x: x * 2)
    kinds = [np.float32, np.int8, np.uint16, np.complex128, np.float16, np.bool_]
    for dtype in kinds:
        for shape in [(), (3,), (2, 0), (2, 1, 3)]:
            x: Array = np.ones(shape, dtype)
            made = f(x)
            assert made.dtype == (x * 2).dtype
            np.testing.assert_array_equal(made, x * 2)


def test_masked_arrays_matrices_and_lists() -> None:
    f = wf.jit(lambda x: x + 1)
    np.testing.assert_array_equal(f(np.float32(2)), np.float32(3))
    assert f(2) == 3
    assert f(True) == 2


# --- donated arguments --------------------------------------------------------------------------


def update(x: Any, y: Any) -> Any:
    return x - 0.5 * y


def test_donated_argument_becomes_the_result() -> None:
    f = wf.jit(update, donate=0)
    x, y = np.ones(1000), np.arange(1000.0)
    wanted = update(x, y)
    address = x.ctypes.data
    for _ in range(3):
        made = f(x.copy(), y)
        np.testing.assert_array_equal(made, wanted)
    made = f(x, y)
    np.testing.assert_array_equal(made, wanted)
    assert made.ctypes.data == address


def test_donated_tree() -> None:
    def step(state: Any, g: Any) -> Any:
        m = 0.9 * state["m"] + 0.1 * g
        return {"m": m, "w": state["w"] - m}

    f = wf.jit(step, donate=0)
    state = {"m": np.zeros((30, 20)), "w": np.ones((30, 20))}
    copy = {name: array.copy() for name, array in state.items()}
    addresses = {array.ctypes.data for array in state.values()}
    g = np.arange(600.0).reshape(30, 20)
    for _ in range(4):
        state, copy = f(state, g), step(copy, g)
        for name, array in state.items():
            np.testing.assert_allclose(array, copy[name], rtol=1e-14)
    assert {array.ctypes.data for array in state.values()} == addresses


def test_donated_argument_that_is_read_elsewhere() -> None:
    """The result must not be written over places that are still to be read."""
    f = wf.jit(lambda x: (x[::-1] + x.cumsum(), x * 2), donate=0)
    x = np.arange(1000.0)
    made = f(x.copy())
    np.testing.assert_array_equal(made[0], x[::-1] + x.cumsum())
    np.testing.assert_array_equal(made[1], x * 2)


def test_donated_argument_that_is_read_only() -> None:
    f = wf.jit(update, donate=0)
    x, y = np.ones(1000), np.arange(1000.0)
    x.flags.writeable = False
    np.testing.assert_array_equal(f(x, y), 1 - 0.5 * y)
    np.testing.assert_array_equal(x, np.ones(1000))


@pytest.mark.parametrize("layout", ["strided", "fortran", "reversed"])
@pytest.mark.parametrize("rows", [20, 400])
def test_donated_argument_of_any_layout(layout: str, rows: int) -> None:
    f = wf.jit(lambda x: x * 2 + 1, donate=0)
    x = np.arange(rows * 100.0).reshape(rows, 100)
    given = {"strided": x[::2], "fortran": x.T, "reversed": x[::-1]}[layout]
    wanted = given * 2 + 1
    np.testing.assert_array_equal(f(given), wanted)


# --- sizes that 64 bits cannot index --------------------------------------------------------------

ENDLESS = np.lib.stride_tricks.as_strided(np.ones(1), (2**32,), (0,))
TABLES: dict[str, Callable[[Any], Any]] = {
    "corner": lambda a: np.add.outer(a, a)[:2, :2],
    "intermediate": lambda a: np.sort(np.add.outer(a, a), axis=1)[0, :2],
    "result": lambda a: np.add.outer(a, a),
}


@pytest.mark.parametrize("name", TABLES)
def test_symbolic_sizes_are_checked_when_a_program_is_called(name: str) -> None:
    function = TABLES[name]
    compiled = wf.jit(function, specs=[wf.spec("f64[n]")])
    with pytest.raises(MemoryError):
        compiled(ENDLESS)
    x = np.arange(4.0)
    np.testing.assert_array_equal(compiled(x), function(x))


@pytest.mark.parametrize("shape", [(2**40, 2**40), (2**62,), (2**62, 0, 2**62)], ids=str)
def test_known_sizes_are_checked_when_a_program_is_traced(shape: tuple[int, ...]) -> None:
    with pytest.raises(wf.ShapeError, match="more than 2\\*\\*63 - 1 bytes"):
        wf.trace(lambda x: wf.numpy.broadcast_to(x, shape).sum())(1.0)


# --- nothing to look up ---------------------------------------------------------------------------

REDUCED: dict[str, Callable[[Any, Any], Any]] = {
    "rows": lambda x, i: x[i].sum(0),
    "columns": lambda x, i: x[:, i].sum(1),
    "all": lambda x, i: np.exp(x[i]).sum(),
    "both": lambda x, i: x[i[:, None], i[None, :]].sum(0),
    "largest": lambda x, i: np.max(x[i], 0, initial=0.0),
    "product": lambda x, i: x[i].T @ x[i],
    "twice": lambda x, i: x[np.cumsum(i)].prod(0),
}


@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("width", [2, 40])
@pytest.mark.parametrize("symbolic", [False, True])
def test_reductions_of_lookups_read_no_empty_index(name: str, width: int, symbolic: bool) -> None:
    function, x, index = REDUCED[name], np.ones((4, width)), np.zeros(0, np.int64)
    specs = [wf.spec("f64[k, w]"), wf.spec("i64[n>=0]")] if symbolic else None
    for optimise in (True, False):
        ours = wf.jit(function, specs=specs, optimise=optimise)(x, index)
        np.testing.assert_array_equal(ours, function(x, index))
