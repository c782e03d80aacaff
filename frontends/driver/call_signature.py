"""Calls in the terms of call stubs: what a program takes and gives, as `runtime.signatures`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Atom, Dim, Maximum, Symbol
from weft.compiler.ir.types import ArrayType
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import Call
from weft.runtime import signatures
from weft.runtime.signatures import Unsupported

# Of classes whose instances hold an array: the slot it is in, and what computes it if it is not.
HOLDS: Final = "__weft_holds__"


def arguments_of(
    call: Call, leaves: Sequence[signatures.Argument]
) -> tuple[tuple[signatures.Argument, ...], tuple[str, ...]]:
    """The arguments of a call as trees with these leaves, and the keywords of the last ones."""
    positional, named = call.treedef.children()
    static, rest = dict(call.static), iter(leaves)
    found = [
        _same(static[number]) if number in static else _argument(child, rest)
        for number, child in enumerate(positional.children())
    ]
    dynamic = zip(named.entries(), named.children(), strict=True)
    keywords = {str(name): _argument(child, rest) for name, child in dynamic}
    keywords |= {name: _same(value) for name, value in call.static if isinstance(name, str)}
    return (*found, *keywords.values()), tuple(keywords)


def _argument(spec: tree.TreeDef, leaves: Iterator[signatures.Argument]) -> signatures.Argument:
    if spec.is_leaf():
        return next(leaves)
    if spec.type is tree.Fixed:
        return _same(tree.unflatten(spec, ()))
    items = tuple(_argument(child, leaves) for child in spec.children())
    if spec.type is type(None):
        return signatures.Same(None)
    if spec.type is dict:
        return signatures.DictOf(tuple(spec.entries()), items, tree.key_order(spec))
    if spec.type is list:
        return signatures.ListOf(items)
    if spec.type is not None and (spec.type is tuple or hasattr(spec.type, "_fields")):
        return signatures.TupleOf(items, spec.type)
    static = tree.static_fields(spec)
    if spec.type is None or static is None:
        raise Unsupported(f"{spec.type} is taken apart in Python")
    names = (*spec.entries(), *static)
    return signatures.FieldsOf(spec.type, names, (*items, *map(_same, static.values())))


def _same(value: Any) -> signatures.Argument:
    """A static value: that of another call may be another object."""
    if type(value) is tuple:
        return signatures.TupleOf(tuple(map(_same, value)))
    return signatures.Same(value)


def leaf(
    value: Any, declared: ArrayType, *, layout: signatures.Layout, copied: int, donated: bool
) -> signatures.Argument:
    """What a leaf has to be like: an array of this layout, small ones copied, or a number."""
    dtype, shape = declared.dtype.numpy, sizes(declared.shape)
    array = signatures.ArrayOf(dtype, shape, layout, copied, donated)
    if type(value) is np.ndarray:
        return array
    holds = getattr(type(value), HOLDS, None)
    if holds is not None and not donated:  # what is given away is told so
        slot, attribute = holds
        return signatures.HeldArray(type(value), slot, attribute, array)
    if shape:
        raise Unsupported("an argument is no array yet")
    return signatures.NumberOf(type(value), dtype)


def output_of(spec: tree.TreeDef) -> signatures.Output:
    """What a call returns."""
    return _output(spec, iter(range(spec.num_leaves)))


def _output(spec: tree.TreeDef, numbers: Iterator[int]) -> signatures.Output:
    if spec.is_leaf():
        return signatures.Leaf(next(numbers))
    items = tuple(_output(child, numbers) for child in spec.children())
    if spec.type is type(None):
        return signatures.Same(None)
    if spec.type is dict:
        return signatures.DictOf(tuple(spec.entries()), items, tree.key_order(spec))
    if spec.type is list:
        return signatures.ListOf(items)
    if spec.type is tuple:
        return signatures.TupleOf(items)
    if spec.type is not None and hasattr(spec.type, "_fields"):
        return signatures.CallOf(spec.type, items)
    return signatures.CallOf(tree.putting_together(spec), items)


def sizes(shape: Sequence[dims.Size]) -> tuple[signatures.Size, ...]:
    """A shape in the stub's terms."""
    return tuple(_size(size) for size in shape)


def _size(size: dims.Size) -> signatures.Size:
    """A symbolic size in the stub's terms."""
    if not isinstance(size, Dim):
        return int(size)
    total: signatures.Size | None = None
    for monomial, factor in size.terms:
        term: signatures.Size = factor
        for atom, power in monomial:
            for _ in range(power):
                term = _atom(atom) if term == 1 else ("*", term, _atom(atom))
        total = term if total is None else ("+", total, term)
    assert total is not None
    return total


def _atom(atom: Atom) -> signatures.Size:
    if isinstance(atom, Symbol):
        return atom.name
    if isinstance(atom, Maximum):
        return ("max", _size(atom.left), _size(atom.right))
    return ("//", _size(atom.numerator), _size(atom.denominator))
