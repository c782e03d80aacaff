"""What a row of the op tables is: an op on inputs, and what an independent oracle says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.compiler.ir.errors import WeftError
from weft.compiler.ir.opdef import OpDef

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Sample:
    """A good use of an op; `expected` never comes from the op's own reference."""

    op: OpDef
    operands: tuple[Any, ...]
    expected: Any
    attributes: dict[str, Any] = field(default_factory=dict)
    rtol: float = 0.0
    atol: float = 0.0
    name: str = ""

    def __str__(self) -> str:
        inputs = "-".join(f"{np.asarray(x).dtype}{list(np.shape(x))}" for x in self.operands)
        return f"{self.op.name}-{self.name}-{inputs}".replace(" ", "")


@dataclass(frozen=True)
class BadSample:
    """A use of an op that its type rule must refuse."""

    op: OpDef
    operand_types: tuple[str, ...]
    error: type[WeftError]
    match: str
    attributes: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.op.name}-{'-'.join(self.operand_types)}-{self.match}".replace(" ", "")
