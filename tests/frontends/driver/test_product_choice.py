"""Matrix products by generated code or by BLAS: the choice, what makes it, the same results."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.__main__ import main
from weft.compiler.abi import BlasThreads
from weft.compiler.lower.choice import Point, Products
from weft.frontends.driver import machine_code, tuning
from weft.frontends.driver.cache import entry as stored
from weft.frontends.driver.cache import sources
from weft.frontends.driver.tuning import Table
from weft.runtime import symbols
from weft.runtime.cache import Cache

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(11)
BOTH = ("generated", "blas")


def array(shape: tuple[int, ...], dtype: str = "f4") -> Array:
    made = RNG.standard_normal(shape)
    return (made + 1j * RNG.standard_normal(shape) if dtype[0] == "c" else made).astype(dtype)


def columns(shape: tuple[int, ...], dtype: str) -> Array:
    return array((*shape[:-2], *shape[:-3:-1]), dtype).swapaxes(-1, -2)


def apart(shape: tuple[int, ...], dtype: str) -> Array:
    return array((*shape[:-1], 3 * shape[-1]), dtype)[..., ::3]


def backwards(shape: tuple[int, ...], dtype: str) -> Array:
    return array(shape, dtype)[..., ::-1, :]


def wide(shape: tuple[int, ...], dtype: str) -> Array:
    return array((*shape[:-1], shape[-1] + 7), dtype)[..., : shape[-1]]


LAYOUTS: dict[str, Callable[[tuple[int, ...], str], Array]] = {
    "rows": array,
    "columns": columns,
    "part of wider rows": wide,
    "apart": apart,
    "backwards": backwards,
}


def imports(f: Any) -> set[str]:
    """What the programs of a compiled function call."""
    return {
        name
        for version in f._cache.values()
        for program in version.program.native._programs.values()
        for name in program.native.imports
    }


def uses_blas(f: Any) -> bool:
    return any(name.endswith("gemm") for name in imports(f) if name.startswith("scipy_blas_"))


def lines(f: Any) -> list[str]:
    """What is said of each product."""
    return [line.strip() for line in f.explain().splitlines() if line.strip().startswith("dot_g")]


# --- results ------------------------------------------------------------------------------------


SHAPES = {"f4": (140, 150, 160), "f8": (24, 1100, 65), "c8": (100, 90, 95)}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", SHAPES)
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("left", LAYOUTS)
def test_both_agree_whatever_the_layout(left: str, right: str, dtype: str) -> None:
    m, k, n = SHAPES[dtype]
    x, y = LAYOUTS[left]((m, k), dtype), LAYOUTS[right]((k, n), dtype)
    check(lambda x, y: x @ y, x, y)


def check(function: Callable[..., Any], *arguments: Array) -> None:
    """Both ways give what NumPy gives with more digits, and only one of them calls BLAS."""
    precise = [x.astype({"f": "f8", "c": "c16"}.get(x.dtype.kind, x.dtype)) for x in arguments]
    wanted = function(*precise)
    letter = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}[arguments[0].dtype.str[1:]]
    for way in BOTH:
        f = wf.jit(function, products=way)
        for made, want in zip(_flat(f(*arguments)), _flat(wanted), strict=True):
            scale = np.abs(want).max() * np.finfo(arguments[0].dtype).eps
            np.testing.assert_allclose(made, want, rtol=1e-4, atol=200 * scale)
        assert (f"scipy_blas_{letter}gemm" in imports(f)) == (way == "blas")


def _flat(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("layout", ["rows", "columns", "backwards"])
def test_both_agree_on_batches(layout: str, dtype: str) -> None:
    for batch, m, k, n in (((12,), 40, 30, 50), ((3,), 90, 80, 70), ((2, 5), 20, 70, 30)):
        x, y = LAYOUTS[layout]((*batch, m, k), dtype), array((*batch, k, n), dtype)
        check(lambda x, y: x @ y, x, y)
        check(lambda x, y: np.tanh(x @ y), x, y)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


FOLLOWED: dict[str, Callable[..., Any]] = {
    "bias and activation": lambda x, w, b: np.tanh(x @ w + b),
    "softmax": lambda x, w, b: softmax(x @ w + b),
    "row sums": lambda x, w, b: (x @ w + b).sum(axis=-1),
    "product too": lambda x, w, b: (np.tanh(x @ w), x @ w),
    "turned weights": lambda x, w, b: np.tanh(x @ w.T.copy().T + b),
    "batches": lambda x, w, b: softmax(x.reshape(2, -1, x.shape[1]) @ w),
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", FOLLOWED)
def test_both_agree_with_what_follows(name: str, dtype: str) -> None:
    for m, k, n in ((2, 130, 64), (130, 64, 200), (600, 100, 96)):
        x, w, b = array((m, k), dtype), array((k, n), dtype) / 8, array((n,), dtype)
        check(FOLLOWED[name], x, w, b)


@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_both_agree_on_sizes_that_the_run_tells(dtype: str) -> None:
    name = {"f4": "f32", "c16": "c128"}[dtype]
    specs = [wf.spec(f"{name}[m>=0, k>=0]"), wf.spec(f"{name}[k>=0, n>=0]")]
    sizes = (0, 1, 2, 5, 40)
    for way in ("auto", *BOTH):
        f = wf.jit(lambda x, y: x @ y, specs=specs, products=way)
        for m, k, n in [(m, k, n) for m in sizes for k in sizes for n in sizes]:
            x, y = array((m, k), dtype), array((k, n), dtype)
            np.testing.assert_allclose(f(x, y), x @ y, rtol=1e-4, atol=1e-4)
        x, y = columns((200, 150), dtype), backwards((150, 90), dtype)
        np.testing.assert_allclose(f(x, y), x @ y, rtol=1e-3, atol=1e-3)
        assert uses_blas(f) == (way == "blas" or (way == "auto" and dtype == "c16"))


def test_gradients_and_loops_by_blas() -> None:
    def loss(w: Any, x: Any) -> Any:
        return np.sum(wf.fori_loop(0, 3, lambda _, h: np.tanh(h @ w), x) ** 2)

    w, x = array((40, 40), "f8") / 6, array((50, 40), "f8")
    made, wanted = [wf.jit(wf.grad(loss), products=way)(w, x) for way in BOTH]
    np.testing.assert_allclose(made, wanted, rtol=1e-11, atol=1e-11)


def test_other_products_stay_as_they_are() -> None:
    def several(x: Any, v: Any, i: Any, h: Any) -> Any:
        return x @ v, v @ x, x[:2, :3] @ x[:3, :2], i @ i, h @ h

    arguments = [array((50, 50)), array((50,)), np.ones((40, 40), "i4"), array((40, 40), "f2")]
    f = wf.jit(several, products="blas")
    f(*arguments)
    assert not uses_blas(f)
    said = "\n".join(lines(f))
    for words in ("matrix times vector", "vector times matrix", "written out", ": panels"):
        assert words in said
    assert "f16[40, 40] over [1], [0]: generated, tiles of" in said


# --- what users are told ------------------------------------------------------------------------


def test_a_wrong_choice_names_the_right_ones() -> None:
    with pytest.raises(wf.ArgumentError, match="'mkl'; it can be auto, generated, blas"):
        wf.jit(lambda x: x, products="mkl")


def test_explain_says_how_each_product_is_computed() -> None:
    def several(x: Any, y: Any) -> Any:
        return x @ y, x[:3, :3] @ y[:3, :3], x[:12, :12] @ y[:12, :12], x[:, ::2] @ y[::2]

    x, y = array((96, 128)), array((128, 512))
    told = {}
    for way in BOTH:
        f = wf.jit(several, products=way)
        f(x, y)
        told[way] = sorted(line.split(": ", 1)[1].split(", at ")[0] for line in lines(f))
        found = f.profile(x, y, calls=1)
        assert sorted(p.name for p in found.parts if p.name.startswith("dot_")) == sorted(lines(f))
    own = told["generated"][0]
    assert own.startswith("generated, tiles of ")
    assert told["generated"] == [own, own, "small panels", "written out"]
    refused = f"{own} (BLAS does not take an operand that lies like this)"
    assert told["blas"] == ["BLAS (asked for)", "BLAS (asked for)", refused, "written out"]


def test_explain_of_what_the_run_tells() -> None:
    specs = [wf.spec("f64[n, 8]"), wf.spec("f64[8, n]")]
    for way in ("auto", *BOTH):
        f = wf.jit(lambda x, y: x @ y, specs=specs, products=way)
        f(array((30, 8), "f8"), array((8, 30), "f8"))
        (line,) = lines(f)
        assert "[0]: chosen when it runs" in line
        assert ("BLAS" in line) == (way == "blas")
    strided = wf.jit(lambda x, y: x @ y, products="blas")
    strided(columns((200, 150), "f8"), array((150, 90), "f8"))
    assert uses_blas(strided)


# --- tables -------------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    cache = Cache(tmp_path / "cache")
    monkeypatch.setattr(machine_code, "disk", lambda: cache)
    return cache


def table(gain: float, count: int = 0, **changes: Any) -> Table:
    """A made-up table in which BLAS is so fast for all products of 64 cubed and above."""
    threads = count or wf.get_num_threads()
    points = tuple(
        Point(threads, dtype, layout, size, size, size, gain if size > 16 else 0.5)
        for dtype in tuning.DTYPES
        for layout in tuning.LAYOUTS
        for size in (16, 64, 256)
    )
    return replace(Table(tuning.machine(), tuning.blas(), threads, points), **changes)


def test_the_nearest_points_decide_and_the_worst_of_them() -> None:
    points = (
        Point(2, "f32", "nn", 16, 16, 16, 3.0),
        Point(2, "f32", "nn", 64, 64, 64, 1.5),
        Point(2, "f32", "nn", 64, 64, 256, 1.2),
        Point(1, "f32", "nn", 64, 64, 64, 0.7),
        Point(2, "f64", "nt", 64, 64, 64, 9.0),
    )
    choice = Products("auto", 2, points)
    assert choice.gain("f32", "nn", 64, 64, 64) == 1.5
    assert choice.gain("f32", "nn", 70, 90, 60) == 1.5
    assert choice.gain("f32", "nn", 64, 64, 128) == 1.2  # as far from either
    assert choice.gain("f32", "nn", 9000, 9000, 9000) == 1.2
    assert choice.gain("f32", "nn", 2, 20, 20) == 3.0
    assert choice.gain("f32", "nn", 64, 64, 64, several=True) == 0.7
    assert choice.gain("f32", "nt", 64, 64, 64) == 0.0
    assert choice.gain("f64", "nn", 64, 64, 64) == 0.0
    assert choice.gain("f64", "nt", 1, 1, 1) == 9.0
    assert Products().gain("f32", "nn", 64, 64, 64) == 0.0
    keys = {Products(way).key for way in ("auto", *BOTH)} | {choice.key}
    assert len({*keys, replace(choice, points=points[1:]).key}) == 5


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_auto_goes_by_the_table(disk: Cache, dtype: str) -> None:
    arguments = array((60, 70), dtype), array((70, 80), dtype)
    for gain, is_blas in ((1.34, True), (1.1, True), (1.05, False), (0.3, False)):
        assert tuning.keep(table(gain)) is not None
        f = wf.jit(lambda x, y: x @ y)
        np.testing.assert_allclose(f(*arguments), arguments[0] @ arguments[1], rtol=1e-3, atol=1e-3)
        (line,) = lines(f)
        assert uses_blas(f) == is_blas
        assert (f"BLAS ({gain:.1f}x faster here, by weft tune)" in line) == is_blas
        assert ("generated, tiles of" in line) != is_blas
        own = wf.jit(lambda x, y: x @ y, products="generated")
        own(*arguments)
        assert not uses_blas(own)


def test_the_table_is_asked_for_layout_size_and_threads(disk: Cache) -> None:
    def chosen(function: Callable[..., Any], *arguments: Array, **options: Any) -> bool:
        f = wf.jit(function, **options)
        f(*arguments)
        return uses_blas(f)

    many = max(wf.get_num_threads(), 2)
    with wf.threads(many):
        tuning.keep(table(2.0, many))
        tuning.keep(table(0.5, 1))
        x, y = array((60, 70)), array((70, 80))
        assert chosen(lambda x, y: x @ y, x, y)
        assert chosen(lambda x, y: x @ y, x.T.copy().T, y)
        assert chosen(lambda x, y: x.T @ y, x.T.copy(), y)
        assert chosen(lambda x, y: x @ y.T, x, y.T.copy())
        assert not chosen(lambda x, y: x.T @ y.T, x.T.copy(), y.T.copy())  # was not measured
        assert not chosen(lambda x, y: x @ y, array((17, 17)), array((17, 17)))
        assert not chosen(lambda x, y: x @ y, array((20, 40, 40)), array((20, 40, 40)))
        assert not chosen(lambda x, y: x @ y, x, y, threads=1)
        assert not chosen(
            lambda x, y: x @ y, x, y, specs=[wf.spec("f32[m, k]"), wf.spec("f32[k, n]")]
        )
    with wf.threads(1):
        assert not chosen(lambda x, y: x @ y, x, y)
    with wf.threads(many + 1):
        assert not chosen(lambda x, y: x @ y, x, y)


def test_tables_read_back(disk: Cache) -> None:
    made = table(1.37)
    assert tuning.decode(tuning.encode(made)) == made
    path = tuning.keep(made)
    assert path is not None and path.parent == disk.directory
    assert tuning.measured().points == made.points
    tuning.keep(table(0.9))
    assert tuning.measured().points == table(0.9).points
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_damaged_and_foreign_tables_count_as_none(disk: Cache) -> None:
    path = tuning.keep(table(2.0))
    assert path is not None
    good = path.read_bytes()
    damaged = [good[:-20], b"", b"[]", b"null", b'{"version": 1}', b"\xff" * 50]
    damaged += [good.replace(b"2.0", b"3.0", 1), good.replace(b'"version": 1', b'"version": 2')]
    damaged += [good.replace(b'"points"', b'"dots"'), good.replace(b"2.0", b"-1", 1)]
    for place in range(0, len(good), 37):
        damaged.append(good[:place] + bytes([good[place] ^ 0x14]) + good[place + 1 :])
    for content in damaged:
        path.write_bytes(content)
        assert tuning.measured() == Products(), content
    for change in ({"machine": "another"}, {"blas": "another"}, {"threads": 77}):
        path.write_bytes(tuning.encode(table(2.0, **change)))
        assert tuning.measured() == Products()
    path.write_bytes(good)
    assert tuning.measured().points


def test_without_a_directory_there_is_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "disk", lambda: Cache(None))
    assert tuning.keep(table(2.0)) is None
    assert tuning.measured() == Products()


def test_programs_of_different_choices_are_kept_apart(
    disk: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "environment", lambda: ("fixed",))
    monkeypatch.setattr(sources, "are_unchanged", lambda: True)
    x, y = array((60, 70)), array((70, 80))

    def product(x: Any, y: Any) -> Any:
        return x @ y

    def note(way: str) -> tuple[bool, bool]:
        f = wf.jit(product, products=way)
        f(x, y)
        return "found on disk by" in f.explain_cache(), uses_blas(f)

    for way in ("auto", *BOTH):
        assert [note(way)[0], note(way)[0]] == [False, True]
    assert [note(way)[1] for way in ("auto", *BOTH)] == [False, False, True]
    tuning.keep(table(2.0))
    assert [note("auto"), note("auto")] == [(False, True), (True, True)]
    tuning.keep(table(0.5))
    assert [note("auto"), note("auto")] == [(False, False), (True, False)]
    assert note("generated") == (True, False)
    f = wf.jit(product)
    f(x, y)
    tuning.keep(table(3.0))
    assert "generated, tiles of" in f.explain()  # what the program found on disk does


# --- weft tune ----------------------------------------------------------------------------------


def test_tune_measures_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    made = tuning.tune(wf.jit, 0.0, sizes=(16, 24))
    assert [each.threads for each in made] == sorted({1, wf.get_num_threads()})
    for each in made:
        assert len(each.points) == 2 * 3 * 2**3
        assert all(point.gain > 0 and point.threads == each.threads for point in each.points)
        assert tuning.decode(tuning.encode(each)) == each
        text = tuning.shown(each)
        assert "f32" in text and "f64" in text and "k = 24" in text


def test_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cache"
    monkeypatch.setenv("WEFT_CACHE_DIR", str(folder))
    monkeypatch.setattr(machine_code, "disk", lambda: Cache(folder))
    asked: list[float] = []

    def tune(jit: Any, seconds: float) -> list[Table]:
        asked.append(seconds)
        made = table(1.25, 1)
        return [replace(made, points=tuple(replace(p, n=64, k=64) for p in made.points))]

    monkeypatch.setattr(tuning, "tune", tune)
    assert main(["tune", "--seconds", "7"]) == 0
    assert main(["cache", "info"]) == 0
    shown = capsys.readouterr().out
    assert asked == [7.0]
    assert "on 1 thread," in shown and "1.25*" in shown and " 0.50 " in shown
    (path,) = folder.iterdir()
    assert str(path) in shown
    assert "1 table of `weft tune`" in shown
    assert main(["cache", "clear"]) == 0
    assert not path.exists()
    assert main(["cache"]) == 0
    assert capsys.readouterr().out.count("table of") == 1
    monkeypatch.setattr(machine_code, "disk", lambda: Cache(None))
    assert main(["tune"]) == 1


# --- threads of BLAS ----------------------------------------------------------------------------


@pytest.fixture
def told() -> Iterator[list[int]]:
    """The numbers of threads that BLAS, which has 7 of them, is told to use."""
    words = symbols._blas_threads()
    before = list(words)
    numbers = [7]

    get = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: numbers[-1])
    put = ctypes.CFUNCTYPE(None, ctypes.c_int)(numbers.append)
    words[BlasThreads.GET] = ctypes.cast(get, ctypes.c_void_p).value or 0
    words[BlasThreads.SET] = ctypes.cast(put, ctypes.c_void_p).value or 0
    yield numbers
    words[:] = before


def test_blas_uses_the_threads_of_the_call(told: list[int]) -> None:
    x, y = array((60, 70)), array((70, 80))
    f = wf.jit(lambda x, y: x @ y, products="blas")
    for count in (1, 3):
        with wf.threads(count):
            f(x, y)
    assert told == [7, 1, 7, 3, 7]
    wf.jit(lambda x, y: x @ y, products="blas", threads=2)(x, y)
    assert told[5:] == [2, 7]
    with wf.threads(7):
        f(x, y)
    assert told[7:] == []


def test_products_at_once_have_one_thread_each(told: list[int]) -> None:
    x, y = array((64, 60, 70)), array((64, 70, 80))
    f = wf.jit(lambda x, y: x @ y, products="blas")
    with wf.threads(2):
        np.testing.assert_allclose(f(x, y), x @ y, rtol=1e-3, atol=1e-3)
    assert set(told) == {1, 7} and told[-1] == 7


def test_blas_has_its_threads_back_after_many_callers() -> None:
    words = symbols._blas_threads()
    if not words[BlasThreads.SET]:
        pytest.skip("this BLAS keeps its own threads")
    get = ctypes.CFUNCTYPE(ctypes.c_int)(words[BlasThreads.GET])
    before = get()
    f = wf.jit(lambda x, y: np.tanh(x @ y), products="blas")
    x, y = array((130, 70), "f8"), array((70, 80), "f8")
    wanted = np.tanh(x @ y)
    wrong: list[int] = []

    def work(count: int) -> None:
        with wf.threads(count):
            for _ in range(20):
                if not np.allclose(f(x, y), wanted):
                    wrong.append(count)

    workers = [threading.Thread(target=work, args=(1 + n % 2,)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert get() == before
    assert words[BlasThreads.USERS] == words[BlasThreads.LOCK] == 0
