"""Writes in place: what a trace makes of them against NumPy running the very same function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf
from tests.frontends.checking import Function, assert_as_numpy, matrix

# --- functions that write, each with a name that says what is special -----------------------------

PROGRAMS: dict[str, Function] = {}


def program(function: Function) -> Function:
    PROGRAMS[function.__name__] = function
    return function


@program
def an_alias_sees_the_write(x: Any) -> Any:
    y = x * 1.0
    z = y
    z[0, 1] = 7.0
    return y, z


@program
def a_rebound_name_is_no_alias(x: Any) -> Any:
    y = x * 1.0
    z = y
    z = z + 1.0
    z[0] = 0.0
    return y, z


@program
def a_copy_is_no_alias(x: Any) -> Any:
    y = x * 1.0
    first, second = y.copy(), np.copy(y)
    y[:] = 0.0
    first[0] = 5.0
    return y, first, second


@program
def a_write_through_a_slice(x: Any) -> Any:
    y = x * 1.0
    row = y[1]
    row[::2] = 7.0
    return y, row


@program
def a_stale_slice_reads_again(x: Any) -> Any:
    y = x * 1.0
    row, column = y[1], y[:, 1]
    y[1, 1] = 50.0
    return row, column, y


@program
def writes_to_overlapping_slices(x: Any) -> Any:
    y = x * 1.0
    left, right = y[:, :2], y[:, 1:]
    left *= 2.0
    right += 1.0
    left[0] = right[1]
    return y, left, right


@program
def an_overlapping_copy_reads_first(x: Any) -> Any:
    y = x.ravel() * 1.0
    y[1:] = y[:-1]
    y[:-1] += y[1:]
    return y


@program
def swapping_by_fancy_indices(x: Any) -> Any:
    y = x * 1.0
    y[:, [0, 2]] = y[:, [2, 0]]
    y[[0, 1]] = y[[1, 0]]
    return y


@program
def swapping_rows_of_views_shares_memory(x: Any) -> Any:
    """The classic mistake: both sides are views, so one row is lost in NumPy and here."""
    y = x * 1.0
    y[0], y[1] = y[1], y[0]
    return y


@program
def a_view_of_a_view_of_a_view(x: Any) -> Any:
    y = x * 1.0
    deep = y.T[1:][::-1][:, 0]
    deep[0] = 70.0
    y[0, 1] = 80.0
    return y, deep


@program
def a_transpose_writes_through(x: Any) -> Any:
    y = x * 1.0
    y.T[0] = 6.0
    np.transpose(y)[1, 1] = 8.0
    return y, y.T


@program
def a_reshape_writes_through(x: Any) -> Any:
    y = x * 1.0
    y.reshape(3, 2)[2] = 6.0
    np.reshape(y, (6,))[1] = 5.0
    y.reshape(-1, 1, 6)[0, 0, 0] = 4.0
    return y


@program
def a_ravel_writes_through_and_flatten_copies(x: Any) -> Any:
    y = x * 1.0
    flat, copied = y.ravel(), y.flatten()
    flat[1::2] = 0.0
    y[1] = 2.0
    copied[0] = 100.0
    return y, flat, copied, np.ravel(y)


@program
def squeeze_and_new_axes_write_through(x: Any) -> Any:
    y = x[:, None, :] * 1.0
    z = y.squeeze()
    z[0] = 1.0
    z[:, None][1, 0, 2] = 2.0
    np.expand_dims(z, 0)[0, 0, 0] = 3.0
    np.atleast_3d(z)[1, 1, 0] = 4.0
    np.squeeze(y, axis=1)[0, 1] = 5.0
    return y, z


@program
def moved_axes_write_through(x: Any) -> Any:
    y = np.stack([x, x + 1.0, x + 2.0, x + 3.0])
    np.moveaxis(y, 0, -1)[0, 0, 0] = 40.0
    np.moveaxis(y, (0, 1), (1, 0))[1, 2] = 50.0
    np.swapaxes(y, 1, 2)[0, 1] = 60.0
    np.rollaxis(y, 2)[2, 3] = 70.0
    np.matrix_transpose(y)[3, 0, 0] = 80.0
    y.swapaxes(0, 2)[1, 1, 2] = 90.0
    y.mT[0, 2, 1] = 95.0
    return y


@program
def views_that_are_not_written_to_follow(x: Any) -> Any:
    y = x * 1.0
    flipped, turned, diagonal = np.flip(y, 1), np.rot90(y), np.diagonal(y)
    stretched = np.broadcast_to(y, (2, 2, 3))
    parts = np.split(y, 3, axis=1)
    y[0] = [10.0, 20.0, 30.0]
    return flipped, turned, diagonal, stretched, parts[1], np.fliplr(y), np.flipud(y)


@program
def operators_in_place(x: Any) -> Any:
    y = x * 1.0
    z = y
    y += 2.0
    y -= x
    y *= 3
    y /= 2.0
    y **= 2
    y //= 0.7
    y %= 5.0
    return z


@program
def integer_operators_in_place(x: Any) -> Any:
    y = (x * 10).astype("int64")
    z = y
    y <<= 2
    y >>= 1
    y &= 0xFF
    y |= 1
    y ^= 3
    y //= 2
    return z


@program
def matmul_in_place(x: Any) -> Any:
    y = x * 1.0
    z = y
    y @= np.arange(9.0).reshape(3, 3)
    return z


@program
def an_operator_on_a_part(x: Any) -> Any:
    y = x * 1.0
    y[0] += 10.0
    y[:, 1] *= y[:, 0]
    y[1][1:] -= y[0][:2]
    y[..., [0, 2]] /= 4.0
    y[[0, 0]] += 1.0
    return y


@program
def rows_of_a_loop_write_through(x: Any) -> Any:
    y = x * 1.0
    for number, row in enumerate(y):
        row += number
        row[0] = -row[0]
    first, second = y
    first[2] = second[2]
    return y


@program
def out_arguments(x: Any) -> Any:
    y, z = x * 1.0, np.zeros_like(x)
    np.add(y, 1.0, out=y)
    np.multiply(y, y, out=z)
    np.exp(y, y)
    np.subtract(z[:, :2], 1.0, out=z[:, :2])
    np.negative(z[1], out=z[0])
    returned = np.sqrt(np.abs(z), out=z)
    returned[0, 0] = 9.0
    return y, z


@program
def out_with_where(x: Any) -> Any:
    y = x * 1.0
    np.sqrt(y, out=y, where=y > 0)
    np.add(y, 100.0, out=y, where=np.array([True, False, True]))
    return y


@program
def out_of_two_results(x: Any) -> Any:
    whole, part = np.zeros_like(x), np.zeros_like(x)
    np.divmod(x, 2.0, out=(whole, part))
    modf: Any = np.modf
    modf(x, out=(part, None))
    return whole, part


@program
def ufunc_at(x: Any) -> Any:
    y = x * 1.0
    subtract: Any = np.subtract
    np.add.at(y, ([0, 0, 1], [1, 1, 2]), [1.0, 2.0, 3.0])
    subtract.at(y, (slice(None), [0, 0]), 1.0)
    np.multiply.at(y[0], [2, 2], 3.0)
    np.maximum.at(y, 1, 0.0)
    np.minimum.at(y.T, [0], 2.0)
    return y


@program
def fill_and_assignment_of_everything(x: Any) -> Any:
    y, z = x * 1.0, x * 2.0
    row = y[0]
    y.fill(4.0)
    z[...] = y
    z[()] = z + 1.0
    return y, z, row


@program
def sort_in_place(x: Any) -> Any:
    y, z = x * 1.0, x * 1.0
    y.sort()
    z.sort(axis=0)
    z[0].sort()
    z[:, 1].sort()
    return y, z


@program
def fill_diagonal(x: Any) -> Any:
    y = x * 1.0
    row = y[0]
    np.fill_diagonal(y, 7.0)
    np.fill_diagonal(y[:, 1:], 8.0)
    return y, row


@program
def put_along_axis(x: Any) -> Any:
    y = x * 1.0
    np.put_along_axis(y, np.argmax(y, axis=1, keepdims=True), 0.0, axis=1)
    return y


@program
def real_and_imaginary_parts(x: Any) -> Any:
    y = x + 1j * x[::-1]
    real, imaginary = y.real, np.imag(y)
    y.real[0] = 5.0
    imaginary[1, 1] = 6.0
    y.imag += 1.0
    np.real(y)[:, 2] = 7.0
    y.real = y.real * 2.0
    return y, real, imaginary


@program
def a_stencil_in_place(x: Any) -> Any:
    y = np.zeros_like(x, shape=(4, 5))
    y[1:-1, 1:-1] = x
    for _ in range(3):
        y[1:-1, 1:-1] = (y[:-2, 1:-1] + y[2:, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:]) * 0.25
        y[0], y[-1] = y[1], y[-2]
    return y


@program
def a_scalar_is_replaced(x: Any) -> Any:
    total = np.sum(x)
    before = total
    total += 1.0
    element = x[0, 0]
    element *= 2.0
    return total, before, element


@program
def a_function_that_writes_to_what_it_is_given(x: Any) -> Any:
    def clear(row: Any) -> None:
        row[:] = 0.0

    y = x * 1.0
    clear(y[1])
    return y


@program
def gram_schmidt_in_place(x: Any) -> Any:
    q = x * 1.0
    q[0] /= np.sqrt(np.sum(q[0] * q[0]))
    q[1] -= np.sum(q[0] * q[1]) * q[0]
    q[1] /= np.sqrt(np.sum(q[1] * q[1]))
    return q


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_numpy(name: str) -> None:
    assert_as_numpy(PROGRAMS[name], matrix())


OTHER_DTYPES = [
    ("operators_in_place", "float32"),
    ("an_operator_on_a_part", "float32"),
    ("an_operator_on_a_part", "complex128"),
    ("ufunc_at", "int64"),
    ("sort_in_place", "int8"),
]


@pytest.mark.parametrize(("name", "dtype"), OTHER_DTYPES)
def test_as_in_numpy_for_other_dtypes(name: str, dtype: str) -> None:
    assert_as_numpy(PROGRAMS[name], matrix().astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
@pytest.mark.parametrize("new", [1, 1.5, np.float64(1.5), np.float32(2.5), np.int8(3), 1j])
def test_in_place_casts_are_those_of_numpy(dtype: str, new: Any) -> None:
    """NumPy refuses to cast to another kind in place; where it does, so does a trace."""

    def f(x: Any) -> Any:
        y = x.copy()
        y += new
        return y

    x = np.array([1, 2, 3], dtype)
    try:
        want = f(x)
    except TypeError:
        with pytest.raises(wf.TraceError, match="does not fit into"):
            wf.jit(f)(x)
    else:
        np.testing.assert_array_equal(wf.jit(f)(x), want, strict=True)


def test_an_in_place_result_of_another_shape_is_refused_with_both() -> None:
    def f(x: Any) -> Any:
        y = x[:1] * 1.0
        y += x
        return y

    with pytest.raises(ValueError, match="doesn't match the broadcast shape"):
        f(matrix())
    with pytest.raises(wf.ShapeError, match=r"f64\[2, 3\], which does not fit into f64\[1, 3\]"):
        wf.jit(f)(matrix())


def test_gradients_flow_through_writes() -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        row = y[0]
        row *= x[1]
        y[1] = 3.0
        y.T[2] += y[0, 0]
        return np.sum(y)

    x = matrix()
    by_hand = np.array([2.0 * x[1], 2.0 * x[0]])
    by_hand[0, 0] += 4.0 * x[1, 0]
    by_hand[1, 0] += 4.0 * x[0, 0]
    np.testing.assert_allclose(wf.grad(f)(x), by_hand, rtol=1e-14)


def test_long_chains_of_views() -> None:
    """Deeper than Python's recursion limit."""

    def f(x: Any) -> Any:
        y = x * 1.0
        view = y
        for _ in range(1201):
            view = view.T
        y[0, 1] = 50.0
        first = view[1, 0]
        view[2, 1] = 60.0
        return y, view, first

    assert_as_numpy(f, matrix())


