"""The backends, and which of them have code for an op: what a LoweringError ends with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from weft.compiler.ir.errors import LoweringError
from weft.compiler.ir.graph import Op


def _has_cpu(op: Op) -> bool:
    from weft.compiler.lower.llvm.coverage import has_code

    return has_code(op)


def _has_reference(op: Op) -> bool:
    """Every primitive has a NumPy reference."""
    return True


BACKENDS: Final[Mapping[str, Callable[[Op], bool]]] = {
    "cpu": _has_cpu,
    "reference": _has_reference,
}


def explained(error: LoweringError, backend: str) -> LoweringError:
    """The error with the backend that has no code for its op, and those that have."""
    others = [name for name, has in BACKENDS.items() if name != backend and has(error.op)]
    able = f"backend={' or '.join(map(repr, others))} can" if others else "no backend can"
    error.message = f"the {backend} backend cannot lower it: {error.message}; {able}"
    return error
