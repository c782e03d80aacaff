"""Python's own functions are called with types of our own, whatever others set."""

from __future__ import annotations

from tests.runtime.support import python

# As `dill` does, and worse: types that no call of ours would work with.
CODE = """
import ctypes
for name in %r:
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = ctypes.c_char, [ctypes.c_double]
import numpy as np, weft as wf
x = np.arange(4.0)
f = wf.jit(lambda x: np.linalg.solve(np.eye(4), x) + 1)
assert np.array_equal(f(x), x + 1) and np.array_equal(f(x[::-1]), x[::-1] + 1)
for name in %r:
    assert getattr(ctypes.pythonapi, name).restype is ctypes.c_char
"""
NAMES = (
    *("PyCapsule_New", "PyCapsule_GetPointer", "PyCapsule_GetName", "PyCapsule_IsValid"),
    *("PyCFunction_NewEx", "Py_DecRef", "PyObject_CallOneArg", "PyTuple_New"),
)


def test_types_that_other_libraries_set_on_the_shared_functions() -> None:
    ended = python(CODE % (NAMES, NAMES))
    assert ended.returncode == 0, ended.stderr
