"""Through which operand elements an op's result elements depend on inputs: a rule per family.

A rule gets an op, what is known of its operands, the number of one operand and one of the results,
and returns the inputs that the result's elements have through that operand. It may say too many
inputs, never too few; an op without a rule depends on everything. Families are found by name, then
by trait, so that a new elementwise op, view or reduction needs no entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from weft.compiler.ir.dims import Dim
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.opdef import Trait
from weft.compiler.ops import indexing, shape
from weft.compiler.ops.window import Windows
from weft.compiler.record import record
from weft.compiler.transforms.rows import Ints, Mask, Rows, inputs, union

Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]

MOST_PAIRS: Final = 20_000_000
"""How many single products of a contraction are looked at before zeros are no longer told apart."""


@record
class Fact:
    """What is known of a value: the inputs of its elements (None: they have none), its array if no
    input and no argument decides it, where it may differ from zero (None: everywhere), and, for
    indices into a vector, which elements of that each of them may be (None: any).
    """

    rows: Rows | None = None
    value: Array | None = None
    nonzero: Mask | None = None
    choices: Rows | None = None

    @property
    def support(self) -> Mask | None:
        """Where the value may differ from zero, also if it is known."""
        return self.nonzero if self.value is None else np.asarray(self.value != 0)

    def inputs(self) -> Rows:
        """The inputs of a value that has some."""
        assert self.rows is not None
        return self.rows


Rule = Callable[[Op, Sequence[Fact], int, Value], Rows]


def rule_of(op: Op) -> Rule:
    """The rule of an op's family."""
    traits = op.definition.traits
    if not is_plain(op):
        # Of the ops on arrays of unknown size these two kinds keep elements apart all the same.
        if op.name == "transpose":
            return moved
        return elementwise if Trait.ELEMENTWISE in traits else everything
    if op.name in RULES:
        return RULES[op.name]
    if Trait.ELEMENTWISE in traits:
        return elementwise
    if Trait.VIEW in traits and len(op.operands) == 1:
        return moved
    return reduced if Trait.REDUCTION in traits else everything


def is_plain(op: Op) -> bool:
    """Whether an op can be looked at with NumPy: all sizes are numbers, and nothing happens."""
    values = (*op.operands, *op.results)
    return (
        all(value.type.is_static for value in values)
        and not op.regions
        and not op.definition.has_effect
        and not any(_has_symbol(attribute) for attribute in op.attributes.values())
    )


def _has_symbol(attribute: Any) -> bool:
    if isinstance(attribute, tuple):
        return any(_has_symbol(item) for item in attribute)
    return isinstance(attribute, Dim)


# --- shapes -------------------------------------------------------------------------------------


def shape_of(value: Value) -> Sizes:
    """The shape of a value as its rows count it: an axis of unknown size has one element, which
    stands for all.
    """
    return tuple([size if isinstance(size, int) else 1 for size in value.type.shape])


def size_of(value: Value) -> int:
    """The number of rows that a value has."""
    return math.prod(shape_of(value))


def numbered(sizes: Sequence[int]) -> Ints:
    """An array whose elements are their own numbers."""
    return np.arange(math.prod(sizes)).reshape(tuple(sizes))


def narrowed(sizes: Sequence[int], axes: Sequence[int]) -> Sizes:
    """The shape with size 1 along the axes."""
    return tuple([1 if axis in axes else size for axis, size in enumerate(sizes)])


def collapse(rows: Rows, sizes: Sequence[int], axes: Sequence[int]) -> Rows:
    """The elements of an array with those along the axes made one, which has the inputs of all."""
    if not axes:
        return rows
    narrow = narrowed(sizes, axes)
    targets = np.broadcast_to(numbered(narrow), tuple(sizes)).reshape(-1)
    return rows.merge(targets, np.arange(rows.count), math.prod(narrow))


def stretch(rows: Rows, sizes: Sequence[int], target: Sequence[int]) -> Rows:
    """The elements of an array repeated to a larger shape, as NumPy broadcasts."""
    if tuple(sizes) == tuple(target):
        return rows
    return rows.take(np.broadcast_to(numbered(sizes), tuple(target)))


# --- rules of whole families --------------------------------------------------------------------


def everything(op: Op, facts: Sequence[Fact], number: int, result: Value) -> Rows:
    """Every result element depends on all operand elements."""
    return facts[number].inputs().repeat(size_of(result))


