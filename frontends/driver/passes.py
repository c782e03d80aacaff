"""Which passes run over a traced graph: the default ones, and the user's own among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.compiler.passes.pipeline import DEFAULT, PassLike, as_pass
from weft.compiler.passes.running import Pass
from weft.compiler.rewrite.rule import Rule

_PREPARATION: Final = ("inline", "canonicalize")


def column(passes: Sequence[PassLike] | None, *, optimise: bool) -> list[Pass]:
    """The passes that `jit` runs: the user's own where the default ones have brought the graph into
    form, and the default ones if asked for.
    """
    own = [as_pass(item) for item in passes or ()]
    names = [item.name for item in DEFAULT]
    if optimise:
        position = names.index("canonicalize") + 1
        return [*DEFAULT[:position], *own, *DEFAULT[position:]]
    # Rules are compared with the graph in the form that their own patterns have.
    has_rules = any(isinstance(item, Rule) for item in passes or ())
    prepared = [DEFAULT[names.index(name)] for name in _PREPARATION] if has_rules else []
    return [*prepared, *own]
