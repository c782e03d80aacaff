"""Chains that are local to rows: softmax, layer norm, gelu, and reductions along each axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Function, Workload, gradient, normal

SIZES = {"4096x1024 f32": (4096, 1024), "256x64 f32": (256, 64)}


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def layer_norm(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centred * centred, axis=-1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5) * scale + shift


def gelu(xp: Any, x: Any) -> Any:
    return 0.5 * x * (1.0 + xp.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def softmax_of(xp: Any, size: Any) -> Function:
    return lambda x: softmax(xp, x)


def down(xp: Any, size: Any) -> Function:
    """What needs all of a column, or all of a channel, before its first element."""
    _, what, axes = size

    def softmax_down(x: Any) -> Any:
        e = xp.exp(x - xp.max(x, axis=axes, keepdims=True))
        return e / xp.sum(e, axis=axes, keepdims=True)

    def normal_down(x: Any) -> Any:
        centred = x - xp.mean(x, axis=axes, keepdims=True)
        return centred / xp.sqrt(xp.mean(centred * centred, axis=axes, keepdims=True) + 1e-5)

    def variance(x: Any) -> Any:
        centred = x - xp.mean(x, axis=axes, keepdims=True)
        return xp.mean(centred * centred, axis=axes, keepdims=True)

    made: dict[str, Function] = {
        "softmax": softmax_down,
        "normalised": normal_down,
        "variance": variance,
    }
    return made[what]


def all_three(xp: Any, size: Any) -> Function:
    def apply(x: Any, scale: Any, shift: Any) -> Any:
        return softmax(xp, gelu(xp, layer_norm(xp, x, scale, shift)))

    return apply


def torch_softmax(xp: Any, size: Any) -> Function:
    import torch

    return lambda x: torch.softmax(x, -1)


def torch_all(xp: Any, size: Any) -> Function:
    """The same by torch's fused functions."""
    from torch.nn import functional

    def apply(x: Any, scale: Any, shift: Any) -> Any:
        h = functional.layer_norm(x, x.shape[-1:], scale, shift)
        return functional.softmax(functional.gelu(h, approximate="tanh"), -1)

    return apply


def summed(make: Any) -> Any:
    """The sum of the squares, to have something to differentiate."""

    def total(xp: Any, size: Any) -> Function:
        function = make(xp, size)
        return lambda *arguments: xp.sum(function(*arguments) ** 2)

    return total


def numba_softmax(xp: Any, size: Any) -> Function:
    import math

    import numba

    @numba.njit(parallel=True)
    def apply(x: Any) -> Any:
        out = np.empty_like(x)
        for i in numba.prange(x.shape[0]):
            largest = x[i].max()
            total = x.dtype.type(0)
            for j in range(x.shape[1]):
                out[i, j] = math.exp(x[i, j] - largest)
                total += out[i, j]
            for j in range(x.shape[1]):
                out[i, j] /= total
        return out

    return apply


def reduce(xp: Any, size: Any) -> Function:
    """Sum of squares along some axes."""
    _, axis = size
    return lambda x: xp.sum(x * x, axis=axis)


def matrix(size: Any) -> tuple[Any, ...]:
    return (normal(*size),)


def matrix_and_rows(size: Any) -> tuple[Any, ...]:
    return normal(*size), normal(size[1], seed=1), normal(size[1], seed=2)


def cube(size: Any) -> tuple[Any, ...]:
    return (normal(*size[0]),)


SHAPE = (64, 512, 256)
WORKLOADS = (
    Workload(
        "softmax",
        "rows",
        "softmax along rows",
        softmax_of,
        matrix,
        SIZES,
        (7, 33),
        own={"torch": torch_softmax, "numba": numba_softmax},
        bytes=lambda size: 8 * size[0] * size[1],
        flops=lambda size: 5 * size[0] * size[1],
        growth={n: (n, 256) for n in (4, 40, 400, 4000, 40000)},
    ),
    Workload(
        "norm-gelu-softmax",
        "rows",
        "softmax(gelu(layer norm)) along rows",
        all_three,
        matrix_and_rows,
        SIZES,
        (7, 33),
        own={"torch": torch_all},
        bytes=lambda size: 8 * size[0] * size[1],
        cold=False,
    ),
    Workload(
        "norm-gelu-softmax-gradient",
        "rows",
        "gradients of the sum of the squares of the same",
        summed(all_three),
        matrix_and_rows,
        SIZES,
        (7, 33),
        form=gradient(0, 1, 2),
        own={"torch": summed(torch_all)},
        tolerance=1e-3,
    ),
    Workload(
        "reduce",
        "reductions",
        "sums of squares along axes of 64 x 512 x 256 f32",
        reduce,
        cube,
        {f"axis {a}": (SHAPE, a) for a in (0, 1, 2, (0, 1), (1, 2), (0, 2), None)},
        ((5, 6, 7), 1),
        tolerance=1e-4,
        bytes=lambda size: 4 * float(np.prod(size[0])),
        flops=lambda size: 2 * float(np.prod(size[0])),
        cold=False,
        growth={n: ((n, 256), 1) for n in (4, 40, 400, 4000, 40000)},
    ),
    Workload(
        "columns",
        "reductions",
        "softmax, normalisation and variance along the first axis of 4096 x 1024, and of channels",
        down,
        cube,
        {
            "softmax": ((4096, 1024), "softmax", 0),
            "normalised": ((4096, 1024), "normalised", 0),
            "variance": ((4096, 1024), "variance", 0),
            "batch norm, 32x64x32x32": ((32, 64, 32, 32), "normalised", (0, 2, 3)),
        },
        ((600, 33), "softmax", 0),
        tolerance=1e-4,
        cold=False,
    ),
)
