"""What a row of the function tables is: a function of NumPy, and how to draw arguments for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import weft.numpy
from tests.frontends.numpy.arrays import Draw
from tests.frontends.numpy.checking import Call, Function, check_against_numpy, check_compiled


@dataclass(frozen=True)
class Row:
    """A function by its name in NumPy ("sum", "linalg.norm") and a kind of calls of it.

    An `oracle` says what is right where NumPy has no such function, or one that traced arrays
    cannot reach. `function` is what to call instead of NumPy's, for those that write to their
    argument.
    """

    name: str
    make: Callable[[Draw], Call]
    tolerance: float = 16.0
    oracle: Function | None = None
    function: Function | None = None
    exact_zeros: bool = False
    same_graph: bool = True

    def check(self, draw: Draw) -> None:
        """Draw a call and compare."""
        given = self.make(draw)
        ours = named(weft.numpy, self.name)
        function = self.function
        if function is None:
            function = ours if self.oracle is not None else named(np, self.name)
        check_against_numpy(
            function,
            given.args,
            given.kwargs,
            ours=ours,
            oracle=self.oracle,
            tolerance=self.tolerance,
            exact_zeros=self.exact_zeros,
            same_graph=self.same_graph and self.function is None,
        )

    def check_compiled(self, draw: Draw) -> None:
        """Draw a call and compare native code with NumPy."""
        function, oracle = named(weft.numpy, self.name), self.oracle or self.function
        check_compiled(function, self.make(draw), oracle or named(np, self.name), self.tolerance)


def rows(names: str, make: Callable[[Draw], Call], **settings: Any) -> list[Row]:
    """A row for each of several functions that take the same arguments."""
    return [Row(name, make, **settings) for name in names.split()]


def named(module: Any, name: str) -> Any:
    """A function of a module or of a module inside it."""
    for part in name.split("."):
        module = getattr(module, part)
    return module
