"""What rewritten functions call; they know these operators as `weft_flow`."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from weft.frontends.flow.branches import if_, if_expression
from weft.frontends.flow.calls import Calls, writable
from weft.frontends.flow.classes import attributes
from weft.frontends.flow.comparisons import compared
from weft.frontends.flow.dunders import binary
from weft.frontends.flow.logic import and_, compare, not_, or_, tested
from weft.frontends.flow.lookups import item
from weft.frontends.flow.loops import for_, while_
from weft.frontends.flow.raising import handled, not_refused, raised
from weft.frontends.flow.samples import subject
from weft.frontends.flow.text import joined
from weft.frontends.flow.trying import try_


def operators(convert: Callable[[Any], Any]) -> SimpleNamespace:
    """The operators by name; `convert` converts the functions that are called."""
    return SimpleNamespace(
        and_=and_,
        call=Calls(convert).call,
        attribute=attributes(convert),
        compare=compare,
        compared=compared,
        for_=for_,
        handled=handled,
        if_=if_,
        if_expression=if_expression,
        item=item,
        joined=joined,
        not_=not_,
        operate=binary(convert),
        not_refused=not_refused,
        or_=or_,
        raised=raised,
        slice_=builtins.slice,
        subject=subject,
        tested=tested,
        try_=try_,
        while_=while_,
        writable=writable,
    )
