"""Selections of what bitwise operations give: right whatever LLVM makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.compiler.lower.llvm import ternary_logic
from weft.compiler.lower.llvm.machine import assembly, compile_text
from weft.compiler.lower.llvm.target import Target

AVX512 = Target(
    "x86_64-unknown-linux-gnu", "skylake-avx512", "+avx512f,+avx512vl,+avx512dq,+avx512bw", 64
)
OPERATIONS: list[Callable[..., Any]] = [
    lambda x, y: (x & 15) | (y & ~15),
    lambda x, y: (y & 15) | (x & ~15),
    lambda x, y: (x ^ 5) & ~y,
    lambda x, y: (x | y) ^ 5,
]
KERNEL = """
define void @blend(ptr %m, ptr %x, ptr %y, ptr %out) {
  %bits = load <8 x i8>, ptr %m
  %mask = trunc <8 x i8> %bits to <8 x i1>
  %a = load <8 x i64>, ptr %x
  %b = load <8 x i64>, ptr %y
  %low = and <8 x i64> %a, splat (i64 15)
  %high = and <8 x i64> %b, splat (i64 -16)
  %both = or <8 x i64> %low, %high
  %chosen = select <8 x i1> %mask, <8 x i64> %both, <8 x i64> %b
  store <8 x i64> %chosen, ptr %out
  ret void
}
"""


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.int16])
@pytest.mark.parametrize("operation", range(len(OPERATIONS)))
def test_bitwise_results_are_selected(operation: int, dtype: Any) -> None:
    function = OPERATIONS[operation]
    rng = np.random.default_rng(operation)
    x, y = rng.integers(0, 100, (2, 1000)).astype(dtype)
    mask = rng.random(1000) < 0.5

    def f(mask: Any, x: Any, y: Any) -> Any:
        made = function(x, y)
        return np.where(mask, made, x), np.where(mask, made, y), np.where(mask, y, made)

    for got, expected in zip(wf.jit(f)(mask, x, y), f(mask, x, y), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_signs_are_copied_under_a_mask(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 1000)).astype(dtype)
    mask = rng.random(1000) < 0.5

    def f(mask: Any, x: Any, y: Any) -> Any:
        return np.where(mask, np.copysign(x, y), x), np.where(mask, np.copysign(x, y), y)

    for got, expected in zip(wf.jit(f)(mask, x, y), f(mask, x, y), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_code_for_avx512_keeps_selections_apart() -> None:
    try:
        listing = assembly(KERNEL, AVX512)
    except RuntimeError:
        pytest.skip("this LLVM makes no code for x86")
    assert "vpternlog" in listing
    masked = [line for line in listing.splitlines() if "vpternlog" in line and "{%k" in line]
    assert not masked
    assert not ternary_logic.may_be_wrong(compile_text(KERNEL, AVX512), AVX512)


def test_fences_are_declared_once_and_constants_have_none() -> None:
    line = "  %{0} = select nnan <4 x i1> %m, <4 x i32> %a, <4 x i32> splat (i32 7), !prof !0"
    text = ternary_logic.with_fenced_selects("\n".join(line.format(n) for n in range(2)))
    assert text.count("declare") == 1
    assert text.count("<4 x i32> splat (i32 7), !prof !0") == 2
    assert "select nnan <4 x i1> %m, <4 x i32> %fenced.0.one, <4 x i32> splat (i32 7)" in text
