"""Functions that write to their arguments: what callers find in their arrays, lists and dicts, as
after a call of the function itself.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf

Function = Callable[..., Any]


def stencil(u: Any) -> None:
    u[1:-1] += 0.25 * (u[:-2] - 2 * u[1:-1] + u[2:])


def jacobi(a: Any, b: Any, steps: Any) -> None:
    for _ in range(steps):
        b[1:-1] = 0.5 * (a[:-2] + a[2:])
        a[1:-1] = 0.5 * (b[:-2] + b[2:])


def adds(u: Any) -> Any:
    u += 1.0
    return u


def sorts(u: Any) -> None:
    u.sort()


def by_out(u: Any) -> Any:
    return np.exp(u, out=u)


def by_mask(u: Any) -> None:
    u[u > 1] = 0


def at_traced_places(u: Any, i: Any) -> None:
    np.add.at(u, i, 1.0)
    u[i[0]] = 7.0


def in_a_branch(u: Any, p: Any) -> Any:
    w = u if p > 0 else u * 2
    w[0] = 9.0
    if p > 1:
        u[1] = 4.0


def in_a_loop(u: Any, n: Any) -> Any:
    k = 0
    while k < n:
        u[k % 3] = u[k % 3] * 2 + k
        k += 1
    return k


def to_both(u: Any, v: Any) -> Any:
    u[0], v[0] = v[1], u[1]
    return u.sum() + v.sum()


def keeps_in_a_view(u: Any) -> Any:
    rest = u[1:]
    rest *= 3.0
    u[0] = rest.sum()


def does_nothing_in_the_end(u: Any) -> Any:
    u[...] = u * 1.0


def sets_items(state: Any, x: Any) -> Any:
    state["u"] = state["u"] + x
    state["n"] += 1
    state["inner"]["v"][:] = x
    state["log"].append(x.sum())
    del state["old"]
    state["a"], state["b"] = state["b"], state["a"]
    return state["n"]


@dataclasses.dataclass
class State:
    u: Any
    n: Any


def sets_attributes(state: Any) -> None:
    state.u = state.u * 2
    state.n = state.n + 1


def state() -> dict[str, Any]:
    return {
        "u": np.zeros(3),
        "n": 1,
        "inner": {"v": np.ones(3)},
        "log": [],
        "old": 3.0,
        "a": np.zeros(2),
        "b": np.ones(2),
    }


PROGRAMS: dict[str, tuple[Function, Callable[[], tuple[Any, ...]]]] = {
    "stencil": (stencil, lambda: (np.arange(8.0) ** 2,)),
    "jacobi": (jacobi, lambda: (np.arange(8.0) ** 2, np.zeros(8), 3)),
    "jacobi in a loop": (jacobi, lambda: (np.arange(8.0) ** 2, np.zeros(8), 60)),
    "f4": (stencil, lambda: (np.arange(8, dtype="f4"),)),
    "adds": (adds, lambda: (np.zeros((3, 4)),)),
    "ints": (lambda u: adds_ints(u), lambda: (np.arange(5),)),
    "sorts": (sorts, lambda: (np.array([3.0, 1, 2]),)),
    "by_out": (by_out, lambda: (np.arange(3.0),)),
    "by_mask": (by_mask, lambda: (np.arange(4.0),)),
    "at_traced_places": (at_traced_places, lambda: (np.zeros(4), np.array([1, 1, 3]))),
    "in_a_branch, one": (in_a_branch, lambda: (np.ones(3), 2.0)),
    "in_a_branch, other": (in_a_branch, lambda: (np.ones(3), -1.0)),
    "in_a_loop": (in_a_loop, lambda: (np.arange(3.0), 7)),
    "to_both": (to_both, lambda: (np.arange(3.0), np.ones(3))),
    "keeps_in_a_view": (keeps_in_a_view, lambda: (np.arange(3.0),)),
    "does_nothing_in_the_end": (does_nothing_in_the_end, lambda: (np.arange(3.0),)),
    "sets_items": (sets_items, lambda: (state(), np.arange(3.0))),
    "sets_attributes": (sets_attributes, lambda: (State(np.ones(2), 1.5),)),
    "empty": (adds, lambda: (np.zeros((0, 3)),)),
}


def adds_ints(u: Any) -> Any:
    u //= 2
    u[1:] += u[:-1]


def assert_same(made: Any, expected: Any) -> None:
    if isinstance(expected, State):
        made, expected = vars(made), vars(expected)
    if isinstance(expected, dict):
        assert list(made) == list(expected)
        made, expected = list(made.values()), list(expected.values())
    if isinstance(expected, list | tuple):
        assert len(made) == len(expected)
        for one, other in zip(made, expected, strict=True):
            assert_same(one, other)
    elif expected is None or isinstance(expected, int):
        assert made == expected
    else:
        assert np.asarray(made).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(made, expected, rtol=1e-6)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_python(name: str, backend: str) -> None:
    function, make = PROGRAMS[name]
    compiled = wf.jit(function, backend=backend)
    for _ in range(3):  # through Python, and through the stub
        mine, theirs = make(), make()
        result, expected = compiled(*mine), function(*theirs)
        assert_same(result, expected)
        assert_same(mine, theirs)


LAYOUTS: list[Callable[[], Any]] = [
    lambda: np.arange(24.0).reshape(4, 6).T,
    lambda: np.arange(24.0).reshape(4, 6)[:, ::2],
    lambda: np.arange(6.0)[::-1],
    lambda: np.arange(6, dtype=">f8"),
    lambda: np.frombuffer(bytearray(65), dtype="u1")[1:].view(float),
    lambda: np.zeros((300, 400))[:, ::2],
    lambda: np.asfortranarray(np.zeros((200, 300))),
]


@pytest.mark.parametrize("number", range(len(LAYOUTS)))
def test_however_the_array_lies(number: int) -> None:
    compiled = wf.jit(stencil)
    for _ in range(3):
        mine, theirs = LAYOUTS[number](), LAYOUTS[number]()
        compiled(mine)
        stencil(theirs)
        np.testing.assert_array_equal(mine, theirs)


def test_returned_arguments_are_the_arguments() -> None:
    def f(u: Any, v: Any) -> Any:
        u[0] = v[1]
        return u, [u[1:], u.T[::-1]], {"v": v, "copy": u.copy()}

    compiled = wf.jit(f)
    for _ in range(3):
        u, v = np.zeros(4), np.arange(4.0)
        same, (rest, reversed_), others = compiled(u, v)
        assert same is u
        assert rest.base is u and reversed_.strides == (-8,) and np.shares_memory(reversed_, u)
        assert not np.shares_memory(others["copy"], u) and not np.shares_memory(others["v"], v)


def test_in_place_in_native_code_where_nothing_can_fail() -> None:
    compiled = wf.jit(stencil)
    compiled(np.zeros(8))
    (item,) = compiled._cache.values()
    assert item.optimised.donated == {0: 0}
    failing = wf.jit(at_traced_places)
    failing(np.zeros(4), np.array([1, 1, 3]))
    (item,) = failing._cache.values()
    assert item.optimised.donated == {}


def test_functions_that_do_not_write_have_their_stubs_as_they_were() -> None:
    compiled = wf.jit(lambda u: u + 1)
    compiled(np.zeros(3))
    (stub,) = compiled._stubs
    assert type(stub).__name__ == "builtin_function_or_method"


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_exceptions_leave_arguments_as_they_are(backend: str) -> None:
    def f(u: Any, i: Any) -> None:
        u[0] = 5.0
        if i > 3:
            raise ValueError("i")
        u[i] = 7.0

    compiled = wf.jit(f, backend=backend)
    for place, kind in ((3, IndexError), (4, ValueError)) * 2:
        u = np.zeros(3)
        with pytest.raises(kind):
            compiled(u, place)
        np.testing.assert_array_equal(u, np.zeros(3))
    compiled(u, 2)
    np.testing.assert_array_equal(u, [5, 0, 7])


def test_calls_inside_of_other_functions() -> None:
    inner = wf.jit(stencil)

    def outer(u: Any) -> Any:
        v = u * 2
        inner(v)
        inner(u[1:])
        return v

    compiled = wf.jit(outer)
    for _ in range(2):
        mine, theirs = np.arange(8.0) ** 2, np.arange(8.0) ** 2
        expected = theirs * 2
        stencil(expected)
        stencil(theirs[1:])
        np.testing.assert_allclose(compiled(mine), expected)
        np.testing.assert_allclose(mine, theirs)


def test_weft_arrays() -> None:
    compiled = wf.jit(stencil)
    x = wf.numpy.asarray(np.arange(6.0) ** 2)
    view = x[1:]
    expected = np.arange(6.0) ** 2
    for _ in range(2):
        compiled(x)
        stencil(expected)
        np.testing.assert_allclose(np.asarray(x), expected)
        np.testing.assert_allclose(np.asarray(view), expected[1:])


def test_donated_arrays_are_nobodys() -> None:
    compiled = wf.jit(adds, donate="u")
    u = np.zeros(3)
    assert compiled(u) is u
    np.testing.assert_array_equal(u, 1)


# --- refused ------------------------------------------------------------------------------------


def test_read_only_arrays() -> None:
    u = np.zeros(4)
    u.flags.writeable = False
    compiled = wf.jit(stencil)
    with pytest.raises(ValueError, match="read-only: the argument u of stencil"):
        compiled(u)
    compiled(np.zeros(4))
    with pytest.raises(ValueError, match="read-only: the argument u of stencil"):
        compiled(u)


@pytest.mark.parametrize("make", [lambda u: (u, u), lambda u: (u[1:], u[:-1])])
def test_arguments_in_the_same_memory(make: Function) -> None:
    def f(u: Any, v: Any) -> None:
        u[0] = v[1]

    compiled = wf.jit(f)
    for _ in range(2):
        compiled(np.zeros(3), np.ones(3))
        with pytest.raises(wf.ArgumentError, match="share memory, but u is written to"):
            compiled(*make(np.zeros(4)))
    whole = np.arange(6.0)
    compiled(whole[:3], whole[3:])
    assert whole[0] == 4


TABLE = np.zeros(3)


def test_an_argument_that_is_a_global_as_well() -> None:
    def f(u: Any) -> Any:
        u += 1
        return TABLE.sum()

    compiled = wf.jit(f)
    for _ in range(2):
        compiled(np.ones(3))
        with pytest.raises(wf.ArgumentError, match="as a global or through a closure"):
            compiled(TABLE)
    np.testing.assert_array_equal(TABLE, 0)


def test_a_dict_in_two_places() -> None:
    def f(one: Any, other: Any) -> None:
        one["u"] = other["u"] + 1

    both = {"u": np.zeros(2)}
    with pytest.raises(wf.ArgumentError, match="of which one stands in two places"):
        wf.jit(f)(both, both)


def test_results_that_may_be_an_argument() -> None:
    def f(u: Any, p: Any) -> Any:
        w = u if p > 0 else u * 2
        w[0] = 1
        return w

    with pytest.raises(wf.TraceError, match="depending on values"):
        wf.jit(f)(np.zeros(2), 1.0)


def test_views_at_traced_places() -> None:
    def f(u: Any, i: Any) -> Any:
        u += 1
        return u[i]

    with pytest.raises(wf.TraceError, match="only known when the program runs"):
        wf.jit(f)(np.zeros((2, 2)), np.array(1))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["set", "add", "swap", "view", "loop", "out", "rebind"]),
            st.integers(0, 2),
            st.integers(0, 2),
            st.integers(1, 3),
        ),
        min_size=1,
        max_size=5,
    ),
    st.integers(0, 3),
)
def test_random_programs(steps: list[tuple[str, int, int, int]], returned: int) -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        arrays = [a, b, c]
        for kind, i, j, k in steps:
            x, y = arrays[i], arrays[j]
            if kind == "set":
                x[k:] = y[:-k] * 2
            elif kind == "add":
                x += y.sum() * k
            elif kind == "swap":
                arrays[i], arrays[j] = y, x
            elif kind == "view":
                part = x[::k]
                part -= 1
            elif kind == "loop":
                for n in range(20):
                    x[n % 4] = x[n % 4] + y[(n + k) % 4]
            elif kind == "out":
                np.multiply(y, k, out=x)
            else:
                arrays[i] = x + k
        return [arrays[:returned], [array[1:] for array in arrays[:returned]]]

    mine = [np.arange(4.0) + n for n in range(3)]
    theirs = copy.deepcopy(mine)
    compiled = wf.jit(f, backend="reference")
    results, expected = compiled(*mine), f(*theirs)
    assert_same(mine, theirs)
    assert_same(results, expected)
    changed = [not np.array_equal(one, np.arange(4.0) + n) for n, one in enumerate(theirs)]
    for one, other in zip(results[0], expected[0], strict=True):
        for n in range(3):
            if changed[n]:
                assert (one is mine[n]) == (other is theirs[n])