def elementwise(op: Op, facts: Sequence[Fact], number: int, result: Value) -> Rows:
    return stretch(facts[number].inputs(), shape_of(op.operands[number]), shape_of(result))


def multiplied(op: Op, facts: Sequence[Fact], number: int, result: Value) -> Rows:
    """What the other factor makes zero does not count."""
    rows, other = elementwise(op, facts, number, result), facts[1 - number].support
    return rows if other is None else rows.keep(np.broadcast_to(other, shape_of(result)))


def selected(op: Op, facts: Sequence[Fact], number: int, result: Value) -> Rows:
    rows, choice = elementwise(op, facts, number, result), facts[0].value
    if number == 0 or choice is None:
        return rows
    return rows.keep(np.broadcast_to(choice if number == 1 else ~choice, shape_of(result)))


def moved(op: Op, facts: Sequence[Fact], number: int, result: Value) -> Rows:
    """The op's own reference, applied to element numbers, says where each element comes from.

    Elements count from 1, so that the zeros that some ops fill in stand for no element. An operand
    is given as it is if it says where (its value is known), and as zeros if it could be moved too.
    """
    places = first_place(op)
    operands = [
        fact.value if i >= places else np.zeros(shape_of(operand), np.int64)
        for i, (operand, fact) in enumerate(zip(op.operands, facts, strict=True))
    ]
    operands[number] = numbered(shape_of(op.operands[number])) + 1
    index: Ints = op.definition.reference(*operands, **op.attributes)
    return facts[number].inputs().take(index - 1)


def reduced(op: Op, facts: Sequence[Fact], number: int, result: Value) -> Rows:
    sizes, axes = shape_of(op.operands[number]), op.attributes.get("axes")
    if axes is None:
        axes = (op.attributes["axis"],) if "axis" in op.attributes else range(len(sizes))
    rows = collapse(facts[number].inputs(), sizes, tuple(axes))
    return rows if rows.count == size_of(result) else rows.repeat(size_of(result))


def along_axes(op: Op, facts: Sequence[Fact], number: int, result: Value) -> Rows:
    """Each line along the axes depends on the whole line."""
    sizes = shape_of(op.operands[number])
    axes = op.attributes["axes"] if "axes" in op.attributes else (op.attributes["axis"],)
    rows = collapse(facts[number].inputs(), sizes, axes)
    return stretch(rows, narrowed(sizes, axes), shape_of(result))


def cumulated(op: Op, facts: Sequence[Fact], number: int, result: Value) -> Rows:
    axis, reverse = op.attributes["axis"], op.attributes["reverse"]
    return _up_to(facts[number].inputs(), shape_of(result), axis, reverse)


def _up_to(rows: Rows, sizes: Sizes, axis: int, reverse: bool) -> Rows:
    """Each element has the inputs of all up to it along an axis, gathered in doubling steps."""
    numbers = numbered(sizes)
    position = np.expand_dims(np.arange(sizes[axis]), [i for i in range(len(sizes)) if i != axis])
    stride, step = math.prod(sizes[axis + 1 :]), 1
    while step < sizes[axis]:
        shift = -step if reverse else step
        before = position - shift
        inside = (before >= 0) & (before < sizes[axis])
        rows = union([rows, rows.take(np.where(inside, numbers - shift * stride, -1))])
        step *= 2
    return rows


# --- places that operands give ------------------------------------------------------------------

_FIRST_PLACE: Final = {"gather": 1, "dynamic_slice": 1, "scatter": 2, "dynamic_update_slice": 2}


def first_place(op: Op) -> int:
    """The number of the first operand that says where, rather than what."""
    return _FIRST_PLACE.get(op.name, len(op.operands))


def knows_places(op: Op, facts: Sequence[Fact]) -> bool:
    """Whether all operands that say where are known."""
    return all(fact.value is not None for fact in facts[first_place(op) :])


def read(op: Op, facts: Sequence[Fact], number: int, result: Value) -> Rows:
    """What is read where an index is not known may be anything along that axis."""
    if number >= first_place(op):
        return everything(op, facts, number, result)
    sizes, choices = shape_of(op.operands[0]), _choices(op, facts)
    if choices is not None:
        return choices.along(facts[0].inputs())
    unknown, index = _places(op, facts, sizes, shape_of(result))
    return collapse(facts[0].inputs(), sizes, unknown).take(index)


