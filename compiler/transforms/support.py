"""What an op's result is known to be before the program runs: its value, or where it is zero.

Both make the analysis of sparsity sharper: known indices say which elements are read, and what is
multiplied by a zero does not count. That holds whatever the other factor is: 0 times infinity is
zero here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np

from weft.compiler.ir.errors import BoundsError
from weft.compiler.ir.graph import Op
from weft.compiler.ops import indexing
from weft.compiler.transforms.dependence import Array, Fact, first_place, knows_places, shape_of
from weft.compiler.transforms.rows import Mask


def fold(op: Op, facts: Sequence[Fact]) -> list[Array] | None:
    """The results of an op on known arrays, None if one is unknown or the op fails on them."""
    arrays = [fact.value for fact in facts]
    if any(array is None for array in arrays):
        return None
    try:
        with np.errstate(all="ignore"):
            computed = op.definition.reference(*arrays, **op.attributes)
    except BoundsError:
        return None
    outputs = computed if isinstance(computed, tuple | list) else (computed,)
    return [
        np.asarray(output).astype(result.type.dtype.numpy, copy=False)
        for output, result in zip(outputs, op.results, strict=True)
    ]


def nonzero(op: Op, facts: Sequence[Fact]) -> Mask | None:
    """Where the one result of an op may differ from zero; None: everywhere."""
    if len(op.results) != 1 or all(fact.support is None for fact in facts):
        return None
    rule = _rule_of(op)
    try:
        mask = rule(op, facts) if rule is not None else None
    except BoundsError:
        return None
    if mask is None or mask.all():
        return None
    return np.broadcast_to(mask, shape_of(op.results[0]))


Rule = Callable[[Op, Sequence[Fact]], "Mask | None"]


def _rule_of(op: Op) -> Rule | None:
    if op.name in _RULES:
        return _RULES[op.name]
    if op.definition.is_elementwise:
        return _elementwise
    return _moved if op.definition.is_view else None


def _supports(op: Op, facts: Sequence[Fact]) -> list[Mask]:
    return [
        np.ones(shape_of(operand), np.bool_) if fact.support is None else fact.support
        for operand, fact in zip(op.operands, facts, strict=True)
    ]


def _elementwise(op: Op, facts: Sequence[Fact]) -> Mask | None:
    """Where all unknown operands are zero the result is what the op makes of zeros there."""
    if any(fact.support is None for fact in facts):
        return None
    operands = [
        np.zeros(shape_of(operand), operand.type.dtype.numpy) if fact.value is None else fact.value
        for operand, fact in zip(op.operands, facts, strict=True)
    ]
    with np.errstate(all="ignore"):
        at_zero = np.asarray(op.definition.reference(*operands, **op.attributes) != 0)
    for fact in facts:
        if fact.value is None and fact.nonzero is not None:
            at_zero = at_zero | fact.nonzero
    return at_zero


def _product(op: Op, facts: Sequence[Fact]) -> Mask:
    left, right = _supports(op, facts)
    return left & right


def _quotient(op: Op, facts: Sequence[Fact]) -> Mask | None:
    return facts[0].support


def _choice(op: Op, facts: Sequence[Fact]) -> Mask:
    _, on_true, on_false = _supports(op, facts)
    choice = facts[0].value
    return on_true | on_false if choice is None else np.where(choice, on_true, on_false)


def _moved(op: Op, facts: Sequence[Fact]) -> Mask | None:
    """Zeros move with their elements."""
    if not knows_places(op, facts):
        return None
    places = first_place(op)
    masks = _supports(op, facts)[:places]
    where = [fact.value for fact in facts[places:]]
    moved: Mask = op.definition.reference(*masks, *where, **op.attributes)
    return moved


def _scattered(op: Op, facts: Sequence[Fact]) -> Mask | None:
    """Whatever the kind, the result is zero where operand and updates are."""
    if op.attributes["kind"] == "set" or not knows_places(op, facts):
        return _moved(op, facts)
    masks = [mask.astype(np.int8) for mask in _supports(op, facts)[:2]]
    where = [fact.value for fact in facts[2:]]
    joined = indexing.scatter.reference(*masks, *where, **{**op.attributes, "kind": "max"})
    return np.asarray(joined != 0)


def _sum(op: Op, facts: Sequence[Fact]) -> Mask:
    (mask,) = _supports(op, facts)
    return np.asarray(np.any(mask, axis=op.attributes["axes"]))


def _contraction(op: Op, facts: Sequence[Fact]) -> Mask:
    # Products of floats are fast, those of bools are not; more than one term is still above zero.
    masks = [mask.astype(np.float32) for mask in _supports(op, facts)]
    return np.asarray(op.definition.reference(*masks, **{**op.attributes, "dtype": None}) > 0)


_RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "mul": _product,
        "div": _quotient,
        "select": _choice,
        "pad": _moved,
        "concatenate": _moved,
        "gather": _moved,
        "dynamic_slice": _moved,
        "dynamic_update_slice": _moved,
        "scatter": _scattered,
        "reduce_sum": _sum,
        "dot_general": _contraction,
    }
)
