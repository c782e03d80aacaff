"""Guard pages notice what they are there for."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from tests.guard_pages import GARBAGE, MARK, MODES, Buffer, Heap
from tests.runtime.support import python, view

PROGRAM = """
from tests import guard_pages
guard_pages.install(%r)
import ctypes
import numpy as np, weft as wf
from weft.compiler.artifact import Signature

f = wf.jit(lambda x: (np.tanh(x @ x.T) + np.arange(30.0), np.sort(x, 1), np.linalg.inv(x @ x.T)))
x = np.random.default_rng(0).random((30, 30))
for y in (x, x[::-1], x.T, x[:, ::-1]):
    for _ in range(2):
        found = f(y)
        np.testing.assert_allclose(found[0], np.tanh(y @ y.T) + np.arange(30.0))
        np.testing.assert_array_equal(found[1], np.sort(y, 1))
g = wf.jit(lambda x: x * 2 + 1, donate=0)
z = np.ones(1000)
assert g(z) is z and (z == 3).all()
print("before")
%s
print("after")
"""
# The code is for 1000 elements.
SHORT = """
Signature.bind = lambda self, arrays: {}
(version,) = g._cache.values()
version.program([np.ones(999)])
"""
SHIFTED = """
from tests.guard_pages import Buffer
first = Buffer.__init__
def shifted(self, bytes, alignment, mode):
    first(self, bytes, alignment, mode)
    self.address += 64 * (1 if mode == "end" else -1) * (bytes == 7992)
Buffer.__init__ = shifted
g(np.ones(999))
"""


@pytest.mark.parametrize("mode", MODES)
def test_programs_run_between_guard_pages(mode: str) -> None:
    ended = python(PROGRAM % (mode, ""))
    assert ended.stdout.split() == ["before", "after"], ended.stderr


def test_reading_past_the_end_ends_the_process() -> None:
    ended = python(PROGRAM % ("end", SHORT))
    assert ended.stdout.split() == ["before"] and ended.returncode == -signal.SIGSEGV


@pytest.mark.parametrize("mode", MODES)
def test_access_on_the_guarded_side_ends_the_process(mode: str) -> None:
    ended = python(PROGRAM % (mode, SHIFTED))
    assert ended.stdout.split() == ["before"] and ended.returncode == -signal.SIGSEGV


def test_writing_past_the_end_is_seen_on_the_other_side() -> None:
    ended = python(PROGRAM % ("begin", SHORT))
    assert ended.returncode == 1 and "bytes written after a buffer of 7992 bytes" in ended.stderr


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("bytes", [0, 1, 64, 100, 4096, 5000])
def test_what_lies_beside_a_buffer_is_marked(bytes: int, mode: str) -> None:
    buffer = Buffer(bytes, 64, mode)
    assert buffer.address % 64 == 0 and buffer.fault() is None
    if bytes:
        memory = view(buffer.address, np.empty(bytes, np.uint8))
        assert (memory == GARBAGE).all()
        room = -bytes % 4096
        beside = view(buffer.address + bytes, np.empty(1, np.uint8)) if room % 64 else None
        if beside is not None:
            beside[0] = MARK + 1
            assert "1 bytes written after" in str(buffer.fault())
    buffer.close()


def test_heap_tells_of_what_was_written_beside_its_blocks() -> None:
    heap = Heap("end")
    block = heap.take(100)
    assert block is not None
    view(block + 100, np.empty(4, np.uint8))[...] = 1
    heap.give_back(block)
    with pytest.raises(AssertionError, match="4 bytes written after a buffer of 100 bytes"):
        heap.check()
    heap.check()
    assert heap.take(1 << 60) is None
