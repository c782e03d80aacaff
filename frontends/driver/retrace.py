"""What tells compiled versions of a function apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.frontends.tracing.arguments import Call


def why_traced(name: str, call: Call, known: Sequence[Any]) -> str:
    """What is new about a call, compared with the version that is most like it."""
    if not known:
        return f"{name}: first call"
    differences = [_differences(call, key) for key in reversed(known)]  # of equals, the latest
    nearest = min(differences, key=len)
    return f"{name}: " + ("; ".join(nearest) or "the version was dropped from the cache")


def _differences(call: Call, key: Any) -> list[str]:
    treedef, kinds, static, orders, fixed = key
    mine = call.key
    if [name for name, _ in mine[4]] == [name for name, _ in fixed] and mine[4] != fixed:
        changed = [(name, now, then) for (name, now), (_, then) in zip(mine[4], fixed, strict=True)]
        return [f"{n} is {a[1]!r}, was {b[1]!r}" for n, a, b in changed if a != b]
    if treedef != mine[0]:
        return [f"the arguments have another structure: {mine[0]} instead of {treedef}"]
    differences = []
    for leaf, (type, weak, is_scalar) in zip(call.leaves, kinds, strict=True):
        if leaf.type != type:
            differences.append(f"{leaf.name} is {leaf.type}, was {type}")
        elif leaf.kind != (type, weak, is_scalar):
            now, then = _origin(leaf.weak, leaf.is_scalar), _origin(weak, is_scalar)
            differences.append(f"{leaf.name} came as {now}, before as {then}")
    for (argument_key, now_value), (_, then_value) in zip(mine[2], static, strict=False):
        if now_value != then_value:
            differences.append(
                f"the static argument {argument_key} is {now_value[1]!r}, was {then_value[1]!r}"
            )
    if len(mine[2]) != len(static):
        differences.append("other arguments are static")
    if mine[3] != orders:
        differences.append("the keys of a dict are in another order")
    return differences


def _origin(weak: bool, is_scalar: bool | None) -> str:
    return "a Python number" if weak else "a scalar of NumPy" if is_scalar else "an array"
