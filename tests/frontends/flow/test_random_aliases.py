"""Random programs on names for arrays: what is converted computes what Python computes, or is
refused; it never computes something else.

Names are given to arrays, views and copies of each other and are written to in place, on all ways
through branches and loops whose conditions are traced.
"""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft as wf
from weft.compiler.ir.errors import TraceError

NAMES = ("u", "v", "w")
Draw = Any


class Writer:
    """Writes a function, line by line."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.counters = 0
        self.budget = 12

    def pick(self, *choices: str) -> str:
        return str(self.draw(st.sampled_from(choices)))

    def write(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def array(self) -> str:
        one, other = self.pick(*NAMES), self.pick(*NAMES)
        return self.pick(
            one,
            one,
            other,
            f"{one}[::-1]",
            f"{one}.copy()",
            f"{one} + {other}",
            f"held[{self.pick('0', '1')}]",
            "box.a",
            f"pick({one}, {other}, k)",
            f"({one} if {self.condition()} else {other})",
        )

    def condition(self) -> str:
        one = self.pick(*NAMES)
        return self.pick("p > 0", "k % 2 == 0", "k > 1", f"{one}[0] > {one}[2]", "p > k")

    def block(self, depth: int) -> None:
        start = len(self.lines)
        for _ in range(self.draw(st.integers(1, 4))):
            self.statement(depth)
        if len(self.lines) == start:
            self.write(depth, "pass")

    def statement(self, depth: int) -> None:
        if self.budget <= 0:
            return
        self.budget -= 1
        one, other = self.pick(*NAMES), self.pick(*NAMES)
        kind = self.pick("bind", "bind", "write", "write", "write", "if", "if", "loop", "store")
        if kind == "bind":
            swap = f"{one}, {other} = {other}, {one}"
            self.write(depth, self.pick(f"{one} = {self.array()}", f"{one} = {self.array()}", swap))
        elif kind == "write":
            self.in_place(depth, one, other)
        elif kind == "store":
            self.write(depth, self.pick(f"held[0] = {one}", f"box.a = {one}"))
        elif kind == "if" and depth < 4:
            self.write(depth, f"if {self.condition()}:")
            self.block(depth + 1)
            if self.draw(st.booleans()):
                self.write(depth, "else:")
                self.block(depth + 1)
        elif kind == "loop" and depth < 4:
            self.loop(depth)

    def in_place(self, depth: int, one: str, other: str) -> None:
        number = self.draw(st.integers(1, 9))
        self.write(
            depth,
            self.pick(
                f"{one}[{number % 4}] = {number}.0",
                f"{one}[1:3] += {number}.0",
                f"{one} *= 2.0",
                f"{one}[:] = {other}",
                f"{one}[k] = {one}[0] + 1.0",
                f"fill({one}, {number}.0)",
                f"held[1][0] = {number}.0",
                f"box.a[1] = {number}.0",
            ),
        )

    def loop(self, depth: int) -> None:
        self.counters += 1
        i = f"i{self.counters}"
        kind = self.pick("range(k)", "wf.rolled(range(3))", "while")
        if kind == "while":
            self.write(depth, f"{i} = 0")
            self.write(depth, f"while {i} < k:")
            self.write(depth + 1, f"{i} = {i} + 1")
        else:
            self.write(depth, f"for {i} in {kind}:")
        self.block(depth + 1)
        if self.draw(st.integers(0, 3)) == 0:
            self.write(depth + 1, f"if {self.condition()}:")
            self.write(depth + 2, self.pick("break", "continue"))


@st.composite
def functions(draw: Draw) -> str:
    writer = Writer(draw)
    writer.write(1, "u, v, w = x.copy(), x * 2.0, x - 1.0")
    writer.write(1, "held, box = [u, v], Box(w)")
    writer.block(1)
    writer.write(1, "return u, v, w, held[0], held[1], box.a")
    return "def f(x, p, k):\n" + "\n".join(writer.lines)


class Box:
    def __init__(self, a: Any) -> None:
        self.a = a


def fill(array: Any, number: float) -> None:
    array[3] = number


def pick(one: Any, other: Any, k: Any) -> Any:
    if k > 1:
        return one
    return other + 1.0


def compiled(source: str) -> Any:
    name = f"<random {hash(source)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = {"np": np, "wf": wf, "Box": Box, "fill": fill, "pick": pick}
    exec(compile(source, name, "exec"), names)
    return names["f"]


X = np.array([0.5, -1.0, 2.0, 0.25])
ARGUMENTS = [(1.0, 0), (-1.0, 1), (1.0, 2), (-1.0, 3)]


def run(source: str) -> bool:
    """Whether it was not refused; an answer that differs from Python's is an error."""
    plain = compiled(source)
    made = wf.jit(plain, control_flow=True, backend="reference")
    for p, k in ARGUMENTS:
        expected = plain(X.copy(), p, k)
        try:
            found = made(X.copy(), np.float64(p), np.int64(k))
        except TraceError:
            return False
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, err_msg=f"{p}, {k}\n{source}")
    return True


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(functions())
def test_names_stand_for_the_arrays_that_they_do_in_python_or_it_is_refused(source: str) -> None:
    run(source)


@pytest.mark.parametrize("way", ["range(k)", "wf.rolled(range(3))"])
def test_the_programs_are_not_refused_as_a_rule(way: str) -> None:
    source = (
        "def f(x, p, k):\n    u, v = x.copy(), x * 2.0\n"
        f"    for i in {way}:\n        v[:] = u\n        u[1:3] = v[0:2] + 1.0\n"
        "        u, v = v, u\n    return (u, v)"
    )
    assert run(source)
