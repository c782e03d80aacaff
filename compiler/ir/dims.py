"""Symbolic sizes: integer polynomials over named symbols, with floor division and maximum.

A size is an `int` or a `Dim`; a `Dim` is never constant, because every operation returns an `int`
when it can. Polynomials are kept in one canonical form, so that equality is a comparison of data.
Order and divisibility are decided from the bounds of the symbols; what cannot be decided raises, it
is never guessed. SymPy is not used here: `sympy_sizes` converts for proofs and display.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import count
from typing import Any, NoReturn, TypeAlias

from weft.compiler.ir.errors import ShapeError


class Symbol:
    """A named unknown size from `lower` to `upper` (None: no bound); equal when all three are."""

    __slots__ = ("name", "lower", "upper")

    def __init__(self, name: str, lower: int = 1, upper: int | None = None) -> None:
        self.name = name
        self.lower = lower
        self.upper = upper

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Symbol({self.name!r}, lower={self.lower}, upper={self.upper})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Symbol) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self.name)

    def _key(self) -> tuple[str, int, int | None]:
        return self.name, self.lower, self.upper


class Quotient:
    """An indivisible `numerator // denominator`."""

    __slots__ = ("numerator", "denominator")

    def __init__(self, numerator: Dim, denominator: Size) -> None:
        self.numerator = numerator
        self.denominator = denominator

    def __str__(self) -> str:
        return f"{_bracket(self.numerator)}//{_bracket(self.denominator)}"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Quotient)
            and self.numerator == other.numerator
            and self.denominator == other.denominator
        )

    def __hash__(self) -> int:
        return hash(str(self))


class Maximum:
    """The larger of two sizes whose order is not known."""

    __slots__ = ("left", "right")

    def __init__(self, left: Size, right: Size) -> None:
        self.left, self.right = sorted((left, right), key=str, reverse=True)

    def __str__(self) -> str:
        return f"max({self.left}, {self.right})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Maximum) and self.left == other.left and self.right == other.right

    def __hash__(self) -> int:
        return hash(str(self))


Atom: TypeAlias = Symbol | Quotient | Maximum
Monomial: TypeAlias = tuple[tuple[Atom, int], ...]
Size: TypeAlias = "int | Dim"
Bound: TypeAlias = "int | float | Fraction"

_ONE: Monomial = ()
_MOST_REPLACED = 6  # quotients and maxima that one bound looks through: some 3**6 steps at most


class Dim:
    """A non-constant integer polynomial; `==` is true when both sides are equal for all values of
    the symbols.
    """

    __slots__ = ("terms", "_text", "_hash", "_lower", "_upper")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        self._text: str | None = None
        self._hash: int | None = None
        self._lower: Bound | None = None
        self._upper: Bound | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Without what is remembered: the hash of a text is another one in another process."""
        return Dim, (self.terms,)

    def __str__(self) -> str:
        if self._text is None:
            self._text = _format(self.terms)
        return self._text

    __repr__ = __str__

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(str(self))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Dim) and self.terms == other.terms)

    def __add__(self, other: Size) -> Size:
        return _sum(self, other, 1) if isinstance(other, int | Dim) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Size) -> Size:
        return _sum(self, other, -1) if isinstance(other, int | Dim) else NotImplemented

    def __rsub__(self, other: int) -> Size:
        return _sum(-self, other, 1) if isinstance(other, int) else NotImplemented

    def __neg__(self) -> Dim:
        return Dim(tuple((monomial, -factor) for monomial, factor in self.terms))

    def __pos__(self) -> Dim:
        return self

    def __mul__(self, other: Size) -> Size:
        return _product(self, other) if isinstance(other, int | Dim) else NotImplemented

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Size:
        if not isinstance(exponent, int):
            return NotImplemented
        if exponent < 0:
            raise ShapeError(f"{self}**{exponent} is no integer; sizes take powers from 0 up")
        return math.prod([self] * exponent)

    def __floordiv__(self, other: Size) -> Size:
        return floor_divide(self, other) if isinstance(other, int | Dim) else NotImplemented

    def __rfloordiv__(self, other: int) -> Size:
        return floor_divide(other, self) if isinstance(other, int) else NotImplemented

    def __mod__(self, other: Size) -> Size:
        if not isinstance(other, int | Dim):
            return NotImplemented
        return self - other * floor_divide(self, other)

    def __rmod__(self, other: int) -> Size:
        return (
            other - self * floor_divide(other, self) if isinstance(other, int) else NotImplemented
        )

    def __divmod__(self, other: Size) -> tuple[Size, Size]:
        return self // other, self % other

    def __lt__(self, other: Size) -> bool:
        return _decide(self, other, "<")

    def __le__(self, other: Size) -> bool:
        return _decide(self, other, "<=")

    def __gt__(self, other: Size) -> bool:
        return _decide(self, other, ">")

    def __ge__(self, other: Size) -> bool:
        return _decide(self, other, ">=")

    def __bool__(self) -> bool:
        if _or(lower(self), 0) > 0 or _or(upper(self), 0) < 0:
            return True
        raise ShapeError(f"cannot decide whether the symbolic size {self} is zero")

    def __truediv__(self, other: object) -> NoReturn:
        raise ShapeError(
            f"the symbolic size {self} is known when the program runs, so it has no quotient here; "
            "dividing an array by it works, and weft.numpy.asarray(size) is an array. Functions of "
            "weft.numpy take it as it is (arange, zeros, ...); plain numpy's does not"
        )

    __rtruediv__ = __truediv__

    def __index__(self) -> int:
        raise ShapeError(
            f"the symbolic size {self} has no fixed value here; functions of weft.numpy accept it "
            "(weft.numpy.zeros, arange, reshape, ...), plain numpy's array creation does not"
        )

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())


