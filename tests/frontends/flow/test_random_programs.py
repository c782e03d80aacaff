"""Random functions with control flow: what they compute when converted is what Python computes.

Each function is written as text, so that all statements nest in all ways; loops are bounded by
counters.
"""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft as wf

NUMBERS = ("x", "y", "z")
INTEGERS = ("n", "k")
Draw = Any


class Writer:
    """Writes a function, line by line."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.counters = 0
        self.budget = 14

    def pick(self, *choices: str) -> str:
        return str(self.draw(st.sampled_from(choices)))

    def number(self) -> str:
        one, other = self.pick(*NUMBERS), self.pick(*NUMBERS)
        return self.pick(
            one,
            f"{one} * 0.5 + 1.0",
            f"{one} - {other}",
            f"a[{self.index()}]",
            f"np.sin({one})",
            f"({one} if {self.condition()} else {other})",
            f"{one} + k",
            f"helper({one}, k)",
        )

    def index(self) -> str:
        return self.pick("0", "2", "k % 4", "n % 4", "-1")

    def condition(self) -> str:
        one, other = self.pick(*NUMBERS), self.pick(*NUMBERS)
        return self.pick(
            f"{one} > {other}",
            f"{one} > 0.3",
            "k % 2 == 0",
            "n > 2",
            f"not {one} < 1.0",
            f"{one} > 0 and {other} < 2",
            f"k > 3 or {one} < {other}",
            f"-1.0 < {one} <= {other} + 1",
            "k in (1, 3, 5)",
            "a[k % 4] > 0.5",
        )

    def block(self, indent: str, depth: int, in_loop: bool) -> None:
        for _ in range(self.draw(st.integers(1, 3))):
            self.statement(indent, depth, in_loop)

    def statement(self, indent: str, depth: int, in_loop: bool) -> None:
        self.budget -= 1
        kinds = ["number", "write", "integer", "add"]
        if depth < 3 and self.budget > 0:
            kinds += ["if", "if", "for", "while"]
        if depth:
            kinds += ["return"]
        if in_loop:
            kinds += ["break", "continue"]
        getattr(self, f"_{self.pick(*kinds)}")(indent, depth, in_loop)

    def _number(self, indent: str, depth: int, in_loop: bool) -> None:
        self.lines.append(f"{indent}{self.pick(*NUMBERS)} = {self.number()}")

    def _add(self, indent: str, depth: int, in_loop: bool) -> None:
        self.lines.append(f"{indent}{self.pick('x', 'y', 'a')} += {self.number()}")

    def _integer(self, indent: str, depth: int, in_loop: bool) -> None:
        self.lines.append(f"{indent}k = {self.pick('k + 1', '(k * 3 + n) % 11', 'n')}")

    def _write(self, indent: str, depth: int, in_loop: bool) -> None:
        place = self.pick(self.index(), "1:3", ":")
        self.lines.append(f"{indent}a[{place}] = {self.number()}")

    def _if(self, indent: str, depth: int, in_loop: bool) -> None:
        self.lines.append(f"{indent}if {self.condition()}:")
        self.block(indent + "    ", depth + 1, in_loop)
        if self.draw(st.booleans()):
            self.lines.append(f"{indent}else:")
            self.block(indent + "    ", depth + 1, in_loop)

    def _for(self, indent: str, depth: int, in_loop: bool) -> None:
        over = self.pick("range(n)", "range(3)", "range(20)", "range(40)", "range(n, 0, -1)")
        self.counters += 1
        variable = f"i{self.counters}"
        self.lines.append(f"{indent}for {variable} in {over}:")
        self.lines.append(f"{indent}    k = (k + {variable}) % 7")
        self.block(indent + "    ", depth + 1, True)

    def _while(self, indent: str, depth: int, in_loop: bool) -> None:
        self.counters += 1
        counter = f"c{self.counters}"
        self.lines.append(f"{indent}{counter} = 0")
        self.lines.append(f"{indent}while {counter} < 5 and ({self.condition()}):")
        self.lines.append(f"{indent}    {counter} += 1")
        self.block(indent + "    ", depth + 1, True)

    def _return(self, indent: str, depth: int, in_loop: bool) -> None:
        self.lines.append(f"{indent}return {self.pick(*NUMBERS)}, a * 1.0, k")

    def _break(self, indent: str, depth: int, in_loop: bool) -> None:
        self.lines.append(f"{indent}break")

    def _continue(self, indent: str, depth: int, in_loop: bool) -> None:
        self.lines.append(f"{indent}continue")


HEAD = """def helper(v, k):
    if v > 1:
        return v - k
    return v * 0.5


def function(x, y, n, given):
    z, k = 0.25, 1
    a = given.copy()
"""


@st.composite
def functions(draw: Draw) -> str:
    writer = Writer(draw)
    for _ in range(draw(st.integers(2, 4))):
        writer.statement("    ", 0, False)
    return HEAD + "\n".join(writer.lines) + "\n    return x + y + z, a, k\n"


def compiled(text: str) -> Any:
    """The function of a text, which tracebacks and the converter can read."""
    file = f"<random {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"np": np}
    exec(compile(text, file, "exec"), names)
    return names["function"]


def check(text: str, backend: str) -> None:
    function = compiled(text)
    converted = wf.jit(function, control_flow=True, backend=backend)
    start = np.array([0.4, -1.0, 2.0, 0.7])
    for numbers in ((0.5, -0.2, 3), (2.0, 1.0, 0), (-1.5, 0.9, 6)):
        with np.errstate(all="ignore"):
            wanted = function(*numbers, start)
            made = converted(*numbers, start)
        for one, other in zip(made, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9, err_msg=text)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(functions())
def test_random_functions_on_the_reference(text: str) -> None:
    check(text, "reference")


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(functions())
def test_random_functions_as_native_code(text: str) -> None:
    check(text, "cpu")
