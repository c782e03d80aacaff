"""Indexing and indexed writes against NumPy, for random shapes and random keys.

A key is drawn as a tuple of items; `Traced` items are passed to the traced function as arguments,
the others are constants of it, and NumPy sees plain arrays for both. NumPy decides what is right,
errors included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import weft as wf

Array = np.ndarray[Any, Any]

IN_PLACE: dict[str, np.ufunc] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


@dataclass(frozen=True)
class Traced:
    """An index whose value is not known while tracing; one of rank 0 is a number."""

    array: Array


@dataclass(frozen=True)
class Case:
    """An array and a key for it."""

    array: Array
    items: tuple[Any, ...]
    is_tuple: bool = True

    def key(self, traced: tuple[Any, ...] | None = None) -> Any:
        """The key, with these values (NumPy's arrays if not given) for the traced items."""
        given = iter(traced if traced is not None else self.traced)
        made = tuple(next(given) if isinstance(i, Traced) else i for i in self.items)
        return made if self.is_tuple else made[0]

    @property
    def traced(self) -> tuple[Array, ...]:
        return tuple(item.array[()] for item in self.items if isinstance(item, Traced))


def examples(count: int) -> settings:
    """So many random cases; those that NumPy refuses are drawn and left out."""
    return settings(
        deadline=None,
        max_examples=count,
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    )


def case(shape: tuple[int, ...], *items: Any) -> Case:
    """A case on an array of distinct numbers; one item is a key on its own."""
    return Case(numbers(shape), items, is_tuple=len(items) != 1)


def numbers(shape: tuple[int, ...]) -> Array:
    return np.arange(-3.0, int(np.prod(shape)) - 3.0).reshape(shape)


# --- random cases ---------------------------------------------------------------------------------

shapes = st.lists(st.sampled_from([0, 1, 2, 3, 4, 5]), max_size=4).map(tuple)


def bounds(size: int) -> st.SearchStrategy[int | None]:
    return st.none() | st.integers(-size - 2, size + 2)


def slices(size: int) -> st.SearchStrategy[slice]:
    steps = st.none() | st.integers(-4, 4).filter(bool)
    return st.builds(slice, bounds(size), bounds(size), steps)


@st.composite
def index_arrays(draw: st.DrawFn, size: int, common: tuple[int, ...]) -> Array:
    """Indices into an axis that broadcast to a common shape, negative ones included."""
    rank = draw(st.integers(0, len(common)))
    shape = tuple(draw(st.sampled_from([n, 1])) for n in common[len(common) - rank :])
    if size == 0 and np.prod(shape) > 0:
        shape = (0,)
    values = st.integers(-size, max(size - 1, 0))
    count = int(np.prod(shape))
    drawn = draw(st.lists(values, min_size=count, max_size=count))
    dtype = draw(st.sampled_from([np.int64, np.int64, np.int32, np.int8]))
    return np.array(drawn, dtype).reshape(shape)


@st.composite
def items_for(draw: st.DrawFn, sizes: tuple[int, ...], common: tuple[int, ...], basic: bool) -> Any:
    """One item, and how many axes it takes."""
    size = sizes[0]
    kinds = ["slice", "slice"] + (["int"] if size else [])
    if not basic:
        kinds += ["array", "traced", "list", "mask", "traced scalar"]
    kind = draw(st.sampled_from(kinds))
    if kind == "slice":
        return draw(slices(size)), 1
    if kind == "int":
        number = draw(st.integers(-size, size - 1))
        return draw(st.sampled_from([number, np.int64(number)])), 1
    if kind == "mask":
        rank = draw(st.integers(1, len(sizes)))
        count = int(np.prod(sizes[:rank]))
        drawn = draw(st.lists(st.booleans(), min_size=count, max_size=count))
        return np.array(drawn, bool).reshape(sizes[:rank]), rank
    if kind == "traced scalar":
        assume(size)
        return Traced(np.array(draw(st.integers(-size, size - 1)))), 1
    array = draw(index_arrays(size, common))
    if kind == "list" and array.ndim > 0 and array.size > 0:
        return array.tolist(), 1
    return (Traced(array) if kind == "traced" else array), 1


@st.composite
def cases(draw: st.DrawFn, basic: bool = False) -> Case:
    shape = draw(shapes)
    common = draw(st.sampled_from([(), (1,), (2,), (3,), (2, 3), (1, 2), (0,), (2, 1, 2)]))
    items: list[Any] = []
    axis, has_ellipsis = 0, False
    indexed = draw(st.integers(0, len(shape)))
    while axis < indexed:
        if draw(st.integers(0, 5)) == 0:
            items.append(None)
        if not has_ellipsis and draw(st.integers(0, 4)) == 0:
            items.append(Ellipsis)
            has_ellipsis = True
            axis += draw(st.integers(0, indexed - axis))
            tail = len(shape) - (indexed - axis)
            shape_left = shape[tail:]
        else:
            shape_left = shape[len(shape) - indexed + axis :] if has_ellipsis else shape[axis:]
        if axis >= indexed:
            break
        room = shape_left[: indexed - axis]
        item, taken = draw(items_for(room, common, basic))
        items.append(item)
        axis += taken
    if draw(st.integers(0, 5)) == 0:
        items.append(None)
    is_tuple = len(items) != 1 or draw(st.booleans())
    return Case(numbers(shape), tuple(items), is_tuple)


def expected_or_skip(compute: Callable[[], Any]) -> Any:
    """What NumPy computes; a case that NumPy refuses is another test's business."""
    try:
        return compute()
    except (IndexError, TypeError, ValueError):
        assume(False)


# --- reading --------------------------------------------------------------------------------------


@examples(250)
@given(cases())
@example(case((3, 4), np.array([0, 2]), Ellipsis, np.array([1, 3])))
@example(case((2, 3, 4), slice(None), np.array([0, 2]), Ellipsis, np.array([1, 3])))
@example(case((2, 3, 4), slice(None), np.array([0, 2]), Ellipsis, 1))
@example(case((3, 4), np.array([0, 2]), None, np.array([1, 3])))
@example(case((2, 3, 4), np.array([0, 1]), slice(None), np.array([1, 3])))
@example(case((2, 3, 4), slice(None), 1, np.array([1, 3])))
@example(case((2, 3, 4), 1, slice(None), np.array([1, 3])))
@example(case((2, 3, 4), Traced(np.array(1)), slice(None, None, -2), Traced(np.array([1, 3, -1]))))
@example(case((2, 3), np.array([[True, False, True], [False, False, True]])))
@example(case((0, 3), slice(None), np.array([1, 1])))
@example(case((4,), []))
@example(case((), Ellipsis))
@example(case((), None))
def test_getitem_is_as_in_numpy(drawn: Case) -> None:
    want = expected_or_skip(lambda: drawn.array[drawn.key()])
    got = wf.jit(lambda x, *traced: x[drawn.key(traced)])(drawn.array, *drawn.traced)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want, strict=True)


