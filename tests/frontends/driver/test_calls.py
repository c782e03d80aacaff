"""Calls of compiled functions: which go straight to native code from the second one on, and that
they give the same; donated arguments.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.frontends.driver.dispatch import Dispatcher

Array = np.ndarray[Any, Any]
Pair = namedtuple("Pair", "a b")


@dataclass
class Model:
    """Two arrays and an option."""

    a: Any
    b: Any
    power: int = field(default=2, metadata={"static": True})


def unaligned(array: Array) -> Array:
    moved: Array = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def both(x: Any, y: Any) -> Any:
    return x * 2.0 + y


def scaled(x: Any, scale: Any = 1.0, *, shift: Any = 0.0) -> Any:
    return x * scale + shift


def static(x: Any, n: Any, shape: Any, *, mode: Any = "a") -> Any:
    return x.reshape(shape) * n + len(mode)


def of_pair(p: Any) -> Any:
    return p["a"] * 2 + p["b"] if isinstance(p, dict) else p.a * 2 + p.b


def model_of_model(p: Any) -> Any:
    return Model(p.a + p.b, p.a**p.power, p.power)


X, BIG = np.arange(64.0).reshape(8, 8), np.arange(60_000.0).reshape(200, 300)
STATIC = {"static_argnums": (1, 2), "static_argnames": "mode"}
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any], Callable[[], Any]]] = {
    "contiguous": (both, {}, lambda: ((X, X), {})),
    "strided": (both, {}, lambda: ((np.arange(256.0).reshape(16, 16)[::2, ::2], X), {})),
    "rows of more": (both, {}, lambda: ((np.arange(256.0).reshape(16, 16)[:8, :8], X), {})),
    "transposed": (both, {}, lambda: ((X, X.T), {})),
    "reversed": (both, {}, lambda: ((X[::-1], X[:, ::-1]), {})),
    "broadcast": (both, {}, lambda: ((np.broadcast_to(X[0], (8, 8)), X), {})),
    "byte order": (both, {}, lambda: ((X.astype(">f8"), X.T.astype(">f8")), {})),
    "unaligned": (both, {}, lambda: ((unaligned(X), X), {})),
    "read-only": (both, {}, lambda: ((read_only(X.copy()), X), {})),
    "numbers": (both, {}, lambda: ((1.5, np.float32(2.5)), {})),
    "rank 0": (both, {}, lambda: ((np.array(1.5), 3), {})),
    "large and strided": (both, {}, lambda: ((BIG[::2, ::2], BIG[::2, ::2]), {})),
    "large and transposed": (both, {}, lambda: ((BIG.T, 1.0), {})),
    "eager": (both, {}, lambda: ((wf.numpy.asarray(X), X), {})),
    "eager, not computed yet": (both, {}, lambda: ((wf.numpy.asarray(X) + 1, X), {})),
    "keyword": (scaled, {}, lambda: ((X,), {"scale": 3.0})),
    "keyword only": (scaled, {}, lambda: ((X, 2.0), {"shift": X[0, ::2].sum()})),
    "keywords, strided": (scaled, {}, lambda: ((), {"shift": X.T, "x": X.T, "scale": X[::-1]})),
    "threads": (scaled, {"threads": 1}, lambda: ((X,), {"scale": 3.0})),
    "static": (static, STATIC, lambda: ((X, 1.5, (16, int("4"))), {})),
    "static keyword": (static, STATIC, lambda: ((X, 3000 + 0, (4, 16)), {"mode": " ".join("ab")})),
    "dict": (of_pair, {}, lambda: (({"b": X.T, "a": X},), {})),
    "namedtuple": (of_pair, {}, lambda: ((Pair(X, X[::-1]),), {})),
    "dataclass": (of_pair, {}, lambda: ((Model(X, X.T),), {})),
    "dataclass by keyword": (of_pair, {}, lambda: ((), {"p": Model(X, X.T)})),
    "dataclass as result": (model_of_model, {}, lambda: ((Model(X, X.T, 3),), {})),
    "ordered dict": (of_pair, {}, lambda: ((OrderedDict(b=X.T, a=X),), {})),
    "default dict": (of_pair, {}, lambda: ((), {"p": defaultdict(X.copy, b=X.T, a=X)})),
    "donated": (both, {"donate": 0}, lambda: ((X.copy(), X), {})),
    "donated by name": (both, {"donate": "y"}, lambda: ((X,), {"y": X.copy()})),
    "donated, strided": (both, {"donate": 0}, lambda: ((X.copy()[::2], X[::2]), {})),
    "donated, large": (both, {"donate": 0}, lambda: ((BIG.copy()[::2], BIG[::2]), {})),
    "symbolic": (np.negative, {"specs": (wf.spec("f64[n, m]"),)}, lambda: ((X[::2, ::3],), {})),
}


@pytest.mark.parametrize("name", CALLS)
def test_second_call_goes_straight_to_native_code(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, options, arguments = CALLS[name]
    args, kwargs = arguments()
    wanted = function(*args, **kwargs)
    f = wf.jit(function, **options)
    for number in range(3):
        args, kwargs = arguments()
        found = f(*args, **kwargs)
        for left, right in zip(leaves(found), leaves(wanted), strict=True):
            np.testing.assert_allclose(left, np.asarray(right), rtol=1e-15)
        assert type(found) is type(wanted) or isinstance(found, np.ndarray)
        if number == 0:
            monkeypatch.setattr(Dispatcher, "_call_slowly", refuse)


def leaves(thing: Any) -> list[Any]:
    return [thing.a, thing.b] if isinstance(thing, Model) else [thing]


def refuse(*_: Any) -> None:
    raise AssertionError("a call went through Python")


def test_other_ways_to_pass_the_same_are_told_apart() -> None:
    """Each way has a version of its own, whose stub must not take the others' calls."""

    def told(*args: Any, **kwargs: Any) -> Any:
        return 10 * len(args) + sum(args) + sum(kwargs.values()) * (1 if "a" in kwargs else 2)

    f = wf.jit(told)
    for _ in range(3):
        assert [f(1.0, 2.0), f(1.0, a=2.0), f(1.0, b=2.0), f(a=1.0, b=2.0)] == [23, 13, 15, 3]


