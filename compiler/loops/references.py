"""What an expression reads: all values at places, found without recursion."""

from __future__ import annotations

from collections.abc import Iterator

from weft.compiler.loops.expression import (
    Apply,
    Choose,
    Combined,
    Expression,
    Position,
    Quotient,
    Ref,
    Resolved,
    Start,
)
from weft.compiler.loops.group import Computed, Reduction
from weft.compiler.loops.index import Place


def references(computed: Computed) -> Iterator[Ref]:
    """All values at places that an expression reads, those inside of indices included."""
    stack: list[Expression] = []
    if isinstance(computed, Reduction):
        stack.append(computed.body)
    else:
        stack.append(computed)
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
    found = [extra for index in place.indices for _, extra in index.extras]
    found += [extra for guard in place.guards for _, extra in guard.index.extras]
    return found