@pytest.mark.slow
@examples(250)
@given(cases(basic=True) | cases())
@example(case((2, 3), Traced(np.array(1))))
@example(case((2, 3), Traced(np.array(-1)), Ellipsis))
@example(case((2, 3, 4), slice(1, None), Traced(np.array(2)), None, slice(None, None, -1)))
def test_a_result_is_a_view_where_numpy_makes_one(drawn: Case) -> None:
    """`x[key][...] = v` writes to x if the key is of slices and numbers, known ones or traced,
    unless it makes a scalar; and a result that is a view sees what is written to x.
    """
    assume(drawn.array.shape)
    expected_or_skip(lambda: drawn.array[drawn.key()])

    def f(x: Any, *traced: Any) -> Any:
        y, z = x * 1.0, x + 1.0
        part = y[drawn.key(traced)]
        if part.shape:
            part[...] = -7.0
        seen = z[drawn.key(traced)]
        z *= 2.0
        return y, seen, z

    got = wf.jit(f)(drawn.array, *drawn.traced)
    for one, other in zip(got, f(drawn.array, *drawn.traced), strict=True):
        np.testing.assert_array_equal(one, other)


# --- writing --------------------------------------------------------------------------------------


@st.composite
def updates(draw: st.DrawFn, drawn: Case) -> Array:
    """New values that broadcast to what the key names."""
    full = np.shape(expected_or_skip(lambda: drawn.array[drawn.key()]))
    rank = draw(st.integers(0, len(full)))
    shape = tuple(draw(st.sampled_from([n, n, 1])) for n in full[len(full) - rank :])
    if draw(st.integers(0, 5)) == 0 and rank == len(full) > 0:
        shape = (1, *shape)  # which NumPy drops
    return np.asarray(numbers(shape) * 2.0 + 0.5)


