"""Sparse arrays in traced functions against SciPy and dense NumPy, on native code and outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf
from weft.compiler.ir.errors import ArgumentError, BoundsError, DTypeError, ShapeError, TraceError
from weft.frontends.tracing import tree

Array = np.ndarray[Any, Any]
FORMATS = ("csr", "csc", "coo")
# Sums of a few products, in another order than NumPy's.
TOLERANCE = 1e-12


def values(count: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(0.2, 0.9, count)


def example(format: str, shape: tuple[int, int] = (5, 4), seed: int = 0) -> Any:
    """An array with empty lines and without duplicates."""
    rng = np.random.default_rng(seed)
    mask = rng.random(shape) < 0.4
    mask[1], mask[:, 2] = False, False
    mask[0, 0] = True
    made = sp.csr_array(mask * rng.uniform(-0.9, 0.9, shape)).asformat(format)
    made.sum_duplicates()
    return made


@st.composite
def patterns(draw: st.DrawFn) -> Any:
    """Any matrix: empty lines, no lines, positions twice and out of order."""
    rows, columns = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    most = 8 if rows and columns else 0
    places = draw(
        st.lists(
            st.tuples(st.integers(0, max(rows - 1, 0)), st.integers(0, max(columns - 1, 0))),
            max_size=most,
        )
    )
    row, col = np.array(places, np.int32).reshape(-1, 2).T
    made = sp.coo_array((values(len(row)), (row, col)), shape=(rows, columns))
    format = draw(st.sampled_from(FORMATS))
    if format == "coo":
        return made
    # SciPy adds duplicates up when it compresses; here they stay.
    lines, across, count = (row, col, rows) if format == "csr" else (col, row, columns)
    order = np.argsort(lines, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(lines, minlength=count))])
    kind = sp.csr_array if format == "csr" else sp.csc_array
    return kind((made.data[order], across[order], offsets), shape=(rows, columns))


def dense(result: Any) -> Any:
    return result.toarray() if sp.issparse(result) else result


def same(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(dense(actual), dense(expected), rtol=TOLERANCE, atol=TOLERANCE)


# --- any pattern --------------------------------------------------------------------------------


def everything(S: Any, x: Any, y: Any, X: Any) -> Any:
    return {
        "vector": S @ x,
        "matrix": S @ X,
        "left": y @ S,
        "batch": np.stack([y, 2 * y])[None] @ S,
        "scaled": S * 2.0 / 4.0,
        "rows": S * y[:, None],
        "columns": x * S,
        "sum": S + S,
        "joined": S - (S.tocoo() * 3.0),
        "dense": S.todense(),
        "plus": S + np.outer(y, x),
        "turned": S.T,
        "sums": [S.sum(), np.sum(S, axis=0), S.sum(axis=1)],
        "csr": S.tocsr(),
        "csc": S.tocsc(),
        "negative": -S,
    }


def expected(D: Any, x: Any, y: Any, X: Any) -> Any:
    return {
        "vector": D @ x,
        "matrix": D @ X,
        "left": y @ D,
        "batch": np.stack([y, 2 * y])[None] @ D,
        "scaled": D / 2,
        "rows": D * y[:, None],
        "columns": D * x,
        "sum": 2 * D,
        "joined": -2 * D,
        "dense": D,
        "plus": D + np.outer(y, x),
        "turned": D.T,
        "sums": [D.sum(), D.sum(0), D.sum(1)],
        "csr": D,
        "csc": D,
        "negative": -D,
    }


def check_everything(S: Any, call: Callable[..., Any]) -> None:
    x, y = values(S.shape[1], 1), values(S.shape[0], 2)
    X = values(3 * S.shape[1], 3).reshape(-1, 3)
    made, wanted = call(everything)(S, x, y, X), expected(S.toarray(), x, y, X)
    for name, value in wanted.items():
        pairs = zip(made[name], value, strict=True) if name == "sums" else [(made[name], value)]
        for actual, right in pairs:
            same(actual, right)
    assert made["scaled"].format == made["sum"].format == S.format


def reference(function: Callable[..., Any]) -> Any:
    return wf.jit(function, backend="reference")


@settings(max_examples=8, deadline=None)
@given(patterns())
def test_ops_on_any_pattern(S: Any) -> None:
    check_everything(S, reference)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(patterns())
def test_ops_on_any_pattern_native(S: Any) -> None:
    check_everything(S, wf.jit)


@pytest.mark.parametrize("format", FORMATS)
def test_ops_native(format: str) -> None:
    check_everything(example(format), wf.jit)


@settings(max_examples=20, deadline=None)
@given(patterns())
def test_gradients_on_any_pattern(S: Any) -> None:
    x, X = values(S.shape[1], 1), values(2 * S.shape[1], 3).reshape(-1, 2)

    def loss(S: Any, x: Any) -> Any:
        return np.sum(np.sin(S @ x) ** 2) + np.sum(np.cos(S @ X)) + np.sum(S.sum(axis=0) ** 3)

    def dense_loss(D: Any, x: Any) -> Any:
        return np.sum(np.sin(D @ x) ** 2) + np.sum(np.cos(D @ X)) + np.sum(D.sum(axis=0) ** 3)

    of_entries, of_x = wf.grad(loss, (0, 1))(S, x)
    of_dense, of_same_x = wf.grad(dense_loss, (0, 1))(S.toarray(), x)
    entries, made = S.tocoo(), of_entries.tocoo()
    np.testing.assert_array_equal(made.row, entries.row)
    np.testing.assert_array_equal(made.col, entries.col)
    same(made.data, of_dense[entries.row, entries.col])
    same(of_x, of_same_x)


# --- arguments and results ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.csr_array])
def test_matrices_and_arrays_are_taken_and_arrays_returned(kind: Any) -> None:
    S = kind(example("csr"))
    made = wf.jit(lambda S: S * 2)(S)
    assert isinstance(made, sp.sparray) and made.format == S.format
    same(made, 2 * S.toarray())


def test_arrays_may_be_longer_than_the_entries_in_use() -> None:
    S = example("csr")
    S.data, S.indices = np.append(S.data, 7.0), np.append(S.indices, np.int32(99))
    same(wf.jit(lambda S: S @ np.ones(4))(S), S @ np.ones(4))


@pytest.mark.parametrize("format", FORMATS)
def test_closed_over(format: str) -> None:
    S, x, y = example(format), values(4, 1), values(5, 2)
    D = S.toarray()
    same(wf.jit(lambda x: S @ x)(x), D @ x)
    same(wf.jit(lambda y: y @ S)(y), y @ D)
    same(wf.jit(lambda x: x * S)(x), D * x)
    same(wf.jit(lambda x: S + x * D)(x), D + x * D)
    same(wf.grad(lambda x: np.sum((wf.sparse.asarray(S) @ x) ** 2))(x), 2 * D.T @ (D @ x))
    with pytest.raises(TraceError, match=r"use wf.sparse.asarray\(S\)"):
        wf.jit(lambda x: S * x)(x)


def test_one_program_serves_other_entries() -> None:
    product = wf.jit(lambda S, x: S @ x)
    S, x = example("csr"), values(4)
    for factor in (1.0, 2.0, 3.0):
        same(product(S * factor, x), factor * (S @ x))
    assert product.why_retraced().count("\n") == 0


def test_native_code_takes_the_leaves_of_later_calls() -> None:
    def scaled(t: Table, factor: Any) -> Any:
        return Table(t.weights * factor, t.places)

    call = wf.jit(scaled)
    for weights in (np.ones(3), 2 * np.ones(3), np.ones(4, "f4"), np.ones(6)[::2], np.ones(3)):
        for places in (np.arange(2), np.arange(2)[::-1]):
            made = call(Table(weights, places), 3.0)
            np.testing.assert_array_equal(made.weights, weights * 3)
            np.testing.assert_array_equal(made.places, places)
            assert made.weights.dtype == weights.dtype
    np.testing.assert_array_equal(call(t=Table(np.ones(1), np.ones(1)), factor=2.0).weights, [2.0])
    other = wf.jit(lambda t, n: t.weights * n, static_argnums=1)
    for n in (1, 2, 1):
        np.testing.assert_array_equal(other(Table(np.ones(2), np.ones(1)), n), [n, n])


def test_carried_by_a_loop() -> None:
    S = example("csr")
    made = wf.jit(lambda S: wf.fori_loop(0, 3, lambda i, S: S * 2.0, S))(S)
    same(made, 8 * S.toarray())


@pytest.mark.parametrize("dtype", ["f4", "i4", "c16", "?"])
def test_dtypes(dtype: str) -> None:
    S = sp.csr_array(example("csr").toarray() * 5).astype(dtype)
    x = np.arange(4).astype(dtype)
    for made in (wf.jit(lambda S, x: S @ x)(S, x), wf.jit(lambda S, x: S.T.T @ x)(S, x)):
        assert made.dtype == (S.toarray() @ x).dtype
        np.testing.assert_allclose(made, S.toarray() @ x, rtol=1e-6)
    total = wf.jit(lambda S: S.sum())(S)
    assert total.dtype == S.toarray().sum().dtype
    assert wf.jit(lambda S: S * 2.0)(example("csr").astype("f4")).dtype == np.float32


def test_attributes() -> None:
    seen: list[Any] = []

    def look(S: Any) -> Any:
        seen.extend([S.shape, S.dtype, S.nnz, S.format, S.ndim, repr(S)])
        return S.data

    S = example("csr")
    wf.jit(look)(S)
    n = S.nnz
    text = f"SparseArray(csr, float64[5, 4], {n} entries)"
    assert seen == [(5, 4), np.float64, n, "csr", 2, text]


# --- elements, functions, extremes --------------------------------------------------------------

KEEP_ZEROS = (np.sin, np.tan, np.sqrt, np.expm1, np.log1p, np.abs, np.square, np.tanh, np.floor)


@pytest.mark.parametrize("format", FORMATS)
def test_functions_that_keep_zeros(format: str) -> None:
    S = abs(example(format))
    S.sum_duplicates()
    made = reference(lambda S: [f(S) for f in KEEP_ZEROS] + [S**2, S * S])(S)
    D = S.toarray()
    for actual, right in zip(made, [*[f(D) for f in KEEP_ZEROS], D**2, D * D], strict=True):
        same(actual, right)


@pytest.mark.parametrize("format", FORMATS)
def test_extremes_means_diagonals_and_elements(format: str) -> None:
    S = example(format)
    D = S.toarray()

    def look(S: Any, i: Any) -> Any:
        return [
            *[getattr(S, name)(axis) for name in ("max", "min", "mean") for axis in (None, 0, 1)],
            *[S.diagonal(k) for k in (-4, -1, 0, 2)],
            *[S[i], S[1], S[:, i], S[i, 0], S[-1, -1], np.trace(S)],
        ]

    wanted = [
        *[getattr(D, name)(axis) for name in ("max", "min", "mean") for axis in (None, 0, 1)],
        *[np.diagonal(D, k) for k in (-4, -1, 0, 2)],
        *[D[3], D[1], D[:, 3], D[3, 0], D[-1, -1], np.trace(D)],
    ]
    for actual, right in zip(reference(look)(S, 3), wanted, strict=True):
        same(actual, right)


def test_extremes_of_a_full_array_are_of_entries_alone() -> None:
    S = sp.csr_array(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert wf.jit(lambda S: S.min())(S) == 1
    same(wf.jit(lambda S: S.min(axis=0))(S), [1, 2])


@pytest.mark.parametrize("format", FORMATS)
def test_products_of_two_sparse_arrays_that_are_known(format: str) -> None:
    A, B = example(format), example(format, (4, 6), 1)

    def product(c: Any) -> Any:
        return (wf.sparse.asarray(A) * c) @ wf.sparse.asarray(B)

    made = wf.jit(product)(3.0)
    same(made, 3 * A.toarray() @ B.toarray())
    assert made.format == format
    slope = wf.grad(lambda c: np.sum(product(c).todense() ** 2))(3.0)
    same(slope, 6 * np.sum((A.toarray() @ B.toarray()) ** 2))


def test_constructors() -> None:
    data, indices, indptr = np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 1, 1, 3])
    wanted = sp.csr_array((data, indices, indptr), shape=(3, 3))
    same(wf.sparse.csr(data, indices, indptr, (3, 3)), wanted)
    same(wf.jit(lambda d: wf.sparse.csr(d, indices, indptr, (3, 3)))(data), wanted)
    same(wf.jit(lambda d: wf.sparse.csc(d, indices, indptr, (3, 3)))(data), wanted.T)
    made = wf.jit(lambda d, i: wf.sparse.coo(d, i, i, (3, 3)))(data, np.array([1, 1, 2]))
    same(made, np.diag([0.0, 3.0, 3.0]))
    D = wanted.toarray()
    for nse in (3, 5):
        same(wf.jit(lambda x, n=nse: wf.sparse.from_dense(x, nse=n))(D), D)
    x = values(3)
    slope = wf.grad(lambda D: np.sum(wf.sparse.from_dense(D, nse=4) @ x))(D)
    same(slope, (D != 0) * x)


# --- derivatives --------------------------------------------------------------------------------


def energy(S: Any, x: Any) -> Any:
    return np.sum(np.sin(S @ x) ** 2)


@pytest.mark.parametrize("format", FORMATS)
def test_forward_reverse_and_second_derivatives(format: str) -> None:
    S, x, T = example(format), values(4), example(format)
    T.data = values(len(T.data), 5)
    D, direction = S.toarray(), T.toarray()
    slope = wf.jit(wf.grad(energy))(S, x)
    assert type(slope) is type(S)
    same(slope, wf.grad(energy)(D, x) * (D != 0))
    value, change = wf.jvp(lambda S: energy(S, x), (S,), (T,))
    same(change, np.sum(wf.grad(energy)(D, x) * direction))
    product = wf.hvp(lambda S: energy(S, x), (S,), (T,))
    same(product, wf.hvp(lambda D: energy(D, x), (D,), (direction,)) * (D != 0))
    _, pull = wf.vjp(lambda S: S * 3.0, S)
    same(pull(T)[0], 3 * direction)
    _, push = wf.linearize(lambda S: S * S, S)
    same(push(T), 2 * D * direction)


def test_a_tangent_has_the_positions_of_its_argument() -> None:
    S, T = example("csr"), example("csr")
    T.indices = T.indices[::-1].copy()
    with pytest.raises(ArgumentError, match="another .*indices than the argument"):
        wf.jvp(lambda S: S.sum(), (S,), (T,))


@dataclass
class Table:
    """A user's node with an array of integers that derivatives leave alone."""

    weights: Any
    places: Any = field(metadata={"differentiable": False})