def written(op: Op, facts: Sequence[Fact], number: int, result: Value) -> Rows:
    """What is written where an index is not known may get to anything along that axis."""
    if number >= first_place(op):
        return everything(op, facts, number, result)
    if op.attributes.get("kind", "set") == "set" and knows_places(op, facts):
        return moved(op, facts, number, result)
    rows = facts[number].inputs()
    if number == 0:
        return rows
    sizes, choices = shape_of(result), _choices(op, facts)
    if choices is not None:
        return choices.turned().along(rows)
    unknown, index = _places(op, facts, sizes, shape_of(op.operands[1]))
    narrow, targets = narrowed(sizes, unknown), index.reshape(-1)
    inside = targets >= 0
    merged = rows.merge(targets[inside], np.arange(rows.count)[inside], math.prod(narrow))
    return stretch(merged, narrow, sizes)


def _choices(op: Op, facts: Sequence[Fact]) -> Rows | None:
    """Which elements of a vector each index of a gather or scatter may be, if that is known."""
    if op.operands[0].type.rank != 1 or "axes" not in op.attributes:
        return None
    return facts[first_place(op)].choices


def _places(op: Op, facts: Sequence[Fact], sizes: Sizes, part: Sizes) -> tuple[list[int], Ints]:
    """The axes of an array along which a place is not known, and, in the array narrowed to size 1
    along these, where each element of the part is that an op reads or writes (-1: nowhere).
    """
    first = first_place(op)
    values = [fact.value for fact in facts[first:]]
    places = [
        np.zeros(shape_of(operand), np.int64) if value is None else value
        for operand, value in zip(op.operands[first:], values, strict=True)
    ]
    if "axes" in op.attributes:
        named = {name: op.attributes[name] for name in ("axes", "batch_dims", "mode")}
        unknown = [a for a, value in zip(named["axes"], values, strict=True) if value is None]
        numbers = numbered(narrowed(sizes, unknown)) + 1
        index = indexing.gather.reference(numbers, *places, **named)
    else:
        unknown = [
            axis for axis, value in enumerate(values) if value is None and part[axis] != sizes[axis]
        ]
        numbers = numbered(narrowed(sizes, unknown)) + 1
        index = shape.dynamic_slice.reference(numbers, *places, sizes=narrowed(part, unknown))
    return unknown, np.broadcast_to(index - 1, part)


# --- contractions and windows -------------------------------------------------------------------


def contracted(op: Op, facts: Sequence[Fact], number: int, result: Value) -> Rows:
    """dot_general as a batch of matrix products."""
    own, other = op.operands[number], facts[1 - number].support
    mask = None if other is None else _as_matrices(op, 1 - number, other)
    index = _as_matrices(op, number, numbered(shape_of(own)))
    batch, rows, _ = index.shape
    columns = size_of(result) // max(batch * rows, 1)
    target = np.arange(batch * rows * columns)
    if number == 0:
        target = target.reshape(batch, rows, columns)
    else:
        target = target.reshape(batch, columns, rows).swapaxes(1, 2)
    return _products(facts[number].inputs(), index, mask, target)


def _as_matrices(op: Op, number: int, array: Array) -> Array:
    """An operand's array with axes merged into three: batch, free, contracted."""
    side = ("lhs", "rhs")[number]
    batch, contract = op.attributes[f"{side}_batch"], op.attributes[f"{side}_contract"]
    free = [axis for axis in range(array.ndim) if axis not in (*batch, *contract)]
    merged = [math.prod(array.shape[axis] for axis in group) for group in (batch, free, contract)]
    return array.transpose(*batch, *free, *contract).reshape(merged)


def _products(rows: Rows, index: Ints, mask: Mask | None, target: Ints) -> Rows:
    """Result `target[b, f, g]` reads `index[b, f, k]` (-1: nothing) for each k with `mask[b, g,
    k]`.
    """
    count = target.size
    if mask is None or mask.all() or np.count_nonzero(mask) * target.shape[1] > MOST_PAIRS:
        flat = index.reshape(-1)
        lines = np.repeat(np.arange(index.shape[0] * index.shape[1]), index.shape[2])
        inside = flat >= 0
        merged = rows.merge(lines[inside], flat[inside], index.shape[0] * index.shape[1])
        line = np.empty(count, np.int64)
        line[target] = numbered(index.shape[:2])[:, :, None]
        return merged.take(line)
    batch, column, term = np.nonzero(mask)
    sources = index[batch, :, term].reshape(-1)
    targets = target[batch, :, column].reshape(-1)
    inside = sources >= 0
    return rows.merge(targets[inside], sources[inside], count)


