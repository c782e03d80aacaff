"""Finding the values of symbols from the sizes of actual arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Dim, Size, Symbol
from weft.compiler.ir.errors import ShapeError


def solve(
    equations: Iterable[tuple[Size, int]], known: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Values of the symbols for which each left side is the number beside it; raises ShapeError
    where none is.

    Works through equations that are linear in one unknown symbol, which covers `n`, `2*n + 1` and
    `n*m` after `n`.
    """
    values = dict(known or {})
    pending = [
        (size, number) for size, number in equations if isinstance(size, Dim) or size != number
    ]
    while pending:
        left_over = [pair for pair in pending if not _solve_one(*pair, values)]
        if len(left_over) == len(pending):
            size, number = pending[0]
            unknown = ", ".join(sorted(s.name for s in dims.symbols(size) if s.name not in values))
            raise ShapeError(
                f"cannot solve {size} = {number} for {unknown}; give a spec with a bare {unknown}"
            )
        pending = left_over
    return values


def _solve_one(size: Size, number: int, values: dict[str, int]) -> bool:
    """Learn from one equation; False when it has to wait for others."""
    rest = dims.substitute(size, values)
    if isinstance(rest, int):
        if rest != number:
            raise ShapeError(f"{size} is {rest} here, not {number}")
        return True
    factor, constant, unknown = 0, 0, None
    for monomial, coefficient in rest.terms:
        if monomial == ():
            constant = coefficient
        elif unknown is None and len(monomial) == 1 and monomial[0][1] == 1:
            factor, unknown = coefficient, monomial[0][0]
        else:
            return False
    if not isinstance(unknown, Symbol):
        return False
    value, remainder = divmod(number - constant, factor)
    if remainder:
        raise ShapeError(f"no integer {unknown} makes {size} = {number}")
    _check_bounds(unknown, value)
    values[unknown.name] = value
    return True


def _check_bounds(unknown: Symbol, value: int) -> None:
    if value < unknown.lower:
        raise ShapeError(
            f"{unknown} is {value} here, but it was declared {unknown} >= {unknown.lower}; "
            f"say {unknown}>={value} in the spec if that size is meant to work"
        )
    if unknown.upper is not None and value > unknown.upper:
        raise ShapeError(
            f"{unknown} is {value} here, but it was declared {unknown} <= {unknown.upper}"
        )