@pytest.mark.slow
@examples(200)
@given(st.data(), cases(), st.booleans())
def test_setitem_and_at_set_are_as_in_numpy(data: st.DataObject, drawn: Case, known: bool) -> None:
    new = data.draw(updates(drawn))
    want = drawn.array.copy()
    expected_or_skip(lambda: want.__setitem__(drawn.key(), new))

    def in_place(x: Any, new: Any, *traced: Any) -> Any:
        y = x.copy()
        y[drawn.key(traced)] = new
        return y

    def functional(x: Any, new: Any, *traced: Any) -> Any:
        return x.at[drawn.key(traced)].set(new)

    for f in (in_place, functional):
        if known:
            got = wf.jit(lambda x, *t, f=f: f(x, new, *t))(drawn.array, *drawn.traced)
        else:
            got = wf.jit(f)(drawn.array, new, *drawn.traced)
        np.testing.assert_array_equal(got, want, strict=True)


@pytest.mark.slow
@examples(200)
@given(st.data(), cases(), st.sampled_from(sorted(IN_PLACE)))
def test_at_with_an_operation_is_ufunc_at(data: st.DataObject, drawn: Case, kind: str) -> None:
    new = data.draw(updates(drawn))
    want = drawn.array.copy()
    expected_or_skip(lambda: IN_PLACE[kind].at(want, drawn.key(), new))

    def functional(x: Any, new: Any, *traced: Any) -> Any:
        return getattr(x.at[drawn.key(traced)], kind)(new)

    def at(x: Any, new: Any, *traced: Any) -> Any:
        y = x.copy()
        IN_PLACE[kind].at(y, drawn.key(traced), new)
        return y

    for f in (functional, at):
        got = wf.jit(f)(drawn.array, new, *drawn.traced)
        np.testing.assert_array_equal(got, want, strict=True)


@pytest.mark.parametrize("kind", ["set", *sorted(IN_PLACE)])
def test_at_gives_a_new_array(kind: str) -> None:
    def f(x: Any) -> Any:
        y = x + 0.0
        return getattr(y.at[1], kind)(5.0), y

    x = np.arange(3.0)
    _, after = wf.jit(f)(x)
    np.testing.assert_array_equal(after, x)


def test_at_get_reads() -> None:
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(wf.jit(lambda x: x.at[:, 1].get())(x), x[:, 1])


def test_duplicates_accumulate_and_the_last_set_wins() -> None:
    indices = np.array([0, 2, 2, -1, 0])
    new = np.array([1.0, 2.0, 3.0, 4.0, 5.0])

    def f(x: Any, i: Any, v: Any) -> Any:
        return x.at[i].add(v), x.at[i].multiply(v), x.at[i].set(v)

    total, product, last = wf.jit(f)(np.ones(3), indices, new)
    np.testing.assert_array_equal(total, [7.0, 1.0, 10.0])
    np.testing.assert_array_equal(product, [5.0, 1.0, 24.0])
    np.testing.assert_array_equal(last, [5.0, 1.0, 4.0])


@pytest.mark.parametrize("dtype", ["int32", "float32", "complex64", "bool", "uint8"])
@pytest.mark.parametrize("new", [2, 2.9, np.float64(2.9), np.array([1, 0]), True])
def test_new_values_are_cast_to_the_array_as_in_numpy(dtype: str, new: Any) -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        y[1:3] = new
        return y

    x = np.zeros(4, dtype)
    np.testing.assert_array_equal(wf.jit(f)(x), f(x), strict=True)


# --- traced masks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4,), (4, 3), (0,)])
def test_a_traced_mask_writes(shape: tuple[int, ...]) -> None:
    x = numbers(shape)

    def f(x: Any) -> Any:
        y = x.copy()
        y[y > 0] = -1.0
        return y

    np.testing.assert_array_equal(wf.jit(f)(x), f(x), strict=True)


