"""What mathematical functions seldom call and all programs share: one module, compiled once."""

from __future__ import annotations

from weft.compiler.lower.llvm.emit.function import Module
from weft.compiler.lower.llvm.math import circular


def module() -> Module:
    """The module with these functions."""
    shared = Module()
    circular.define_far_angles(shared)
    return shared


def exports() -> list[str]:
    """The functions of that module that programs may call."""
    return list(circular.FAR_ANGLES.values())