def symbol(name: str, *, lower: int = 1, upper: int | None = None) -> Dim:
    """The size `name`, at least `lower` (1 unless told) and at most `upper`."""
    if upper is not None and upper < lower:
        raise ShapeError(f"no size {name} is at least {lower} and at most {upper}")
    return Dim(((((Symbol(name, lower, upper), 1),), 1),))


_fresh = count()


def fresh_symbol(prefix: str) -> Dim:
    """A size, possibly 0, whose name no other call in this process returns."""
    return symbol(f"{prefix}{next(_fresh)}", lower=0)


def floor_divide(left: Size, right: Size) -> Size:
    """`left // right`, exact where the polynomial divides."""
    if isinstance(right, int) and right == 0:
        raise ShapeError(f"division of the size {left} by zero")
    if isinstance(left, int) and isinstance(right, int):
        return left // right
    quotient, rest = _divide(left, right)
    if isinstance(rest, int) and isinstance(right, int):
        return quotient + rest // right
    if _is_between(rest, 0, right):
        return quotient
    if isinstance(rest, int):
        rest_quotient: Size = _of_terms({((Quotient(_as_dim(rest), right), 1),): 1})
    elif isinstance(right, int) and right < 0:
        rest_quotient = floor_divide(-rest, -right)
    else:
        rest_quotient = _of_terms({((Quotient(rest, right), 1),): 1})
    return quotient + rest_quotient


def maximum(left: Size, right: Size, *, use_bounds: bool = True) -> Size:
    """The larger of two sizes, decided now where the bounds allow it; they may be left out."""
    if isinstance(left, int) and isinstance(right, int):
        return max(left, right)
    difference = left - right if use_bounds else None
    if difference is not None and _or(lower(difference), -1) >= 0:
        return left
    if difference is not None and _or(upper(difference), 1) <= 0:
        return right
    return _of_terms({((Maximum(left, right), 1),): 1})


def minimum(left: Size, right: Size) -> Size:
    """The smaller of two sizes."""
    return left + right - maximum(left, right)