def test_static_values_that_are_equal_but_of_other_types() -> None:
    f = wf.jit(lambda x, n: x * (2 if isinstance(n, bool) else 3 if isinstance(n, int) else 5),
               static_argnums=1)  # fmt: skip
    for _ in range(3):
        assert [f(1.0, 1), f(1.0, True), f(1.0, 1.0)] == [3, 2, 5]
    g = wf.jit(lambda x, n: np.copysign(x, n), static_argnums=1)
    for _ in range(3):
        assert [g(1.0, 0.0), g(1.0, -0.0)] == [1, -1]


def test_static_fields_of_dataclasses_that_differ() -> None:
    f = wf.jit(model_of_model)
    for _ in range(3):
        for power in (2, 3):
            assert f(Model(X, X, power)).b[0, 3] == 3.0**power


def test_strided_calls_have_the_bits_of_contiguous_ones() -> None:
    f = wf.jit(lambda x: np.sum(np.sin(x)))
    x = np.random.default_rng(0).normal(size=(50, 60))
    other = x.T.copy().T
    assert {float(f(y)) for y in (x, other, x, other[::-1][::-1])} == {float(f(x))}


# --- donated arguments ---------------------------------------------------------------------------

add = wf.jit(lambda a, b: (a + b, a - b), donate=("a", "b"))
step = wf.jit(lambda state, x: {k: v + x for k, v in state.items()}, donate=0)


