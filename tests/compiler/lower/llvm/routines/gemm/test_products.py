"""Matrix products over sizes, strides and dtypes: all edges of tiles, slices and blocks."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import weft as wf

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(7)


def rows(shape: tuple[int, int], dtype: str) -> Array:
    return RNG.standard_normal(shape).astype(dtype)


def columns(shape: tuple[int, int], dtype: str) -> Array:
    return RNG.standard_normal(shape[::-1]).astype(dtype).T


def apart(shape: tuple[int, int], dtype: str) -> Array:
    return RNG.standard_normal((2 * shape[0], 3 * shape[1])).astype(dtype)[::2, ::3]


def backwards(shape: tuple[int, int], dtype: str) -> Array:
    return RNG.standard_normal(shape).astype(dtype)[::-1, ::-1]


LAYOUTS = {"rows": rows, "columns": columns, "apart": apart, "backwards": backwards}


def is_close(made: Array, x: Array, y: Array) -> bool:
    """Whether the errors are those of sums of products in the dtype of the operands."""
    wide = x.astype("f8") @ y.astype("f8")
    scale = np.abs(x.astype("f8")) @ np.abs(y.astype("f8"))
    return bool(np.all(np.abs(made - wide) <= 4 * np.finfo(x.dtype).eps * scale + 1e-30))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_every_size_around_a_tile(dtype: str) -> None:
    f = wf.jit(lambda x, y: x @ y, specs=_specs(dtype))
    for m in (*range(1, 26), 47, 48, 49, 97):
        for n in (*range(1, 36), 63, 64, 65):
            x, y = rows((m, 33), dtype), rows((33, n), dtype)
            assert is_close(f(x, y), x, y), (m, n)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("k", [1, 2, 15, 16, 17, 255, 256, 257, 511, 513, 1030])
def test_every_depth_around_a_slice(k: int, dtype: str) -> None:
    f = wf.jit(lambda x, y: x @ y, specs=_specs(dtype))
    for m, n in ((13, 33), (100, 70), (130, 300)):
        x, y = rows((m, k), dtype), rows((k, n), dtype)
        assert is_close(f(x, y), x, y), (m, n)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("left", LAYOUTS)
def test_operands_as_they_lie(left: str, right: str, dtype: str) -> None:
    f = wf.jit(lambda x, y: x @ y, specs=_specs(dtype))
    for m, k, n in ((150, 130, 160), (200, 300, 131), (129, 257, 500), (17, 1100, 65)):
        x, y = LAYOUTS[left]((m, k), dtype), LAYOUTS[right]((k, n), dtype)
        assert is_close(f(x, y), x, y), (m, k, n)


@pytest.mark.parametrize("k", [511, 512, 513, 528, 700, 1025, 1537])
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_slices_of_a_packed_operand_are_equally_long(layout: str, k: int) -> None:
    x, y = rows((60, k), "f4"), LAYOUTS[layout]((k, 1100), "f4")
    made = wf.jit(lambda x, y: x @ y, specs=_specs("f4"))(x, y)
    assert is_close(made, x, y)


def test_a_right_operand_that_is_packed_in_parts() -> None:
    x, y = rows((100, 1400), "f4"), rows((1400, 3000), "f4")
    made = wf.jit(lambda x, y: x @ y)(x, y)
    assert is_close(made, x, y)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("left", LAYOUTS)
def test_halves_are_summed_up_in_f32(left: str, dtype: str) -> None:
    half = np.dtype(getattr(ml_dtypes, dtype, dtype))
    for m, k, n in ((64, 64, 64), (100, 300, 65), (33, 700, 130)):
        x = LAYOUTS[left]((m, k), "f4").astype(half)
        y = rows((k, n), "f4").astype(half)
        wide = x.astype("f4"), y.astype("f4")
        made = wf.jit(lambda x, y: x @ y)(x, y)
        assert made.dtype == half
        rounding = 2.0**-7 if half.kind == "V" else 2.0**-10
        np.testing.assert_allclose(made.astype("f4"), wide[0] @ wide[1], rtol=rounding, atol=1e-3)
        widened = wf.jit(lambda x, y: np.tanh(x.astype(np.float32) @ y.astype(np.float32)))
        np.testing.assert_allclose(widened(x, y), np.tanh(wide[0] @ wide[1]), rtol=1e-3, atol=1e-4)
        assert f"dot_general of {'bf16' if half.kind == 'V' else 'f16'}" in widened.explain()


@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("dtype", ["i1", "u1"])
def test_sums_of_bytes_are_exact(dtype: str, left: str) -> None:
    low, high = (-128, 127) if dtype == "i1" else (0, 255)
    for m, k, n in ((64, 64, 64), (100, 300, 65), (13, 1800, 130)):
        numbers = RNG.integers(low, high + 1, (m, k)).astype(dtype)
        extreme = np.full((m, k), low or high, dtype)
        for values in (numbers, extreme):
            x = np.empty_like(LAYOUTS[left]((m, k), dtype))
            x[...] = values
            y = np.ascontiguousarray(values[:1].T * np.ones((k, n), dtype))
            wide = x.astype("i4") @ y.astype("i4")
            made = wf.jit(lambda x, y: np.matmul(x, y, dtype=np.int32))(x, y)
            np.testing.assert_array_equal(made, wide)
            np.testing.assert_array_equal(wf.jit(lambda x, y: x @ y)(x, y), wide.astype(dtype))


def test_infinities_and_nans_stay_in_their_rows_and_columns() -> None:
    x, y = np.ones((50, 40), "f4"), np.ones((40, 70), "f4")
    x[49, 3], y[5, 69] = np.inf, np.nan
    made = wf.jit(lambda x, y: x @ y)(x, y)
    assert np.isnan(made[:, 69]).all() and np.isinf(made[49, :69]).all()
    assert (made[:49, :69] == 40).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_bits_for_any_number_of_threads(layout: str) -> None:
    f = wf.jit(lambda x, y: x @ y)
    for m, k, n in ((128, 300, 300), (700, 65, 40), (30, 900, 600)):
        x, y = LAYOUTS[layout]((m, k), "f4"), rows((k, n), "f4")
        made = []
        for count in (1, 2, 3, 4):
            with wf.threads(count):
                made.append(f(x, y).tobytes())
        assert len(set(made)) == 1


@pytest.mark.parametrize("m", [5, 12, 40, 60, 100, 161])
def test_rows_are_divided_without_a_trace(m: int) -> None:
    """Few and many rows, a right operand whose rows are near or far, any number of threads."""
    f = wf.jit(lambda x, y: x @ y)
    for k, n in ((300, 130), (70, 1100)):
        x, y = rows((m, k), "f4"), rows((k, n), "f4")
        made = []
        for count in (1, 2, 3, 7):
            with wf.threads(count):
                made.append(f(x, y))
        assert is_close(made[0], x, y)
        assert len({result.tobytes() for result in made}) == 1


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_size_of_a_matrix_by_a_vector(layout: str, dtype: str) -> None:
    name = {"f4": "f32", "f8": "f64"}[dtype]
    specs = [wf.spec(f"{name}[m, k]"), wf.spec(f"{name}[k]")]
    f = wf.jit(lambda x, y: x @ y, specs=specs)
    for m in (1, 3, 8, 9, 15, 17, 63, 64, 65, 80, 130, 257, 300):
        for k in (1, 4, 7, 15, 16, 17, 31, 33, 70, 130):
            x, y = LAYOUTS[layout]((m, k), dtype), rows((k, 2), dtype)[:, 0]
            assert is_close(f(x, y), x, y), (m, k)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i4", "float16"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_large_matrix_by_a_vector_is_divided_without_a_trace(turned: bool, dtype: str) -> None:
    """Long and short strips, one part and several, any number of threads."""
    f = wf.jit(lambda x, y: x.T @ y) if turned else wf.jit(lambda x, y: x @ y)
    for m, k in ((700, 1003), (4099, 270), (30000, 19), (3, 9000)):
        x = (4 * RNG.standard_normal((m, k))).astype(dtype)
        y = (4 * RNG.standard_normal(m if turned else k)).astype(dtype)
        made = []
        for count in (1, 2, 3, 7):
            with wf.threads(count):
                made.append(f(x, y))
        assert len({result.tobytes() for result in made}) == 1
        if dtype in ("f4", "f8"):
            assert is_close(made[0], x.T if turned else x, y), (m, k)
        else:
            wide = "f8" if dtype == "float16" else dtype
            there = (x.T if turned else x).astype(wide) @ y.astype(wide)
            tolerance = 1e-3 * np.abs(there).max() if dtype == "float16" else 1e-9
            assert np.allclose(made[0], there, atol=tolerance)


def test_a_product_alone_uses_the_threads_it_may() -> None:
    native = wf.jit(lambda x, y: x @ y)
    native(rows((300, 300), "f4"), rows((300, 300), "f4"))
    (version,) = native._cache.values()
    assert version.program.native.program().native.is_parallel


def _specs(dtype: str) -> list[Any]:
    name = {"f4": "f32", "f8": "f64"}[dtype]
    return [wf.spec(f"{name}[m, k]"), wf.spec(f"{name}[k, n]")]