def lower(size: Size) -> int | None:
    """The greatest lower bound that is known, or None."""
    if isinstance(size, int):
        return size
    if size._lower is None:
        size._lower = _lower_bound(dict(size.terms), _MOST_REPLACED)
    return None if size._lower == -math.inf else math.ceil(size._lower)


def upper(size: Size) -> int | None:
    """The least upper bound that is known, or None."""
    if isinstance(size, int):
        return size
    if size._upper is None:
        size._upper = -_lower_bound(dict((-size).terms), _MOST_REPLACED)
    return None if size._upper == math.inf else math.floor(size._upper)


def is_divisible(size: Size, divisor: Size) -> bool:
    """Whether `divisor` divides `size` for all values of the symbols."""
    if isinstance(size, int) and isinstance(divisor, int):
        return divisor != 0 and size % divisor == 0
    if isinstance(divisor, int) and divisor == 0:
        return False
    _, rest = _divide(size, divisor)
    return isinstance(rest, int) and rest == 0


def product(sizes: Iterable[Size]) -> Size:
    """The product of sizes; 1 for none."""
    result: Size = 1
    for size in sizes:
        result = size * result
    return result


def symbols(size: Size) -> set[Symbol]:
    """All symbols in a size, those inside quotients and maxima too."""
    result: set[Symbol] = set()
    stack: list[Size] = [size]
    while stack:
        item = stack.pop()
        if isinstance(item, int):
            continue
        for monomial, _ in item.terms:
            for atom, _ in monomial:
                match atom:
                    case Symbol():
                        result.add(atom)
                    case Quotient():
                        stack += (atom.numerator, atom.denominator)
                    case Maximum():
                        stack += (atom.left, atom.right)
    return result


def evaluate(size: Size, values: Mapping[str, int]) -> int:
    """The number that a size is when each symbol has the value given by name."""
    result = substitute(size, values)
    if isinstance(result, int):
        return result
    missing = ", ".join(sorted(s.name for s in symbols(result)))
    raise ShapeError(f"the size {size} needs a value for {missing}")


def substitute(size: Size, values: Mapping[str, Size]) -> Size:
    """The size with symbols replaced by name."""
    if isinstance(size, int):
        return size
    result: Size = 0
    for monomial, factor in size.terms:
        term: Size = factor
        for atom, power in monomial:
            for _ in range(power):
                term = term * _substitute_atom(atom, values)
        result = result + term
    return result


# --- the canonical form ---------------------------------------------------------------------------


def _as_dim(size: Size) -> Dim:
    return size if isinstance(size, Dim) else Dim(((_ONE, size),))


def _terms(size: Size) -> dict[Monomial, int]:
    return {_ONE: size} if isinstance(size, int) else dict(size.terms)


def _order(monomial: Monomial) -> tuple[int, tuple[tuple[str, int], ...]]:
    """Higher degree first, then by name: the order in which terms print and divide."""
    degree = sum(power for _, power in monomial)
    return -degree, tuple((str(atom), -power) for atom, power in monomial)


def _of_terms(terms: dict[Monomial, int]) -> Size:
    kept = [(monomial, factor) for monomial, factor in terms.items() if factor]
    if not kept:
        return 0
    if len(kept) == 1 and kept[0][0] == _ONE:
        return kept[0][1]
    kept.sort(key=lambda term: _order(term[0]))
    return Dim(tuple(kept))


def _sum(left: Size, right: Size, sign: int) -> Size:
    terms = _terms(left)
    for monomial, factor in _terms(right).items():
        terms[monomial] = terms.get(monomial, 0) + sign * factor
    return _of_terms(terms)


def _product(left: Size, right: Size) -> Size:
    terms: dict[Monomial, int] = {}
    for left_monomial, left_factor in _terms(left).items():
        for right_monomial, right_factor in _terms(right).items():
            monomial = _multiply(left_monomial, right_monomial)
            terms[monomial] = terms.get(monomial, 0) + left_factor * right_factor
    return _of_terms(terms)


def _multiply(left: Monomial, right: Monomial) -> Monomial:
    powers = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: str(item[0])))