def test_any_dataclass_may_have_leaves_that_derivatives_leave_alone() -> None:
    table = Table(np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]))
    made = wf.grad(lambda t: np.sum(t.weights[t.places] ** 2))(table)
    np.testing.assert_array_equal(made.weights, [2.0, 0.0, 12.0])
    np.testing.assert_array_equal(made.places, table.places)
    assert tree.constant_leaves(tree.flatten(table)[1]) == (False, True)


def test_batches_of_the_dense_operand_and_of_entries() -> None:
    S, X = example("csr"), values(12).reshape(3, 4)
    D = S.toarray()
    same(wf.vmap(lambda S, x: S @ x, in_axes=(None, 0))(S, X), X @ D.T)
    known, batch = wf.sparse.asarray(S), np.stack([S.data, 2 * S.data])
    same(wf.vmap(lambda d: known.with_data(d) @ X[0])(batch), [D @ X[0], 2 * D @ X[0]])
    same(wf.jacobian(lambda x: S @ x)(X[0]), D)
    with pytest.raises(ShapeError, match="cannot be one of a batch"):
        wf.vmap(lambda x: wf.sparse.asarray(S) * x)(np.ones(3))
    with pytest.raises(ArgumentError, match="write the function in terms of the entries"):
        wf.jacobian(lambda S: S @ X[0])(S)
    with pytest.raises(ArgumentError, match="write the function in terms of the entries"):
        wf.sparse_jacobian(lambda S: S @ X[0])(S)


