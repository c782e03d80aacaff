"""What is wrong with a loop program, and where, for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from weft.compiler.ir.errors import WeftError
from weft.compiler.ir.graph import Op
from weft.compiler.loops.arena import Buffer
from weft.compiler.loops.group import FusionGroup, OpaqueNode, PiecewiseNode
from weft.compiler.loops.kernel import Kernel
from weft.compiler.loops.memory import Copy
from weft.compiler.loops.naming import names_of

if TYPE_CHECKING:
    from weft.compiler.loops.program import LoopProgram

_CONTEXT: Final = 3  # lines of the text around the one that is wrong


class Fault(WeftError):
    """A rule that a program breaks, and the part of the program that breaks it, if it is one."""

    def __init__(self, message: str, *parts: object) -> None:
        super().__init__(message)
        self.parts = parts


def marked(program: LoopProgram, fault: Fault) -> str:
    """The message of a fault with the lines of the program's text that it is about."""
    try:
        heads = [_head(program, part) for part in fault.parts]
        lines = program.text().splitlines()
    except (KeyError, AssertionError):  # it is so wrong that it has no text
        return fault.message
    subject = ", ".join(head.split()[0] for head in heads)
    text = f"{subject}: {fault.message}" if subject else fault.message
    for head in heads:
        text += "".join(f"\n{line}" for line in _around(lines, head))
    return text


def _around(lines: list[str], head: str) -> list[str]:
    for number, line in enumerate(lines):
        if line.strip().startswith(head):
            shown = range(max(number - _CONTEXT, 0), min(number + _CONTEXT + 1, len(lines)))
            return [f"{'>' if n == number else ' '} {lines[n]}" for n in shown]
    return []


def _head(program: LoopProgram, part: object) -> str:
    """How the line of a part begins."""
    names = names_of(program, {op.results[0]: "" for op in _ops(program) if op.results})
    match part:
        case FusionGroup() | OpaqueNode() | PiecewiseNode():
            return f"{names.nodes[part]} ="
        case Buffer():
            return f"{names.buffers[part]} ="
        case Copy():
            return f"{names.copies[part]} ="
        case Kernel():
            return f"{names.kernels[part]} of"
        case _:
            raise AssertionError(f"{part!r} has no line of its own")


def _ops(program: LoopProgram) -> list[Op]:
    return [op for region in program.graph.regions() for op in region.ops]
