"""Views of eager arrays: they read what is written to others of their family, and write through."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf
import weft.numpy as wnp
from weft.compiler.ir.errors import TraceError

Step = tuple[str, int, int, int]


# --- steps that make an array, often a view -------------------------------------------------------


def slice_of(size: int, p: int) -> slice:
    return (slice(1, None), slice(None, -1), slice(None, None, 2), slice(None, None, -1))[p % 4]


def permuted(x: Any, p: int) -> Any:
    axes = list(range(x.ndim))
    turn = p % max(x.ndim, 1)
    return x.transpose(axes[turn:] + axes[:turn])


def reshaped(x: Any, p: int) -> Any:
    rows = 2 if x.size % 2 == 0 and x.size else 1
    return x.reshape([(-1,), (rows, -1), (-1, rows), (1, -1, rows)][p % 4] if x.size else x.shape)


def piece(x: Any, p: int) -> Any:
    return np.array_split(x, 2, axis=p % x.ndim)[p // 2 % 2]


def own(x: Any) -> Any:
    """The result of an op; arrays with memory of their own are row-major."""
    return x if not isinstance(x, np.ndarray) else np.array(x, order="C")


VIEWS: Final[dict[str, Callable[[Any, int], Any]]] = {
    "slice": lambda x, p: x[slice_of(len(x), p)],
    "inner slice": lambda x, p: x[..., slice_of(x.shape[-1], p)],
    "row": lambda x, p: x[p % len(x)] if x.ndim > 1 else x,
    "iterated": lambda x, p: list(x)[p % len(x)] if x.ndim > 1 else x,
    "element as a view": lambda x, p: x[(0,) * (x.ndim - 1) + (0, ...)],
    "new axis": lambda x, p: x[:, None],
    "expand_dims": lambda x, p: np.expand_dims(x, p % x.ndim),
    "squeeze": lambda x, p: np.squeeze(x),
    "T": lambda x, p: x.T,
    "mT": lambda x, p: x.mT if x.ndim > 1 else x,
    "transpose": permuted,
    "swapaxes": lambda x, p: x.swapaxes(0, -1),
    "moveaxis": lambda x, p: np.moveaxis(x, 0, -1),
    "reshape": reshaped,
    "reshape by columns": lambda x, p: np.reshape(x, (-1,), order="F"),
    "ravel": lambda x, p: x.ravel(),
    "np.ravel": lambda x, p: np.ravel(x),
    "flip": lambda x, p: np.flip(x, p % x.ndim),
    "rot90": lambda x, p: np.rot90(x, p % 4) if x.ndim > 1 else x,
    "part": piece,
    "real": lambda x, p: x.real,
    "imag": lambda x, p: x.imag if x.dtype.kind == "c" else x,
    "broadcast_to": lambda x, p: np.broadcast_to(x, (2, *x.shape)),
    "diagonal": lambda x, p: x.diagonal() if x.ndim > 1 else x,
    "atleast_2d": lambda x, p: np.atleast_2d(x),
}
COPIES: Final[dict[str, Callable[[Any, int], Any]]] = {
    "copy": lambda x, p: x.copy(),
    "flatten": lambda x, p: x.flatten(),
    "picked": lambda x, p: x[np.array([0, -1])],
    "sum": lambda x, p: own(x + x),
    "cast": lambda x, p: own(x.astype(x.dtype)),
    "positive": lambda x, p: own(+x),
    "sorted": lambda x, p: own(np.sort(x, axis=0)),
    "joined": lambda x, p: np.concatenate([x, x]),
}


# --- steps that write -----------------------------------------------------------------------------


def write_slice(x: Any, y: Any, p: int) -> None:
    x[slice_of(len(x), p)] = p


def add_in_place(x: Any, y: Any, p: int) -> None:
    x += p


def scale_part(x: Any, y: Any, p: int) -> None:
    x[slice_of(len(x), p)] *= 2


def write_below(x: Any, y: Any, p: int) -> None:
    x[x.real < p] = 0


def write_rows(x: Any, y: Any, p: int) -> None:
    for row in x:
        if row.ndim:
            row[...] = p


def write_last(x: Any, y: Any, p: int) -> None:
    x[..., -1] = p


def write_real(x: Any, y: Any, p: int) -> None:
    x.real = p


WRITES: Final[dict[str, Callable[[Any, Any, int], Any]]] = {
    "slice =": write_slice,
    "+=": add_in_place,
    "slice *=": scale_part,
    "mask =": write_below,
    "rows =": write_rows,
    "last =": write_last,
    "real =": write_real,
    "fill": lambda x, y, p: x.fill(p),
    "sort": lambda x, y, p: x.sort(axis=0),
    "put": lambda x, y, p: np.put(x, [0, -1], [p, p + 1]),
    "copyto": lambda x, y, p: np.copyto(x, y) if x.shape == y.shape else None,
    "out=": lambda x, y, p: np.multiply(x, 2, out=x),
    "out= of another": lambda x, y, p: np.subtract(y, x, out=x) if x.shape == y.shape else None,
    "own rest": lambda x, y, p: x.__setitem__(slice(1, None), x[:-1]),
    "reversed": lambda x, y, p: x.__setitem__(slice(None), x[::-1]),
}
TWO: Final = ("copyto", "out= of another")
LOOK: Final = "look"
NAMES: Final = [*VIEWS, *COPIES, *WRITES, LOOK]


def is_usable(x: Any) -> bool:
    return bool(x.ndim) and 0 < x.size <= 64 and x.ndim <= 4


def follow(steps: list[Step], start: Any, is_written: list[bool] | None = None) -> list[Any]:
    """All arrays that the steps make; `is_written` says, or is told, which writes NumPy refuses."""
    arrays = [start]
    decided = iter(is_written or ())
    for name, first, second, p in steps:
        x, y = arrays[first % len(arrays)], arrays[second % len(arrays)]
        if not is_usable(x):
            continue
        if name in VIEWS or name in COPIES:
            arrays.append({**VIEWS, **COPIES}[name](x, p))
        elif name in WRITES and (x.dtype == y.dtype or name not in TWO):
            if x.flags.writeable if isinstance(x, np.ndarray) else next(decided):
                WRITES[name](x, y, p)
            if isinstance(x, np.ndarray) and is_written is not None:
                is_written.append(x.flags.writeable)
        elif name == LOOK and isinstance(x, wf.Array):
            np.asarray(x)
    return arrays


def expected(steps: list[Step], start: Any) -> tuple[list[Any], list[bool]]:
    decided: list[bool] = []
    return follow(steps, start.copy(), decided), decided


def steps_of(names: list[str]) -> Any:
    number = st.integers(0, 7)
    return st.lists(st.tuples(st.sampled_from(names), number, number, number), max_size=9)


STARTS: Final = [
    np.arange(12.0).reshape(3, 4),
    np.arange(6.0) * (1 + 2j),
    np.arange(8).reshape(2, 2, 2),
]


@pytest.mark.parametrize("number", range(len(STARTS)))
@settings(max_examples=120, deadline=None)
@given(steps=steps_of(NAMES))
def test_any_steps_leave_all_arrays_as_numpys(number: int, steps: list[Step]) -> None:
    wanted, decided = expected(steps, STARTS[number])
    made = follow(steps, wnp.asarray(STARTS[number]), decided)
    assert len(made) == len(wanted)
    for one, other in zip(made, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(one), other, strict=True)


@pytest.mark.parametrize("number", range(len(STARTS)))
@settings(max_examples=15, deadline=None)
@given(steps=steps_of([name for name in NAMES if name not in ("mask =", "sort")]))
def test_the_same_steps_under_jit(number: int, steps: list[Step]) -> None:
    wanted, decided = expected(steps, STARTS[number])
    try:
        made = wf.jit(lambda x: tuple(follow(steps, x.copy(), decided)))(STARTS[number])
    except TraceError as error:  # a trace knows no strides
        assert "strides" in str(error)
        return
    for one, other in zip(made, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", [*VIEWS, *COPIES])
@pytest.mark.parametrize("is_computed", [False, True])
def test_each_view_reads_and_writes_its_base(name: str, is_computed: bool) -> None:
    make = {**VIEWS, **COPIES}[name]
    for start in STARTS:
        plain, array = start.copy(), wnp.asarray(start)
        view, other = make(plain, 1), make(array, 1)
        if is_computed:
            array.block_until_ready(), other.block_until_ready()
        plain[...] = plain + 1
        array[...] = array + 1
        np.testing.assert_array_equal(np.asarray(other), view)
        if view.flags.writeable:
            view += 3
            other += 3
        else:
            with pytest.raises(ValueError, match="read-only"):
                other += 3
        np.testing.assert_array_equal(np.asarray(array), plain)
        np.testing.assert_array_equal(np.asarray(other), view)


@pytest.mark.parametrize("name", ["swapaxes", "flip", "split", "squeeze", "transpose", "real"])
def test_functions_of_weft_make_views_too(name: str) -> None:
    arguments = {"swapaxes": (0, 1), "split": (2,), "transpose": ()}.get(name, ())
    start = np.arange(8.0).reshape(2, 4)[:, None] * (1 + 1j)

    def write(x: Any, namespace: Any) -> Any:
        made = getattr(namespace, name)(x, *arguments)
        part = made[0] if name == "split" else made
        part[0] = 9
        return x

    wanted = write(start.copy(), np)
    np.testing.assert_array_equal(np.asarray(write(wnp.asarray(start), wnp)), wanted)
    np.testing.assert_array_equal(wf.jit(lambda x: write(x.copy(), wnp))(start), wanted)


def test_memory_that_was_given_out_stays() -> None:
    x = wnp.asarray(np.arange(4.0)) * 1.0
    given_out = np.asarray(x), np.asarray(x).data, np.from_dlpack(x), x.data
    v = x[1:]
    v[:] = 9
    assert np.asarray(x).tolist() == [0, 9, 9, 9]
    for memory in given_out:
        assert np.asarray(memory).tolist() == [0, 1, 2, 3]


def test_arrays_of_numpy_are_copied() -> None:
    given_array = np.arange(4.0)
    x = wnp.asarray(given_array)
    x[0] = 9
    given_array[1] = 7
    assert given_array.tolist() == [0, 7, 2, 3] and x.tolist() == [9, 1, 2, 3]


def test_numbers_are_replaced_and_not_written_to() -> None:
    x = wnp.asarray(np.arange(4.0))
    total = x.sum()
    before = total
    total += 1
    item = x[1]
    item += 5
    assert (float(before), float(total), float(item), float(x[1])) == (6.0, 7.0, 6.0, 1.0)


def test_views_of_arrays_that_are_gone_and_copies_of_views() -> None:
    view = (wnp.asarray(np.arange(4.0)) * 2)[1:]
    twin, deep = copy.copy(view), copy.deepcopy(view)
    view[0] = 7
    assert view.tolist() == [7, 4, 6] and twin.tolist() == deep.tolist() == [2, 4, 6]


def test_later_reads_see_what_was_there_when_they_were_made() -> None:
    x = wnp.asarray(np.arange(4.0)) * 1.0
    view = x[1:]
    later = view * 10
    x[1] = 7
    assert later.tolist() == [10, 20, 30] and (view * 10).tolist() == [70, 20, 30]


def test_several_written_arguments_of_one_family() -> None:
    x, plain = wnp.asarray(np.arange(6.0)) + 0.5, np.arange(6.0) + 0.5
    np.modf(x[:3], out=(x[:3], x[3:]))
    np.modf(plain[:3], out=(plain[:3], plain[3:]))
    np.testing.assert_array_equal(np.asarray(x), plain)


def test_views_in_traced_functions_are_constants_of_now() -> None:
    x = wnp.asarray(np.arange(4.0))
    view = x[::2]
    x[0] = 5
    assert wf.jit(lambda y: y + view)(1.0).tolist() == [6, 3]
    with pytest.raises(TraceError, match="written to inside"):
        wf.jit(lambda y: view.fill(y))(1.0)


def test_a_failed_write_changes_nothing() -> None:
    x = wnp.asarray(np.arange(4.0))
    view = x[1:]
    with pytest.raises(ValueError, match="shape"):
        view[:] = np.zeros(5)
    with pytest.raises(TypeError):
        view += 1j
    assert x.tolist() == [0, 1, 2, 3] and view.tolist() == [1, 2, 3]


# --- calls of compiled functions ------------------------------------------------------------------


def test_compiled_function_gets_what_a_view_shows_now() -> None:
    double = wf.jit(lambda x: x * 2)
    x = wnp.asarray(np.arange(6.0))
    view = x[1:]
    for number in range(3):  # the later calls go straight to native code
        x[1] = 10.0 * number
        np.testing.assert_array_equal(double(view), 2 * np.asarray(view))
        assert double(view)[0] == 20.0 * number


def test_views_of_a_donated_array_cannot_be_used() -> None:
    more = wf.jit(lambda x: x + 1, donate="x")
    for _ in range(3):
        x = wnp.asarray(np.arange(6.0))
        view = x[1:]
        np.testing.assert_array_equal(view, np.arange(1.0, 6.0))
        np.testing.assert_array_equal(more(x), np.arange(1.0, 7.0))
        with pytest.raises(wf.ArgumentError, match="donated"):
            np.asarray(view)


def test_donated_view_leaves_its_base() -> None:
    more = wf.jit(lambda x: x + 1, donate="x")
    for _ in range(3):
        x = wnp.asarray(np.arange(6.0))
        view = x[1:]
        np.testing.assert_array_equal(more(view), np.arange(2.0, 7.0))
        np.testing.assert_array_equal(x, np.arange(6.0))


VIEWS_OF_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "diag": lambda y: (np.diag(y), np.diag(y, 1)),
    "broadcast_arrays": lambda y: np.broadcast_arrays(y[:, :1], y),
    "sliding_window_view": lambda y: np.lib.stride_tricks.sliding_window_view(y, 2, axis=0),
    "einsum of a diagonal": lambda y: np.einsum("ii->i", y),
    "einsum of a transpose": lambda y: np.einsum("ij->ji", y),
    "einsum of sums": lambda y: np.einsum("ij->i", y),
    "astype": lambda y: (y.astype(y.dtype, copy=False), y.astype("f4", copy=False)),
    "nan_to_num": lambda y: np.nan_to_num(y, copy=False),
}


@pytest.mark.parametrize("is_eager", [True, False], ids=["eager", "jit"])
@pytest.mark.parametrize("name", VIEWS_OF_FUNCTIONS)
def test_results_of_functions_see_writes_where_numpys_do(name: str, is_eager: bool) -> None:
    def function(x: Any) -> Any:
        y = x * 1.0
        seen = VIEWS_OF_FUNCTIONS[name](y)
        y[0, 0] = 9.0
        y[1, 1:] += 3.0
        return seen if isinstance(seen, tuple) else (seen,)

    x = np.arange(9.0).reshape(3, 3)
    made = function(wnp.asarray(x)) if is_eager else wf.jit(function)(x)
    for one, other in zip(made, function(x), strict=True):
        np.testing.assert_array_equal(np.asarray(one), other)


def test_einsum_and_functions_without_copies_write_through() -> None:
    def function(x: Any) -> Any:
        y = x * 1.0
        np.einsum("ij->ji", y)[0] = 1.0
        y.astype(y.dtype, copy=False)[2] = 5.0
        y[0, 0] = np.nan
        np.nan_to_num(y, copy=False)[0, 1] = 7.0
        return y

    x = np.arange(9.0).reshape(3, 3)
    expected = function(x)
    np.testing.assert_array_equal(wf.jit(function)(x), expected)
    np.testing.assert_array_equal(np.asarray(function(wnp.asarray(x))), expected)


def test_a_row_at_a_place_that_was_computed_is_a_view() -> None:
    x = wnp.asarray(np.arange(6.0).reshape(3, 2))
    place = wnp.asarray([0, 1]).sum()
    row, entries = x[place], x[place, ::-1]
    row[0] = 9
    x *= 2
    assert row.tolist() == [18, 6] and entries.tolist() == [6, 18]
    assert x.tolist() == [[0, 2], [18, 6], [8, 10]]
