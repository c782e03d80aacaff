"""Random bits: the Threefry-2x32 block cipher, a pure function of a key and a counter.

Bits for a shape are the cipher of an iota, so any part of a stream can be made on its own, in any
order, fused with its user. Distributions and keys are compositions in the frontend.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import DTypeError
from weft.compiler.ir.opdef import OpDef, Trait
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops.common import elementwise_shape
from weft.compiler.ops.precision import Array

# Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011): rotations of table 2, the
# parity constant of Skein, and a key injection after every fourth of 20 rounds.
ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY: Final = 0x1BD11BDA
GROUPS: Final = 5


def _infer(key0: ArrayType, key1: ArrayType, counter: ArrayType) -> ArrayType:
    _require_dtype(key0, dtypes.u32, "key0")
    _require_dtype(key1, dtypes.u32, "key1")
    _require_dtype(counter, dtypes.u64, "counter")
    return ArrayType(dtypes.u64, elementwise_shape((key0, key1, counter)))


def _require_dtype(operand: ArrayType, dtype: DType, name: str) -> None:
    if operand.dtype is not dtype:
        raise DTypeError(f"{name} has dtype {operand.dtype}, expected {dtype}")


def _reference(key0: Array, key1: Array, counter: Array) -> Array:
    keys = (key0, key1, key0 ^ key1 ^ np.uint32(PARITY))
    first = (counter >> np.uint64(32)).astype(np.uint32) + keys[0]
    second = counter.astype(np.uint32) + keys[1]
    for group in range(GROUPS):
        for rotation in ROTATIONS[group % 2]:
            first = first + second
            second = _rotate_left(second, rotation) ^ first
        first = first + keys[(group + 1) % 3]
        second = second + keys[(group + 2) % 3] + np.uint32(group + 1)
    return first.astype(np.uint64) << np.uint64(32) | second.astype(np.uint64)


def _rotate_left(words: Array, amount: int) -> Array:
    return words << np.uint32(amount) | words >> np.uint32(32 - amount)


threefry2x32 = OpDef(
    name="threefry2x32",
    doc="The 20-round Threefry-2x32 cipher of the counter's high and low word, elementwise.",
    operands=("key0", "key1", "counter"),
    traits=Trait.ELEMENTWISE,
    infer=_infer,
    reference=_reference,
    cost=40,
)

OPS: Final = (threefry2x32,)
