"""Objects of classes that are written in Python, taken apart into their attributes as dataclasses
are into their fields, so that branches and loops can make and replace them.

An object is taken apart only if it and all that it holds is plain: numbers, arrays, containers and
other such objects, each once. What might refer to the object in other ways, a bound method, a
closure, an object of a library, keeps it whole.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

import numpy as np
import optree

from weft.compiler.ir.dims import Dim
from weft.frontends.flow import state
from weft.frontends.tracing import tree
from weft.frontends.tracing.trace import Tracer
from weft.frontends.tracing.tree import NAMESPACE

MOST_PARTS: Final = 2_000
_OWN: Final = frozenset({"numpy", "scipy", "weft", "optree", "llvmlite"})
_HARMLESS: Final = (Tracer, np.ndarray, Dim, type, BuiltinFunctionType, np.ufunc)
Level = tuple[list[Any], Callable[[Sequence[Any]], Any]]


class Apart:
    """Stands for an object while a value is taken apart; put together, it is a new object."""

    def __init__(self, kind: type, names: tuple[str, ...], parts: Sequence[Any]) -> None:
        self.kind, self.names, self.parts = kind, names, parts


def _parts_of(node: Any) -> tuple[Any, Any, Any]:
    return node.parts, (node.kind, node.names), node.names


def _put_together(kept: Any, parts: Any) -> Any:
    return _made(kept[0], kept[1], parts)


_NODE: Final[Any] = Apart
optree.register_pytree_node(_NODE, _parts_of, _put_together, namespace=NAMESPACE)


def is_object(value: Any) -> bool:
    """Whether it is an object whose attributes are all that there is to it."""
    kind: Any = type(value)
    return _is_plain_class(kind) and state.attributes_of(value) is not None


def comes_apart(value: Any) -> bool:
    """Whether there are objects in a pytree, and all of them can be taken apart."""
    if isinstance(value, Tracer | int | float | np.ndarray):
        return False
    seen: set[int] = set()
    leaves: list[Any] = []
    stack = [value]
    while stack:
        part = stack.pop()
        if is_object(part):
            if id(part) in seen or len(seen) + len(leaves) > MOST_PARTS:
                return False
            seen.add(id(part))
        elif optree.tree_is_leaf(part, namespace=NAMESPACE):
            leaves.append(part)
            continue
        stack += level(part, True)[0]
    return bool(seen) and all(map(_is_harmless, leaves))


def flatten(value: Any, is_apart: bool) -> tuple[list[Any], tree.TreeDef]:
    """The leaves of a value and its structure, with or without its objects taken apart."""
    return tree.flatten(_apart(value) if is_apart else value)


def level(part: Any, is_apart: bool) -> Level:
    """The children of a node, and the function that makes a node of others."""
    if is_apart and is_object(part):
        kind, attributes = type(part), state.attributes_of(part) or {}
        names = tuple(sorted(attributes))
        return [attributes[name] for name in names], lambda parts: _made(kind, names, parts)
    children, metadata, _, unflatten = optree.tree_flatten_one_level(part, namespace=NAMESPACE)
    return list(children), lambda parts: unflatten(metadata, parts)


def is_node(part: Any, is_apart: bool) -> bool:
    """Whether a part of a value has children."""
    if is_apart and is_object(part):
        return True
    return not optree.tree_is_leaf(part, namespace=NAMESPACE)


def _apart(value: Any) -> Any:
    if is_object(value):
        attributes = state.attributes_of(value) or {}
        names = tuple(sorted(attributes))
        return Apart(type(value), names, [_apart(attributes[name]) for name in names])
    if optree.tree_is_leaf(value, namespace=NAMESPACE):
        return value
    children, put_together = level(value, False)
    new = [_apart(child) for child in children]
    is_same = all(a is b for a, b in zip(new, children, strict=True))
    return value if is_same else put_together(new)


def _made(kind: Any, names: Iterable[str], parts: Iterable[Any]) -> Any:
    instance = object.__new__(kind)
    state.set_attributes(instance, dict(zip(names, parts, strict=True)))
    return instance


def _is_harmless(leaf: Any) -> bool:
    """Whether a leaf cannot hold an object that it is a part of."""
    if isinstance(leaf, FunctionType):
        return leaf.__closure__ is None and not leaf.__defaults__ and not leaf.__kwdefaults__
    return isinstance(leaf, _HARMLESS) or state.is_immutable(leaf)


@functools.lru_cache(maxsize=1024)
def _is_plain_class(kind: Any) -> bool:
    package = kind.__module__.partition(".")[0]
    if package in _OWN or package in sys.stdlib_module_names or dataclasses.is_dataclass(kind):
        return False
    is_made_by_python = kind.__new__ is object.__new__ and not issubclass(kind, type | Tracer)
    return is_made_by_python and not hasattr(kind, "__del__") and kind is not Apart
