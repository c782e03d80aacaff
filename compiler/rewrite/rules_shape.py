"""Rules that bring ops to one form: views of views, casts of casts, stretched numbers.

They look at types and attributes more than at values, so they are functions of an op rather than
patterns; their proofs are examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from weft.compiler.ir.build import constant
from weft.compiler.ir.dtypes import DType, bf16, f16, f32, f64, i32, i64
from weft.compiler.ir.graph import Constant, Op, Result, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import Shape
from weft.compiler.ops import TABLE, helpers
from weft.compiler.ops.arithmetic import add, mul, trunc
from weft.compiler.ops.conversion import cast, stop_gradient
from weft.compiler.ops.shape import (
    broadcast,
    concatenate,
    dynamic_slice,
    pad,
    reshape,
    reverse,
    slice_,
    transpose,
)
from weft.compiler.ops.special import exp
from weft.compiler.rewrite.pattern import Known, Maker, is_made_by, uniform_value
from weft.compiler.rewrite.rule import Apply, Exactness, Examples, Fits, Rule, example

COMMUTATIVE: Final = tuple([op for op in TABLE.values() if op.is_commutative])
ELEMENTWISE: Final = tuple([op for op in TABLE.values() if op.is_elementwise and not op.is_marker])


def made_by(value: Value, definition: OpDef) -> Op | None:
    """The op that makes a value, if it is of this kind."""
    if isinstance(value, Result) and value.op.definition is definition:
        return value.op
    return None


def one_made_by(*definitions: OpDef) -> Fits:
    """Whether one of these ops makes one of the operands."""
    return lambda makers: any(is_made_by(m, each) for m in makers for each in definitions)


# --- numbers ------------------------------------------------------------------------------------


def _constant_right(op: Op) -> Value | None:
    left, right = op.operands[:2]
    if not _is_known(left) or _is_known(right):
        return None
    return op.definition(right, left, **op.attributes)


def _is_known(value: Value) -> bool:
    stretched = made_by(value, broadcast)
    return isinstance(value if stretched is None else stretched.operands[0], Constant)


def _is_backwards(makers: tuple[Maker, ...]) -> bool:
    """The same, as far as the makers tell."""
    return isinstance(makers[0], Known) and not isinstance(makers[1], Known)


def _scalar_behind(value: Value) -> Value | None:
    """The rank-0 value that was stretched to this one, or None."""
    if not value.type.rank:
        return None
    stretched = made_by(value, broadcast)
    if stretched is not None and not stretched.operands[0].type.rank:
        return stretched.operands[0]
    if isinstance(value, Constant) and uniform_value(value) is not None:
        return Constant(value.array.reshape(-1)[0], value.location)
    return None


def _unstretch_operands(op: Op) -> Value | None:
    """Numbers are not stretched for an elementwise op; if all are numbers, its result is."""
    sources = [_scalar_behind(operand) for operand in op.operands]
    if not any(source is not None for source in sources):
        return None
    operands = [
        operand if source is None else source
        for operand, source in zip(op.operands, sources, strict=True)
    ]
    unstretched = op.definition(*operands, **op.attributes)
    return helpers.stretch(unstretched, op.results[0].type.shape)


def _has_stretched(makers: tuple[Maker, ...]) -> bool:
    return one_made_by(broadcast)(makers) or Known.CONSTANT in makers


# --- views --------------------------------------------------------------------------------------


def _same_shape(op: Op) -> Value | None:
    """A view that changes nothing."""
    x = op.operands[0]
    if op.definition is transpose:
        axes = op.attributes["permutation"]
        return x if list(axes) == list(range(x.type.rank)) else None
    if op.definition is reverse:
        return x if all(x.type.shape[axis] == 1 for axis in op.attributes["axes"]) else None
    if op.definition is slice_ and max(op.attributes["strides"], default=1) > 1:
        return None
    if op.definition is pad and any(end != 0 for end in op.attributes["low"]):
        return None
    return x if x.type.shape == op.results[0].type.shape else None


def reshape_of_reshape(op: Op) -> Value | None:
    inner = made_by(op.operands[0], reshape)
    return None if inner is None else helpers.reshape(inner.operands[0], op.attributes["shape"])


def transpose_of_transpose(op: Op) -> Value | None:
    inner = made_by(op.operands[0], transpose)
    if inner is None:
        return None
    first = inner.attributes["permutation"]
    permutation = [first[axis] for axis in op.attributes["permutation"]]
    return helpers.transpose(inner.operands[0], permutation)


def _transpose_of_ones(op: Op) -> Value | None:
    """A transpose that only moves axes of size 1 is a reshape."""
    x = op.operands[0]
    moved = [axis for axis in op.attributes["permutation"] if x.type.shape[axis] != 1]
    if any(left > right for left, right in pairwise(moved)):
        return None
    return reshape(x, shape=op.results[0].type.shape)


def _transpose_of_broadcast(op: Op) -> Value | None:
    """A stretched value transposed is the value, itself transposed if need be, stretched."""
    inner = made_by(op.operands[0], broadcast)
    if inner is None:
        return None
    places = helpers.inverse(op.attributes["permutation"])
    targets = [places[dim] for dim in inner.attributes["dims"]]
    order = sorted(range(len(targets)), key=targets.__getitem__)
    source = helpers.transpose(inner.operands[0], order)
    return broadcast(source, shape=op.results[0].type.shape, dims=sorted(targets))


def _broadcast_of_broadcast(op: Op) -> Value | None:
    inner = made_by(op.operands[0], broadcast)
    if inner is None:
        return None
    outer = op.attributes["dims"]
    return broadcast(
        inner.operands[0],
        shape=op.attributes["shape"],
        dims=[outer[dim] for dim in inner.attributes["dims"]],
    )


def _broadcast_of_reshape(op: Op) -> Value | None:
    """Axes of size 1 need not be made before they are stretched."""
    inner = made_by(op.operands[0], reshape)
    if inner is None:
        return None
    source = inner.operands[0]
    kept = _inserted_into(source.type.shape, inner.attributes["shape"])
    if kept is None:
        return None
    outer = op.attributes["dims"]
    return broadcast(source, shape=op.attributes["shape"], dims=[outer[axis] for axis in kept])


def _inserted_into(source: Shape, target: Shape) -> list[int] | None:
    """Where the axes of `source` are in `target` if that has only some of size 1 more."""
    kept: list[int] = []
    for axis, size in enumerate(target):
        if len(kept) < len(source) and source[len(kept)] == size:
            kept.append(axis)
        elif size != 1:
            return None
    return kept if len(kept) == len(source) else None


def _broadcast_that_inserts(op: Op) -> Value | None:
    """A broadcast that only adds axes of size 1 is a reshape."""
    x = op.operands[0]
    sizes = [op.attributes["shape"][dim] for dim in op.attributes["dims"]]
    if list(x.type.shape) != sizes or not x.type.rank:
        return None
    added = [s for d, s in enumerate(op.attributes["shape"]) if d not in op.attributes["dims"]]
    if any(size != 1 for size in added):
        return None
    return reshape(x, shape=op.attributes["shape"])


def _slice_of_slice(op: Op) -> Value | None:
    inner = made_by(op.operands[0], slice_)
    if inner is None:
        return None
    starts, limits, strides = [], [], []
    for axis, step in enumerate(inner.attributes["strides"]):
        first = inner.attributes["starts"][axis]
        start, limit = op.attributes["starts"][axis], op.attributes["limits"][axis]
        if step != 1 and not (isinstance(start, int) and isinstance(limit, int)):
            return None
        # What is empty begins where the first slice does: steps from its end may leave the array.
        is_empty = step != 1 and start == limit
        starts.append(first if is_empty else first + start * step)
        limits.append(first if is_empty else first + (limit - 1) * step + 1)
        strides.append(step * op.attributes["strides"][axis])
    return slice_(inner.operands[0], starts=starts, limits=limits, strides=strides)


def _reverse_of_reverse(op: Op) -> Value | None:
    inner = made_by(op.operands[0], reverse)
    if inner is None:
        return None
    axes = set(op.attributes["axes"]) ^ set(inner.attributes["axes"])
    x = inner.operands[0]
    return reverse(x, axes=sorted(axes)) if axes else x


def _concatenate_of_one(op: Op) -> Value | None:
    """Without empty operands; one operand is its own result."""
    axis = op.attributes["axis"]
    filled = [v for v in op.operands if v.type.shape[axis] != 0] or list(op.operands[:1])
    if len(filled) == 1:
        return filled[0]
    return concatenate(*filled, axis=axis) if len(filled) < len(op.operands) else None


# --- casts --------------------------------------------------------------------------------------


def _same_dtype(op: Op) -> Value | None:
    x = op.operands[0]
    return x if x.type.dtype is op.attributes["dtype"] else None


def _cast_of_cast(op: Op) -> Value | None:
    inner = made_by(op.operands[0], cast)
    if inner is None or not is_lossless(inner.operands[0].type.dtype, inner.attributes["dtype"]):
        return None
    return cast(inner.operands[0], **op.attributes)


def _cast_of_truncated(op: Op) -> Value | None:
    """Casts of floats to integers go towards zero themselves."""
    inner = made_by(op.operands[0], trunc)
    if inner is None or not op.attributes["dtype"].is_integer:
        return None
    return cast(inner.operands[0], **op.attributes)


def is_lossless(source: DType, target: DType) -> bool:
    """Whether every value of one dtype is a value of the other."""
    if source is target or source.is_bool:
        return True
    if target.is_bool or (source.is_complex and not target.is_complex):
        return False
    if source.is_float or source.is_complex:
        return target.is_inexact and _fits(source.real, target.real)
    digits = source.bits - source.is_signed
    if target.is_integer:
        return digits <= target.bits - target.is_signed and source.is_signed <= target.is_signed
    return digits <= _DIGITS[target.real]


# Digits of the significand, the implied one included; f16 and bf16 hold neither each other.
_DIGITS: Final = {bf16: 8, f16: 11, f32: 24, f64: 53}


def _fits(source: DType, target: DType) -> bool:
    return source is target or (
        _DIGITS[source] < _DIGITS[target] and (source, target) != (bf16, f16)
    )


def _no_stop(op: Op) -> Value | None:
    """Passes run after derivatives, so there is nothing left to stop."""
    return op.operands[0]


# --- the rules ----------------------------------------------------------------------------------


def _known_window(op: Op) -> Value | None:
    x, *starts = op.operands
    places = []
    for start, size, whole in zip(starts, op.attributes["sizes"], x.type.shape, strict=True):
        if not isinstance(start, Constant) or not isinstance(whole - size, int):
            return None
        places.append(min(max(int(start.array), 0), whole - size))
    limits = [place + size for place, size in zip(places, op.attributes["sizes"], strict=True)]
    return slice_(x, starts=places, limits=limits, strides=[1] * len(places))


def rule_of_form(
    name: str, roots: Sequence[OpDef], apply: Apply, *cases: object, fits: Fits | None = None
) -> Rule:
    proof = Examples(tuple(cases))  # type: ignore[arg-type]  # each made by `example`
    return Rule(name, tuple(roots), apply, Exactness.EXACT, proof, fits=fits)


def _stretched(x: Value, *shape: int) -> Value:
    return broadcast(x, shape=shape, dims=())


def _window(x: Value, *starts: int) -> Value:
    return dynamic_slice(x, *[constant(start, i64) for start in starts], sizes=(2, 3))


def _whole(x: Value) -> Value:
    rank = x.type.rank
    return slice_(x, starts=[0] * rank, limits=x.type.shape, strides=[1] * rank)


def _padded_by_nothing(x: Value) -> Value:
    zero = [0] * x.type.rank
    return pad(x, helpers.number(0, x), low=zero, high=zero, interior=zero)


def _sliced(x: Value, start: int, limit: int, step: int) -> Value:
    return slice_(x, starts=[start], limits=[limit], strides=[step])


RULES: Final[tuple[Rule, ...]] = (
    rule_of_form(
        "stop_gradient",
        (stop_gradient,),
        _no_stop,
        example("f32[2]", stop_gradient),
    ),
    rule_of_form(
        "no-op view",
        (reshape, transpose, broadcast, slice_, pad, reverse),
        _same_shape,
        example("f32[2, 3]", lambda x: reshape(x, shape=(2, 3))),
        example("f32[2, 3]", lambda x: transpose(x, permutation=(0, 1))),
        example("f32[2, 3]", lambda x: broadcast(x, shape=(2, 3), dims=(0, 1))),
        example("f32[2, 3]", _whole),
        example("f32[2, 3]", _padded_by_nothing),
        example("f32[2, 1]", lambda x: reverse(x, axes=(1,))),
    ),
    rule_of_form(
        "window at a known place",
        (dynamic_slice,),
        _known_window,
        example("f32[4, 3]", lambda x: _window(x, 1, 0)),
        example("f32[4, 3]", lambda x: _window(x, 3, -2)),  # moved inside
    ),
    rule_of_form(
        "no-op cast",
        (cast,),
        _same_dtype,
        example("bf16[2]", lambda x: cast(x, dtype=bf16)),
    ),
    rule_of_form(
        "cast of cast",
        (cast,),
        _cast_of_cast,
        example("f32[2]", lambda x: cast(cast(x, dtype=f64), dtype=f32)),
        example("f32[2]", lambda x: cast(cast(x, dtype=f64), dtype=f16)),
        example("f16[2]", lambda x: cast(cast(x, dtype=f32), dtype=bf16)),
        example("i16[2]", lambda x: cast(cast(x, dtype=f64), dtype=bf16)),
        example("u8[2]", lambda x: cast(cast(x, dtype=f32), dtype=f16)),
        fits=one_made_by(cast),
    ),
    rule_of_form(
        "cast of trunc",
        (cast,),
        _cast_of_truncated,
        example("f64[2]", lambda x: cast(trunc(x), dtype=i64)),
        example("f32[2]", lambda x: cast(trunc(x), dtype=i32)),
        example("f16[2]", lambda x: cast(trunc(x), dtype=i64)),
    ),
    rule_of_form(
        "constant to the right",
        COMMUTATIVE,
        _constant_right,
        example("f32[2]", lambda x: add(helpers.number(2, x), x)),
        fits=_is_backwards,
    ),
    rule_of_form(
        "stretched number",
        ELEMENTWISE,
        _unstretch_operands,
        example("f32[2]", "f32[]", lambda x, y: mul(x, _stretched(y, 2))),
        example("f32[]", "f32[]", lambda x, y: mul(_stretched(x, 2), _stretched(y, 2))),
        example("f32[]", lambda x: exp(_stretched(x, 2, 3))),
        example("f32[]", lambda x: exp(_stretched(x, 0))),
        fits=_has_stretched,
    ),
    rule_of_form(
        "reshape of reshape",
        (reshape,),
        reshape_of_reshape,
        example("f32[2, 6]", lambda x: reshape(reshape(x, shape=(3, 4)), shape=(12,))),
        fits=one_made_by(reshape),
    ),
    rule_of_form(
        "transpose of transpose",
        (transpose,),
        transpose_of_transpose,
        example(
            "f32[2, 3, 4]",
            lambda x: transpose(transpose(x, permutation=(1, 2, 0)), permutation=(1, 0, 2)),
        ),
        fits=one_made_by(transpose),
    ),
    rule_of_form(
        "transpose of axes of size 1",
        (transpose,),
        _transpose_of_ones,
        example("f32[2, 1, 4]", lambda x: transpose(x, permutation=(1, 0, 2))),
    ),
    rule_of_form(
        "transpose of broadcast",
        (transpose,),
        _transpose_of_broadcast,
        example(
            "f32[2, 3]",
            lambda x: transpose(broadcast(x, shape=(2, 4, 3), dims=(0, 2)), permutation=(2, 1, 0)),
        ),
        fits=one_made_by(broadcast),
    ),
    rule_of_form(
        "broadcast of broadcast",
        (broadcast,),
        _broadcast_of_broadcast,
        example(
            "f32[2, 1]",
            lambda x: broadcast(
                broadcast(x, shape=(2, 3, 1), dims=(0, 2)), shape=(2, 4, 3, 5), dims=(0, 2, 3)
            ),
        ),
        fits=one_made_by(broadcast),
    ),
    rule_of_form(
        "broadcast of reshape",
        (broadcast,),
        _broadcast_of_reshape,
        example("f32[2]", lambda x: broadcast(reshape(x, shape=(2, 1)), shape=(2, 3), dims=(0, 1))),
        example(
            "f32[1, 2]",
            lambda x: broadcast(reshape(x, shape=(1, 1, 2)), shape=(3, 4, 2), dims=(0, 1, 2)),
        ),
        fits=one_made_by(reshape),
    ),
    rule_of_form(
        "broadcast that inserts",
        (broadcast,),
        _broadcast_that_inserts,
        example("f32[2, 3]", lambda x: broadcast(x, shape=(2, 1, 3), dims=(0, 2))),
    ),
    rule_of_form(
        "slice of slice",
        (slice_,),
        _slice_of_slice,
        example("f32[20]", lambda x: _sliced(_sliced(x, 1, 19, 1), 2, 9, 3)),
        example("f32[20]", lambda x: _sliced(_sliced(x, 1, 20, 3), 1, 6, 2)),
        example("f32[20]", lambda x: _sliced(_sliced(x, 1, 20, 3), 2, 2, 2)),
        fits=one_made_by(slice_),
    ),
    rule_of_form(
        "reverse of reverse",
        (reverse,),
        _reverse_of_reverse,
        example("f32[2, 3]", lambda x: reverse(reverse(x, axes=(0, 1)), axes=(1,))),
        example("f32[2, 3]", lambda x: reverse(reverse(x, axes=(1,)), axes=(1,))),
        fits=one_made_by(reverse),
    ),
    rule_of_form(
        "concatenate of one",
        (concatenate,),
        _concatenate_of_one,
        example("f32[2, 3]", lambda x: concatenate(x, axis=1)),
        example("f32[0, 3]", "f32[2, 3]", lambda x, y: concatenate(x, y, axis=0)),
        example("f32[0]", "f32[2]", "f32[1]", lambda x, y, z: concatenate(x, y, z, axis=0)),
    ),
)
