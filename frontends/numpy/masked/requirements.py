"""What has to hold of sizes that are only known when the program runs, which raises where NumPy
would.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.compiler.ir.graph import Constant
from weft.compiler.ops.logic import not_
from weft.frontends.numpy.masked.array import Selected
from weft.frontends.tracing import core
from weft.frontends.tracing.bounds import is_at_least
from weft.frontends.tracing.failing import fail_where
from weft.frontends.tracing.showing import Showing


def require(holds: Any, message: str, *sizes: Any, kind: type[Exception] = ValueError) -> None:
    """Let the program raise unless something holds; sizes stand in the message."""
    value = core.lift(holds)
    if isinstance(value, Constant) and value.array.all():
        return
    shown = Showing([])
    text = message.format(*[shown.mark(core.wrap(core.lift(size)), "") for size in sizes])
    fail_where(not_(value), kind(text), shown)


def require_elements(array: Selected, axes: tuple[int, ...], message: str) -> None:
    """Let the program raise if there are no elements along one of some axes."""
    for axis in axes:
        choice = array.chosen[axis]
        if choice is not None and not is_at_least(choice.count(), 1):
            require(choice.count() > 0, message)


def require_same_size(left: Any, right: Any, *, broadcasts: bool) -> None:
    """Let the program raise unless two operands of these sizes along an axis can meet."""
    fits = core.wrap(core.lift(left)) == right
    if broadcasts:
        fits = fits | (left == 1) | (right == 1)
        require(fits, "operands of sizes {} and {} cannot be broadcast together", left, right)
    else:
        require(fits, "sizes {} and {} of a product's operands do not agree", left, right)


def require_fit(size: Any, target: Any) -> None:
    """Let the program raise unless an array of a size can be written to a part of another."""
    fits = (core.wrap(core.lift(size)) == target) | (np.equal(size, 1))
    require(fits, "could not broadcast input of size {} into size {}", size, target)
