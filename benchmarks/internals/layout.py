"""Convolutions with channels first and last: which layout wins where, and what the pass chooses.

`weft` is what `wf.jit` makes of a layer with channels first; `first` the same without the pass that
chooses layouts; `last` has its arrays with channels last and is written so that our routines can
take them (one tap: a product; depthwise: a sum of shifted products; dense: a product of windows);
`around` is `first` between transposes, as models with channels last call it.
docs/decisions/layout.md has the figures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import weft as wf
from benchmarks.internals.turns import compare, is_wanted, options
from benchmarks.peers import Run
from weft.compiler.passes.pipeline import DEFAULT

FIRST, LAST = (0, 3, 1, 2), (0, 2, 3, 1)
PASSES = [item for item in DEFAULT if item.name != "lay_out_channels"]


@dataclass(frozen=True)
class Layer:
    """Images [batch, channels, size, size] under kernels, then bias and rectifier."""

    batch: int
    channels: int
    outputs: int
    size: int
    taps: int = 1
    groups: int = 1

    def __str__(self) -> str:
        kind = "depthwise " if self.groups > 1 else ""
        return (
            f"{kind}{self.taps}x{self.taps} {self.channels}->{self.outputs}"
            f" on {self.batch}x{self.size}x{self.size}"
        )


LAYERS = (
    *[Layer(8, 512, 512, size) for size in (1, 2, 4, 7, 8, 10, 14, 28)],
    *[Layer(8, 64, 64, size) for size in (2, 7, 14, 28)],
    Layer(8, 2048, 512, 7),
    Layer(1, 512, 512, 7),
    Layer(8, 512, 512, 7, taps=3),
    Layer(8, 256, 256, 14, taps=3),
    Layer(32, 64, 128, 8, taps=3),
    Layer(16, 128, 128, 28, taps=3, groups=128),
    Layer(8, 512, 512, 14, taps=3, groups=512),
    Layer(8, 1024, 1024, 7, taps=3, groups=1024),
)


def first(layer: Layer) -> Callable[..., Any]:
    def function(x: Any, w: Any, b: Any) -> Any:
        made = wf.conv(x, w, padding="same", groups=layer.groups)
        return np.maximum(made + b[:, None, None], 0)

    return function


def around(layer: Layer) -> Callable[..., Any]:
    def function(x: Any, w: Any, b: Any) -> Any:
        made = wf.conv(x.transpose(FIRST), w, padding="same", groups=layer.groups)
        return np.maximum(made.transpose(LAST) + b, 0)

    return function


def last(layer: Layer) -> Callable[..., Any]:
    reach = range(layer.taps)

    def function(x: Any, w: Any, b: Any) -> Any:
        size, edge = layer.size, layer.taps // 2
        if layer.taps == 1:
            return np.maximum(x @ w[:, :, 0, 0].T + b, 0)
        padded = np.pad(x, ((0, 0), (edge, edge), (edge, edge), (0, 0)))
        shifted = {(i, j): padded[:, i : i + size, j : j + size] for i in reach for j in reach}
        if layer.groups > 1:
            return np.maximum(sum(part * w[:, 0, i, j] for (i, j), part in shifted.items()) + b, 0)
        windows = np.concatenate(list(shifted.values()), axis=-1)
        return np.maximum(windows @ w.transpose(2, 3, 1, 0).reshape(-1, layer.outputs) + b, 0)

    return function


def contenders(layer: Layer) -> dict[str, Run]:
    r = np.random.default_rng(0)
    x = r.normal(size=(layer.batch, layer.channels, layer.size, layer.size)).astype(np.float32)
    kernel = (layer.outputs, layer.channels // layer.groups, layer.taps, layer.taps)
    rest = r.normal(size=kernel).astype(np.float32), r.normal(size=kernel[0]).astype(np.float32)
    pixels = np.ascontiguousarray(x.transpose(LAST))
    made: dict[str, tuple[Any, Any]] = {
        "weft": (wf.jit(first(layer)), x),
        "first": (wf.jit(first(layer), optimise=False, passes=PASSES), x),
        "last": (wf.jit(last(layer)), pixels),
        "around": (wf.jit(around(layer), optimise=False, passes=PASSES), pixels),
    }
    wanted = made["first"][0](x, *rest)
    for name in ("last", "around"):
        function, images = made[name]
        got = function(images, *rest).transpose(FIRST)
        assert np.allclose(got, wanted, rtol=1e-2, atol=1e-2 * np.abs(wanted).max()), name
    return {name: _run(function, images, rest) for name, (function, images) in made.items()}


def _run(function: Any, images: Any, rest: tuple[Any, ...]) -> Run:
    return lambda: function(images, *rest)


def main() -> None:
    given = options(__doc__ or "")
    for layer in LAYERS:
        if is_wanted(str(layer), given):
            compare(str(layer), contenders(layer), given)


if __name__ == "__main__":
    main()
