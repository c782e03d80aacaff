"""How elementwise ops are declared: factories that pair a reference with a type rule.

The ops themselves are in `arithmetic`, `logic`, `conversion` and `special`. Rules name ops of other
families through `primitives`; an op that a lambda names before its declaration is annotated
`: OpDef`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.compiler.ir.dtypes import DType, bool_
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.lowering import IndexMap, ScalarForm
from weft.compiler.ir.opdef import OpDef, Reference, Trait
from weft.compiler.ir.rules import JvpRule, Maybe, TransposeRule
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import helpers
from weft.compiler.ops.common import elementwise_shape, require_kind, same_dtype
from weft.compiler.ops.primitives import ops


def unchanged(dtype: DType) -> DType:
    """The result dtype of most ops: that of the operands."""
    return dtype


Partial = Callable[..., Value]
"""A partial derivative from operands and result: (x, y) for y = f(x), (x, y, z) for z = f(x, y)."""


def flat(op: Op, tangents: Sequence[Maybe]) -> None:
    """The jvp rule of ops whose derivative is zero wherever it exists, such as floor."""


def one(*values: Value) -> Value:
    """The partial derivative by an operand that is passed on; nothing is multiplied by it."""
    return helpers.number(1, values[-1])


def by_partials(*partials: Partial | None) -> JvpRule:
    """The jvp rule of an elementwise op with these partial derivatives; None: zero."""

    def jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
        total: Maybe = None
        for partial, tangent in zip(partials, tangents, strict=True):
            if partial is None or tangent is None:
                continue
            term = tangent
            if partial is not one:
                term = ops.mul(tangent, partial(*op.operands, *op.results))
            total = helpers.accumulate(total, helpers.stretch(term, op.results[0].type.shape))
        return total

    return jvp


def by_divisor(divisor: Partial) -> JvpRule:
    """The jvp rule of a unary op whose derivative is 1 over `divisor(x, y)`."""

    def jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
        (tangent,) = tangents
        assert tangent is not None
        return ops.div(tangent, divisor(*op.operands, *op.results))

    return jvp


def unary(
    name: str,
    doc: str,
    *,
    kinds: Sequence[str],
    reference: Reference,
    result: Callable[[DType], DType] = unchanged,
    derivative: Partial | None = None,
    jvp: JvpRule | None = None,
    transpose: TransposeRule | None = None,
    index_map: IndexMap | None = None,
    scalar: ScalarForm | None = None,
    cost: int = 1,
) -> OpDef:
    """An op on each element of one operand; `result` gives the result dtype.

    Its derivative is given as `derivative`, as a `jvp` rule, or, for a linear op, by `transpose`.
    `scalar` says how backends compute it that have no code of their own for it.
    """

    def infer(x: ArrayType) -> ArrayType:
        require_kind(x, kinds, "x")
        return x.with_dtype(result(x.dtype))

    return OpDef(
        name,
        doc,
        infer=infer,
        reference=reference,
        operands=("x",),
        traits=Trait.ELEMENTWISE,
        jvp=by_partials(derivative) if derivative is not None else jvp,
        linear=() if transpose is not None else None,
        transpose=transpose,
        index_map=index_map,
        scalar=scalar,
        cost=cost,
    )


def binary(
    name: str,
    doc: str,
    *,
    kinds: Sequence[str],
    reference: Reference,
    result: Callable[[DType], DType] = unchanged,
    operands: tuple[str, str] = ("x", "y"),
    traits: Trait = Trait.NONE,
    derivatives: tuple[Partial | None, Partial | None] | None = None,
    jvp: JvpRule | None = None,
    multilinear: tuple[int, ...] | None = None,
    transpose: TransposeRule | None = None,
    scalar: ScalarForm | None = None,
    cost: int = 1,
) -> OpDef:
    """An op on each pair of elements of two operands that share a dtype."""

    def infer(x: ArrayType, y: ArrayType) -> ArrayType:
        for operand, operand_name in zip((x, y), operands, strict=True):
            require_kind(operand, kinds, operand_name)
        return ArrayType(result(same_dtype((x, y))), elementwise_shape((x, y)))

    return OpDef(
        name,
        doc,
        infer=infer,
        reference=reference,
        operands=operands,
        traits=Trait.ELEMENTWISE | traits,
        jvp=by_partials(*derivatives) if derivatives is not None else jvp,
        multilinear=multilinear,
        transpose=transpose,
        scalar=scalar,
        cost=cost,
    )


def predicate(name: str, doc: str, *, kinds: Sequence[str], reference: Reference) -> OpDef:
    """A question about each element, answered with a bool."""
    return unary(name, doc, kinds=kinds, reference=reference, result=lambda _: bool_)


def comparison(
    name: str,
    doc: str,
    *,
    kinds: Sequence[str],
    reference: Reference,
    traits: Trait = Trait.NONE,
) -> OpDef:
    """A question about each pair of elements, answered with a bool."""
    return binary(
        name, doc, kinds=kinds, reference=reference, result=lambda _: bool_, traits=traits
    )
