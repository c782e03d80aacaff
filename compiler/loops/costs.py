"""What an element costs to compute, in units of an addition; rough, for choices only."""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.graph import Op
from weft.compiler.ir.opdef import Trait

MOST: Final = 1 << 20
PARALLEL: Final = 1 << 17  # additions, of vectors as of numbers, below which one thread is faster

_FREE: Final = frozenset(
    (
        *("broadcast", "transpose", "reverse", "slice", "reshape", "iota"),
        *("stop_gradient", "probe", "fence"),
    )
)
_COSTS: Final[dict[str, int]] = {
    **dict.fromkeys(("div", "sqrt", "floor_divide", "remainder", "gather"), 4),
    **dict.fromkeys(("rsqrt", "cbrt", "exp", "exp2", "log", "log2", "log10", "hypot"), 10),
    **dict.fromkeys(("expm1", "log1p", "sigmoid", "softplus", "sin", "cos", "tanh", "erf"), 14),
    **dict.fromkeys(("tan", "sinh", "cosh", "asin", "acos", "atan", "atan2", "erfc", "fmod"), 20),
    **dict.fromkeys(("pow", "asinh", "acosh", "atanh", "erfinv", "threefry2x32"), 40),
    **dict.fromkeys(("lgamma", "digamma", "polygamma", "i0e", "i1e"), 80),
}


def own_cost(op: Op) -> int:
    """The cost of one element of an op's result, its operands given."""
    if op.name in _FREE:
        return 0
    cost = _COSTS.get(op.name, 1)
    if op.results and op.results[0].type.dtype.is_complex:
        cost *= 4
    if op.name in ("concatenate", "pad", "dynamic_update_slice"):
        return len(op.operands)
    return cost


def is_free(op: Op) -> bool:
    """Whether the op only renames places."""
    return op.name in _FREE


def is_elementwise(op: Op) -> bool:
    return Trait.ELEMENTWISE in op.definition.traits
