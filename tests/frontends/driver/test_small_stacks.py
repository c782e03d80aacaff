"""Threads with little stack, as servers start by the thousand: scratch memory is not on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.support import python

PROGRAM = """
import threading
import numpy as np
import weft as wf


def chain(x):
    made = x[0]
    for row in x[1:]:
        made = row - made.mean()
    return made


PROGRAMS = {
    "product": lambda x: x @ x.T @ x,
    "long product": lambda x: (lambda wide: wide @ wide.T)(np.concatenate([x] * 4, axis=1)),
    "product of f32": lambda x: x.astype("f4")[::2].T @ x.astype("f4")[::2],
    "product of integers": lambda x: x.astype("i4") @ x.astype("i4"),
    "product of bytes": lambda x: x.astype("i1").astype("i4") @ x.T.astype("i1").astype("i4"),
    "complex product": lambda x: (x + 1j * x) @ (x - 1j),
    "sort": lambda x: np.argsort(x, axis=0),
    "fft": lambda x: np.fft.fft(x, axis=0),
    "solve": lambda x: np.linalg.solve(x, x),
    "eigh": lambda x: np.linalg.eigh(x + x.T)[0],
    "svd": lambda x: np.linalg.svd(x)[1],
    "convolve": lambda x: np.convolve(x[0], x[1]),
    "conv": lambda x: wf.conv(x[None, None], x[:64, :9].reshape(64, 1, 3, 3)),
    "numbers": lambda x: [row @ row[::-1] for row in np.concatenate([x] * 16)],
    "numbers in turn": lambda x: chain(np.concatenate([x] * 16)),
    "sum": lambda x: np.tanh(x).sum(0),
    "gradient": lambda x: wf.grad(lambda y: np.sum(np.tanh(y @ y.T)))(x),
}
x = np.random.default_rng(0).normal(size=(200, 200)) * 8
done = []


def run():
    for name, program in PROGRAMS.items():
        made = wf.jit(program)
        with wf.threads(THREADS):
            first, second = made(x), made(x)
        assert np.array_equal(np.array(first), np.array(second)), name
        done.append(name)


threading.stack_size(128 << 10)
thread = threading.Thread(target=run)
thread.start()
thread.join()
assert done == list(PROGRAMS), done
"""


@pytest.mark.parametrize("threads", [1, 3])
def test_native_code_runs_on_a_small_stack(threads: int, tmp_path: Path) -> None:
    ended = python(PROGRAM.replace("THREADS", str(threads)), WEFT_CACHE_DIR=str(tmp_path))
    assert ended.returncode == 0, ended.stderr
