"""`f.memory()` is exact: a call takes the arena that it tells of, and asks the heap for nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

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

def spd(n):
    x = normal(n, n)
    return x @ x.T + n * np.eye(n)

PROGRAMS = {
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
    "map": (lambda x: wf.map(lambda m: wnp.sort(m @ m, axis=1) @ m, x), [normal(8, 100, 100)]),
    "loop": (
        lambda x: wf.fori_loop(0, 5, lambda i, y: wnp.sort(y @ y, axis=0) / 100, x),
        [spd(120)],
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
function, arguments = PROGRAMS[name]
f = wf.jit(function, threads=threads)
arenas = []
f(*arguments)
print(json.dumps({"taken": taken, "arenas": arenas, "total": int(f.memory(*arguments).total)}))
"""
NAMES = (
    *("softmax", "sums", "columns", "sort", "product", "products", "halves", "vector"),
    *("solve", "eigh", "fft", "map", "loop", "gradient"),
)


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize("name", NAMES)
def test_call_takes_what_memory_tells(tmp_path: Path, name: str, threads: int) -> None:
    environment = os.environ | {"WEFT_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", SCRIPT, name, str(threads)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["taken"] == []
    assert set(said["arenas"]) == {said["total"]}