def _divide(left: Size, right: Size) -> tuple[Size, Size]:
    """Quotient and rest of polynomial division by leading terms."""
    divisor = _as_dim(right).terms
    lead_monomial, lead_factor = divisor[0]
    rest = _terms(left)
    quotient: dict[Monomial, int] = {}
    stuck: dict[Monomial, int] = {}
    while rest:
        monomial = min(rest, key=_order)
        factor = rest.pop(monomial)
        ratio = _monomial_ratio(monomial, lead_monomial)
        count, remainder = divmod(factor, lead_factor)
        if ratio is None or (remainder and len(divisor) > 1):
            stuck[monomial] = factor
            continue
        quotient[ratio] = count
        if remainder:
            stuck[monomial] = remainder
        for other, other_factor in divisor[1:]:
            target = _multiply(ratio, other)
            rest[target] = rest.get(target, 0) - count * other_factor
            if not rest[target]:
                del rest[target]
    return _of_terms(quotient), _of_terms(stuck)


def _monomial_ratio(left: Monomial, right: Monomial) -> Monomial | None:
    powers = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) - power
        if powers[atom] < 0:
            return None
    return tuple((atom, power) for atom, power in powers.items() if power)


# --- bounds ---------------------------------------------------------------------------------------


def _decide(left: Size, right: Size, relation: str) -> bool:
    if not isinstance(right, int | Dim):
        return NotImplemented
    difference = left - right
    low, high = lower(difference), upper(difference)
    above, strictly_above = low is not None and low >= 0, low is not None and low > 0
    below, strictly_below = high is not None and high <= 0, high is not None and high < 0
    yes, no = {
        "<": (strictly_below, above),
        "<=": (below, strictly_above),
        ">": (strictly_above, below),
        ">=": (above, strictly_below),
    }[relation]
    if yes or no:
        return yes
    names = ", ".join(sorted(s.name for s in symbols(difference)))
    raise ShapeError(
        f"cannot decide {left} {relation} {right} for all values of {names}; "
        'declare bounds in the spec, such as wf.spec("f32[n>=8]")'
    )


def _is_between(size: Size, low: int, end: Size) -> bool:
    """Whether low <= size < end is certain."""
    least, gap = lower(size), lower(end - size)
    return least is not None and least >= low and gap is not None and gap > 0


def _times(left: Bound, right: Bound) -> Bound:
    return 0 if left == 0 or right == 0 else left * right


def _lower_bound(
    terms: dict[Monomial, int], budget: int, kept: frozenset[Monomial] = frozenset()
) -> Bound:
    """The best of interval arithmetic as it stands and with quotients and maxima replaced by what
    bounds them.

    Each is either kept or replaced, in one order: the longest first, because what stands inside an
    atom is shorter than it. `budget` limits how many are tried, for each multiplies the work.
    """
    candidates = [m for m in terms if m not in kept and _is_replaceable(m)]
    if not candidates or not budget:
        return _interval_lower(terms)
    chosen = max(candidates, key=lambda m: len(str(m[0][0])))
    best = _lower_bound(terms, budget - 1, kept | {chosen})
    atom, factor = chosen[0][0], terms[chosen]
    bounds: list[Bound] = []
    for replacement, shift, divisor in _replacements(atom, factor):
        scaled = {m: f * divisor for m, f in terms.items() if m != chosen}
        for other, other_factor in _terms(replacement).items():
            scaled[other] = scaled.get(other, 0) + factor * other_factor
        scaled = {m: f for m, f in scaled.items() if f}
        bound = _lower_bound(scaled, budget - 1, kept)
        is_finite = bound != -math.inf
        bounds.append(Fraction(bound + factor * shift) / divisor if is_finite else bound)
    # -max(a, b) is -a or -b, and which one is not known: only the smaller bound is sure.
    is_either = isinstance(atom, Maximum) and factor < 0
    return max(best, min(bounds) if is_either else max(bounds))


