"""`weft.Array`: NumPy's values, computed together, exchanged with others."""

from __future__ import annotations

import copy
import ctypes
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf
import weft.numpy as wnp
from weft.compiler.ir.errors import BoundsError, ShapeError
from weft.frontends.eager import recording

ROWS: dict[str, Callable[[Any, Any], Any]] = {
    "arithmetic": lambda x, y: (x + 2 * y - 1) / (y * y + 1.5) // 0.5 % 3,
    "reflected": lambda x, y: 2 - x + 3.0 / (y + 9) + (2**y),
    "powers": lambda x, y: x**2 + y**3 + abs(x) ** 0.5,
    "matrices": lambda x, y: x @ y.T - (y @ x.mT) * 2,
    "comparisons": lambda x, y: (x < y) | (x >= 1) & ~(y != 0),
    "reductions": lambda x, y: x.sum(0) + y.mean(axis=0) - x.max() + y.std(),
    "ufuncs": lambda x, y: np.exp(-x * x) * np.arctan2(y, x) + np.maximum(x, y),
    "methods of ufuncs": lambda x, y: np.add.reduce(x, axis=1) + np.multiply.accumulate(y)[:, 0],
    "functions": lambda x, y: np.where(x > 0, np.cumsum(y, axis=1), np.flip(x, 0)),
    "joined": lambda x, y: np.concatenate([x, y, np.ones((1, 3))]).reshape(-1, 7),
    "indexed": lambda x, y: x[1:, ::-1] + y[[0, 2]] + x[-1],
    "by masks": lambda x, y: x[y > 0],
    "linear algebra": lambda x, y: np.linalg.solve(x @ x.T + 30 * np.eye(3), y),
    "transforms": lambda x, y: np.fft.fft(x, axis=1).real + y,
    "with NumPy's arrays": lambda x, y: np.arange(9.0).reshape(3, 3) @ x + y[0],
    "sorted": lambda x, y: np.sort(x, axis=None)[y.astype(int) % 9],
}
X, Y = np.random.default_rng(3).integers(-4, 5, (2, 3, 3)).astype(float)


@pytest.mark.parametrize("name", ROWS)
def test_arrays_compute_as_numpy_does(name: str) -> None:
    expected = ROWS[name](X, Y)
    made = ROWS[name](wnp.asarray(X), wnp.asarray(Y))
    assert isinstance(made, wf.Array)
    assert made.shape == expected.shape and made.dtype == expected.dtype
    np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c", "look", "write", "drop"]), max_size=30))
def test_any_order_of_ops_and_looks_gives_the_same(steps: list[str]) -> None:
    ours, theirs = [wnp.asarray(X)], [X.copy()]
    for step in steps:
        for arrays in (ours, theirs):
            x: Any = arrays[-1]
            match step:
                case "a":
                    arrays.append(x * 0.5 + 1)
                case "b":
                    arrays.append(np.sin(x) - arrays[0])
                case "c":
                    arrays.append(x.T.copy())
                case "write":
                    x[0, 1:] = 7.0
                    x += 1
                case "drop" if len(arrays) > 1:
                    arrays.pop(0)
        if step == "look":
            np.testing.assert_allclose(ours[-1], theirs[-1], rtol=1e-13)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-14)


def test_ops_are_gathered_into_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    run = recording.run
    monkeypatch.setattr(recording, "run", lambda g, a: seen.append(g) or run(g, a))  # type: ignore[func-returns-value]
    x = wnp.asarray(X)
    y = np.exp(x) * 2.0
    z = (y + x).sum(axis=0)
    assert seen == []
    np.testing.assert_allclose(z, (np.exp(X) * 2 + X).sum(0))
    assert len(seen) == 1 and len(seen[0].results) == 2  # y is still held
    np.testing.assert_allclose(y, np.exp(X) * 2)
    assert len(seen) == 1


