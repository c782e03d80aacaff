"""Symbolic sizes in native code: polynomials of symbols as i64 arithmetic."""

from __future__ import annotations

from collections.abc import Mapping

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Atom, Dim, Maximum, Size, Symbol
from weft.compiler.lower.llvm.emit.arrays import plus, times
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import F64, I64


class Sizes:
    """The values of sizes in one function, given those of the symbols; each computed once per
    place in the code where it is known to dominate.
    """

    def __init__(self, f: Function, symbols: Mapping[str, V]) -> None:
        self.f = f
        self.symbols = dict(symbols)

    def operand(self, size: Size) -> Operand:
        """A number, or the i64 value of a symbolic size."""
        if isinstance(size, int):
            return size
        total: Operand = 0
        for monomial, factor in size.terms:
            term: Operand = factor
            for atom, power in monomial:
                value = self._atom(atom)
                for _ in range(power):
                    term = times(self.f, term, value)
            total = plus(self.f, total, term)
        return total

    def value(self, size: Size) -> V:
        """The i64 value of a size."""
        return self.f.const(self.operand(size), I64)

    def magnitude(self, size: Size) -> V:
        """As a f64, what neither a size nor anything on the way to it is above; that of sizes which
        i64 cannot hold is correct too, within rounding.
        """
        if isinstance(size, int):
            return self.f.const(float(abs(size)), F64)
        total = self.f.const(0.0, F64)
        for monomial, factor in size.terms:
            term = self.f.const(float(abs(factor)), F64)
            for atom, power in monomial:
                value = self._atom_magnitude(atom)
                for _ in range(power):
                    term = term * value
            total = total + term
        return total

    def _atom_magnitude(self, atom: Atom) -> V:
        if isinstance(atom, Symbol):
            return self.symbols[atom.name].to(F64)
        if isinstance(atom, Maximum):
            return self.magnitude(atom.left) + self.magnitude(atom.right)
        return self.magnitude(atom.numerator)

    def _atom(self, atom: Atom) -> V:
        if isinstance(atom, Symbol):
            return self.symbols[atom.name]
        if isinstance(atom, Maximum):
            return self.f.maximum(self.value(atom.left), self.value(atom.right))
        divisor = self.operand(atom.denominator)
        if isinstance(divisor, V) and (dims.lower(atom.denominator) or 0) < 1:
            divisor = self.f.maximum(divisor, 1)  # of a size 0, which nothing has or reads
        return floor_divide(self.f, self.value(atom.numerator), divisor)


def floor_divide(f: Function, x: V, y: Operand) -> V:
    """The quotient rounded down; the divisor is positive."""
    if not isinstance(y, V):
        whole = int(y)
        if whole & (whole - 1) == 0:
            return x >> (whole.bit_length() - 1)
    quotient = f.divide(x, y)
    rest = x - f.mul(quotient, y)
    return f.add(quotient, rest.lt(0).to(I64) * -1)


def names(sizes: list[Size]) -> list[str]:
    """The symbols of several sizes, sorted."""
    found: set[str] = set()
    for size in sizes:
        if isinstance(size, Dim):
            found |= {symbol.name for symbol in dims.symbols(size)}
    return sorted(found)