# --- random programs ------------------------------------------------------------------------------

VIEWS: list[Function] = [
    lambda a: a[1:],
    lambda a: a[::-1],
    lambda a: a[..., ::2],
    lambda a: a.T,
    lambda a: a[None],
    lambda a: np.moveaxis(a, 0, -1),
    lambda a: a.reshape(-1),
    lambda a: a.reshape(a.shape[::-1]),
    lambda a: np.ravel(a),
    lambda a: np.squeeze(a),
    lambda a: np.flip(a, 0),
    lambda a: a.copy(),
    lambda a: a * 1.0,
    lambda a: a,
]


def fill(a: Any, number: float) -> None:
    a[...] = number


def set_first(a: Any, number: float) -> None:
    a[:1] = number


def add_last(a: Any, number: float) -> None:
    a[..., -1:] += number


def scale(a: Any, number: float) -> None:
    a *= number


def sort(a: Any, _: float) -> None:
    a.sort()


WRITES: list[Function] = [fill, set_first, add_last, scale, sort]

steps = st.tuples(
    st.booleans(), st.integers(0, 20), st.integers(0, 20), st.sampled_from([-2.0, 0.5, 3.0])
)


@pytest.mark.slow
@settings(deadline=None, max_examples=250)
@given(st.lists(steps, min_size=1, max_size=8), st.sampled_from([(2, 3), (4,), (2, 1, 3), (3, 3)]))
def test_random_programs_of_views_and_writes(
    drawn: list[tuple[bool, int, int, float]], shape: tuple[int, ...]
) -> None:
    """Every array alive at the end agrees with NumPy's, unless the trace refused a step, and then
    it said that it cannot know whether memory is shared.
    """

    def f(x: Any) -> Any:
        alive = [x * 1.0]
        for is_write, which, place, number in drawn:
            array = alive[place % len(alive)]
            if not array.shape:
                continue
            if is_write:
                WRITES[which % len(WRITES)](array, number)
            else:
                alive.append(VIEWS[which % len(VIEWS)](array))
        return tuple(alive)

    x = np.arange(float(np.prod(shape))).reshape(shape) - 2.0
    try:
        got = wf.jit(f)(x)
    except wf.TraceError as error:
        assert "depends on strides" in str(error) or "write through this view" in str(error)
        return
    for one, other in zip(got, f(x), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
