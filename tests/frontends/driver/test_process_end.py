"""What is left when the interpreter ends: objects in cycles, which die after the modules."""

from __future__ import annotations

import pytest

from tests.runtime.support import python

SETUP = """
import numpy as np, weft as wf

class Held:
    pass

held = Held()
held.itself = held
f = wf.jit(lambda x: (np.sort(x) * 2, np.sin(x * 1e9), x @ x.T))
x = np.random.default_rng(0).random((70, 70))
"""
LEFT = {
    "results": "held.value = f(x)",
    "views of results": "held.value = [part[1:] for part in f(x)]",
    "what a traceback holds": """
def inner():
    value = f(x)
    raise SystemExit(0)
inner()
""",
    "an error of the program's": """
def inner():
    value = f(x)
    raise ValueError("expected")
inner()
""",
    "eager arrays": "held.value = wf.numpy.asarray(x) * 2; held.value[0]",
    "compiled functions": "held.value = f; f(x)",
    "a function that is called as the last thing": """
class Last:
    def __init__(self):
        self.itself = self
        self.call, self.x, self.print = f, x, print
        self.expected = f(x)[0].tolist()
    def __del__(self):
        self.print("last", self.call(self.x)[0].tolist() == self.expected)
last = Last()
""",
}


@pytest.mark.parametrize("left", LEFT)
def test_objects_in_cycles_die_after_the_modules(left: str) -> None:
    ended = python(SETUP + LEFT[left])
    assert ended.returncode == ("expected" in ended.stderr), ended.stderr
    assert ("last True" in ended.stdout) == ("last thing" in left), ended.stdout + ended.stderr
