"""The ops that rules of other families emit, by name.

Families need each other: the derivative of a broadcast is a sum, that of a sum a broadcast. So a
rule names an op of another family as `ops.reduce_sum`, and the table, which knows all families,
says once which op that is. Families import this file and not each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weft.compiler.ir.opdef import OpDef


class Primitives:
    """Ops as attributes; a name that Python has taken already ends in an underscore."""

    # arithmetic
    abs_: OpDef
    add: OpDef
    clamp: OpDef
    div: OpDef
    hypot: OpDef
    minimum: OpDef
    mul: OpDef
    neg: OpDef
    sign: OpDef
    sub: OpDef
    # logic
    and_: OpDef
    eq: OpDef
    ge: OpDef
    gt: OpDef
    le: OpDef
    lt: OpDef
    ne: OpDef
    or_: OpDef
    select: OpDef
    # conversion
    cast: OpDef
    complex_: OpDef
    conj: OpDef
    imag: OpDef
    real: OpDef
    # special
    exp: OpDef
    log: OpDef
    # reduction and cumulative
    argmax: OpDef
    linear_recurrence: OpDef
    reduce_sum: OpDef
    # shape
    broadcast: OpDef
    dim_value: OpDef
    iota: OpDef
    pad: OpDef
    reshape: OpDef
    slice_: OpDef
    transpose: OpDef
    # ordering and indexing
    gather: OpDef
    scatter: OpDef
    sort: OpDef
    # contraction and linalg
    dot_general: OpDef
    solve: OpDef
    triangular_solve: OpDef
    # control
    switch: OpDef

    def bind(self, table: Mapping[str, OpDef]) -> None:
        """Say which ops the names mean."""
        for name in type(self).__annotations__:
            setattr(self, name, table[name.removesuffix("_")])


ops: Final = Primitives()
