"""What an expression reads: all values at places, found without recursion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from weft.compiler.ir.index.affine import Place
from weft.compiler.ir.index.expression import (
    Apply,
    Choose,
    Combined,
    Computed,
    Expression,
    Position,
    Quotient,
    Reduction,
    Ref,
    Resolved,
    Start,
)


def references(computed: Computed) -> Iterable[Ref]:
    """All values at places that an expression reads, those inside of indices included."""
    start: Expression = computed.body if isinstance(computed, Reduction) else computed
    # Nearly all are an op of values at plain places, which needs no search.
    if isinstance(start, Apply | Combined):
        operands = start.operands[::-1]
    elif isinstance(start, Ref):
        operands = (start,)
    else:
        return _search(start)
    for ref in operands:
        if ref.place.has_extras:
            return _search(start)
    return operands


def _search(start: Expression) -> Iterator[Ref]:
    stack = [start]
    while stack:
        item = stack.pop()
        match item:
            case Ref():
                yield item
                stack.extend(_of_place(item.place))
            case Apply():
                stack.extend(item.operands)
            case Combined():
                stack.extend(item.operands)
            case Choose():
                stack.extend((item.inside, item.outside))
                for guard in item.guards:
                    stack.extend(extra for _, extra in guard.index.extras)
            case Position() | Quotient():
                stack.extend(extra for _, extra in item.index.extras)
            case Resolved() | Start():
                stack.append(item.position)
            case _:
                pass


def _of_place(place: Place) -> list[Expression]:
    extras = [extra for index in place.indices for _, extra in index.extras]
    extras += [extra for guard in place.guards for _, extra in guard.index.extras]
    return extras
