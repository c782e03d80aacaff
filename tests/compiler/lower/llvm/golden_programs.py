"""Small programs, one for each feature of the LLVM backend, whose text is kept as golden files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

import weft as wf

Strides = tuple[int | None, ...]


@dataclass(frozen=True)
class Program:
    """A function and the specs of its arguments. `strides` tells of arguments that are not
    row-major: None is a stride that is known at run time only.
    """

    function: Callable[..., Any]
    specs: tuple[str, ...]
    strides: dict[int, Strides] = field(default_factory=dict)


def softmax(x: Any) -> Any:
    shifted = np.exp(x - np.max(x, axis=1, keepdims=True))
    return shifted / np.sum(shifted, axis=1, keepdims=True)


def layer_norm(x: Any, scale: Any) -> Any:
    centred = x - np.mean(x, axis=1, keepdims=True)
    variance = np.mean(centred * centred, axis=1, keepdims=True)
    return scale * centred / np.sqrt(variance + 1e-5)


def scatter_sum(values: Any, places: Any) -> Any:
    return wf.numpy.zeros(8, np.float32).at[places].add(values)


def update(x: Any, part: Any, start: Any) -> Any:
    return wf.dynamic_update_slice(x, part, (start,))


def running_mean(x: Any) -> Any:
    return wf.scan(lambda mean, value: (0.5 * mean + value, mean), x[0], x)[1]


def rows_in_turn(x: Any) -> Any:
    """Carries that stay in a buffer."""
    return wf.scan(lambda row, value: (np.tanh(row + value), None), x[0], x)[0]


def small_solve(x: Any) -> Any:
    """Arrays of a few elements in a loop, whose kernels are written out."""
    return wf.fori_loop(0, 10, lambda i, v: v * 0.5 + v[::-1], x)


def doubled_until_large(x: Any) -> Any:
    return wf.while_loop(lambda value: value < 100.0, lambda value: value * 2.0, x)


def either(flag: Any, x: Any) -> Any:
    return wf.cond(flag, lambda x: x * 2.0, lambda x: x + 1.0, x)


def host_sum(x: Any) -> Any:
    return wf.callback(lambda x: np.float32(x.sum()), wf.spec("f32[]"), x)


def bias_and_relu(x: Any, w: Any, b: Any) -> Any:
    return np.maximum(x @ w + b, 0.0)


PROGRAMS: Final[dict[str, Program]] = {
    "elementwise_chain": Program(lambda x, y: np.abs(x) * y + 1.0, ("f32[100]", "f32[100]")),
    "elementwise_two_results": Program(lambda x: (x + 1.0, (x + 1.0) * x), ("f64[50]",)),
    "math_call": Program(np.tanh, ("f32[100]",)),
    "broadcast": Program(lambda x, y: x[:, None] + y, ("f32[6]", "f32[6, 40]")),
    "reduce_rows": Program(lambda x: np.sum(x, axis=1), ("f32[6, 40]",)),
    "reduce_all": Program(np.sum, ("f32[10000]",)),
    "reduce_columns": Program(lambda x: np.sum(x, axis=0), ("f32[40, 24]",)),
    "reduce_after_map": Program(lambda x, y: np.sum(np.square(x - y)), ("f64[64]", "f64[64]")),
    "argmax": Program(lambda x: np.argmax(x, axis=1), ("f32[6, 40]",)),
    "softmax": Program(softmax, ("f32[6, 40]",)),
    "layer_norm": Program(layer_norm, ("f32[6, 40]", "f32[40]")),
    "transpose": Program(lambda x: x.T + 1.0, ("f32[32, 24]",)),
    "reverse_and_slice": Program(lambda x: x[::-1][2:30:3] * 2.0, ("f32[40]",)),
    "pad": Program(lambda x: np.pad(x, 2), ("f32[10]",)),
    "concatenate": Program(lambda x, y: np.concatenate([x, y * 2.0]), ("f32[10]", "f32[30]")),
    "gather": Program(lambda x, places: x[places], ("f32[20, 8]", "i64[5]")),
    "scatter": Program(scatter_sum, ("f32[50]", "i64[50]")),
    "dynamic_update_slice": Program(update, ("f32[40]", "f32[8]", "i64[]")),
    "where": Program(lambda x: np.where(x > 0.0, x, x * 0.1), ("f32[40]",)),
    "iota": Program(lambda x: x * np.arange(40, dtype=np.float32), ("f32[40]",)),
    "cast_f16": Program(lambda x: (x + x).astype(np.float32), ("f16[40]",)),
    "cast_bf16": Program(lambda x: x * x, ("bf16[40]",)),
    "integers": Program(lambda x, y: (x // 3 + y) % 7, ("i32[40]", "i32[40]")),
    "complex_multiply": Program(lambda x, y: x * y, ("c64[40]", "c64[40]")),
    "scan_number": Program(running_mean, ("f32[50]",)),
    "scan_rows": Program(rows_in_turn, ("f32[50, 40]",)),
    "while": Program(doubled_until_large, ("f32[]",)),
    "cond": Program(either, ("bool[]", "f32[40]")),
    "inline_kernel": Program(small_solve, ("f32[4]",)),
    "symbolic_size": Program(lambda x: x * 2.0, ("f32[n]",)),
    "strided_argument": Program(lambda x: x + 1.0, ("f32[6, 40]",), {0: (None, 1)}),
    "host_call": Program(host_sum, ("f32[10]",)),
    "product": Program(lambda x, y: x @ y, ("f32[40, 30]", "f32[30, 20]")),
    "product_epilogue": Program(bias_and_relu, ("f32[40, 30]", "f32[30, 20]", "f32[20]")),
    "sort_call": Program(np.sort, ("f32[6, 40]",)),
}
