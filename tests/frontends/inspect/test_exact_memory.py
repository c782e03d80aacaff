"""`f.memory()` is exact: a call takes the arena that it tells of, and asks the heap for nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# Each program in a process whose native code takes heap memory from a counter of ours.
SCRIPT = """
import ctypes, json, sys
import numpy as np
from weft.compiler.lower.llvm.emit import workspace
from weft.runtime.native import Library

taken = []
libc = ctypes.CDLL(None)
libc.aligned_alloc.restype, libc.aligned_alloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t] * 2
TYPE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)

def allocate(alignment, bytes):
    taken.append(bytes)
    return libc.aligned_alloc(alignment, bytes)

callback = TYPE(allocate)
workspace.ALLOCATE = "weft_test_allocate"
link = Library.__init__
def linking(self, images, exports, imports=None):
    mine = {"weft_test_allocate": ctypes.cast(callback, ctypes.c_void_p).value}
    link(self, images, exports, mine | dict(imports or {}))
Library.__init__ = linking

import weft as wf
import weft.numpy as wnp
from weft.compiler.abi import Run
from weft.runtime.program import NativeProgram

rng = np.random.default_rng(0)
def normal(*shape, of="float64"):
    return rng.standard_normal(shape).astype(of)

def softmax(x):
    e = wnp.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)

def deep(filters, x):
    for filter in filters:
        x = wnp.tanh(wf.conv(x, filter, padding="same")) + x
    return x

def spd(n):
    x = normal(n, n)
    return x @ x.T + n * np.eye(n)

def convolution(x, w, of="float32", **options):
    return lambda x, w: wf.conv(x, w, **options), [normal(*x, of=of), normal(*w, of=of)]

def gradients(x, w, of="float32", **options):
    def three(x, w):
        made, back = wf.vjp(lambda x, w: wf.conv(x, w, **options), x, w)
        return made, *back(wnp.cos(made))
    return three, [normal(*x, of=of), normal(*w, of=of)]

def network(x, w, v, u):
    y = wnp.maximum(wf.conv(x, w, padding=1), 0)
    y = wnp.maximum(wf.conv(y, v, padding=1, strides=2), 0)
    return softmax(wf.max_pool(wf.conv(y, u), 2).mean((2, 3)))

LAYERS = [normal(4, 3, 32, 32), normal(24, 3, 3, 3), normal(40, 24, 3, 3), normal(10, 40, 1, 1)]

def not_numbers(x, w):
    return wf.conv(x, w, padding=1)

CONVOLUTIONS = {
    "winograd": convolution((4, 32, 30, 30), (48, 32, 3, 3), padding=1),
    "windows": convolution((2, 3, 12, 14), (5, 3, 5, 5), padding=2),
    "strides": convolution((4, 20, 19, 18), (24, 20, 3, 3), padding=1, strides=2),
    "small planes": convolution((1, 64, 5, 5), (48, 64, 3, 3), padding=1),
    "groups": convolution((4, 24, 9, 18), (36, 6, 3, 3), groups=4),
    "depthwise": convolution((4, 24, 14, 14), (24, 1, 3, 3), groups=24, padding=1),
    "transposed": convolution((3, 8, 9, 10), (12, 8, 4, 4), lhs_dilation=2),
    "volume": convolution((2, 4, 6, 8, 9), (12, 4, 3, 3, 3), padding=1),
    "sequence": convolution((2, 8, 500), (12, 8, 9), strides=2),
    "f64": convolution((4, 20, 18, 17), (40, 20, 3, 3), "float64", padding=1),
    "f16": convolution((4, 20, 18, 17), (40, 20, 3, 3), "float16", padding=1),
    "points": convolution((4, 96, 30, 30), (80, 96, 1, 1)),
    "many points": convolution((20, 96, 9, 9), (80, 96, 1, 1)),
    "points of groups": convolution((2, 96, 20, 20), (80, 24, 1, 1), groups=4),
    "points of halves": convolution((2, 90, 20, 20), (80, 90, 1, 1), "float16"),
    "integers": convolution((4, 20, 18, 17), (40, 20, 3, 3), "int32", padding=1),
    "bytes of one image": convolution((1, 20, 38, 37), (40, 20, 3, 3), "int8", padding=1),
    "complex": convolution((2, 6, 18, 17), (8, 6, 3, 3), "complex64", strides=2),
    "four axes": convolution((2, 3, 5, 6, 7, 8), (4, 3, 2, 2, 2, 2)),
    "gradients": gradients((5, 20, 18, 17), (40, 20, 3, 3), padding=1),
    "gradients of f64": gradients((20, 16, 18, 17), (24, 16, 3, 3), "float64", padding=1),
    "gradients of f16": gradients((5, 20, 18, 17), (40, 20, 3, 3), "float16", padding=1),
    "gradients of strides": gradients((4, 20, 19, 18), (24, 20, 3, 3), padding=1, strides=2),
    "gradients of depthwise": gradients((4, 24, 14, 14), (24, 1, 3, 3), groups=24, padding=1),
    "gradients of points": gradients((3, 32, 9, 9), (48, 32, 1, 1)),
    "network": (network, LAYERS),
    "not a number": (
        not_numbers,
        [np.where(normal(4, 32, 30, 30) > 3, np.nan, 1.0), normal(48, 32, 3, 3)],
    ),
    "map of convolutions": (
        lambda x, w: wf.map(lambda image: wf.conv(image, w, padding=1).sum(1), x),
        [normal(6, 2, 16, 20, 20, of="float32"), normal(24, 16, 3, 3, of="float32")],
    ),
    "loop of convolutions": (
        lambda x, w: wf.fori_loop(0, 3, lambda i, y: wnp.tanh(wf.conv(y, w, padding=1)), x),
        [normal(2, 16, 20, 20, of="float32"), normal(16, 16, 3, 3, of="float32")],
    ),
}

