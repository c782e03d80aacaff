"""The control family: ops that hold regions, and calls to the host, from their files."""

from __future__ import annotations

from typing import Final

from weft.compiler.ops.branch import switch
from weft.compiler.ops.calls import call, checkpoint, custom_jvp, custom_vjp, reverse_rule
from weft.compiler.ops.failing import fail
from weft.compiler.ops.host import host_call
from weft.compiler.ops.scan import scan
from weft.compiler.ops.while_loop import while_

__all__ = [
    "OPS",
    "call",
    "checkpoint",
    "custom_jvp",
    "custom_vjp",
    "fail",
    "host_call",
    "reverse_rule",
    "scan",
    "switch",
    "while_",
]

OPS: Final = (
    switch,
    while_,
    scan,
    call,
    checkpoint,
    custom_jvp,
    custom_vjp,
    reverse_rule,
    host_call,
    fail,
)