def test_other_numbers_and_values_need_no_new_program() -> None:
    def step(x: Any, rate: float) -> Any:
        return x - rate * np.tanh(x)

    x = step(wnp.asarray(X), 0.25).block_until_ready()
    before = len(recording._programs)
    for number in range(5):
        x = step(x, 0.1 * number).block_until_ready()
    assert len(recording._programs) == before


def test_what_nobody_holds_is_not_computed() -> None:
    x = wnp.asarray([1.0, 2.0])
    _ = x[wnp.asarray([7])]  # out of range, but dropped at once
    del _
    np.testing.assert_array_equal(x + 1, [2, 3])


def test_a_failure_stays_with_the_array_that_has_it() -> None:
    x = wnp.asarray([1.0, 2.0])
    bad, good = x[wnp.asarray([7])], x * 3
    np.testing.assert_array_equal(good, [3, 6])
    for _ in range(2):
        with pytest.raises(BoundsError, match="out of range"):
            np.asarray(bad)
    with pytest.raises(ShapeError, match="broadcast"):
        x + wnp.asarray([1.0, 2.0, 3.0])


def test_sizes_that_depend_on_values() -> None:
    x = wnp.asarray([3, 1, 3, 0])
    np.testing.assert_array_equal(wnp.unique(x), [0, 1, 3])
    np.testing.assert_array_equal(wnp.nonzero(x)[0], [0, 1, 2])
    np.testing.assert_array_equal(x[x > 1], [3, 3])


def test_the_values_that_arrays_had_when_they_were_used() -> None:
    changed = np.ones(20)
    x = wnp.asarray(changed)
    y = x + changed
    changed[:] = 5
    np.testing.assert_array_equal(x, np.ones(20))
    np.testing.assert_array_equal(y, np.full(20, 2.0))
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0] = 1


def test_writes_change_the_array_that_names_share() -> None:
    x = wnp.asarray([3.0, 1.0, 2.0])
    y = x
    z = x[1:]
    x[0] = 9
    x *= 2
    np.testing.assert_array_equal(y, [18, 2, 4])
    np.testing.assert_array_equal(z, [2, 4])  # a view
    x.sort()
    np.testing.assert_array_equal(x, [2, 4, 18])
    np.testing.assert_array_equal(x.at[0].add(1.0), [3, 4, 18])


def test_numbers_and_truth() -> None:
    x = wnp.asarray([1, 2, 3])
    assert float(x.sum()) == 6.0 and int(x[0]) == 1 and bool(x[0] == 1) and 2 in x
    assert [10, 20, 30, 40][x[2]] == 40
    assert x.tolist() == [1, 2, 3] and x[1].item() == 2 and len(x) == 3
    assert repr(x + 0.5) == "Array([1.5, 2.5, 3.5])" and f"{x[0] + 0.25:.2f}" == "1.25"
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)


