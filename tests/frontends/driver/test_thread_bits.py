"""What goes to BLAS and LAPACK: the same bits for every number of threads, theirs included."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.abi import BlasThreads
from weft.runtime import symbols

Array = np.ndarray[Any, Any]
DTYPES = ("f4", "f8", "c8", "c16")


def array(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    made = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        return (made + 1j * rng.standard_normal(shape)).astype(dtype)
    return made.astype(dtype)


def hermitian(a: Array) -> Array:
    size = a.shape[-1]
    made: Array = a + np.conj(a.swapaxes(-1, -2)) + 3 * size * np.eye(size, dtype=a.dtype)
    return made


@pytest.fixture
def set_blas_threads() -> Iterator[Callable[[int], None]]:
    """Give the process's BLAS another number of threads, as a machine of other cores would."""
    words = symbols._blas_threads()
    if not words[BlasThreads.SET]:
        pytest.skip("this BLAS keeps its own threads")
    put = ctypes.CFUNCTYPE(None, ctypes.c_int)(words[BlasThreads.SET])
    get = ctypes.CFUNCTYPE(ctypes.c_int)(words[BlasThreads.GET])
    before = get()
    yield put
    put(before)


def all_bits(f: Callable[..., Any], *args: Array, put: Callable[[int], None]) -> set[bytes]:
    """The results' bits on 1 to 3 threads of ours, and of BLAS."""
    found = set()
    for count in (1, 2, 3):
        put(count)
        made = wf.jit(f, threads=count)(*args)
        parts = made if isinstance(made, tuple) else (made,)
        found.add(b"".join(np.asarray(part).tobytes() for part in parts))
    return found