@pytest.mark.parametrize("calls_before", [0, 2])
def test_donated_arrays_that_share_memory_are_refused(calls_before: int) -> None:
    for _ in range(calls_before):
        add(np.ones(4), np.ones(4))
        step({"u": np.ones(4), "v": np.ones(4)}, np.ones(4))
    x, y = np.arange(9.0), np.ones(4)
    for left, right in ((x[:4], x[:4]), (x[:4], x[3:7]), (x[4:0:-1], x[:4]), (x[::2][:4], x[2:6])):
        with pytest.raises(wf.ArgumentError, match=r"a and b of .* share memory, but both are"):
            add(left, right)
        with pytest.raises(wf.ArgumentError, match=r"state.v and x of .* state.v is donated"):
            step({"u": y, "v": left}, right)
        with pytest.raises(wf.ArgumentError, match=r"state.u and state.v of .* both are donated"):
            step({"u": left, "v": right}, y)
    assert np.array_equal(x, np.arange(9.0)) and np.array_equal(y, np.ones(4))


def test_undonated_arguments_may_share_memory() -> None:
    x = np.ones(4)
    for _ in range(3):
        state = {"u": np.zeros(4)}
        made = wf.jit(lambda s, a, b: {"u": s["u"] + a + b}, donate="s")(state, x, x)
        assert made["u"] is state["u"] and np.array_equal(made["u"], 2 * x)


def test_parts_of_one_array_that_lie_apart_may_be_donated() -> None:
    for _ in range(3):
        x = np.arange(8.0)
        total, difference = add(x[:4], x[4:])
        assert np.array_equal(total, [4, 6, 8, 10]) and np.array_equal(difference, -4 * np.ones(4))
        assert np.shares_memory(total, x) or np.shares_memory(difference, x)
        x = np.arange(8.0)
        total, difference = add(x[::2], x[1::2])
        assert np.array_equal(total, [1, 5, 9, 13]) and np.array_equal(difference, -np.ones(4))


def test_results_are_donated_arrays_from_call_to_call() -> None:
    state = first = {"u": np.zeros(4), "v": np.zeros((2, 4))}
    for number in range(4):
        state = step(state, 1.0)
        assert all(state[key] is first[key] for key in first)
        assert state["v"][1, 3] == number + 1


@pytest.mark.parametrize("calls_before", [0, 2])
def test_donated_eager_array_cannot_be_used_afterwards(calls_before: int) -> None:
    f = wf.jit(lambda x, y: x * 2 + y, donate=0)
    x, y = wf.numpy.arange(4.0), np.ones(4)
    for _ in range(calls_before):
        f(wf.numpy.arange(4.0), y)
    held = np.asarray(x)
    assert np.array_equal(f(x, y), [1, 3, 5, 7])
    uses: list[Callable[[], Any]] = [
        *[lambda: x + 1, lambda: np.asarray(x), lambda: float(x[0]), lambda: f(x, y)],
        *[lambda: f(y.copy(), x), lambda: memoryview(x), lambda: x.copy(), lambda: np.sin(x)],
    ]
    for use in uses:
        with pytest.raises(wf.ArgumentError, match="donated to the argument x of"):
            use()
    with pytest.raises(wf.ArgumentError, match="donated to the argument x of"):
        x[0] = 1
    assert "donated to the argument x" in repr(x) and x.shape == (4,)
    assert np.array_equal(held, np.arange(4.0))  # a view that was handed out before


def test_donated_eager_array_is_kept_if_the_call_fails() -> None:
    f = wf.jit(lambda x, i: x * x[i], donate=0)
    x = wf.numpy.arange(4.0)
    with pytest.raises(wf.BoundsError):
        f(x, 9)
    assert np.array_equal(f(x, 2), [0, 2, 4, 6])


def test_what_cannot_be_donated() -> None:
    wrong: list[Any] = ["y", -1, ("x", 2.5), True]
    for donate in wrong:
        with pytest.raises(wf.ArgumentError, match="donate"):
            wf.jit(lambda x: x, donate=donate)
