"""Rules that bring products and reductions to one form, in which no operand is transposed.

They may change the order of a sum, which is no part of its meaning. Proofs are examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.compiler.ir.dtypes import f32
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops import TABLE, helpers
from weft.compiler.ops.contraction import dot_general
from weft.compiler.ops.reduction import reduce_max, reduce_sum
from weft.compiler.ops.shape import transpose
from weft.compiler.rewrite.rule import Apply, Exactness, Examples, Fits, Rule, example
from weft.compiler.rewrite.rules_shape import made_by, one_made_by, rule_of_form

REDUCTIONS: Final = tuple(
    [op for op in TABLE.values() if op.is_reduction and "axes" in op.attributes]
)


# --- reductions ---------------------------------------------------------------------------------


def _reduce_nothing(op: Op) -> Value | None:
    return op.operands[0] if not op.attributes["axes"] else None


def _reduce_transposed(op: Op) -> Value | None:
    """A reduction does not care for the order of its axes."""
    inner = made_by(op.operands[0], transpose)
    if inner is None:
        return None
    permutation = inner.attributes["permutation"]
    axes = sorted(permutation[axis] for axis in op.attributes["axes"])
    reduced = op.definition(inner.operands[0], axes=axes)
    left = [permutation[a] for a in range(len(permutation)) if a not in op.attributes["axes"]]
    rank = {axis: index for index, axis in enumerate(sorted(left))}
    return helpers.transpose(reduced, [rank[axis] for axis in left])


def _sort_axes(op: Op) -> Value | None:
    axes = op.attributes["axes"]
    ordered = tuple(sorted(axes))
    return None if axes == ordered else op.definition(op.operands[0], axes=ordered)


# --- products -----------------------------------------------------------------------------------


def _sorted_contraction(op: Op) -> Value | None:
    """Contracted axes in the order of lhs, and no needless dtype."""
    if op.attributes["dtype"] is None and len(op.attributes["lhs_contract"]) < 2:
        return None  # nearly all are in order
    attributes = dict(op.attributes)
    pairs = sorted(zip(attributes["lhs_contract"], attributes["rhs_contract"], strict=True))
    attributes["lhs_contract"] = tuple([left for left, _ in pairs])
    attributes["rhs_contract"] = tuple([right for _, right in pairs])
    if attributes["dtype"] is op.operands[0].type.dtype:
        attributes["dtype"] = None
    return None if attributes == op.attributes else dot_general(*op.operands, **attributes)


def _transposed_operand(op: Op) -> Value | None:
    """A transposed operand is the operand with other axis numbers; what it leaves may move."""
    for side, name in enumerate(("lhs", "rhs")):
        inner = made_by(op.operands[side], transpose)
        if inner is None:
            continue
        permutation = inner.attributes["permutation"]
        attributes = dict(op.attributes)
        groups = [f"{name}_contract", f"{name}_batch"]
        for group in groups:
            attributes[group] = tuple([permutation[axis] for axis in op.attributes[group]])
        used = {axis for group in groups for axis in attributes[group]}
        operands = list(op.operands)
        operands[side] = inner.operands[0]
        product = dot_general(*operands, **attributes)
        free = [axis for axis in permutation if axis not in used]
        start = len(op.attributes["lhs_batch"]) if side == 0 else _leading(op)
        return helpers.transpose(product, _moved(product.type.rank, start, free))
    return None


def _leading(op: Op) -> int:
    """How many axes of the result come before the free ones of rhs."""
    return op.operands[0].type.rank - len(op.attributes["lhs_contract"])


def _moved(rank: int, start: int, free: Sequence[int]) -> list[int]:
    """The permutation of a result whose free axes from `start` on were in another order."""
    order = sorted(free)
    block = [start + order.index(axis) for axis in free]
    return [*range(start), *block, *range(start + len(free), rank)]


def _transposed_product(op: Op) -> Value | None:
    """A transpose that exchanges the free axes of lhs and rhs exchanges the operands instead."""
    inner = made_by(op.operands[0], dot_general)
    if inner is None:
        return None
    n_batch, middle = len(inner.attributes["lhs_batch"]), _leading(inner)
    rank = inner.results[0].type.rank
    exchanged = (*range(n_batch), *range(middle, rank), *range(n_batch, middle))
    if op.attributes["permutation"] != exchanged:
        return None
    attributes = inner.attributes
    swapped = {
        f"{to}_{group}": attributes[f"{of}_{group}"]
        for to, of in (("lhs", "rhs"), ("rhs", "lhs"))
        for group in ("contract", "batch")
    }
    return dot_general(*reversed(inner.operands), **swapped, dtype=attributes["dtype"])


# --- the rules ----------------------------------------------------------------------------------


def _sum_rule(
    name: str, roots: Sequence[OpDef], apply: Apply, *cases: object, fits: Fits | None = None
) -> Rule:
    """Of products and reductions, whose order of summation is no part of their meaning."""
    proof = Examples(tuple(cases))  # type: ignore[arg-type]  # each made by `example`
    return Rule(name, tuple(roots), apply, Exactness.STABLE, proof, fits=fits)


def _contracted(x: Value, y: Value, left: Sequence[int], right: Sequence[int]) -> Value:
    return dot_general(x, y, lhs_contract=left, rhs_contract=right)


RULES: Final[tuple[Rule, ...]] = (
    rule_of_form(
        "reduction of no axes",
        REDUCTIONS,
        _reduce_nothing,
        example("f32[2, 3]", lambda x: reduce_sum(x, axes=())),
    ),
    _sum_rule(
        "reduction of transpose",
        REDUCTIONS,
        _reduce_transposed,
        example(
            "f32[2, 3, 4]",
            lambda x: reduce_sum(transpose(x, permutation=(2, 1, 0)), axes=(1,)),
        ),
        example(
            "f32[2, 3, 4, 5]",
            lambda x: reduce_max(transpose(x, permutation=(2, 0, 3, 1)), axes=(1,)),
        ),
        fits=one_made_by(transpose),
    ),
    _sum_rule(
        "axes in order",
        REDUCTIONS,
        _sort_axes,
        example("f32[2, 3, 4]", lambda x: reduce_sum(x, axes=(2, 0))),
    ),
    _sum_rule(
        "product in order",
        (dot_general,),
        _sorted_contraction,
        example("f32[2, 3]", "f32[3, 2]", lambda x, y: _contracted(x, y, (1, 0), (0, 1))),
        example(
            "f32[2, 3]",
            "f32[3, 2]",
            lambda x, y: dot_general(x, y, lhs_contract=[1], rhs_contract=[0], dtype=f32),
        ),
    ),
    _sum_rule(
        "product of transpose",
        (dot_general,),
        _transposed_operand,
        example(
            "f32[3, 2]",
            "f32[3, 4]",
            lambda x, y: _contracted(transpose(x, permutation=(1, 0)), y, (1,), (0,)),
        ),
        example(
            "f32[2, 3, 4, 5]",
            "f32[5, 6]",
            lambda x, y: _contracted(transpose(x, permutation=(2, 3, 1, 0)), y, (1,), (0,)),
        ),
        example(
            "f32[2, 3]",
            "f32[4, 3, 5]",
            lambda x, y: _contracted(x, transpose(y, permutation=(2, 1, 0)), (1,), (1,)),
        ),
        fits=one_made_by(transpose),
    ),
    _sum_rule(
        "transpose of product",
        (transpose,),
        _transposed_product,
        example(
            "f32[2, 3]",
            "f32[3, 4]",
            lambda x, y: transpose(_contracted(x, y, (1,), (0,)), permutation=(1, 0)),
        ),
        example(
            "f32[7, 2, 3]",
            "f32[7, 3, 4, 5]",
            lambda x, y: transpose(
                dot_general(x, y, lhs_contract=[2], rhs_contract=[1], lhs_batch=[0], rhs_batch=[0]),
                permutation=(0, 2, 3, 1),
            ),
        ),
        fits=one_made_by(dot_general),
    ),
)
