"""Small programs, one for each thing that the loop program can say; tests/golden/loops has their
texts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import weft as wf
from tests.compiler.ir.samples import while_that_records
from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.loops.program import LoopProgram
from weft.compiler.passes.pipeline import optimise
from weft.compiler.record import record

VECTOR_BYTES = 32
ZEROS = np.zeros(40, np.float32)  # a constant of the programs that read it


@record
class Sample:
    """A function and how its arguments are given, or one that makes a graph."""

    function: Callable[..., Any]
    specs: tuple[str, ...]
    strides: dict[int, tuple[Size, ...]]
    donated: dict[int, int]

    def start(self) -> LoopProgram:
        """The program before the first step of the column."""
        if self.specs:
            graph = wf.trace(self.function)(*[wf.spec(text) for text in self.specs])
        else:
            graph = self.function()
        return LoopProgram(optimise(graph)[0], VECTOR_BYTES, self.strides, self.donated)


SAMPLES: dict[str, Sample] = {}


def sample(
    *specs: str,
    strides: dict[int, tuple[Size, ...]] | None = None,
    donated: dict[int, int] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a function to the samples, under its name."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        name = getattr(function, "__name__", "")
        SAMPLES[name] = Sample(function, specs, strides or {}, donated or {})
        return function

    return add


# --- what fuses ---------------------------------------------------------------------------------


@sample("f32[8, 16]", "f32[8, 16]")
def elementwise_chain(x: Any, y: Any) -> Any:
    return np.tanh(x * 3.5 + y) - y


@sample("f32[8, 16]", "f32[16]")
def broadcast(x: Any, bias: Any) -> Any:
    return np.maximum(x + bias, 0)


@sample("f32[40]", "f32[40]")
def equal_groups(x: Any, y: Any) -> Any:
    return np.tanh(x) * 0.3, np.tanh(y) * 0.7


@sample("f32[32, 64]")
def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


@sample("f32[32, 64]", "f32[64]")
def layer_norm(x: Any, scale: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale


@sample("f32[32, 64]", "f32[64]")
def gradient_of_a_loss(x: Any, w: Any) -> Any:
    return wf.grad(lambda w: np.sum(np.tanh(x * w) ** 2))(w)


@sample("f32[1048576]")
def full_reduction_in_parts(x: Any) -> Any:
    return np.sum(x * x)


@sample("f32[4096, 512]")
def column_reduction_in_tiles(x: Any) -> Any:
    return x.sum(0)


@sample("f32[8, 32]")
def argmax(x: Any) -> Any:
    return np.argmax(x, axis=-1)


@sample("f32[64, 3]")
def short_axes_written_out(x: Any) -> Any:
    apart = x[:, None] - x[None]
    square = np.sum(apart * apart, axis=-1, keepdims=True) + 1.0
    return np.sum(apart / square, axis=1)


@sample("f32[100, 64]")
def siblings_that_share_work(x: Any) -> Any:
    e = np.exp(x)
    return e.sum(0), (e * x).sum(0)


@sample("f32[16, 8]")
def several_results(x: Any) -> Any:
    y = np.exp(x)
    return y, np.tanh(y) + 1


@sample("f32[64, 64]", "f32[64, 64]")
def transpose_in_squares(x: Any, y: Any) -> Any:
    return x.T + y


@sample("f32[10, 4]", "i64[6]")
def gather(table: Any, positions: Any) -> Any:
    return table[positions] * 2


@sample("f32[10, 4]", "i64[6]", "f32[6, 4]")
def scatter(table: Any, positions: Any, update: Any) -> Any:
    return table.at[positions].add(np.exp(update))


@sample("f32[5, 4]", "f32[3, 4]")
def concatenate_in_pieces(x: Any, y: Any) -> Any:
    return np.concatenate([x, y * 2, x[:2]])


@sample("f32[6]", "f32[4]")
def padding(x: Any, y: Any) -> Any:
    return np.pad(x, 1) + np.pad(y, 2)


@sample("f32[4, 6]")
def alias_through_reshape(x: Any) -> Any:
    y = np.exp(x)
    return y.reshape(24), y.reshape(2, 12) @ y.reshape(12, 2)


@sample("f32[8]")
def fence(x: Any) -> Any:
    return np.tanh(wf.fence(np.exp(x)))


@sample("f32[32, 16]")
def refusal(x: Any) -> Any:
    y = np.exp(np.sin(x))
    return y.sum(0), y.sum(1)


@sample("c64[8]")
def complex_numbers(x: Any) -> Any:
    return np.exp(x) * np.complex64(2 + 1j)


@sample("f32[3]")
def constants(x: Any) -> Any:
    table = np.array([1.5, 2.5, 3.5], np.float32)
    return x * table + np.float32(0.75), np.float32(0.75) * x, x + np.arange(3, dtype=np.float32)


@sample("f32[n, m]", "f32[m]")
def symbolic_sizes(x: Any, bias: Any) -> Any:
    return (x + bias).sum(1), x.reshape(-1)[1:]


# --- rows, planes -------------------------------------------------------------------------------


@sample("f32[64, 64]", "f32[64, 64]", "f32[64]")
def product_with_consumer_rows(x: Any, w: Any, bias: Any) -> Any:
    return np.tanh(x @ w + bias)


@sample("f32[2, 8, 16, 16]", "f32[8, 8, 3, 3]")
def convolution_with_consumer_planes(x: Any, w: Any) -> Any:
    return np.maximum(wf.conv(x, w, padding="same"), 0)


@sample("f32[2, 8, 16, 16]", "f32[8, 8, 3, 3]", "f32[8, 1, 1]")
def pooling_chain(x: Any, w: Any, bias: Any) -> Any:
    return wf.max_pool(np.maximum(wf.conv(x, w, padding="same") + bias, 0), 2)


# --- memory and control flow --------------------------------------------------------------------


@sample("f32[100]", "f32[8]", "i64[]", donated={0: 0})
def update_in_place(x: Any, window: Any, start: Any) -> Any:
    return wf.dynamic_update_slice(x, np.tanh(window), (start,))


@sample("f32[8, 32]", "f32[32]", donated={0: 1})
def donated_argument(x: Any, state: Any) -> Any:
    return np.tanh(state) + x[0], x.sum()


@sample("f32[6, 4]", strides={0: (dims.symbol("stride.0.0", lower=-(1 << 60)), 1)})
def strided_parameter(x: Any) -> Any:
    return np.exp(x)


@sample("f32[6, 40]", strides={0: (1, dims.symbol("stride.0.1", lower=-(1 << 60)))})
def strided_parameter_with_copy(x: Any) -> Any:
    return wf.scan(lambda c, row: (c + row, c), ZEROS, x)


@sample("f32[40]", "f32[6, 40]")
def carry_in_place(start: Any, x: Any) -> Any:
    return wf.scan(lambda c, row: (c * 0.5 + row, row.sum()), start, x)


@sample("f32[20, 20]", "f32[6, 20, 20]")
def carry_with_spare(start: Any, x: Any) -> Any:
    return wf.scan(lambda c, row: (np.tanh(c @ row), ()), start, x)[0]


@sample("f32[40]")
def while_loop(x: Any) -> Any:
    return wf.while_loop(lambda c: c.sum() < 100, lambda c: c * 2, x)


@sample("i64[]", "f32[64]")
def switch_in_place(choice: Any, x: Any) -> Any:
    y = np.exp(x)
    return np.tanh(wf.switch(choice, [lambda v: v.at[1].set(2.0), lambda v: v], y))


@sample("f32[64, 100]")
def parallel_map(x: Any) -> Any:
    return wf.map(lambda row: wf.fori_loop(0, 50, lambda _, r: np.sin(r) * r.max(), row), x)


@sample("f32[3]", "f32[50, 3]")
def small_arrays_on_the_stack(start: Any, x: Any) -> Any:
    return wf.scan(lambda c, row: (c * row + 1.0, c.max()), start, x)


@sample("f32[5]")
def call_to_the_host(x: Any) -> Any:
    y = np.exp(x)
    wf.debug_print("y = {}", y)
    return y + 1


SAMPLES["size_known_at_run_time"] = Sample(while_that_records, (), {}, {})
