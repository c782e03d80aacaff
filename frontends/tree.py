"""Pytrees: nested dicts, lists, tuples, namedtuples and dataclasses of arrays, through optree.

Plain dataclasses need no registration by the user: the first one met is registered in Weft's own
namespace.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import optree

from weft.compiler.ir.errors import ArgumentError

NAMESPACE: Final = "weft"
TreeDef = optree.PyTreeSpec


def flatten(tree: Any) -> tuple[list[Any], TreeDef]:
    """The leaves of a pytree in a fixed order, and its structure."""
    while True:
        leaves, treedef = optree.tree_flatten(tree, namespace=NAMESPACE)
        instances = [leaf for leaf in leaves if not isinstance(leaf, type)]
        unknown = {type(leaf) for leaf in instances if dataclasses.is_dataclass(leaf)}
        if not unknown:
            return leaves, treedef
        for kind in unknown:
            _register(kind)


def flatten_with_names(tree: Any) -> tuple[list[Any], list[str], TreeDef]:
    """The same with a readable name for each leaf: `params.w1`, `0.bias`."""
    leaves, treedef = flatten(tree)
    return leaves, list(_names(treedef)), treedef


@functools.lru_cache(maxsize=512)
def _names(treedef: TreeDef) -> tuple[str, ...]:
    """The names of the leaves; remembered, because every call of a compiled function asks."""
    return tuple([".".join(str(_entry(part)) for part in path) for path in treedef.accessors()])


def unflatten(treedef: TreeDef, leaves: Sequence[Any]) -> Any:
    """The pytree with these leaves."""
    return optree.tree_unflatten(treedef, leaves)


def map_tree(function: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """The pytree with a function applied to each leaf."""
    leaves, treedef = flatten(tree)
    others = [treedef.flatten_up_to(other) for other in rest]
    return unflatten(treedef, [function(*group) for group in zip(leaves, *others, strict=True)])


def told_apart(value: Any) -> Any:
    """A key that differs where Python's `==` does not: 1, 1.0 and True, 0.0 and -0.0."""
    if isinstance(value, tuple):
        return type(value), tuple([told_apart(item) for item in value])
    return type(value), repr(value) if isinstance(value, float | complex) else value


def _entry(part: Any) -> Any:
    return part.field if isinstance(part, optree.NamedTupleEntry) else part.entry


def _register(kind: type) -> None:
    """Fields with `metadata={"static": True}` belong to the structure, the others are children."""
    fields = dataclasses.fields(kind)
    dynamic = [f.name for f in fields if not f.metadata.get("static", False)]
    static = [f.name for f in fields if f.metadata.get("static", False)]

    def to_children(instance: Any) -> tuple[Any, Any, Any]:
        children = [getattr(instance, name) for name in dynamic]
        metadata = tuple([getattr(instance, name) for name in static])
        _require_hashable(kind, static, metadata)
        return children, (metadata, told_apart(metadata)), tuple(dynamic)

    def from_children(kept: Any, children: Any) -> Any:
        metadata, _ = kept
        instance: Any = object.__new__(kind)
        for name, value in (
            *zip(dynamic, children, strict=True),
            *zip(static, metadata, strict=True),
        ):
            object.__setattr__(instance, name, value)
        return instance

    optree.register_pytree_node(kind, to_children, from_children, namespace=NAMESPACE)


def _require_hashable(kind: type, names: Sequence[str], values: Sequence[Any]) -> None:
    """Structures are compared between calls, so what belongs to them must not change."""
    for name, value in zip(names, values, strict=True):
        try:
            hash(value)
        except TypeError:
            raise ArgumentError(
                f"the static field {name} of {kind.__name__} is a {type(value).__name__}, which "
                "cannot be hashed; use a tuple or another immutable value"
            ) from None
