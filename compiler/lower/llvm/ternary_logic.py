"""A way around a fault of LLVM's: masked ternary logic of AVX-512 with the wrong truth table.

`vpternlog` computes any bitwise function of three operands. Where it is merged under a mask with
one of these (`where(m, (x & 15) | (y & ~15), y)`, `where(m, copysign(x, y), y)`) and another
one lies in memory, instruction selection permutes the operands and gets the table wrong for two of
the orders (llvm/llvm-project issue 157929; mended after LLVM 22). Nothing in the text shows where
that will happen, so the code is searched for masked `vpternlog`, and a module that has one is
compiled again with fences between selections and what they select, which keep the two instructions
apart.
"""

from __future__ import annotations

import re
from typing import Final

from weft.compiler.lower.llvm.target import Target

# EVEX prefix: map 0F3A; operand-size prefix 66; a mask register other than k0, without zeroing.
_MERGING: Final = re.compile(
    b"\x62"
    + b"[%s]" % b"".join(re.escape(bytes([n])) for n in range(256) if n & 0x0F == 0x03)
    + b"[%s]" % b"".join(re.escape(bytes([n])) for n in range(256) if n & 0x07 == 0x05)
    + b"[%s]" % b"".join(re.escape(bytes([n])) for n in range(128) if n & 0x07)
    + b"\x25",
    re.DOTALL,
)
_SELECT: Final = re.compile(
    r"^(?P<start>\s*%\S+ = select (?:\w+ )*<\d+ x i1> \S+), "
    r"(?P<type><(?P<lanes>\d+) x (?P<element>i32|i64|float|double)>) (?P<one>.+), "
    r"(?P=type) (?P<other>.+?)(?P<rest>, !.*)?$"
)
_FLOATS: Final = {"i32": "float", "i64": "double"}


def may_be_wrong(code: bytes, target: Target) -> bool:
    """Whether object code has bytes that may be a `vpternlog` merged under a mask."""
    return "+avx512f" in target.features and _MERGING.search(code) is not None


def with_fenced_selects(text: str) -> str:
    """The text of a module in which vectors are not selected as part of what computes them."""
    lines: list[str] = []
    fences: set[str] = set()
    for line in text.splitlines():
        match = _SELECT.match(line)
        lines += [line] if match is None else _fenced(match, len(lines), fences)
    return "\n".join([*lines, *sorted(fences), ""])


def _fenced(select: re.Match[str], number: int, fences: set[str]) -> list[str]:
    """The lines of a select whose arms go through fences; `fences` collects declarations."""
    lanes, element, type = select["lanes"], select["element"], select["type"]
    float_type = f"<{lanes} x {_FLOATS.get(element, element)}>"
    name = f"@llvm.arithmetic.fence.v{lanes}f{64 if element in ('i64', 'double') else 32}"
    lines, arms = [], []
    for side in ("one", "other"):
        arm = select[side]
        if arm.startswith("%"):
            fenced = f"%fenced.{number}.{side}"
            inside, outside = f"{fenced}.in", f"{fenced}.out"
            lines += [
                f"  {inside} = bitcast {type} {arm} to {float_type}",
                f"  {outside} = call {float_type} {name}({float_type} {inside})",
                f"  {fenced} = bitcast {float_type} {outside} to {type}",
            ]
            fences.add(f"declare {float_type} {name}({float_type})")
            arm = fenced
        arms.append(f"{type} {arm}")
    return [*lines, f"{select['start']}, {', '.join(arms)}{select['rest'] or ''}"]
