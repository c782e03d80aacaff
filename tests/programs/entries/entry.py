"""What a row of the table of packages says: a function of a package, and what it is called with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class Keywords(dict[str, Any]):
    """The last argument of a call that has some by name."""


Random = np.random.Generator
Inputs = Callable[[Random, int], tuple[Any, ...]]


@dataclass(frozen=True)
class Entry:
    """An entry point. `inputs` makes arguments for a size: 1 in tests, `real` in real life.

    `numbers` are the arguments that the gradient of `value` of the result is taken with respect to;
    `others` are further arguments by name, some of which make the program raise.
    """

    function: Callable[..., Any]
    inputs: Inputs
    real: int = 10
    rtol: float = 1e-9
    atol: float = 0.0
    numbers: int | None = None
    value: Callable[[Any], Any] = field(default=lambda result: result)
    others: Mapping[str, Callable[[Random], tuple[Any, ...]]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        package = self.function.__module__.removeprefix("tests.programs.packages.").split(".")[0]
        return f"{package}.{self.function.__name__}"

    def arguments(self, size: int = 1) -> tuple[Any, ...]:
        return self.inputs(np.random.default_rng(7), size)
