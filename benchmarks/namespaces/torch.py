"""The namespace of torch, whose functions have other names for axes; loops are Python's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import abs as abs
from torch import broadcast_to as broadcast_to
from torch import cos as cos
from torch import einsum as einsum
from torch import erf as erf
from torch import exp as exp
from torch import log as log
from torch import log1p as log1p
from torch import sin as sin
from torch import sqrt as sqrt
from torch import tanh as tanh

from benchmarks.trees import filled, leaves, tree_map

Function = Callable[..., Any]


def asarray(x: Any) -> Any:
    return torch.as_tensor(x)


def arange(count: int) -> Any:
    return torch.arange(count)


def zeros(shape: Any, dtype: Any) -> Any:
    return torch.zeros(shape, dtype=dtype)


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return x.sum() if axis is None else x.sum(dim=axis, keepdim=keepdims)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return x.mean() if axis is None else x.mean(dim=axis, keepdim=keepdims)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return x.amax() if axis is None else x.amax(dim=axis, keepdim=keepdims)


def maximum(x: Any, y: Any) -> Any:
    return torch.maximum(x, y) if isinstance(y, torch.Tensor) else x.clamp_min(y)


def minimum(x: Any, y: Any) -> Any:
    return torch.minimum(x, y) if isinstance(y, torch.Tensor) else x.clamp_max(y)


def where(condition: Any, x: Any, y: Any) -> Any:
    return torch.where(torch.as_tensor(condition), x, y)


def concatenate(parts: Any, axis: int = 0) -> Any:
    return torch.cat(list(parts), dim=axis)


def stack(parts: Any, axis: int = 0) -> Any:
    return torch.stack(list(parts), dim=axis)


def take_along_axis(x: Any, indices: Any, axis: int) -> Any:
    return x.take_along_dim(indices, dim=axis)


def scan(step: Function, carry: Any, rows: Any) -> Any:
    """The steps one after the other, with what they return stacked."""
    made = []
    for row in rows.unbind(0):
        carry, result = step(carry, row)
        made.append(result)
    return carry, torch.stack(made)


def while_loop(condition: Function, step: Function, carry: Any) -> Any:
    """Steps as long as the condition holds."""
    while condition(carry):
        carry = step(carry)
    return carry


def segment_sum(values: Any, segments: Any, count: int) -> Any:
    """The sums of the rows of each segment."""
    shape = (count, *values.shape[1:])
    return torch.zeros(shape, dtype=values.dtype).index_add(0, segments, values)


def scatter_inside(array: Any, inside: Any) -> Any:
    """The array with all but its edges replaced."""
    new = array.clone()
    new[1:-1, 1:-1] = inside
    return new


def solve(a: Any, b: Any) -> Any:
    """The solutions of systems of which each has one right-hand side."""
    return torch.linalg.solve(a, b)


def conv(x: Any, w: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
    """A convolution of images."""
    return torch.nn.functional.conv2d(x, w, stride=stride, padding=padding, groups=groups)


def max_pool(x: Any, size: int, stride: int | None = None, padding: int = 0) -> Any:
    """The largest of each window of an image."""
    return torch.nn.functional.max_pool2d(x, size, stride, padding)


def value_and_grad(function: Function, argnums: tuple[int, ...]) -> Function:
    """The value and the derivatives of the chosen arguments, by torch's own record."""

    def both(*arguments: Any) -> Any:
        tracked = list(arguments)
        for number in argnums:
            tracked[number] = tree_map(_track, arguments[number])
        chosen = tuple(tracked[number] for number in argnums)
        value = function(*tracked)
        found = torch.autograd.grad(value, leaves(chosen))
        return value.detach(), filled(chosen, iter(found))

    return both


def _track(leaf: Any) -> Any:
    return leaf.detach().requires_grad_(True)


def jvp(function: Function, primals: Any, tangents: Any) -> Any:
    """The value and its derivative along the tangents."""
    return torch.func.jvp(function, primals, tangents)
