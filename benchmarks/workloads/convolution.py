"""Layers of convolutional networks: forward, gradient of the input, gradient of the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.workload import Function, Workload, normal


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
    def options(self) -> dict[str, int]:
        return {"stride": self.stride, "padding": self.taps // 2, "groups": self.groups}

    @property
    def flops(self) -> float:
        windows = self.batch * (self.size // self.stride) ** 2
        return 2.0 * windows * self.outputs * self.channels // self.groups * self.taps**2

    @property
    def bytes(self) -> float:
        """Images, kernels and results, each once."""
        made = self.batch * self.outputs * (self.size // self.stride) ** 2
        kernels = self.outputs * self.channels // self.groups * self.taps**2
        return 4.0 * (self.batch * self.channels * self.size**2 + kernels + made)

    def __str__(self) -> str:
        extra = f" stride {self.stride}" * (self.stride > 1)
        extra += f" groups {self.groups}" * (self.groups > 1)
        shape = f"{self.batch}x{self.size}x{self.size}"
        return f"{self.taps}x{self.taps} {self.channels}->{self.outputs} on {shape}{extra}"


LAYERS = (
    Layer(32, 64, 128, 16),
    Layer(32, 3, 32, 32),
    Layer(32, 64, 128, 32),
    Layer(32, 64, 128, 8),
    Layer(1, 64, 128, 32),
    Layer(32, 64, 128, 32, stride=2),
    Layer(8, 3, 64, 112, taps=7, stride=2),
    Layer(8, 256, 256, 14),
    Layer(16, 64, 256, 28, taps=1),
    Layer(16, 128, 128, 28, groups=128),
    Layer(16, 128, 128, 28, groups=32),
)
DIFFERENTIATED = tuple(LAYERS[i] for i in (0, 1, 3, 5, 8, 9))


def forward(xp: Any, layer: Layer) -> Function:
    return lambda x, w, g: xp.conv(x, w, **layer.options)


def gradients_by(way: str) -> Any:
    """One of the two gradients, by vjp."""

    def make(xp: Any, layer: Layer) -> Function:
        module = __import__("jax" if "jax" in xp.__name__ else "weft")

        def by_input(x: Any, w: Any, g: Any) -> Any:
            return module.vjp(lambda x: xp.conv(x, w, **layer.options), x)[1](g)[0]

        def by_kernel(x: Any, w: Any, g: Any) -> Any:
            return module.vjp(lambda w: xp.conv(x, w, **layer.options), w)[1](g)[0]

        return by_input if way == "input" else by_kernel

    return make


def torch_gradients_by(way: str) -> Any:
    def make(xp: Any, layer: Layer) -> Function:
        import torch

        if way == "input":
            return lambda x, w, g: torch.nn.grad.conv2d_input(x.shape, w, g, **layer.options)
        return lambda x, w, g: torch.nn.grad.conv2d_weight(x, w.shape, g, **layer.options)

    return make


def numpy_gradients_by(way: str) -> Any:
    """By windows, which is slow and here for the comparison of results at small sizes."""

    def make(xp: Any, layer: Layer) -> Function:
        import numpy as np

        taps, pad, step = layer.taps, layer.taps // 2, layer.stride

        def call(x: Any, w: Any, g: Any) -> Any:
            edges = ((0, 0), (0, 0), (pad, pad), (pad, pad))
            padded, by_input, by_kernel = np.pad(x, edges), np.zeros_like(w, "f8"), []
            total = np.zeros(padded.shape)
            height, width = g.shape[2:]
            for i in range(taps):
                for j in range(taps):
                    rows = slice(i, i + step * height, step)
                    columns = slice(j, j + step * width, step)
                    total[:, :, rows, columns] += np.einsum("bohw,oc->bchw", g, w[:, :, i, j])
                    window = padded[:, :, rows, columns]
                    by_kernel.append(np.einsum("bohw,bchw->oc", g, window))
            inside = slice(pad, -pad or None)
            made = np.stack(by_kernel, -1).reshape(by_input.shape)
            return total[:, :, inside, inside] if way == "input" else made

        return call

    return make


def tensors(layer: Layer) -> tuple[Any, ...]:
    made = layer.size // layer.stride
    return (
        normal(layer.batch, layer.channels, layer.size, layer.size),
        normal(layer.outputs, layer.channels // layer.groups, layer.taps, layer.taps, seed=1),
        normal(layer.batch, layer.outputs, made, made, seed=2),
    )


WITHOUT = {
    "numpy": "no convolutions",
    "torch.compile": "it calls the same library as torch",
    "pytensor": "no convolutions with channels",
}


def workload(
    name: str, way: str, function: Any, layers: tuple[Layer, ...], **more: Any
) -> Workload:
    return Workload(
        name,
        "convolutions",
        f"layers of networks, {way}",
        function,
        tensors,
        {str(layer): layer for layer in layers},
        Layer(2, 3, 4, 6),
        without=WITHOUT,
        tolerance=1e-3,
        flops=lambda layer: layer.flops,
        bytes=lambda layer: layer.bytes,
        **more,
    )


WORKLOADS = (
    workload(
        "conv",
        "forward",
        forward,
        LAYERS,
        growth={n: Layer(8, 32, 32, n) for n in (4, 8, 16, 32, 64)},
    ),
    *[
        workload(
            f"conv-{way}",
            f"gradient of the {way}",
            gradients_by(way),
            DIFFERENTIATED,
            own={"torch": torch_gradients_by(way), "numpy": numpy_gradients_by(way)},
            cold=False,
        )
        for way in ("input", "kernel")
    ],
)
