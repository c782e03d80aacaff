"""Convolutions in whole programs: gradients against the reference backend, the same bits for any
number of threads, sizes that only the call tells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.compiler.ir.making import graph, number, ops, region
from tests.compiler.ops.rows_convolution import attributes_of
from weft.compiler.ir import dims
from weft.compiler.ir.graph import Value
from weft.compiler.lower import cpu
from weft.compiler.ops.convolution import convolution
from weft.frontends.driver.cpu_program import compiled
from weft.frontends.driver.machine_code import compile_texts

Array = np.ndarray[Any, Any]


def normal(*shape: int, seed: int = 0) -> Array:
    made: Array = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return made


# What a layer is given, and which way it goes: by windows, by Winograd's transforms, with strides
# (so that gradients have phases), in groups, with one channel per group, with outputs in lanes,
# along one or three axes.
LAYERS: dict[str, tuple[Array, Array, dict[str, Any]]] = {
    "windows": (normal(3, 3, 20, 22), normal(30, 3, 5, 5, seed=1), {"padding": 2}),
    "3x3": (normal(5, 20, 18, 17), normal(40, 20, 3, 3, seed=1), {"padding": 1}),
    "strides": (normal(4, 20, 19, 18), normal(24, 20, 3, 3, seed=1), {"padding": 1, "strides": 2}),
    "dilation": (normal(2, 8, 19, 18), normal(24, 8, 3, 3, seed=1), {"rhs_dilation": 2}),
    "groups": (normal(4, 24, 9, 18), normal(36, 6, 3, 3, seed=1), {"groups": 4, "strides": (1, 2)}),
    "depthwise": (normal(4, 24, 14, 14), normal(24, 1, 3, 3, seed=1), {"groups": 24, "padding": 1}),
    "one image": (normal(1, 32, 30, 30), normal(48, 32, 3, 3, seed=1), {"padding": 1}),
    "small planes": (normal(1, 64, 5, 5), normal(48, 64, 3, 3, seed=1), {"padding": 1}),
    "one by one, strides": (normal(1, 96, 7, 7), normal(80, 96, 1, 1, seed=1), {"strides": 2}),
    "one by one": (normal(3, 32, 9, 9), normal(48, 32, 1, 1, seed=1), {}),
    "sequence": (normal(2, 8, 500), normal(12, 8, 9, seed=1), {"strides": 2, "padding": "same"}),
    "volume": (normal(2, 4, 6, 8, 9), normal(12, 4, 3, 3, 3, seed=1), {"padding": 1}),
    "transposed": (normal(3, 8, 9, 10), normal(12, 8, 4, 4, seed=1), {"lhs_dilation": 2}),
}


def three(x: Any, w: Any, g: Any, **options: Any) -> Any:
    """A convolution, and the gradients of both operands for a cotangent."""
    made, back = wf.vjp(lambda x, w: wf.conv(x, w, **options), x, w)
    return made, *back(g)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_and_their_gradients(name: str) -> None:
    x, w, options = LAYERS[name]
    g = np.cos(np.arange(wf.conv(x, w, **options).size, dtype=np.float32))
    g = g.reshape(wf.conv(x, w, **options).shape)
    got = wf.jit(lambda x, w, g: three(x, w, g, **options))(x, w, g)
    wide = [a.astype(np.float64) for a in (x, w, g)]
    want = wf.jit(lambda x, w, g: three(x, w, g, **options), backend="reference")(*wide)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * np.abs(b).max())


@pytest.mark.parametrize("name", LAYERS)
def test_bits_do_not_depend_on_threads(name: str) -> None:
    x, w, options = LAYERS[name]
    x = np.concatenate([x] * 4)  # enough for several tasks
    g = np.ones(wf.conv(x, w, **options).shape, np.float32) * x.mean()
    compiled = wf.jit(lambda x, w, g: three(x, w, g, **options))
    made = []
    for threads in (1, 2, 4, 3):
        with wf.threads(threads):
            made.append([a.tobytes() for a in compiled(x, w, g)])
    assert all(other == made[0] for other in made[1:])


def test_sizes_that_only_the_call_tells() -> None:
    specs = ("f32[n>=0, 16, h>=3, 12]", "f32[20, 16, 3, 3]")
    compiled = wf.jit(lambda x, w: wf.conv(x, w, padding=1), specs=specs)
    for n, h in ((1, 3), (4, 9), (0, 5), (3, 40)):
        a, b = normal(n, 16, h, 12), normal(20, 16, 3, 3, seed=1)
        want = wf.jit(lambda x, w: wf.conv(x, w, padding=1), backend="reference")(a, b)
        np.testing.assert_allclose(compiled(a, b), want, atol=1e-4)


def test_sizes_that_are_found_out_on_the_way() -> None:
    """What such a convolution works in is not known before the run: it asks the heap."""

    def filtered(x: Value, w: Value) -> Value:
        steps = [
            region(["f32[]"], lambda x: ops.lt(x, number(30.0))),
            region(["f32[]"], lambda x: (ops.add(x, number(1.0)), x)),
        ]
        trips = dims.symbol("t", lower=0)
        _, record = ops.while_.emit(x, trips=trips, regions=steps)
        return convolution(ops.reshape(record, shape=(1, 1, trips)), w, **attributes)

    attributes = attributes_of(1, strides=(2,), padding=((4, 4),))
    late = graph({"x": "f32[]", "w": "f32[3, 1, 9]"}, filtered)
    w = normal(3, 1, 9, seed=1)
    (made,) = compiled(late)([np.zeros((), np.float32), w])
    row = np.arange(30, dtype=np.float64)[None, None]
    want = convolution.reference(row, w.astype(np.float64), groups=1, **attributes)
    np.testing.assert_allclose(made, want, rtol=1e-4, atol=1e-4)


def test_second_derivatives() -> None:
    x, w = normal(2, 16, 8, 8), normal(16, 16, 3, 3, seed=1)

    def squared(x: Any, w: Any) -> Any:
        return np.sum(wf.conv(x, w, padding=1) ** 2)

    def slope(x: Any, w: Any) -> Any:
        return np.sum(wf.grad(squared)(x, w) ** 2)

    got = wf.jit(wf.grad(slope, argnums=(0, 1)))(x, w)
    want = wf.jit(wf.grad(slope, argnums=(0, 1)), backend="reference")(
        x.astype(np.float64), w.astype(np.float64)
    )
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * np.abs(b).max())


def test_programs_that_only_convolve_use_threads() -> None:
    x, w, _ = LAYERS["3x3"]
    artifact, _ = cpu.lower(cpu.loops(wf.trace(wf.conv)(x, w))[0], compile_texts)
    assert artifact.native is not None and artifact.native.is_parallel