# --- refusals -----------------------------------------------------------------------------------

REFUSED: list[tuple[Callable[..., Any], str]] = [
    (lambda S: np.cos(S), r"numpy.cos of a sparse array .* use S.todense\(\)"),
    (lambda S: S + 1.0, r"leaves no zeros; use S.todense\(\)"),
    (lambda S: 1.0 / S, r"numpy.divide is not supported .* use S.todense\(\)"),
    (lambda S: S > 0, r"numpy.greater is not supported .* use S.todense\(\)"),
    (lambda S: S**-1, r"only a positive number"),
    (lambda S: S / S, r"zeros by zeros"),
    (lambda S: S * S.T.T.tocoo(), r"A \* B.todense\(\)"),
    (lambda S: S @ S.T, r"close over both arrays"),
    (lambda S: S.reshape(4, 5), r"cannot be reshaped"),
    (lambda S: S[1:3], r"only S\[i\], S\[:, j\] and S\[i, j\]"),
    (lambda S: np.sort(S), r"numpy.sort is not supported on sparse arrays"),
    (lambda S: np.asarray(S), r"no NumPy array"),
    (lambda S: [row for row in S], r"no rows to go through"),
    (lambda S: 1 if S else 2, r"neither true nor false"),
]


@pytest.mark.parametrize("function, words", REFUSED, ids=[words for _, words in REFUSED])
def test_refusals_say_what_to_do(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(TraceError, match=words):
        wf.jit(function)(example("csr"))


def test_duplicates_are_refused_where_entries_are_not_elements() -> None:
    S = sp.coo_array((np.ones(2), (np.zeros(2, int), np.zeros(2, int))), shape=(2, 2))
    for function in (np.sin, lambda S: S.max(), lambda S: S**2, lambda S: S * S):
        with pytest.raises(TraceError, match=r"S.sum_duplicates\(\) before it is passed"):
            wf.jit(function)(S)


def test_shapes_formats_and_positions_are_checked() -> None:
    S = example("csr")
    with pytest.raises(ShapeError, match=r"\(5, 4\) and \(5,\) do not fit"):
        wf.jit(lambda S: S @ np.ones(5))(S)
    with pytest.raises(ShapeError, match="do not fit together"):
        wf.jit(lambda S: S + S.T)(S)
    with pytest.raises(ArgumentError, match=r"format dia is not supported.*use .tocsr\(\)"):
        wf.jit(lambda S: S)(sp.eye_array(3))
    with pytest.raises(DTypeError, match="positions of a sparse array are integers"):
        wf.sparse.coo(np.ones(1), np.ones(1), np.ones(1), (2, 2))
    with pytest.raises(ShapeError, match="has 3 lines, got 2"):
        wf.sparse.csr(np.ones(1), np.zeros(1, int), np.array([0, 1]), (2, 2))
    with pytest.raises(ArgumentError, match="wf.sparse.from_dense makes one"):
        wf.sparse.asarray(np.ones((2, 2)))


@pytest.mark.parametrize("is_transposed", [False, True])
def test_bad_positions_raise_and_read_nothing(is_transposed: bool) -> None:
    S, x = example("csr"), values(4)

    def product(data: Any, indices: Any, indptr: Any) -> Any:
        made = wf.sparse.csr(data, indices, indptr, (5, 4))
        return values(5) @ made if is_transposed else made @ x

    for call in (wf.jit(product), reference(product)):
        with pytest.raises(BoundsError, match="is out of range for 4 lines across"):
            call(S.data, S.indices + 4, S.indptr)
        for bad in (S.indptr - 1, S.indptr[::-1].copy(), S.indptr * 1000):
            with pytest.raises(BoundsError, match="do not rise from 0 to the number of entries"):
                call(S.data, S.indices, bad)
        assert np.isfinite(call(S.data, S.indices, S.indptr)).all()
