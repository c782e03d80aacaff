"""Routines that find no memory to work in fail as a whole, and give back what they had."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.compiler.lower import harness
from tests.compiler.lower.llvm.routines.guarding import build
from weft.compiler.abi import BLAS_THREADS
from weft.compiler.lower.llvm import routines
from weft.compiler.lower.llvm.emit import workspace
from weft.compiler.ops import TABLE
from weft.runtime import symbols

Array = np.ndarray[Any, Any]


class Allocator:
    """Memory of the heap of which one block, counted from 0, is not to be had."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None)
        libc.aligned_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
        libc.aligned_alloc.restype = ctypes.c_void_p
        libc.free.argtypes = [ctypes.c_void_p]
        self.libc = libc
        self.missing = -1
        self.count = 0
        self.held: set[int] = set()
        self._functions = (
            ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)(self.allocate),
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.release),
        )

    @property
    def imports(self) -> dict[str, int]:
        addresses = [ctypes.cast(function, ctypes.c_void_p).value for function in self._functions]
        return dict(
            zip(("test_allocate", "test_release"), [x or 0 for x in addresses], strict=True)
        )

    def allocate(self, alignment: int, bytes: int) -> int | None:
        self.count += 1
        if self.count == self.missing + 1:
            return None
        pointer = self.libc.aligned_alloc(alignment, bytes)
        assert pointer is not None and pointer not in self.held
        self.held.add(pointer)
        return int(pointer)

    def release(self, pointer: int | None) -> None:
        if pointer is not None:
            self.held.remove(pointer)
            self.libc.free(pointer)


@pytest.fixture
def allocator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Allocator]:
    monkeypatch.setattr(workspace, "ALLOCATE", "test_allocate")
    monkeypatch.setattr(workspace, "RELEASE", "test_release")
    made = Allocator()
    yield made
    assert not made.held


def numbers(*shape: int, of: str = "float32") -> Array:
    return np.random.default_rng(7).standard_normal(shape).astype(of)


LAPACK = {
    "svd": {name: symbols.address(name) for name in ("scipy_lapack_dgesdd", BLAS_THREADS)},
}

# An op, its operands and attributes; with sizes known only at run time each takes memory.
CASES: list[tuple[str, list[Array], dict[str, Any]]] = [
    ("sort", [numbers(3, 4000)], {"axis": 1, "num_keys": 1, "descending": False}),
    ("fft", [numbers(2, 10_007).astype(np.complex64)], {"kind": "fft", "axes": (1,)}),
    ("svd", [numbers(9, 7, of="float64")], {"full": False}),
    (
        "dot_general",
        [numbers(4, 30, 50, 6).transpose(0, 2, 1, 3), numbers(4, 30, 6, 40).transpose(0, 3, 1, 2)],
        {"lhs_contract": (2, 3), "rhs_contract": (2, 3), "lhs_batch": (0,), "rhs_batch": (0,)},
    ),
    (
        "convolution",
        [numbers(1, 16, 20, 20), numbers(16, 16, 3, 3)],
        {
            "padding": ((1, 1), (1, 1)),
            "strides": (1, 1),
            "lhs_dilation": (1, 1),
            "rhs_dilation": (1, 1),
            "groups": 1,
        },
    ),
]


@pytest.mark.parametrize(
    "name,operands,attributes",
    [
        # Code of the others takes seconds to compile.
        pytest.param(*case, id=case[0], marks=[pytest.mark.slow] * (case[0] not in ("sort", "svd")))
        for case in CASES
    ],
)
def test_every_allocation_of_a_routine_may_fail(
    allocator: Allocator, name: str, operands: list[Array], attributes: dict[str, Any]
) -> None:
    definition = TABLE[name]
    _, op = build(definition, operands, attributes)

    def run() -> list[Array]:
        imports = allocator.imports | LAPACK.get(name, {})
        allocator.count = 0
        return harness.run_routine(
            routines.routine(name), op, operands, dynamic=True, imports=imports
        )

    expected = run()
    total = allocator.count
    assert total > 0
    for missing in range(total):
        allocator.missing = missing
        with pytest.raises(MemoryError):
            run()
        assert not allocator.held
    allocator.missing = -1
    for made, again in zip(expected, run(), strict=True):
        np.testing.assert_array_equal(made, again)


LIMITED = """
import resource
import numpy as np, weft as wf
from weft.frontends.driver.machine_code import caller

f = wf.jit(lambda x: np.sort(x))
x = np.random.default_rng(0).standard_normal(1 << 24)
expected = f(x)
caller().memory.trim()  # of large blocks that are kept for later calls
with open("/proc/self/statm") as file:
    pages = int(file.read().split()[0])
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
# Enough for the result of 128 MB, but not for two copies to sort in.
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (200 << 20), hard))
for _ in range(2):
    try:
        f(x)
    except wf.OutOfMemoryError as error:
        assert isinstance(error, MemoryError)
        print(error)
resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
np.testing.assert_array_equal(f(x), expected)
print("works")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit memory like this")
def test_program_without_memory_raises_and_works_again() -> None:
    run = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    first, second, last = run.stdout.splitlines()
    assert first == second
    assert first.startswith("there is no memory for ") and first.endswith("to work in")
    assert last == "works"
