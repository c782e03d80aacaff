"""The toy target of docs/adding_a_backend.md: its text, and that the text means the right thing."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.compiler.ir.golden import assert_golden
from weft.compiler.loops.pipeline import lower_to_loops
from weft.compiler.loops.program import LoopProgram
from weft.compiler.passes.pipeline import optimise

PAGE = Path(__file__).parent.parent.parent / "docs" / "adding_a_backend.md"
VECTOR_BYTES = 32
Array = np.ndarray[Any, Any]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@cache
def toy() -> dict[str, Any]:
    """The names that the page defines."""
    namespace: dict[str, Any] = {}
    exec(compile("\n\n".join(blocks("python")), str(PAGE), "exec"), namespace)
    return namespace


def lowered(function: Callable[..., Any], *specs: str) -> LoopProgram:
    graph, _ = optimise(wf.trace(function)(*map(wf.spec, specs)))
    program, _ = lower_to_loops(graph, VECTOR_BYTES, verify=True)
    return program


def text_of(program: LoopProgram) -> str:
    text: str = toy()["ProgramText"](program).text()
    return text


def elementwise(x: Array, y: Array) -> Array:
    return np.where(x > 0, np.maximum(x, y) * 2, np.exp(y) - x)


def reductions(x: Array) -> Any:
    return x.sum(), (x * x).sum(axis=0), x.max(axis=1), x.min(), x.mean(axis=(0, 1))


def softmax(x: Array) -> Any:
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def moves(x: Array) -> Any:
    joined = np.concatenate([x[::-1], x * 2])
    return x.T + 1, joined, np.pad(x, 1), np.roll(x, 2, axis=0).reshape(-1)


def lookups(x: Array, index: Array) -> Any:
    return np.take(x, index, axis=0, mode="clip"), x.reshape(-1)[2:9:3]


def recurrence(h: Array, xs: Array) -> Any:
    def step(h: Array, x: Array) -> tuple[Array, Array]:
        h = np.tanh(h * 0.5 + x)
        return h, h.sum()

    return wf.scan(step, h, xs)


def root(x: Array) -> Any:
    return wf.while_loop(lambda c: np.abs(c * c - x) > 1e-9, lambda c: 0.5 * (c + x / c), x)


def branches(x: Array) -> Any:
    return wf.cond(x[0] > 0, lambda a: a * 2, lambda a: np.exp(a), x)


def loss(w1: Array, b1: Array, w2: Array, x: Array, y: Array) -> Any:
    h = np.tanh(x @ w1 + b1)
    return np.mean((h @ w2 - y) ** 2)


def network(w: Array, h: Array, xs: Array) -> Any:
    def step(h: Array, x: Array) -> tuple[Array, Array]:
        h = np.tanh(h @ w + x)
        return h, h

    return wf.scan(step, h, xs)


def steps_at_once(xs: Array) -> Any:
    def doubled(x: Array) -> Any:
        y = np.exp(x)
        return wf.while_loop(lambda c: np.sum(c) < 1e6, lambda c: c * 2, y.T + np.sum(y)) + x

    return wf.map(doubled, xs)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "elementwise": (elementwise, ("f64[20, 30]", "f64[20, 30]")),
    "reductions": (reductions, ("f64[20, 30]",)),
    "softmax": (softmax, ("f64[n, 4]",)),
    "moves": (moves, ("f32[6, 10]",)),
    "lookups": (lookups, ("f32[6, 10]", "i64[5]")),
    "scan": (recurrence, ("f64[16]", "f64[20, 16]")),
    "while": (root, ("f64[]",)),
    "switch": (branches, ("f64[100]",)),
    "map": (steps_at_once, ("f64[40, 60, 60]",)),
    "gradient": (
        wf.value_and_grad(loss, (0, 1, 2)),
        ("f32[64, 32]", "f32[32]", "f32[32]", "f32[128, 64]", "f32[128]"),
    ),
    "network": (network, ("f64[16, 16]", "f64[16]", "f64[20, 16]")),
}
WITHOUT_ROUTINES = [name for name in PROGRAMS if name not in ("gradient", "network")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_of_the_toy_target(name: str) -> None:
    function, specs = PROGRAMS[name]
    assert_golden(f"c_{name}", text_of(lowered(function, *specs)))


def test_the_page_shows_what_the_target_prints() -> None:
    function, specs = PROGRAMS["softmax"]
    assert blocks("c")[0] == text_of(lowered(function, *specs))


def test_what_the_target_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(NotImplementedError, match="this target has no bf16"):
        text_of(lowered(lambda x: x + x, "bf16[8]"))


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("name", WITHOUT_ROUTINES)
def test_compiled_text_computes_what_numpy_does(name: str, tmp_path: Path) -> None:
    function, specs = PROGRAMS[name]
    program = lowered(function, *specs)
    arrays = inputs_of(program)
    computed = compiled(program, tmp_path, arrays)
    expected = wf.evaluate(wf.trace(function)(*map(wf.spec, specs)), arrays)
    for ours, theirs in zip(computed, expected, strict=True):
        # C's functions and the order of sums differ from NumPy's in the last places.
        error = 1e-5 if theirs.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(ours, theirs, rtol=error, atol=error)


def inputs_of(program: LoopProgram) -> list[Array]:
    random = np.random.default_rng(0)
    arrays = []
    for parameter in program.graph.parameters:
        shape = [size if isinstance(size, int) else 7 for size in parameter.type.shape]
        signs = random.choice([-1, 1], shape) if shape else 1
        arrays.append(np.asarray(signs * random.uniform(2, 12, shape), parameter.type.dtype.numpy))
    return arrays


def compiled(program: LoopProgram, folder: Path, arrays: Sequence[Array]) -> list[Array]:
    """What the text of a program computes when it is compiled as C."""
    source, library = folder / "program.c", folder / "program.so"
    source.write_text(blocks("c")[1] + text_of(program))
    flags = ["-shared", "-fPIC", "-O1", "-w", "-o", str(library), str(source), "-lm"]
    subprocess.run(["cc", *flags], check=True)
    entry = getattr(ctypes.CDLL(str(library)), program.graph.name)
    shapes = [
        [size if isinstance(size, int) else 7 for size in result.type.shape]
        for result in program.graph.results
    ]
    results = [
        np.empty(shape, result.type.dtype.numpy)
        for shape, result in zip(shapes, program.graph.results, strict=True)
    ]
    assert isinstance(program.plan.bytes, int)
    arena = np.empty(program.plan.bytes + 64, np.uint8)
    given: list[Any] = [
        ctypes.c_void_p(array.ctypes.data) if array.ndim else ctypes.c_double(float(array))
        for array in arrays
    ]
    given += [ctypes.c_long(7) for _ in program.graph.symbols]
    entry(*given, *[ctypes.c_void_p(array.ctypes.data) for array in (*results, arena)])
    return results


def test_what_the_page_leaves_out_is_said() -> None:
    with pytest.raises(NotImplementedError, match="no reduction of kind argmax"):
        text_of(lowered(lambda x: np.argmax(x, axis=1), "f64[20, 30]"))