def convolved(op: Op, facts: Sequence[Fact], number: int, result: Value) -> Rows:
    """A convolution as one matrix product of windows and kernels per group."""
    rhs, groups = op.operands[1], op.attributes["groups"]
    windows = Windows(
        window=rhs.type.shape[2:],
        strides=op.attributes["strides"],
        padding=op.attributes["padding"],
        base_dilation=op.attributes["lhs_dilation"],
        window_dilation=op.attributes["rhs_dilation"],
    )
    batch, outputs, *positions = shape_of(result)
    terms = (shape_of(rhs)[1], *shape_of(rhs)[2:])

    def patches(array: Array) -> Array:
        slid = windows.slide(array, 0).reshape(batch, groups, terms[0], *positions, *terms[1:])
        ordered = np.moveaxis(slid, (1, 2), (0, 2 + len(positions)))
        return ordered.reshape(groups, batch * math.prod(positions), math.prod(terms))

    def kernels(array: Array) -> Array:
        return array.reshape(groups, outputs // groups, math.prod(terms))

    numbers = numbered(shape_of(op.operands[number])) + 1
    other = facts[1 - number].support
    if other is None:
        other = np.ones(shape_of(op.operands[1 - number]), np.bool_)
    target = np.moveaxis(
        numbered((batch, groups, outputs // groups, math.prod(positions))), (0, 2), (1, 3)
    ).reshape(groups, batch * math.prod(positions), outputs // groups)
    if number == 0:
        return _products(facts[0].inputs(), patches(numbers) - 1, kernels(other), target)
    return _products(facts[1].inputs(), kernels(numbers) - 1, patches(other), target.swapaxes(1, 2))


def windowed(op: Op, facts: Sequence[Fact], number: int, result: Value) -> Rows:
    return in_windows(op).along(facts[0].inputs())


def in_windows(op: Op) -> Rows:
    """Which elements of the operand lie in each window."""
    (result,) = op.results
    sizes, attributes = shape_of(op.operands[0]), dict(op.attributes)
    attributes.pop("kind", None)
    sources = Windows(**attributes).slide(numbered(sizes) + 1, 0).reshape(size_of(result), -1) - 1
    targets = np.broadcast_to(np.arange(size_of(result))[:, None], sources.shape)
    inside = sources >= 0
    elements = inputs(0, math.prod(sizes), math.prod(sizes))
    return elements.merge(targets[inside], sources[inside], size_of(result))


# --- linear algebra -----------------------------------------------------------------------------


def per_matrix(op: Op, facts: Sequence[Fact], number: int, result: Value) -> Rows:
    """No matrix of a batch touches another."""
    sizes = shape_of(op.operands[number])
    rows = collapse(facts[number].inputs(), sizes, (len(sizes) - 2, len(sizes) - 1))
    batch = sizes[:-2]
    rest = (1,) * (result.type.rank - len(batch))
    return stretch(rows, (*batch, *rest), shape_of(result))


def solved(op: Op, facts: Sequence[Fact], number: int, result: Value) -> Rows:
    """No right-hand side touches another, and a triangular solve substitutes in one direction."""
    if number == 0:
        return per_matrix(op, facts, number, result)
    sizes, rows = shape_of(result), facts[1].inputs()
    left = op.attributes.get("left_side", True)
    axis = len(sizes) - (2 if left else 1)
    if "lower" not in op.attributes:
        return stretch(collapse(rows, sizes, (axis,)), narrowed(sizes, (axis,)), sizes)
    is_forward = op.attributes["lower"] ^ op.attributes["transpose"] ^ (not left)
    return _up_to(rows, sizes, axis, reverse=not is_forward)


RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "mul": multiplied,
        "select": selected,
        "pad": moved,
        "concatenate": moved,
        "gather": read,
        "dynamic_slice": read,
        "scatter": written,
        "dynamic_update_slice": written,
        "sort": along_axes,
        "top_k": along_axes,
        "fft": along_axes,
        "dot_general": contracted,
        "convolution": convolved,
        "reduce_window": windowed,
        "window_argmax": windowed,
        **dict.fromkeys(
            ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "linear_recurrence"),
            cumulated,
        ),
        **dict.fromkeys(("cholesky", "lu", "slogdet", "qr", "eigh", "eig", "svd"), per_matrix),
        "solve": solved,
        "triangular_solve": solved,
    }
)
