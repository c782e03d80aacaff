"""The Threefry-2x32 cipher on one counter, or on lanes of them."""

from __future__ import annotations

from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import U32, U64
from weft.compiler.ops.random import GROUPS, PARITY, ROTATIONS


def threefry2x32(f: Function, key0: V, key1: V, counter: V) -> V:
    """The 20 rounds of `ops.random`, which has the reference and its source."""
    keys = (key0, key1, key0 ^ key1 ^ PARITY)
    first = (counter >> 32).to(U32) + keys[0]
    second = counter.to(U32) + keys[1]
    for group in range(GROUPS):
        for rotation in ROTATIONS[group % 2]:
            first = first + second
            turned = f.intrinsic("fshl", second, second, f.const(rotation, second.type))
            second = turned ^ first
        first = first + keys[(group + 1) % 3]
        second = second + keys[(group + 2) % 3] + (group + 1)
    return (first.to(U64) << 32) | second.to(U64)
