"""Pytrees: nested dicts, lists, tuples, namedtuples and dataclasses of arrays, through optree.

Plain dataclasses need no registration by the user: the first one met is registered in Weft's own
namespace.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from contextvars import ContextVar
from typing import Any, Final

import optree

from weft.compiler.ir.errors import ArgumentError

NAMESPACE: Final = "weft"
TreeDef = optree.PyTreeSpec
_FINISH: Final = "__of_children__"
_registered: Final[dict[type, tuple[str, ...]]] = {}  # dataclasses, with their static fields


@dataclasses.dataclass(frozen=True)
class Fixed:
    """A leaf as a part of the structure that it is in: users get the value itself."""

    value: Any = dataclasses.field(metadata={"static": True})

    def __of_children__(self) -> Any:
        return self if _keeps_fixed.get() else self.value


_keeps_fixed: Final[ContextVar[bool]] = ContextVar("weft_keeps_fixed", default=False)


def with_fixed(treedef: TreeDef, leaves: Sequence[Any], positions: Collection[int]) -> TreeDef:
    """The structure with some of the leaves, those at these positions, as parts of it."""
    marked = [Fixed(leaf) if n in positions else leaf for n, leaf in enumerate(leaves)]
    token = _keeps_fixed.set(True)
    try:
        return flatten(unflatten(treedef, marked))[1]
    finally:
        _keeps_fixed.reset(token)


def flatten(tree: Any) -> tuple[list[Any], TreeDef]:
    """The leaves of a pytree in a fixed order, and its structure."""
    while True:
        leaves, treedef = optree.tree_flatten(tree, namespace=NAMESPACE)
        if any(map(is_scipy, leaves)):
            tree = optree.tree_map(as_sparse_array, tree, namespace=NAMESPACE)
            continue
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


def flatten_once(tree: Any) -> list[Any]:
    """The parts of a node; none for a leaf."""
    if optree.tree_structure(tree, namespace=NAMESPACE).is_leaf():
        return []
    return list(optree.tree_flatten_one_level(tree, namespace=NAMESPACE)[0])


def unflatten(treedef: TreeDef, leaves: Sequence[Any]) -> Any:
    """The pytree with these leaves."""
    return optree.tree_unflatten(treedef, leaves)


def putting_together(treedef: TreeDef) -> Callable[..., Any]:
    """The function of the children of a structure's top that gives the whole."""
    level = treedef.one_level()
    assert level is not None, "a leaf has no children"
    return lambda *children: unflatten(level, children)


def holds(tree: Any, kind: type) -> bool:
    """Whether a node of a pytree is of a class."""
    leaves = optree.tree_leaves(
        tree, is_leaf=lambda node: isinstance(node, kind), namespace=NAMESPACE
    )
    return any(isinstance(leaf, kind) for leaf in leaves)


