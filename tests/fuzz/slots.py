"""Fills the slots of a template: operands are values so far, the rest fits the first of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from tests.fuzz.arguments import DTYPES, INTS

Array = np.ndarray[Any, Any]
KINDS = {"f": "f", "c": "c", "n": "fc", "i": "iu", "r": "fiu", "x": "fiuc", "b": "b", "a": "fiucb"}
_SLOT = re.compile(r"\{(\w+)\}")
_OPERAND = re.compile(r"[fcnirxba]\d?")


class NoOperand(Exception):
    """No value of the wanted kind exists yet."""


class Filling:
    """One template being filled."""

    def __init__(self, random: Random, values: dict[str, Any]) -> None:
        self.random = random
        self.values = values
        self.subject = ""
        self.array: Array = np.zeros(())
        self.axis = 0

    def fill(self, template: str) -> str:
        self.subject = ""
        self.axis = -1
        return _SLOT.sub(lambda match: self._slot(match[1]), template)

    def _slot(self, name: str) -> str:
        if name == "0":
            return self.subject
        if _OPERAND.fullmatch(name):
            return self._operand(name[0], int(name[1:] or 0))
        maker: Callable[[], str] = getattr(self, "_" + name)
        return maker()

    def _operand(self, kind: str, rank: int) -> str:
        fitting = [
            name
            for name, value in self.values.items()
            if value.dtype.kind in KINDS[kind] and value.ndim >= rank
        ]
        if not fitting:
            raise NoOperand
        if self.subject and self.random.random() < 0.6:  # mates that broadcast are worth a search
            shape = self.array.shape
            mates = [name for name in fitting if self.values[name].shape == shape]
            fitting = mates or fitting
        latest = fitting[-3:] if self.random.random() < 0.5 else fitting
        name = self.random.choice(latest)
        if not self.subject:
            self.subject, self.array = name, self.values[name]
            self.axis = self.random.randrange(self.array.ndim) if self.array.ndim else -1
        return name

    # --- from the first operand ---

    def _axis(self) -> str:
        # Negative axes are the same ones.
        return str(self.axis - self.array.ndim if self.random.random() < 0.3 else self.axis)

    def _axis0(self) -> str:
        return str(self.random.randint(0, self.array.ndim))

    def _axes(self) -> str:
        rank = self.array.ndim
        if rank == 0 or self.random.random() < 0.25:
            return "None"
        if rank > 1 and self.random.random() < 0.3:
            return repr(tuple(self.random.sample(range(rank), self.random.randint(1, rank))))
        return str(self.random.randrange(-rank, rank))

    def _axiskeep(self) -> str:
        return f"axis={self._axes()}" + (", keepdims=True" if self.random.random() < 0.3 else "")

    def _axis_only(self) -> str:
        return f"axis={self._axes()}"

    def _perm(self) -> str:
        return repr(tuple(self.random.sample(range(self.array.ndim), self.array.ndim)))

    def _length(self, axis: int = 0) -> int:
        return self.array.shape[axis] if self.array.ndim > abs(axis) - (axis < 0) else 1

    def _size(self) -> str:
        return str(self._length())

    def _axissize(self) -> str:
        return str(self._length(self.axis))

    def _axissize1(self) -> str:
        return str(self._length(-1) if self.array.ndim else 1)

    def _shape(self) -> str:
        size = self.array.size
        if size == 0:
            return self.random.choice(["-1", "(0, 2)", "(3, 0)"])
        first = self.random.choice([d for d in range(1, size + 1) if size % d == 0])
        rest = size // first
        second = self.random.choice([d for d in range(1, rest + 1) if rest % d == 0])
        shape = self.random.choice([(first, rest), (first, second, rest // second), (first, -1)])
        return repr(shape)

    def _wider(self) -> str:
        return repr((self.random.choice((1, 2, 3)), *self.array.shape))

    def _wide(self) -> str:
        return repr(
            tuple(self.random.choice((1, 2, 3, 5)) for _ in range(self.random.randint(1, 2)))
        )

    def _spot(self) -> str:
        size = self._length()
        return str(self.random.randrange(-size, size)) if size else "0"

    def _slice(self) -> str:
        def end() -> str:
            return self.random.choice(["", "", str(self.random.randint(-4, 5))])

        step = self.random.choice(["", "", "", ":2", ":-1", ":-2", ":3"])
        return f"{end()}:{end()}{step}"

    def _slices(self) -> str:
        return ", ".join(self._slice() for _ in range(self.random.randint(1, self.array.ndim)))

    def _places(self, axis: int = 0) -> str:
        size = self._length(axis)
        if not size:
            return "np.array([], int)"
        count = self.random.randint(1, 4)
        return f"np.array({[self.random.randrange(-size, size) for _ in range(count)]})"

    def _places2(self) -> str:
        return self._places(1)

    def _constantmask(self) -> str:
        return f"np.array({[self.random.random() < 0.6 for _ in range(self._length())]}, bool)"

    # --- numbers ---

    def _lit(self) -> str:
        return self.random.choice(["0.5", "2.0", "(-1.5)", "0.3", "3", "1.0", "(-0.7)", "0.25"])

    def _int(self) -> str:
        return str(self.random.randint(0, 6))

    def _k(self) -> str:
        return str(self.random.randint(-2, 3))

    def _count(self) -> str:
        return str(self.random.choice((1, 1, 2, 2, 3)))

    def _count3(self) -> str:
        return str(self.random.choice((1, 2, 3, 4, 5, 7, 8, 12)))

    def _many(self) -> str:
        return str(self.random.choice((0, 1, 5, 20, 40)))  # above 32 steps loops are rolled

    def _low(self) -> str:
        return self.random.choice(["-1", "0", "-2", "0.5"])

    def _high(self) -> str:
        return self.random.choice(["1", "2", "3"])

    def _dtype(self) -> str:
        return repr(self.random.choice(DTYPES))

    def _intdtype(self) -> str:
        return repr(self.random.choice(INTS))