def _is_replaceable(monomial: Monomial) -> bool:
    """Whether a monomial is one quotient or maximum that `_replacements` knows."""
    return len(monomial) == 1 and monomial[0][1] == 1 and bool(_replacements(monomial[0][0], 1))


def _replacements(atom: Atom, factor: int) -> list[tuple[Size, int, int]]:
    """(size, shift, divisor): factor*atom >= factor*(size + shift)/divisor."""
    if isinstance(atom, Quotient) and isinstance(atom.denominator, int) and atom.denominator > 0:
        shift = -(atom.denominator - 1) if factor > 0 else 0
        return [(atom.numerator, shift, atom.denominator)]
    if isinstance(atom, Maximum):
        return [(atom.left, 0, 1), (atom.right, 0, 1)]
    return []


def _interval_lower(terms: dict[Monomial, int]) -> Bound:
    total: Bound = 0
    for monomial, factor in terms.items():
        low, high = _monomial_interval(monomial)
        total += _times(factor, low if factor > 0 else high)
    return total


def _monomial_interval(monomial: Monomial) -> tuple[Bound, Bound]:
    low: Bound = 1
    high: Bound = 1
    for atom, power in monomial:
        atom_low, atom_high = _atom_interval(atom)
        for _ in range(power):
            corners = [_times(a, b) for a in (low, high) for b in (atom_low, atom_high)]
            low, high = min(corners), max(corners)
        if power % 2 == 0 and len(monomial) == 1:
            low = max(low, 0)
    return low, high


def _atom_interval(atom: Atom) -> tuple[Bound, Bound]:
    match atom:
        case Symbol():
            return atom.lower, math.inf if atom.upper is None else atom.upper
        case Maximum():
            lows = [_or(lower(side), -math.inf) for side in (atom.left, atom.right)]
            highs = [_or(upper(side), math.inf) for side in (atom.left, atom.right)]
            return max(lows), max(highs)
        case Quotient():
            return _quotient_interval(atom)


def _quotient_interval(atom: Quotient) -> tuple[Bound, Bound]:
    low, high = _or(lower(atom.numerator), -math.inf), _or(upper(atom.numerator), math.inf)
    smallest = lower(atom.denominator)
    if smallest is None or smallest < 1:
        return -math.inf, math.inf
    largest = _or(upper(atom.denominator), math.inf)
    return _floor(low, largest if low >= 0 else smallest), _floor(
        high, smallest if high >= 0 else largest
    )


def _floor(number: Bound, divisor: Bound) -> Bound:
    if math.isinf(number):
        return number
    if math.isinf(divisor):
        return 0 if number >= 0 else -1
    return math.floor(Fraction(number) / Fraction(divisor))


def _or(bound: int | None, default: float) -> Bound:
    return default if bound is None else bound


# --- substitution, text ------ --------------------------------------------------------------------


def _substitute_atom(atom: Atom, values: Mapping[str, Size]) -> Size:
    match atom:
        case Symbol():
            value = values.get(atom.name)
            return Dim(((((atom, 1),), 1),)) if value is None else value
        case Quotient():
            return floor_divide(
                substitute(atom.numerator, values), substitute(atom.denominator, values)
            )
        case Maximum():
            return maximum(substitute(atom.left, values), substitute(atom.right, values))


def _format(terms: tuple[tuple[Monomial, int], ...]) -> str:
    text = ""
    for monomial, factor in terms:
        atoms = [_format_power(atom, power) for atom, power in monomial]
        magnitude = [str(abs(factor))] if abs(factor) != 1 or not atoms else []
        sign = (" - " if factor < 0 else " + ") if text else ("-" if factor < 0 else "")
        text += sign + "*".join(magnitude + atoms)
    return text


def _format_power(atom: Atom, power: int) -> str:
    text = f"({atom})" if isinstance(atom, Quotient) else str(atom)
    return text if power == 1 else f"{text}**{power}"


def _bracket(size: Size) -> str:
    text = str(size)
    return text if text.isidentifier() or text.isdigit() else f"({text})"