def test_a_traced_mask_over_leading_axes_writes_rows() -> None:
    x = numbers((4, 3))
    row = np.array([10.0, 20.0, 30.0])

    def f(x: Any, mask: Any) -> Any:
        y = x.copy()
        y[mask] = row
        np.add.at(y, mask, 1.0)
        return y

    mask = np.array([True, False, True, True])
    np.testing.assert_array_equal(wf.jit(f)(x, mask), f(x, mask), strict=True)


def test_a_traced_mask_of_another_shape_is_refused() -> None:
    with pytest.raises(wf.ShapeError, match=r"mask has shape \(3,\), the array \(4,\)"):
        wf.jit(lambda x, m: x.at[m].set(0))(np.zeros(4), np.ones(3, bool))


_DIAGONAL: Any = scipy.sparse.csr_array(np.eye(4))
CHECKED: list[tuple[Any, list[Any], list[Any]]] = [
    (lambda i: np.add.reduceat(np.arange(10.0), i), [[0, 3, 9]], [[0, 10], [-1, 3]]),
    (lambda i: np.unravel_index(i, (3, 4)), [[0, 11]], [[12], [-1]]),
    (lambda i: np.ravel_multi_index((i, i), (3, 4)), [[0, 2]], [[3], [-1]]),
    (lambda i: wf.sparse.asarray(_DIAGONAL)[i[0], 1], [[1], [-3]], [[4], [-5]]),
]


@pytest.mark.parametrize(("function", "good", "bad"), CHECKED)
def test_traced_indices_are_checked_when_the_program_runs(
    function: Any, good: list[Any], bad: list[Any]
) -> None:
    compiled = wf.jit(lambda i: function(i.astype(np.int64)))
    for index in good:
        made = np.array(compiled(np.array(index)))
        known = _DIAGONAL[index[0], 1] if function is CHECKED[-1][0] else function(np.array(index))
        np.testing.assert_array_equal(made, np.array(known))
    for index in bad:
        with pytest.raises(wf.BoundsError, match="out of range"):
            compiled(np.array(index))


# --- symbolic sizes -------------------------------------------------------------------------------

SYMBOLIC_KEYS: list[Any] = [
    0,
    -1,
    slice(None),
    slice(1, None),
    slice(None, -1),
    slice(1, -1),
    slice(None, None, -1),
    slice(None, None, 2),
    slice(1, None, 3),
    slice(-2, None),
    slice(None, -3, -1),
    slice(-1, 0, -1),
    slice(2, 1),
    None,
    Ellipsis,
    (Ellipsis, 0),
    (slice(None), 1),
    (slice(1, None), slice(None, None, -1)),
    (0, None, slice(0, 2)),
    (None, slice(None, None, -2), None, -1),
    (slice(None), np.array([2, 0])),
    np.array([0, -1, 2]),
    (np.array([0, -1]), slice(1, 3)),
]


@pytest.mark.parametrize("key", SYMBOLIC_KEYS, ids=str)
def test_one_graph_reads_every_size(key: Any) -> None:
    graph = wf.trace(lambda x: x[key])(wf.spec("f64[n>=4, 3]"))
    for size in (4, 5, 6, 11):
        x = numbers((size, 3))
        (got,) = wf.evaluate(graph, [x])
        np.testing.assert_array_equal(got, x[key], strict=True)


