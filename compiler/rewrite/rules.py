"""All rules, by the pass that runs them, in the order in which they are tried."""

from __future__ import annotations

from typing import Final

from weft.compiler.rewrite import (
    rules_arithmetic,
    rules_logic,
    rules_product,
    rules_shape,
    rules_stable,
    rules_update,
)
from weft.compiler.rewrite.rule import Rule

CANONICAL: Final[tuple[Rule, ...]] = (*rules_shape.RULES, *rules_product.RULES)
EXACT: Final[tuple[Rule, ...]] = (*rules_arithmetic.RULES, *rules_logic.RULES)
STABLE: Final[tuple[Rule, ...]] = rules_stable.RULES
UPDATE: Final[tuple[Rule, ...]] = rules_update.RULES
ALL: Final[tuple[Rule, ...]] = (*CANONICAL, *EXACT, *STABLE, *UPDATE)
