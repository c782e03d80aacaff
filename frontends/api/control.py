"""Control flow on traced values for users: branches and loops as ops, and calls back to Python, by
functions that can be called inside and outside of traces. `regions.control` has what they do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft.frontends.eager.anywhere import eager
from weft.frontends.regions import control

callback = eager(control.callback)
cond = eager(control.cond)
debug_print = eager(control.debug_print)
dynamic_slice = eager(control.dynamic_slice)
dynamic_update_slice = eager(control.dynamic_update_slice)
fori_loop = eager(control.fori_loop)
map = eager(control.map)
probe = eager(control.probe)
scan = eager(control.scan)
stop_gradient = eager(control.stop_gradient)
switch = eager(control.switch)
while_loop = eager(control.while_loop)


def checkpoint(
    function: Callable[..., Any], *, policy: str = "nothing", names: Sequence[str] = ()
) -> Callable[..., Any]:
    """The same function; its intermediate values are recomputed for the backward part instead of
    kept.

    `policy` says what is kept: "nothing", "everything", "dots" (matrix products), or "names"
    (probes in `names`).
    """
    return eager(control.checkpoint(function, policy=policy, names=names))