class _OldProtocol:
    """An array as a consumer sees it that knows the first version of DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()  # type: ignore[no-any-return]


def test_exchange() -> None:
    x = wnp.asarray(X) + 1
    shared = np.from_dlpack(x)
    np.testing.assert_array_equal(shared, X + 1)
    assert not np.asarray(x).flags.writeable
    assert not shared.flags.writeable or not np.shares_memory(shared, np.asarray(x))
    # The first version of the protocol knows no read-only arrays.
    assert not np.shares_memory(np.from_dlpack(_OldProtocol(x)), np.asarray(x))
    np.testing.assert_array_equal(wnp.from_dlpack(X), X)
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert isinstance(other, wf.Array)
        np.testing.assert_array_equal(other, X + 1)
    assert x.__array_namespace__() is wnp
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2024.12")
    assert x.device == "cpu" and x.to_device("cpu") is x
    np.testing.assert_array_equal(wnp.asarray(memoryview(b"\x01\x02")), [1, 2])
    info = x.__array_namespace__().__array_namespace_info__()
    assert info.default_dtypes()["real floating"] == np.float64
    assert set(info.dtypes(kind="bool")) == {"bool"}


def test_arrays_are_buffers() -> None:
    """In every Python, with nothing computed before: a fresh process shows the latter."""
    code = "import weft.numpy as w; print(memoryview(w.asarray([1.0, 2.0])).tolist())"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert shown.strip() == "[1.0, 2.0]"
    x = wnp.asarray(X) * 3
    view = memoryview(x)
    assert view.shape == x.shape and view.readonly and bytes(x) == (X * 3).tobytes()
    del x
    np.testing.assert_array_equal(np.asarray(view), X * 3)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(view)[0] = 1
    with pytest.raises(TypeError, match="not writable"):
        ctypes.c_char.from_buffer(wnp.zeros(3))
    half = wnp.asarray([1.0, 2.0], dtype="bfloat16")  # a dtype that buffers do not know
    with pytest.raises(ValueError, match="dtype"):
        memoryview(half)
    assert np.asarray(half).dtype == half.dtype


def test_arrays_in_traced_functions_are_constants() -> None:
    w = wnp.asarray([1.0, 2.0])
    f = wf.jit(lambda x: x * w + w.sum() + (w @ x))
    np.testing.assert_array_equal(f(np.ones(2)), [7, 8])
    np.testing.assert_array_equal(f(wnp.ones(2)), [7, 8])
    np.testing.assert_array_equal(wf.grad(lambda x: (x * x * w).sum())(wnp.ones(2)), [2, 4])
    with pytest.raises(wf.TraceError, match="at"):
        wf.jit(lambda x: w.__setitem__(0, x))(1.0)


def test_threads_use_each_others_arrays() -> None:
    x = wnp.asarray(X) * 2
    found: list[Any] = []

    def work() -> None:
        found.append(np.asarray(x + 1))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    np.testing.assert_array_equal(x, X * 2)
    for thread in threads:
        thread.join()
    for made in found:
        np.testing.assert_array_equal(made, X * 2 + 1)


def test_long_loops_are_computed_in_between() -> None:
    x = wnp.asarray([1.0])
    for _ in range(3 * recording.MOST_OPS):
        x = x + 1
    assert float(x[0]) == 1 + 3 * recording.MOST_OPS


@pytest.mark.parametrize("kind", [np.asarray, wnp.asarray], ids=["numpy", "weft"])
def test_writing_under_a_mask(kind: Any) -> None:
    def write(x: Any, mask: Any, values: Any) -> Any:
        x[mask] += 1
        x[mask] = values
        x[~mask] = 5.0
        return x

    plain = write(np.arange(5.0), np.arange(5) > 2, np.array([7.0, 8.0]))
    ours = write(wnp.arange(5.0), kind(np.arange(5) > 2), kind([7.0, 8.0]))
    assert isinstance(ours, wf.Array)
    np.testing.assert_array_equal(ours, plain)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, TimeoutError, MemoryError])
@pytest.mark.parametrize(
    "ask",
    [
        np.asarray,
        np.array,
        np.from_dlpack,
        memoryview,
        lambda x: np.array([[x]]),
        lambda x: x.__array_interface__,
    ],
    ids=["asarray", "array", "dlpack", "memoryview", "lists", "interface"],
)
def test_what_a_signal_handler_raises_is_not_lost(
    ask: Callable[[Any], Any], raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """NumPy asks for a buffer first, and where that raises, whatever it is, for something else."""
    computed, times = recording.Recording.compute, iter([True])

    def interrupted(self: recording.Recording, wanted: Any) -> Any:
        if next(times, False):
            raise raised
        return computed(self, wanted)

    monkeypatch.setattr(recording.Recording, "compute", interrupted)
    x = wf.numpy.asarray([1.0, 2.0]) + 1
    with pytest.raises(raised):
        ask(x)
    for _ in range(2):
        ask(x)
    np.testing.assert_array_equal(np.asarray(x), [2.0, 3.0])
