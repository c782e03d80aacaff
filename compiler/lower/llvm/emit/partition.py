"""A module in several texts, for as many threads that compile: LLVM works on one text at a time.

Functions that are inlined and constant data are copied to where they are wanted; others stand in
one part and are declared in those that refer to them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.emit.function import Function

INLINED: Final = "alwaysinline"
# Calls of a function of numbers, or of vectors, up to which it takes their place: beyond, code
# outgrows the instruction cache (measured on loops with 60 sines), or takes long to compile.
MOST_INLINED: Final = (32, 256)
# Code that runs once per kernel is not optimised in modules of more lines than this, where it took
# a quarter of LLVM's time. A seventh of the lines looks whether there was memory.
LARGE: Final = 1150
UNOPTIMISED: Final = "noinline optnone"

# Code that is called seldom from loops that are run often, whose registers it leaves alone.
SELDOM: Final = "noinline cold nounwind willreturn"

LEAST_LINES: Final = 600  # of a part: less is compiled in no time
_REFERENCE: Final = re.compile(r"@([\w.]+)")


def settle(functions: Mapping[str, Function], calls: Mapping[str, int]) -> None:
    """Decide which functions are inlined, and which are not worth optimising."""
    is_large = sum(function.length for function in functions.values()) > LARGE
    for name, function in functions.items():
        most = MOST_INLINED[function.result.lanes > 0]
        if function.attributes == INLINED and calls[name] > most:
            function.attributes = "noinline"
        if is_large and function.is_glue and not function.has_loops:
            function.attributes = UNOPTIMISED


def texts(
    functions: Sequence[Function], declarations: Mapping[str, str], data: Sequence[str], most: int
) -> list[str]:
    """The texts of up to `most` parts; `data` are the lines of constants."""
    count = min(most, sum(function.length for function in functions) // LEAST_LINES)
    if count < 2:
        bodies = [function.text() for function in functions]
        return ["\n".join([*data, *declarations.values(), *bodies]) + "\n"]
    return _Split(functions, declarations, data).texts(count)


class _Split:
    """What each function refers to, and the parts made of that."""

    def __init__(
        self, functions: Sequence[Function], declarations: Mapping[str, str], data: Sequence[str]
    ) -> None:
        self.functions = {function.name: function for function in functions}
        self.declarations = declarations
        self.data = {_REFERENCE.match(line)[1]: line for line in data}  # type: ignore[index]
        self.bodies = {f.name: f.text() for f in functions}
        known = {*self.functions, *declarations, *self.data}
        self.references = {
            name: [r for r in dict.fromkeys(_REFERENCE.findall(text)) if r in known]
            for name, text in self.bodies.items()
        }

    def texts(self, count: int) -> list[str]:
        parts = self._shared_out(count)
        home = {name: number for number, part in enumerate(parts) for name in part}
        reached = [self._reached(part) for part in parts]
        for number, names in enumerate(reached):
            for name in names:
                if home.get(name, number) != number:
                    self.bodies[name] = self.functions[name].text(is_exported=True)
        return [self._text(part, names) for part, names in zip(parts, reached, strict=True)]

    def _shared_out(self, count: int) -> list[list[str]]:
        """Names of functions, with what belongs to a kernel in one part, of about equal cost."""
        clusters: dict[str, list[str]] = {}
        for name, function in self.functions.items():
            if not _is_copied(function):
                clusters.setdefault(name.split(".")[0], []).append(name)
        parts: list[list[str]] = [[] for _ in range(count)]
        costs = [0] * count
        for cluster in sorted(clusters.values(), key=self._cost, reverse=True):
            lightest = costs.index(min(costs))
            parts[lightest] += cluster
            costs[lightest] += self._cost(cluster)
        return parts

    def _cost(self, names: Sequence[str]) -> int:
        """About how long they take to compile."""
        return sum(_cost(self.functions[name]) for name in names)

    def _reached(self, part: Sequence[str]) -> list[str]:
        """The functions of a part, and all that they or what is copied for them refer to."""
        found = dict.fromkeys(part)
        stack = list(part)
        while stack:
            for name in self.references[stack.pop()]:
                if name not in found:
                    found[name] = None
                    function = self.functions.get(name)
                    if function is not None and _is_copied(function):
                        stack.append(name)
        return list(found)

    def _text(self, part: Sequence[str], reached: Sequence[str]) -> str:
        data, declared, bodies = [], [], []
        for name in reached:
            function = self.functions.get(name)
            if name in self.data:
                data.append(self.data[name])
            elif function is None:
                declared.append(self.declarations[name])
            elif name in part or _is_copied(function):
                bodies.append(self.bodies[name])
            else:
                declared.append(function.declaration())
        return "\n".join([*data, *declared, *bodies]) + "\n"


def _cost(function: Function) -> int:
    return function.length // 5 if "optnone" in function.attributes else function.length


def _is_copied(function: Function) -> bool:
    return "alwaysinline" in function.attributes
