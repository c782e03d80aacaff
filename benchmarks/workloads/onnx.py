"""Inference of ResNet-18 at 224x224, written out for Weft, JAX and torch, and as an ONNX file for
onnxruntime. Batch norms are folded into the convolutions, as exporters do. Weights are random.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.workload import Function, Workload


@dataclass(frozen=True)
class Size:
    batch: int = 1
    pixels: int = 224
    widths: tuple[int, ...] = (64, 128, 256, 512)
    classes: int = 1000


def resnet(xp: Any, size: Size) -> Function:
    """The logits of images."""

    def conv(p: Any, name: str, x: Any, stride: int = 1) -> Any:
        w, b = p[name]["w"], p[name]["b"]
        made = xp.conv(x, w, stride=stride, padding=w.shape[2] // 2)
        return made + b.reshape((1, -1, 1, 1))

    def logits(p: Any, x: Any) -> Any:
        x = xp.max_pool(xp.maximum(conv(p, "stem", x, 2), 0.0), 3, 2, 1)
        for name, stride in blocks(size):
            h = xp.maximum(conv(p, name + ".1", x, stride), 0.0)
            side = conv(p, name + ".side", x, stride) if name + ".side" in p else x
            x = xp.maximum(conv(p, name + ".2", h) + side, 0.0)
        return xp.mean(x, axis=(2, 3)) @ p["head"]["w"] + p["head"]["b"]

    return logits


def blocks(size: Size) -> Iterator[tuple[str, int]]:
    """The names and strides of the residual blocks."""
    for i in range(len(size.widths)):
        yield f"{i}.a", 2 if i else 1
        yield f"{i}.b", 1


def parameters(size: Size) -> dict[str, Any]:
    r = np.random.default_rng(0)
    made: dict[str, Any] = {}

    def kernel(name: str, channels: int, outputs: int, taps: int) -> None:
        shape, scale = (outputs, channels, taps, taps), (2.0 / (channels * taps**2)) ** 0.5
        weights = (r.normal(size=shape) * scale).astype(np.float32)
        made[name] = {"w": weights, "b": np.full(outputs, 0.01, np.float32)}

    kernel("stem", 3, size.widths[0], 7)
    channels = size.widths[0]
    for name, stride in blocks(size):
        width = size.widths[int(name[0])]
        kernel(name + ".1", channels, width, 3)
        kernel(name + ".2", width, width, 3)
        if stride > 1:
            kernel(name + ".side", channels, width, 1)
        channels = width
    head = (r.normal(size=(channels, size.classes)) * 0.01).astype(np.float32)
    made["head"] = {"w": head, "b": np.zeros(size.classes, np.float32)}
    return made


def inputs(size: Size) -> tuple[Any, ...]:
    shape = (size.batch, 3, size.pixels, size.pixels)
    images = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    return parameters(size), images


# --- the same as an ONNX file ---------------------------------------------------------------------


def onnx_model(size: Size, p: Any) -> Any:
    """The network with its weights, as exporters write it."""
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []
    constants = [
        numpy_helper.from_array(value, f"{name}.{part}")
        for name, layer in p.items()
        for part, value in layer.items()
    ]

    def node(kind: str, *operands: str, **attributes: Any) -> str:
        result = f"v{len(nodes)}"
        nodes.append(helper.make_node(kind, operands, [result], **attributes))
        return result

    def conv(name: str, x: str, stride: int = 1) -> str:
        taps = p[name]["w"].shape[2]
        shape = {"kernel_shape": [taps] * 2, "strides": [stride] * 2, "pads": [taps // 2] * 4}
        return node("Conv", x, f"{name}.w", f"{name}.b", **shape)

    x = node("Relu", conv("stem", "images", 2))
    x = node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for name, stride in blocks(size):
        h = node("Relu", conv(name + ".1", x, stride))
        side = conv(name + ".side", x, stride) if name + ".side" in p else x
        x = node("Relu", node("Add", conv(name + ".2", h), side))
    x = node("Flatten", node("GlobalAveragePool", x))
    x = node("Gemm", x, "head.w", "head.b")
    shape = [size.batch, 3, size.pixels, size.pixels]
    given = helper.make_tensor_value_info("images", TensorProto.FLOAT, shape)
    made = helper.make_tensor_value_info(x, TensorProto.FLOAT, [size.batch, size.classes])
    graph = helper.make_graph(nodes, "resnet18", [given], [made], constants)
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9)


def onnxruntime_resnet(xp: Any, size: Size) -> Function:
    """A session on all cores that this process may use, made by the first call."""
    import onnxruntime

    from benchmarks.peers import threads

    @functools.cache
    def session(key: int) -> Any:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads()
        model = onnx_model(size, held[key]).SerializeToString()
        return onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])

    held: dict[int, Any] = {}

    def logits(p: Any, x: Any) -> Any:
        held[id(p)] = p
        return session(id(p)).run(None, {"images": x})[0]

    return logits


WORKLOADS = (
    Workload(
        "resnet18",
        "inference",
        "inference at 224x224, the ONNX file in onnxruntime, f32",
        resnet,
        inputs,
        {"batch 1": Size()},
        Size(1, 16, (4, 6), 5),
        own={"onnxruntime": onnxruntime_resnet},
        without={"numpy": "no convolutions", "pytensor": "no convolutions with channels"},
        tolerance=1e-3,
        flops=lambda size: 3.6e9 * size.batch,
    ),
)