PROGRAMS = CONVOLUTIONS | {
    "softmax": (softmax, [normal(300, 777)]),
    "sums": (lambda x: (x.sum(), x.max(), x.argmax()), [normal(1_000_000)]),
    "columns": (lambda x: x.sum(0), [normal(5000, 40)]),
    "sort": (lambda x: wnp.sort(x, axis=1), [normal(50, 4000)]),
    "product": (lambda a, b: softmax(a @ b), [normal(300, 400), normal(400, 500)]),
    "products": (lambda a, b: a @ b, [normal(20, 90, 300), normal(20, 300, 120)]),
    "halves": (lambda a, b: a @ b, [normal(90, 300, of="float16"), normal(300, 170, of="float16")]),
    "vector": (lambda a, x: a.T @ x, [normal(4000, 500), normal(4000)]),
    "solve": (wnp.linalg.solve, [spd(60), normal(60, 3)]),
    "eigh": (lambda a: wnp.linalg.eigh(a)[0], [spd(50)]),
    "fft": (lambda x: abs(wnp.fft.fft(x)), [normal(30, 1000)]),
    "numbers": (lambda x: [row.sum() for row in x], [normal(400, 30)]),
    "map": (lambda x: wf.map(lambda m: wnp.sort(m @ m, axis=1) @ m, x), [normal(8, 100, 100)]),
    "loop": (
        lambda x: wf.fori_loop(0, 5, lambda i, y: wnp.sort(y @ y, axis=0) / 100, x),
        [spd(120)],
    ),
    "deep_network": (
        wf.grad(lambda filters, x: (deep(filters, x) ** 2).sum()),
        [
            [normal(4, 4, 3, 3, of="float32") * 0.2 for _ in range(30)],
            normal(2, 4, 12, 12, of="float32"),
        ],
    ),
    "gradient": (
        wf.grad(lambda w, x: (softmax(wnp.tanh(x @ w)) ** 2).sum()),
        [normal(200, 300), normal(400, 200)],
    ),
}

run = NativeProgram.__call__
def noting(self, arguments):
    before = self.caller.run
    def watched(*given, **options):
        record = before(*given, **options)
        arenas.append(int(record[Run.ARENA_BYTES]))
        return record
    self.caller.run = watched
    try:
        return run(self, arguments)
    finally:
        del self.caller.run
NativeProgram.__call__ = noting

name, threads = sys.argv[1], int(sys.argv[2])
arenas = []
if name == "sizes of calls":
    specs = ("f32[n>=0, 16, h>=3, 20]", "f32[24, 16, 3, 3]")
    f = wf.jit(lambda x, w: wf.conv(x, w, padding=1), specs=specs, threads=threads)
    for n, h in ((1, 3), (4, 30), (0, 5), (3, 40)):
        f(normal(n, 16, h, 20, of="float32"), normal(24, 16, 3, 3, of="float32"))
    print(json.dumps({"taken": taken}))
    sys.exit()
function, arguments = PROGRAMS[name]
f = wf.jit(function, threads=threads)
f(*arguments)
memory = f.memory(*arguments)
working = [item.bytes for item in memory.working]
assert memory.workspace == max(working, default=0) and "bytes." not in f.explain(), str(memory)
print(json.dumps({"taken": taken, "arenas": arenas, "total": int(memory.total)}))
"""
NAMES = (
    *("softmax", "sums", "columns", "sort", "product", "products", "halves", "vector"),
    *("solve", "eigh", "fft", "numbers", "map", "loop", "gradient", "deep_network"),
)
CONVOLUTIONS = (
    *("winograd", "windows", "strides", "small planes", "groups", "depthwise", "transposed"),
    *("volume", "sequence", "f64", "f16", "points", "many points", "points of groups"),
    *("points of halves", "integers", "bytes of one image", "complex", "four axes", "gradients"),
    *("gradients of f64", "gradients of f16", "gradients of strides", "gradients of depthwise"),
    *("gradients of points", "network", "not a number", "map of convolutions"),
    "loop of convolutions",
)


THREADS = [pytest.param(1, marks=pytest.mark.slow), 3]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the code of convolutions, which all programs share, is kept."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("name", NAMES)
def test_call_takes_what_memory_tells(tmp_path: Path, name: str, threads: int) -> None:
    check(tmp_path, name, threads)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution_takes_what_memory_tells(cache: Path, name: str, threads: int) -> None:
    check(cache, name, threads)


@pytest.mark.parametrize("threads", THREADS)
def test_convolution_of_any_size_asks_the_heap_for_nothing(cache: Path, threads: int) -> None:
    said = run(cache, "sizes of calls", threads)
    assert said["taken"] == []


def check(cache: Path, name: str, threads: int) -> None:
    said = run(cache, name, threads)
    assert said["taken"] == []
    assert set(said["arenas"]) == {said["total"]}


def run(cache: Path, name: str, threads: int) -> dict[str, Any]:
    """What a program says of its memory, in a process of its own."""
    environment = os.environ | {"WEFT_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", SCRIPT, name, str(threads)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said
