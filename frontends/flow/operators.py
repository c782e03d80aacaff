"""What rewritten functions call; they know this module as `weft_flow`."""

from __future__ import annotations

import builtins

from weft.frontends.flow.branches import if_, if_expression
from weft.frontends.flow.calls import call, item, raising, writable
from weft.frontends.flow.logic import and_, compare, not_, or_, tested
from weft.frontends.flow.loops import for_, while_

slice_ = builtins.slice

__all__ = [
    "and_",
    "call",
    "compare",
    "for_",
    "if_",
    "if_expression",
    "item",
    "not_",
    "or_",
    "raising",
    "slice_",
    "tested",
    "while_",
    "writable",
]