def map_tree(function: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """The pytree with a function applied to each leaf."""
    leaves, treedef = flatten(tree)
    others = [treedef.flatten_up_to(other) for other in rest]
    return unflatten(treedef, [function(*group) for group in zip(leaves, *others, strict=True)])


def static_fields(treedef: TreeDef) -> dict[str, Any] | None:
    """The static fields of a dataclass at the top of a structure, and their values; None if that is
    something else, or a class that says itself what is put together.
    """
    kind = treedef.type
    if kind is None or kind not in _registered or hasattr(kind, _FINISH):
        return None
    instance = unflatten(treedef, range(treedef.num_leaves))
    return {name: getattr(instance, name) for name in _registered[kind]}


def key_order(treedef: TreeDef) -> tuple[int, ...]:
    """The order of the keys of a dict at the top of a structure: where its first, second, ... key
    is among the children.
    """
    level = treedef.one_level()
    if level is None or treedef.type not in (dict, defaultdict):
        return ()
    return tuple(unflatten(level, range(level.num_children)).values())


def key_orders(treedef: TreeDef) -> tuple[Any, ...]:
    """The order of the keys of all dicts in a structure, of which its equality knows nothing."""
    if not _has_orders(treedef):
        return ()
    return key_order(treedef), *map(key_orders, treedef.children())


@functools.lru_cache(maxsize=512)
def _has_orders(treedef: TreeDef) -> bool:
    if treedef.type in (dict, defaultdict) and treedef.num_children > 1:
        return True
    return any(map(_has_orders, treedef.children()))


def is_plain(value: Any) -> bool:
    """Whether `distinct_key` says all about a value."""
    if type(value) is tuple:
        return all(map(is_plain, value))
    return type(value) in _PLAIN


_PLAIN: Final = (str, int, float, complex, bool, bytes, type(None), type(Ellipsis))


def distinct_key(value: Any) -> Any:
    """A key that differs where Python's `==` does not: 1, 1.0 and True, 0.0 and -0.0."""
    if isinstance(value, tuple):
        return type(value), tuple([distinct_key(item) for item in value])
    return type(value), repr(value) if isinstance(value, float | complex) else value


@functools.lru_cache(maxsize=512)
def constant_leaves(treedef: TreeDef) -> tuple[bool, ...]:
    """Which leaves derivatives leave alone: those in fields of dataclasses that are marked
    `metadata={"differentiable": False}`, such as positions of entries.
    """
    return tuple([any(map(_is_constant, path)) for path in treedef.accessors()])


def _is_constant(part: Any) -> bool:
    if not dataclasses.is_dataclass(part.type):
        return False
    fields = [field for field in dataclasses.fields(part.type) if field.name == part.entry]
    return any(not field.metadata.get("differentiable", True) for field in fields)


def is_alike(left: TreeDef, right: TreeDef) -> bool:
    """Whether two structures are the same but for hints: static fields of dataclasses that are
    marked `metadata={"static": True, "hint": True}`.
    """
    return left == right or _without_hints(left) == _without_hints(right)


def _without_hints(treedef: TreeDef) -> TreeDef:
    example = unflatten(treedef, range(treedef.num_leaves))

    def cleared(node: Any) -> Any:
        hints = {name: None for name in _hints(node)}
        return dataclasses.replace(node, **hints) if hints else node

    without = optree.tree_map(
        cleared, example, is_leaf=lambda node: bool(_hints(node)), namespace=NAMESPACE
    )
    return optree.tree_structure(without, namespace=NAMESPACE)


def _hints(node: Any) -> list[str]:
    if not dataclasses.is_dataclass(node):
        return []
    return [field.name for field in dataclasses.fields(node) if field.metadata.get("hint", False)]


def is_scipy(value: Any) -> bool:
    """Whether it is one of SciPy's sparse arrays; there are none before SciPy is loaded."""
    loaded = sys.modules.get("scipy.sparse")
    return loaded is not None and bool(loaded.issparse(value))


def as_sparse_array(leaf: Any) -> Any:
    """A sparse array of SciPy's as one of ours, which are nodes; others as they are."""
    if not is_scipy(leaf):
        return leaf
    from weft.frontends.tracing.sparse_array import of_scipy

    return of_scipy(leaf)


def _entry(part: Any) -> Any:
    return part.field if isinstance(part, optree.NamedTupleEntry) else part.entry


def _register(kind: type) -> None:
    """Fields with `metadata={"static": True}` belong to the structure, the others are children.

    A class with a method `__of_children__` says what users get for a node that was put together.
    """
    finish = getattr(kind, _FINISH, None)
    fields = dataclasses.fields(kind)
    names = {f.name for f in fields}
    dynamic = [f.name for f in fields if not f.metadata.get("static", False)]
    static = [f.name for f in fields if f.metadata.get("static", False)]

    def to_children(instance: Any) -> tuple[Any, Any, Any]:
        if len(getattr(instance, "__dict__", ())) > len(names):
            _require_no_shadows(kind, vars(instance).keys() - names)
        children = [getattr(instance, name) for name in dynamic]
        metadata = tuple([getattr(instance, name) for name in static])
        _require_hashable(kind, static, metadata)
        return children, (metadata, distinct_key(metadata)), tuple(dynamic)

    def from_children(kept: Any, children: Any) -> Any:
        metadata, _ = kept
        instance: Any = object.__new__(kind)
        for name, value in (
            *zip(dynamic, children, strict=True),
            *zip(static, metadata, strict=True),
        ):
            object.__setattr__(instance, name, value)
        return instance if finish is None else finish(instance)

    optree.register_pytree_node(kind, to_children, from_children, namespace=NAMESPACE)
    _registered[kind] = tuple(static)


def _require_no_shadows(kind: type, names: set[str]) -> None:
    """What is put together has fields only: an attribute of the class would come to light."""
    for name in sorted(names):
        found = inspect.getattr_static(kind, name, None)
        if found is not None and not hasattr(type(found), "__get__"):
            raise ArgumentError(
                f"{kind.__name__} has an attribute {name} that is no field, in place of the one of "
                "its class; make it a field, as others are not handed on"
            )


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
