"""Contraction of arrays whose axes carry labels: what einsum, matmul and tensordot come down to.

Axes of the same label are matched; a label that is not in the output is summed over. Arrays are
combined two at a time, each time by one `dot_general`, or by an elementwise product where nothing
is summed.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import TypeAlias

from weft.compiler.ir import dims
from weft.compiler.ir.build import origins
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ops.arithmetic import mul
from weft.compiler.ops.contraction import dot_general
from weft.compiler.ops.logic import and_
from weft.compiler.record import record
from weft.frontends.numpy.functions import reducing
from weft.frontends.numpy.functions.axis_access import stretch
from weft.frontends.numpy.functions.diagonals import diagonal
from weft.frontends.tracing.core import lift, reshape, transpose, wrap

Label: TypeAlias = Hashable
Labels: TypeAlias = "tuple[Label, ...]"
Path: TypeAlias = "Sequence[Sequence[int]]"

# What a symbolic size is taken for when the order of contraction is chosen.
_TYPICAL_SIZE = 128


@record
class Term:
    """An array and the label of each of its axes."""

    value: Value
    labels: Labels

    def size(self, label: Label) -> Size:
        return self.value.type.shape[self.labels.index(label)]

    def axes(self, labels: Sequence[Label]) -> tuple[int, ...]:
        return tuple(self.labels.index(label) for label in labels)


def contract(terms: Sequence[Term], output: Labels, path: Path | None = None) -> Value:
    """The product of all terms, summed over the labels that are not in the output."""
    remaining = _unstretched([_with_distinct_labels(term) for term in terms])
    if path is None:
        path = _best_path(remaining, output)
    for step in path:
        chosen = [remaining[position] for position in step]
        remaining = [term for i, term in enumerate(remaining) if i not in step]
        is_last = not remaining
        needed = {label for term in remaining for label in term.labels} | set(output)
        remaining.append(_combine(chosen, needed, output if is_last else None))
    result = _sum_out(remaining[0], output)
    return transpose(result.value, result.axes(output))


# --- one term ----------------------------------------------------------------------------------


def _with_distinct_labels(term: Term) -> Term:
    """The term with axes that share a label replaced by their diagonal."""
    while len(set(term.labels)) < len(term.labels):
        repeated = next(label for label in term.labels if term.labels.count(label) > 1)
        first = term.labels.index(repeated)
        second = term.labels.index(repeated, first + 1)
        sizes = term.value.type.shape[first], term.value.type.shape[second]
        if sizes[0] != sizes[1]:
            raise ShapeError(f"axes with the label {repeated} have sizes {sizes[0]} and {sizes[1]}")
        kept = [label for i, label in enumerate(term.labels) if i not in (first, second)]
        found = lift(diagonal(wrap(term.value), 0, first, second))
        term = Term(found, (*kept, repeated))
    return term


def _sum_out(term: Term, needed: Collection[Label]) -> Term:
    """The term summed over the labels that nothing else needs."""
    axes = [axis for axis, label in enumerate(term.labels) if label not in needed]
    if not axes:
        return term
    kind = reducing.ANY if term.value.type.dtype.is_bool else reducing.SUM
    kept = [label for label in term.labels if label in needed]
    return Term(reducing.reduce(kind, term.value, axes), tuple(kept))


def _unstretched(terms: Sequence[Term]) -> list[Term]:
    """The terms without axes of size 1 that other terms have longer: those only stretch."""
    sizes: dict[Label, Size] = {}
    for term in terms:
        for label, size in zip(term.labels, term.value.type.shape, strict=True):
            known = sizes.get(label, 1)
            if 1 not in (known, size) and known != size:
                raise ShapeError(
                    f"axes with the label {label} have the different sizes {known} and {size}:"
                    + origins([term.value for term in terms])
                )
            sizes[label] = size if known == 1 else known
    return [_without_short_axes(term, sizes) for term in terms]


def _without_short_axes(term: Term, sizes: dict[Label, Size]) -> Term:
    kept = [label for label in term.labels if term.size(label) == sizes[label]]
    return Term(reshape(term.value, tuple(term.size(label) for label in kept)), tuple(kept))


# --- several terms -----------------------------------------------------------------------------


def _combine(terms: Sequence[Term], needed: Collection[Label], output: Labels | None) -> Term:
    """The product of the terms; all but the labels needed are summed over as soon as possible."""
    *first, last = terms
    if not first:
        return _sum_out(last, needed)
    if len(first) > 1:
        first = [_combine(first, {*needed, *last.labels}, None)]
    return _pair(first[0], last, needed, output)


def _pair(left: Term, right: Term, needed: Collection[Label], output: Labels | None) -> Term:
    left = _sum_out(left, {*needed, *right.labels})
    right = _sum_out(right, {*needed, *left.labels})
    shared = [label for label in left.labels if label in right.labels]
    summed = [label for label in shared if label not in needed]
    if not summed:
        return _product(left, right, output)
    batch = [label for label in output or left.labels if label in shared and label in needed]
    for lhs, rhs in ((left, right), (right, left)):
        labels = (*batch, *_free(lhs, shared), *_free(rhs, shared))
        if output is None or labels == output:
            return _dot(lhs, rhs, batch, summed, labels)
    labels = (*batch, *_free(left, shared), *_free(right, shared))
    return _dot(left, right, batch, summed, labels)


def _free(term: Term, shared: Collection[Label]) -> list[Label]:
    return [label for label in term.labels if label not in shared]


def _dot(
    lhs: Term, rhs: Term, batch: Sequence[Label], summed: Sequence[Label], labels: Labels
) -> Term:
    value = dot_general(
        lhs.value,
        rhs.value,
        lhs_contract=lhs.axes(summed),
        rhs_contract=rhs.axes(summed),
        lhs_batch=lhs.axes(batch),
        rhs_batch=rhs.axes(batch),
    )
    return Term(value, labels)


def _product(left: Term, right: Term, output: Labels | None) -> Term:
    """The elementwise product, in the order of the output if that is known."""
    both = (*left.labels, *[label for label in right.labels if label not in left.labels])
    labels = tuple(label for label in output if label in both) if output is not None else both
    shape = [(left if label in left.labels else right).size(label) for label in labels]
    values = [_align(term, labels, shape) for term in (left, right)]
    multiply = and_ if left.value.type.dtype.is_bool else mul
    return Term(multiply(*values), labels)


def _align(term: Term, labels: Labels, shape: Sequence[Size]) -> Value:
    """The term's value in this order of labels, stretched over those it has not."""
    if not term.labels:
        return term.value
    present = [label for label in labels if label in term.labels]
    ordered = transpose(term.value, term.axes(present))
    return stretch(ordered, [labels.index(label) for label in present], shape)


# --- the order of contraction ------------------------------------------------------------------


def _best_path(terms: Sequence[Term], output: Labels) -> Path:
    if len(terms) <= 2:
        return [range(len(terms))]
    import opt_einsum  # its import takes a while, and few programs contract three arrays at once

    order = list(dict.fromkeys(label for term in terms for label in term.labels))
    symbols = {label: opt_einsum.get_symbol(i) for i, label in enumerate(order)}
    inputs = ",".join("".join(symbols[label] for label in term.labels) for term in terms)
    equation = f"{inputs}->{''.join(symbols[label] for label in output)}"
    shapes = [tuple(_typical(size) for size in term.value.type.shape) for term in terms]
    path, _ = opt_einsum.contract_path(equation, *shapes, shapes=True, optimize="auto")
    return [tuple(step) for step in path]


def _typical(size: Size) -> int:
    """A number for a size, symbolic or not."""
    guesses = {
        symbol.name: min(max(_TYPICAL_SIZE, symbol.lower), symbol.upper or _TYPICAL_SIZE)
        for symbol in dims.symbols(size)
    }
    return dims.evaluate(size, guesses)
