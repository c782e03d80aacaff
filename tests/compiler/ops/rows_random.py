"""Samples of threefry2x32: Random123's known answers, and the cipher again in Python integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compiler.ops.sample import Array, BadSample, Sample
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ops.random import threefry2x32

MASK = 0xFFFFFFFF


def cipher(key0: int, key1: int, counter: int) -> int:
    """Threefry-2x32-20 after the definition, which injects the key before rounds 0, 4, ..., 20."""
    schedule = [key0, key1, 0x1BD11BDA ^ key0 ^ key1]
    rotations = [13, 15, 26, 6, 17, 29, 16, 24]
    x, y = counter >> 32, counter & MASK
    for round_ in range(21):
        if round_ % 4 == 0:
            injection = round_ // 4
            x = (x + schedule[injection % 3]) & MASK
            y = (y + schedule[(injection + 1) % 3] + injection) & MASK
        if round_ < 20:
            turn = rotations[round_ % 8]
            x = (x + y) & MASK
            y = ((y << turn | y >> (32 - turn)) & MASK) ^ x
    return x << 32 | y


def row(key0: Any, key1: Any, counter: Any, name: str = "") -> Sample:
    operands = (
        np.asarray(key0, np.uint32),
        np.asarray(key1, np.uint32),
        np.asarray(counter, np.uint64),
    )
    words = np.broadcast_arrays(*operands)
    flat = [
        cipher(*map(int, triple)) for triple in zip(*[w.reshape(-1) for w in words], strict=True)
    ]
    return Sample(
        threefry2x32, operands, np.array(flat, np.uint64).reshape(words[0].shape), name=name
    )


def known(key: tuple[int, int], counter: int, answer: int) -> Sample:
    operands = (*[np.array(word, np.uint32) for word in key], np.array(counter, np.uint64))
    return Sample(threefry2x32, operands, np.array(answer, np.uint64), name="Random123")


def counters(shape: tuple[int, ...]) -> Array:
    """Numbers all over the 64 bits."""
    count = int(np.prod(shape))
    return (np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)).reshape(shape)


ROWS = [
    known((0, 0), 0, 0x6B20015999BA4EFE),
    known((MASK, MASK), 2**64 - 1, 0x1CB996FCBB002BE7),
    known((0x13198A2E, 0x03707344), 0x243F6A8885A308D3, 0xC4923A9C483DF7A0),
    row(1, 2, np.arange(10), "counting"),
    row(0x13198A2E, 0x03707344, counters((3, 4)), "one key"),
    row([1, 2, MASK], [0, MASK, 5], counters((3,)), "a key each"),
    row([[1, 2], [3, 4]], 7, 9, "one counter"),
    row(5, [1, 2, 3], 2**32 - 1, "one word of the key"),
    row(1, 2, [0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1], "edges of the words"),
    row(1, 2, 3, "rank 0"),
    row(1, 2, np.zeros((0, 3)), "zero size"),
    row(1, 2, counters((4, 6))[::-1, ::-2], "negative strides"),
]

BAD = [
    BadSample(
        threefry2x32, ("i32[]", "u32[]", "u64[3]"), DTypeError, "key0 has dtype i32, expected u32"
    ),
    BadSample(
        threefry2x32, ("u32[]", "u64[]", "u64[3]"), DTypeError, "key1 has dtype u64, expected u32"
    ),
    BadSample(
        threefry2x32,
        ("u32[]", "u32[]", "u32[3]"),
        DTypeError,
        "counter has dtype u32, expected u64",
    ),
    BadSample(threefry2x32, ("u32[2]", "u32[]", "u64[3]"), ShapeError, "different shapes"),
]
