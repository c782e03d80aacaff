"""Symbolic sizes as SymPy expressions, for proofs and display."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.compiler.ir.dims import Atom, Maximum, Quotient, Size, Symbol

if TYPE_CHECKING:
    import sympy


def to_sympy(size: Size) -> sympy.Expr:
    """The size as a SymPy expression; symbols become integers with the sign their bound implies."""
    import sympy

    if isinstance(size, int):
        return sympy.Integer(size)
    terms = []
    for monomial, factor in size.terms:
        atoms = [_atom_to_sympy(atom) ** power for atom, power in monomial]
        terms.append(sympy.Mul(factor, *atoms))
    return sympy.Add(*terms)


def _atom_to_sympy(atom: Atom) -> Any:
    import sympy

    match atom:
        case Symbol():
            return sympy.Symbol(
                atom.name,
                integer=True,
                nonnegative=True if atom.lower >= 0 else None,
                positive=True if atom.lower >= 1 else None,
            )
        case Quotient():
            return sympy.floor(to_sympy(atom.numerator) / to_sympy(atom.denominator))
        case Maximum():
            return sympy.Max(to_sympy(atom.left), to_sympy(atom.right))
