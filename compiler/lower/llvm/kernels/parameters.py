"""What the functions of a kernel are given: arrays, numbers, and the values of symbols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.compiler.loops.kernel import Kernel
from weft.compiler.loops.kernel_sizes import sizes_of
from weft.compiler.lower.llvm.emit.arrays import Element
from weft.compiler.lower.llvm.emit.dimensions import names
from weft.compiler.lower.llvm.emit.function import V
from weft.compiler.lower.llvm.emit.types import I64, PTR, Type, of_dtype


@dataclass(eq=False, slots=True)
class Parameters:
    """What a kernel's functions are given, in order."""

    arrays: int
    numbers: list[tuple[Type, ...]]
    symbols: list[str]

    def declared(self) -> list[tuple[str, Type]]:
        result: list[tuple[str, Type]] = [("run", PTR)]
        result += [(f"p{i}", PTR) for i in range(self.arrays)]
        for i, types in enumerate(self.numbers):
            result += [(f"a{i}.{part}", type) for part, type in enumerate(types)]
        result += [(f"s.{name}", I64) for name in self.symbols]
        return result

    def unpack(self, values: Sequence[V]) -> tuple[list[V], list[Element], dict[str, V]]:
        """Pointers, numbers and symbols from the arguments after `run`."""
        pointers = list(values[: self.arrays])
        rest = iter(values[self.arrays :])
        numbers: list[Element] = []
        for types in self.numbers:
            parts = [next(rest) for _ in types]
            numbers.append((parts[0], parts[1]) if len(parts) == 2 else parts[0])
        return pointers, numbers, dict(zip(self.symbols, rest, strict=True))


def parameters_of(kernel: Kernel) -> Parameters:
    numbers: list[tuple[Type, ...]] = []
    for value in kernel.arguments:
        type = of_dtype(value.type.dtype)
        numbers.append((type, type) if value.type.dtype.is_complex else (type,))
    return Parameters(len(kernel.arrays), numbers, names(list(sizes_of(kernel))))