@pytest.mark.parametrize("key", SYMBOLIC_KEYS, ids=str)
def test_one_graph_writes_every_size(key: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y[key] = -5.0
        return y

    graph = wf.trace(f)(wf.spec("f64[n>=4, 3]"))
    for size in (4, 5, 6, 11):
        x = numbers((size, 3))
        (got,) = wf.evaluate(graph, [x])
        np.testing.assert_array_equal(got, f(x), strict=True)


def test_a_key_made_of_symbolic_sizes() -> None:
    def f(x: Any) -> Any:
        n = x.shape[0]
        return x[: n // 2], x[n // 2 :], x[n - 1], x[1 : n - 1]

    graph = wf.trace(f)(wf.spec("f64[n>=4]"))
    for size in (4, 5, 9):
        x = np.arange(float(size))
        for got, want in zip(wf.evaluate(graph, [x]), f(x), strict=True):
            np.testing.assert_array_equal(got, want, strict=True)


# --- what is refused ------------------------------------------------------------------------------

BAD_KEYS: list[tuple[Any, str]] = [
    (5, "index 5 is out of bounds for an axis of size 4"),
    (-5, "index -5 is out of bounds for an axis of size 4"),
    ((0, 3), "index 3 is out of bounds for an axis of size 3"),
    ((0, 0, 0), "too many indices"),
    ((Ellipsis, 0, Ellipsis), "single ellipsis"),
    (1.5, "an index must be an integer"),
    ("a", "an index must be an integer"),
    (np.array([0.5]), "integer or bool dtype"),
    (slice(None, None, 0), "step must be a non-zero"),
    ((np.array([0, 1]), np.array([0, 1, 2])), "index arrays: shapes .* do not broadcast"),
    (True, "single bool"),
    (np.array(False), "single bool"),
]


@pytest.mark.parametrize(("key", "match"), BAD_KEYS, ids=str)
def test_a_bad_key_is_refused_for_reading_and_writing(key: Any, match: str) -> None:
    for f in (lambda x: x[key], lambda x: x.at[key].set(0.0)):
        with pytest.raises(wf.WeftError, match=match) as caught:
            wf.jit(f)(np.zeros((4, 3)))
        assert "test_indexing.py" in str(caught.value)


@pytest.mark.parametrize("mask", [np.ones(3, bool), np.ones((4, 2), bool)], ids=["3", "4x2"])
def test_a_static_mask_of_another_shape_is_refused_as_in_numpy(mask: Array) -> None:
    x = np.zeros((4, 3))
    with pytest.raises(IndexError):
        x[mask]
    with pytest.raises(wf.WeftError, match="mask"):
        wf.jit(lambda x: x[mask])(x)


@pytest.mark.parametrize("index", [[4], [-5], [[0, 1], [2, 9]]])
def test_a_static_index_array_out_of_bounds_is_refused(index: list[Any]) -> None:
    with pytest.raises(IndexError):
        wf.jit(lambda x: x[np.array(index)])(np.zeros(4))


def test_a_traced_index_out_of_bounds_is_reported_when_the_program_runs() -> None:
    f = wf.jit(lambda x, i: x[i])
    with pytest.raises(wf.BoundsError, match="test_indexing.py"):
        f(np.arange(3.0), 3)
    assert f(np.arange(3.0), -1) == 2.0


def test_new_values_that_do_not_fit_are_refused_with_both_shapes() -> None:
    with pytest.raises(wf.ShapeError, match=r"\(2,\) into the shape \(3,\)"):
        wf.jit(lambda x: x.at[:3].set(np.ones(2)))(np.zeros(5))


def test_symbolic_sizes_in_a_list_of_indices() -> None:
    graph = wf.trace(lambda x: x[[0, x.shape[0] - 1]])(wf.spec("f64[n]"))
    (ends,) = wf.evaluate(graph, [np.arange(5.0)])
    np.testing.assert_array_equal(ends, [0.0, 4.0])


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_windows_at_a_traced_place_are_as_in_numpy(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    x = np.arange(float(np.prod(shape))).reshape(shape)
    widths = [data.draw(st.integers(0, size)) for size in shape]
    starts = [data.draw(st.integers(0, size - w)) for size, w in zip(shape, widths, strict=True)]
    is_window = [data.draw(st.booleans()) for _ in shape]

    def key(places: Any) -> tuple[slice, ...]:
        pairs = zip(places, widths, is_window, strict=True)
        return tuple([slice(p, p + w) if chosen else slice(None) for p, w, chosen in pairs])

    def function(x: Any, places: Any) -> Any:
        y = x * 1.0
        y[key(places)] += 10.0
        return x[key(places)], y

    run = wf.jit(function, backend="reference")
    for made, wanted in zip(run(x, tuple(starts)), function(x, starts), strict=True):
        np.testing.assert_array_equal(made, wanted)
