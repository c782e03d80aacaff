"""Dicts, lists and tuples of arrays, for contenders that have no such functions of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def tree_map(function: Callable[..., Any], *trees: Any) -> Any:
    """`function` applied to the leaves of trees that are built alike."""
    first = trees[0]
    if isinstance(first, dict):
        return {key: tree_map(function, *[tree[key] for tree in trees]) for key in first}
    if isinstance(first, list | tuple):
        return type(first)([tree_map(function, *items) for items in zip(*trees, strict=True)])
    return function(*trees)


def leaves(tree: Any) -> list[Any]:
    """The leaves in order; dicts by their sorted keys, as most peers return them."""
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    if isinstance(tree, list | tuple):
        return [leaf for item in tree for leaf in leaves(item)]
    return [tree]


def filled(tree: Any, values: Iterator[Any]) -> Any:
    """The tree with its leaves replaced by the values, in the order of `leaves`."""
    if isinstance(tree, dict):
        return {key: filled(tree[key], values) for key in sorted(tree)}
    if isinstance(tree, list | tuple):
        return type(tree)([filled(item, values) for item in tree])
    return next(values)
