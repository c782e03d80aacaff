"""Modules in several parts: linked together they do what one text does."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence

import numpy as np
import pytest

import weft as wf
from weft.compiler.lower import cpu
from weft.compiler.lower.llvm.emit import partition as parts
from weft.compiler.lower.llvm.emit.function import Module, V
from weft.compiler.lower.llvm.emit.partition import INLINED, LARGE, UNOPTIMISED
from weft.compiler.lower.llvm.emit.types import I64, PTR
from weft.compiler.lower.llvm.machine import compile_text
from weft.frontends.driver.machine_code import caller, compile_texts, support
from weft.runtime.native import Library
from weft.runtime.program import NativeProgram

FUNCTIONS = 30
LAST = FUNCTIONS - 1


def chain() -> Module:
    """Functions that call each other in a row, all with one inlined function and one constant."""
    module = Module()
    table = module.data(np.arange(4, dtype=np.int64))
    g = module.function("twice", I64, [("x", I64)], attributes=INLINED, internal=True)
    g.ret(g.arguments[0] * 2)
    for number in range(FUNCTIONS):
        f = module.function(f"step{number}", I64, [("x", I64)], internal=number > 0)
        value = f.call("twice", I64, [f.arguments[0]])
        value = value + f.load(f.element(V(f, f"@{table}", PTR), I64, number % 4), I64)
        for _ in range(20):
            value = value * 3 - value * 2
        if number + 1 < FUNCTIONS:
            value = f.call(f"step{number + 1}", I64, [f.arguments[0] + 1])
        f.ret(value)
    return module


def value_of(images: list[bytes]) -> int:
    library = Library(images, ["step0"])
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.address("step0"))
    return int(function(5))


def test_parts_call_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LEAST_LINES", 50)
    whole = value_of([compile_text(chain().text())])
    texts = chain().texts(4)
    assert len(texts) == 4
    assert value_of(compile_texts(texts)) == whole == (5 + LAST) * 2 + LAST % 4


def test_functions_stand_in_one_part_and_inlined_ones_where_they_are_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parts, "LEAST_LINES", 50)
    texts = chain().texts(3)
    for number in range(FUNCTIONS):
        assert sum(f"i64 @step{number}(i64 %x)" in text for text in texts) == 1
    assert all("alwaysinline" in text for text in texts)


def test_small_modules_stay_whole() -> None:
    assert len(chain().texts(1)) == 1
    module = Module()
    module.function("one", I64, []).ret()
    assert len(module.texts(8)) == 1


def test_glue_is_optimised_in_small_modules_only() -> None:
    module = Module()
    f = module.function("glue", I64, [("x", I64)], glue=True)
    f.ret(f.arguments[0] + 1)
    assert UNOPTIMISED not in module.text()
    large = module.function("large", I64, [("x", I64)])
    value = large.arguments[0]
    for _ in range(LARGE):
        value = value + 1
    large.ret(value)
    assert module.text().count(UNOPTIMISED) == 1


def layers(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    for number in range(24):
        h = np.tanh(x @ w + float(number))
        x = h / (1 + np.sum(h * h, axis=(number % 2), keepdims=True))
    return x


@pytest.mark.parametrize("most", [2, 5])
def test_programs_in_parts_give_the_same_results(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(parts, "LEAST_LINES", 50)
    x, w = np.random.default_rng(0).normal(size=(2, 33, 33))
    whole = wf.jit(layers)(x, w)
    seen: list[int] = []

    def compiled(texts: Sequence[str]) -> list[bytes]:
        seen.append(len(texts))
        return compile_texts(texts)

    artifact, _ = cpu.lower(cpu.loops(wf.jit(layers).trace(x, w))[0], compiled, most_parts=most)
    assert seen == [most]
    (made,) = NativeProgram(artifact, caller(), support)([x, w])
    np.testing.assert_allclose(made, whole, rtol=1e-12)


def test_threads_compile_at_the_same_time() -> None:
    texts = [chain().text().replace("step0", f"first{n}") for n in range(4)]
    alone = [compile_text(text) for text in texts]
    together: dict[int, bytes] = {}

    def compile_one(number: int) -> None:
        together[number] = compile_text(texts[number])

    threads = [threading.Thread(target=compile_one, args=(n,)) for n in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[number] for number in range(len(texts))] == alone
