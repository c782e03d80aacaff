"""Layers of convolutional networks: forward, gradient of the input, gradient of the kernels.

Bars: at least JAX's speed on each; goal: that of torch (oneDNN).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import weft as wf
from benchmarks.common import Run, compare, jax_run, peer, start


@dataclass(frozen=True)
class Layer:
    """Images [batch, channels, size, size] under kernels [outputs, channels / groups, taps, taps];
    as much padding as half the taps.
    """

    batch: int
    channels: int
    outputs: int
    size: int
    taps: int = 3
    stride: int = 1
    groups: int = 1

    @property
    def padding(self) -> int:
        return self.taps // 2

    @property
    def flops(self) -> int:
        windows = self.batch * (self.size // self.stride) ** 2
        return 2 * windows * self.outputs * self.channels // self.groups * self.taps**2

    def __str__(self) -> str:
        extra = f" stride {self.stride}" * (self.stride > 1)
        extra += f" groups {self.groups}" * (self.groups > 1)
        return (
            f"{self.taps}x{self.taps} {self.channels}->{self.outputs}"
            f" on {self.batch}x{self.size}x{self.size}{extra}"
        )


LAYERS = (
    Layer(32, 3, 32, 32),
    Layer(32, 32, 64, 32),
    Layer(32, 64, 128, 32),
    Layer(32, 32, 64, 16),
    Layer(32, 64, 128, 16),
    Layer(32, 64, 128, 8),
    Layer(1, 64, 128, 32),
    Layer(32, 64, 128, 32, stride=2),
    Layer(8, 3, 64, 112, taps=7, stride=2),
    Layer(4, 64, 64, 56),
    Layer(8, 256, 256, 14),
    Layer(8, 512, 512, 7),
    Layer(16, 64, 256, 28, taps=1),
    Layer(16, 128, 128, 28, groups=128),
    Layer(16, 128, 128, 28, groups=32),
)
Function = Callable[..., Any]


def weft_convolution(layer: Layer) -> Function:
    def function(x: Any, w: Any) -> Any:
        return wf.conv(x, w, strides=layer.stride, padding=layer.padding, groups=layer.groups)

    return function


def jax_convolution(jax: Any, layer: Layer) -> Function:
    def function(x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(
            x,
            w,
            (layer.stride,) * 2,
            [(layer.padding,) * 2] * 2,
            feature_group_count=layer.groups,
        )

    return function


def ways(vjp: Function, convolution: Function) -> dict[str, Function]:
    """The convolution and its two gradients as functions of (x, w, cotangent)."""
    return {
        "forward": lambda x, w, g: convolution(x, w),
        "input": lambda x, w, g: vjp(lambda x: convolution(x, w), x)[1](g)[0],
        "kernel": lambda x, w, g: vjp(lambda w: convolution(x, w), w)[1](g)[0],
    }


def torch_ways(torch: Any, layer: Layer) -> dict[str, Function]:
    options = {"stride": layer.stride, "padding": layer.padding, "groups": layer.groups}
    return {
        "forward": lambda x, w, g: torch.nn.functional.conv2d(x, w, **options),
        "input": lambda x, w, g: torch.nn.grad.conv2d_input(x.shape, w, g, **options),
        "kernel": lambda x, w, g: torch.nn.grad.conv2d_weight(x, w.shape, g, **options),
    }


def contenders(layer: Layer, way: str) -> dict[str, Run]:
    r = np.random.default_rng(0)
    shapes = [
        (layer.batch, layer.channels, layer.size, layer.size),
        (layer.outputs, layer.channels // layer.groups, layer.taps, layer.taps),
        (layer.batch, layer.outputs, layer.size // layer.stride, layer.size // layer.stride),
    ]
    inputs = tuple(r.normal(size=shape).astype(np.float32) for shape in shapes)
    compiled = wf.jit(ways(wf.vjp, weft_convolution(layer))[way])
    runs: dict[str, Run] = {"weft": lambda: compiled(*inputs)}
    jax, torch = peer("jax"), peer("torch")
    if jax is not None:
        runs["jax"] = jax_run(jax, ways(jax.vjp, jax_convolution(jax, layer))[way], inputs)
    if torch is not None:
        function, tensors = torch_ways(torch, layer)[way], [torch.tensor(x) for x in inputs]
        runs["torch"] = lambda: function(*tensors)
    return runs


def main() -> None:
    options = start(__doc__ or "")
    for layer in LAYERS:
        for way in ("forward", "input", "kernel"):
            times = compare(f"{way}: {layer}", contenders(layer, way), options, 1e-3)
            if times is not None:
                print(f"  weft {layer.flops / times['weft'].best / 1e9:26.1f} GFLOP/s")


if __name__ == "__main__":
    main()
