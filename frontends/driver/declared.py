"""Declared types of arguments (`jit(specs=...)`), in place of those of the arrays that come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import ArgumentError
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import ArgumentLeaf, Call, describe_leaf


class DeclaredTypes:
    """The types of the leaves of all calls of a function; those that were left open (`...`) are
    the arguments' own.
    """

    def __init__(self, specs: Sequence[Any], function: str) -> None:
        from weft.frontends.tracing.spec import spec

        leaves, _ = tree.flatten(tuple(specs))
        self._types = [None if leaf is Ellipsis else spec(leaf) for leaf in leaves]
        self._function = function

    def of(self, call: Call) -> Call:
        """The call with these types."""
        if len(self._types) != len(call.leaves):
            raise ArgumentError(
                f"{self._function} was given {len(self._types)} specs but is called with "
                f"{len(call.leaves)} arrays"
            )
        leaves = [
            leaf if type is None else describe_leaf(leaf.name, type, "")
            for leaf, type in zip(call.leaves, self._types, strict=True)
        ]
        return replace(call, leaves=tuple(leaves))


def passed_dtype(leaf: ArgumentLeaf, declared: DType) -> DType:
    """The dtype in which an argument is passed: its own, but a Python scalar takes a declared one
    of its kind or a wider kind.
    """
    own = leaf.type.dtype
    fits = declared.is_complex or (declared.is_float and not own.is_complex)
    fits = fits or (declared.is_integer and own.is_integer)
    return declared if leaf.weak and fits else own


def types_of(specs: Sequence[Any] | None, function: str) -> DeclaredTypes | None:
    """The declared types, if there are any."""
    return None if specs is None else DeclaredTypes(specs, function)
