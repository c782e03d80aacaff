"""Statements that write to arrays, and Python's branches and loops, which Weft converts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.fuzz.slots import Filling, NoOperand

if TYPE_CHECKING:
    from tests.fuzz.generate import Draft

WRITES = (
    "{t}[{slice}] = {x}",
    "{t}[{spot}] = {lit}",
    "{t}[{slice}] += {x}",
    "{t} += {x}",
    "{t} *= {lit}",
    "{t}[{places}] = {x}",
    "{t}[{t} > 0] = {lit}",
    "{t}[{t} < 0] *= 2",
    "np.add.at({t}, {places}, {x})",
    "{t}[..., {slice}] = {x}",
    "{t}[{places}] += 1",
    "{t}[{slice}] = {t}[{slice}]",
    "{t}[...] = {x}",
    "np.maximum({t}, {x}, out={t})",
    "{t}[{i} % {size}] = {x}",
    "np.fill_diagonal({t}, {int})",
    "{t}.sort(axis={axis})",
    "np.add({t}, {x}, out={t})",
    "np.put({t}, {places}, {int})",
    "np.copyto({t}, {x})",
    "np.subtract.at({t}, {i} % {size}, 1)",
    "{t}[::-1] += {t}",
)
# Through a view: `w` is a name of its own for a part of the target.
VIEWED = (
    "w = {t}[{slice}]\nw[...] = {x}",
    "w = {t}.T\nw[{spot}] = {lit}",
    "w = {t}[{slice}]\nw += {x}",
    "w = {t}[::-1]\nw[0] = {lit}",
    "w = {t}[1:]\nw *= 2\n{t}[0] = 3",
    "w = {t}[{i} % {size}]\nw += {lit}",
    "w = [{t} * 2, {t}][{i} % 2]\nw[...] = {lit}",
    "w = {t}.T\nv = w[::-1]\nv[0] = {lit}",
)
CONVERTED = (
    "if np.sum({f}) > {lit}:\n    {w} = {0} * 2\nelse:\n    {w} = {0} - 1",
    "{w} = {f} * 1\nif np.max({0}) > 1:\n    {w} = {w} + {lit}",
    "{w} = {f} * 1\nfor i in range({many}):\n    {w} = {w} * 0.5 + i",
    "{w} = np.zeros_like({f1})\nfor i in range({size}):\n    {w}[i] = {0}[i] * 2 + {w}[i - 1]",
    "{w} = {f} * 1\nk = 0\nwhile np.sum(np.abs({w})) > 1:\n    {w} = {w} * 0.25\n    k += 1\n    if k > 20:\n        break",
    "{w} = {f1}.sum() * 0\nfor row in {0}:\n    if row.sum() > 0:\n        {w} = {w} + row.sum()\n    else:\n        {w} = {w} - 1",
    "{w} = {f} * 1\nfor i in range({many}):\n    if i % 2:\n        continue\n    if np.sum({w}) > 3:\n        break\n    {w} = {w} + {lit}",
    "{w} = {f} * 2 if {0}.sum() > 0 else -{0}",
    "{w} = {f} * 1\nk = 0\nwhile k < {many} and {w}.sum() < 5:\n    {w} = {w} + 0.5\n    k += 1",
    "parts = []\nfor i in range({size}):\n    parts.append({f1}[i % {size}] * 2)\n{w} = np.array(parts)",
    "parts = [{f} * 1]\nfor i in range({many}):\n    parts.append(parts[-1] * 0.5 + i)\n{w} = np.array(parts)",
    "parts = []\nfor i in range({many}):\n    parts.append({f} * len(parts))\n{w} = np.array(parts)",
    "parts = []\nfor i in range({many}):\n    parts.insert(0, {f} * i)\n{w} = np.array(parts)",
    "one, parts = {f1} * 1, []\nfor i in range({many}):\n    one[0] = i\n    parts.append(one)\n{w} = np.array(parts)",
    "{w} = {f1}.copy()\nfor i in range(1, {size}):\n    if {w}[i].sum() < {w}[i - 1].sum():\n        {w}[i] = {w}[i - 1]",
    "{w} = {f} * 1\nfor i in range(2):\n    for j in range({many}):\n        {w} = {w} * 0.5 + i - j",
)


def flow_statement(draft: Draft) -> list[str] | None:
    """Statements that were added to the draft, or None where none fit."""
    random = draft.random
    kind = random.choice(("write", "write", "view", "converted")) if draft.fresh else "converted"
    filling = Filling(random, draft.values)
    values: dict[str, Any] = {}
    if kind == "converted":
        template = random.choice(CONVERTED)
        values["w"] = f"w{len(draft.body)}"
    else:
        template = random.choice(WRITES if kind == "write" else VIEWED)
        target = random.choice(sorted(draft.fresh))
        values["t"] = target
        filling.subject, filling.array = target, draft.values[target]
        if ".at(" in template and filling.array.dtype.kind == "b":
            return None  # numbers have no meaning for bools
        if filling.array.dtype.kind == "u":
            return None  # nor have negative floats for unsigned integers
    for slot, text in values.items():
        template = template.replace("{" + slot + "}", text)
    try:
        if kind == "converted":
            lines = filling.fill(template).splitlines()
        else:
            lines = _with_subject(filling, template).splitlines()
    except (NoOperand, IndexError):
        return None
    if not draft.run(lines):
        return None
    draft.features["converted" if kind == "converted" else f"{kind} in place"] += 1
    if kind == "converted":
        draft.remember(values["w"], draft.names[values["w"]])
        draft.fresh.discard(values["w"])
    else:
        _forget_copies(draft, values["t"])
    return lines


def _with_subject(filling: Filling, template: str) -> str:
    """The template filled, with the target as its first operand."""
    from tests.fuzz.slots import _SLOT

    filling.axis = filling.array.ndim - 1
    return _SLOT.sub(lambda match: filling._slot(match[1]), template)


def may_be_a_view(text: str) -> bool:
    """Whether the layout of the operands, which a trace does not know, decides that in NumPy."""
    words = ("reshape", "ravel", "squeeze", "asarray", "atleast", "split", "resize")
    return any(word in text for word in words)


def _forget_copies(draft: Draft, target: str) -> None:
    """Forgets what NumPy may or may not have made a view of the target: a trace has no order."""
    value = draft.values[target]
    for name, other in list(draft.values.items()):
        if name == target or not isinstance(other, np.ndarray) or name in draft.parameters:
            continue
        made = next((line for line in draft.body if line.startswith(f"{name} = ")), "")
        if may_be_a_view(made):
            del draft.values[name]
            draft.fresh.discard(name)
        elif other.base is value:
            draft.values[name] = draft.names[name]
