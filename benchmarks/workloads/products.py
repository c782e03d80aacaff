"""Matrix products of many shapes, alone and with what follows them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Function, Workload, normal
from benchmarks.workloads.rows import gelu


def plain(xp: Any, size: Any) -> Function:
    return lambda x, y: x @ y


def turned(xp: Any, size: Any) -> Function:
    """One of the operands transposed: `x y^T` as in attention, `x^T y` as in gradients."""
    if size[2] == "right":
        return lambda x, y: x @ y.swapaxes(-1, -2)
    return lambda x, y: x.swapaxes(-1, -2) @ y


def with_gelu(xp: Any, size: Any) -> Function:
    return lambda x, y, b: gelu(xp, x @ y + b)


def torch_gelu(xp: Any, size: Any) -> Function:
    import torch

    def layer(x: Any, y: Any, b: Any) -> Any:
        return torch.nn.functional.gelu(torch.addmm(b, x, y), approximate="tanh")

    return layer


def operands(size: Any) -> tuple[Any, ...]:
    x, y = size[:2]
    return normal(*x, scale=x[-1] ** -0.5), normal(*y, seed=1)


def operands_and_bias(size: Any) -> tuple[Any, ...]:
    return *operands(size), normal(size[1][-1], seed=2)


def flops(size: Any) -> float:
    x, y = size[:2]
    columns: int = y[-1] if len(y) > 1 else 1
    return 2.0 * float(np.prod(x)) * columns


def turned_flops(size: Any) -> float:
    x, y, side = size
    columns: int = y[-2] if side == "right" else y[-1]
    return 2.0 * float(np.prod(x)) * columns


def moved(size: Any) -> float:
    """The operands and the result, each once."""
    x, y = size[:2]
    columns = flops(size) / 2.0 / float(np.prod(x))
    return 4.0 * float(np.prod(x) + np.prod(y) + np.prod(x[:-1]) * columns)


def cube(n: int) -> Any:
    return ((n, n), (n, n))


CUBES = {f"{n} cubed": cube(n) for n in (256, 64, 128, 192, 512, 1024, 2048)}
OTHERS = {
    "12x128 by 128x512": ((12, 128), (128, 512)),
    "64 of 64x64": ((64, 64, 64), (64, 64, 64)),
    "1000 of 16x16": ((1000, 16, 16), (1000, 16, 16)),
    "768x128 by 128x512": ((768, 128), (128, 512)),
    "4096x4096 by a vector": ((4096, 4096), (4096,)),
    "vector by 4096x4096": ((4096,), (4096, 4096)),
}
TURNED = {
    "48 of 64x32, right": ((48, 64, 32), (48, 64, 32), "right"),
    "768x512, weights": ((768, 512), (128, 512), "right"),
    "768x128 left": ((768, 128), (768, 512), "left"),
}
WORKLOADS = (
    Workload(
        "gemm",
        "products",
        "matrix products f32",
        plain,
        operands,
        CUBES | OTHERS,
        ((5, 7), (7, 3)),
        tolerance=1e-4,
        flops=flops,
        bytes=moved,
        growth={n: cube(n) for n in (16, 32, 64, 128, 256, 512, 1024)},
    ),
    Workload(
        "gemm-turned",
        "products",
        "with an operand transposed, f32",
        turned,
        operands,
        TURNED,
        ((5, 7), (5, 3), "left"),
        tolerance=1e-4,
        flops=turned_flops,
        cold=False,
    ),
    Workload(
        "gemm-gelu",
        "products",
        "with bias and gelu, f32",
        with_gelu,
        operands_and_bias,
        {f"{n} cubed": cube(n) for n in (256, 1024, 2048)},
        ((5, 7), (7, 3)),
        own={"torch": torch_gelu},
        tolerance=1e-4,
        flops=flops,
        bytes=moved,
        cold=False,
    ),
)