# Sizes that are one block, several, and neither multiples of vectors nor of blocks.
SHAPES = [
    (20, 20, 20),
    (70, 300, 90),
    (129, 40, 513),
    (600, 500, 700),
    (3, 900, 700),
    (1, 500, 300),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_products(
    shape: tuple[int, int, int], dtype: str, set_blas_threads: Callable[[int], None]
) -> None:
    m, k, n = shape
    a, b = array((m, k), dtype), array((k, n), dtype, 1)
    assert len(all_bits(lambda a, b: a @ b, a, b, put=set_blas_threads)) == 1
    tolerance = 1e-3 if dtype in ("f4", "c8") else 1e-10
    np.testing.assert_allclose(wf.jit(np.matmul)(a, b), a @ b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_products_of_matrices_that_lie_by_columns(
    dtype: str, set_blas_threads: Callable[[int], None]
) -> None:
    a, b = array((200, 150), dtype), array((520, 200), dtype, 1)
    made = all_bits(lambda a, b: np.tanh(a.T @ b.T) + 1, a, b, put=set_blas_threads)
    assert len(made) == 1
    np.testing.assert_allclose(
        wf.jit(lambda a, b: a.T @ b.T)(a, b), a.T @ b.T, rtol=2e-3, atol=2e-3
    )


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_products_whose_sizes_only_the_run_tells(
    dtype: str, set_blas_threads: Callable[[int], None]
) -> None:
    name = {"c8": "c64", "c16": "c128"}[dtype]
    a, b = array((260, 150), dtype), array((150, 530), dtype, 1)
    found = set()
    for count in (1, 2, 3):
        set_blas_threads(count)
        specs = [f"{name}[m, k]", f"{name}[k, n]"]
        made = wf.jit(np.matmul, threads=count, specs=specs)(a, b)
        found.add(made.tobytes())
    found.add(wf.jit(np.matmul)(a, b).tobytes())
    assert len(found) == 1
    np.testing.assert_allclose(made, a @ b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_batches_of_products(dtype: str, set_blas_threads: Callable[[int], None]) -> None:
    a, b = array((3, 90, 80), dtype), array((3, 80, 130), dtype, 1)
    batch = all_bits(np.matmul, a, b, put=set_blas_threads)
    alone = b"".join(wf.jit(np.matmul)(x, y).tobytes() for x, y in zip(a, b, strict=True))
    assert batch == {alone}


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "solve": lambda a, b: np.linalg.solve(a, b),
    "solve one": lambda a, b: np.linalg.solve(a, b[:, 0]),
    "inv": lambda a, b: np.linalg.inv(a),
    "slogdet": lambda a, b: tuple(np.linalg.slogdet(a)),
    "cholesky": lambda a, b: np.linalg.cholesky(hermitian(a)),
    "qr": lambda a, b: tuple(np.linalg.qr(a)),
    "eigh": lambda a, b: tuple(np.linalg.eigh(hermitian(a))),
    "eig": lambda a, b: np.linalg.eigvals(a),
    "svd": lambda a, b: tuple(np.linalg.svd(a)),
    "lstsq": lambda a, b: np.linalg.lstsq(a, b)[0],
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_factorisations(name: str, dtype: str, set_blas_threads: Callable[[int], None]) -> None:
    for size in (40, 170):
        a, b = array((size, size), dtype), array((size, 33), dtype, 1)
        assert len(all_bits(FUNCTIONS[name], a, b, put=set_blas_threads)) == 1, size


@pytest.mark.parametrize("name", ["solve", "cholesky", "qr"])
def test_large_factorisations(name: str, set_blas_threads: Callable[[int], None]) -> None:
    a, b = array((700, 700), "f8"), array((700, 33), "f8", 1)
    assert len(all_bits(FUNCTIONS[name], a, b, put=set_blas_threads)) == 1


def test_batches_of_large_matrices_are_shared_out(set_blas_threads: Callable[[int], None]) -> None:
    a = array((5, 260, 260), "f8")
    batch = all_bits(lambda a: np.linalg.cholesky(hermitian(a)), a, put=set_blas_threads)
    alone = [wf.jit(lambda a: np.linalg.cholesky(hermitian(a)))(x).tobytes() for x in a]
    assert batch == {b"".join(alone)}


@pytest.fixture
def told() -> Iterator[list[int]]:
    """The numbers of threads that BLAS, which has 7 of them, is told to use."""
    words = symbols._blas_threads()
    before, numbers = list(words), [7]
    get = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: numbers[-1])
    put = ctypes.CFUNCTYPE(None, ctypes.c_int)(numbers.append)
    words[BlasThreads.GET] = ctypes.cast(get, ctypes.c_void_p).value or 0
    words[BlasThreads.SET] = ctypes.cast(put, ctypes.c_void_p).value or 0
    yield numbers
    words[:] = before


def test_lapack_has_one_thread_and_those_of_the_call_if_blas_is_asked_for(told: list[int]) -> None:
    a = hermitian(array((50, 50), "f8"))
    wf.jit(np.linalg.cholesky, threads=3)(a)
    assert told == [7, 1, 7]
    wf.jit(np.linalg.cholesky, threads=3, products="blas")(a)
    assert told == [7, 1, 7, 3, 7]


def test_large_batches_follow_each_other_if_blas_is_asked_for(told: list[int]) -> None:
    a = hermitian(array((3, 256, 256), "f8"))
    made = wf.jit(np.linalg.cholesky, threads=3, products="blas")(a)
    assert told == [7, *(3, 7) * 3]
    np.testing.assert_allclose(made, np.linalg.cholesky(a), atol=1e-9)


def test_blas_is_left_with_one_thread_while_that_is_needed(told: list[int]) -> None:
    words = symbols._blas_threads()
    words[BlasThreads.USERS], words[BlasThreads.BEFORE] = 1, 7  # another call, which asked for 5
    told.append(5)
    x = array((60, 60), "c16")
    wf.jit(np.matmul, products="blas", threads=2)(x, x)
    assert told[1:] == [5]
    wf.jit(np.matmul, threads=2)(x, x)
    assert told[1:] == [5, 1]
    wf.jit(np.matmul, products="blas", threads=2)(x, x)
    assert told[1:] == [5, 1] and words[BlasThreads.USERS] == 1
