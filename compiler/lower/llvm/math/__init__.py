"""Vector mathematics: transcendental functions of f32 and f64 values, written as LLVM code.

Every function works on any number of lanes (0: a scalar) and gives the same bits for each number.
Special values are NumPy's; docs/accuracy.md has the measured errors. Polynomials are minimax fits
made by docs/decisions/minimax.py.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.math.polynomial import define_once

# Which file has a function. A family is loaded when one of its functions is first met: most
# programs have few of them, and some families have long tables.
FAMILIES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "exponential": ("exp", "exp2", "expm1", "sigmoid"),
        "logarithm": ("log", "log2", "log10", "log1p", "softplus"),
        "power": ("sqrt", "rsqrt", "pow"),
        "circular": ("sin", "cos", "tan"),
        "hyperbolic": ("sinh", "cosh", "tanh"),
        "inverse": ("asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh"),
        "roots": ("cbrt", "hypot"),
        "erf": ("erf", "erfc", "erfinv"),
        "gamma": ("lgamma", "digamma", "polygamma"),
        "bessel": ("i0e", "i1e"),
    }
)
_HOMES: Final = {name: family for family, names in FAMILIES.items() for name in names}
# Functions of numbers that are faster in two equal lanes (by 4 to 48%, measured in loops where each
# waits for the last and where not): the bits that they take floats apart to, and their masks, stay
# in vector registers. Exponentials, logarithms and circular functions are not.
AS_VECTORS: Final = frozenset(
    ("pow", "cbrt", "hypot", "atan", "atan2", "asin", "acos", "asinh"),
)


def call(f: Function, name: str, *operands: V, **attributes: int) -> V:
    """The named function of F32 or F64 values, which all have the same type; the attributes are
    numbers that its code depends on, such as the order of polygamma.
    """
    emit = functools.partial(_function(name), **attributes)
    symbol = ".".join([name, *(f"{key}{value}" for key, value in attributes.items())])
    if name in AS_VECTORS and not operands[0].type.lanes:
        return define_once(f, symbol, functools.partial(_in_equal_lanes, emit), *operands)
    return define_once(f, symbol, emit, *operands)


def _function(name: str) -> Callable[..., V]:
    module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
    function: Callable[..., V] = module.FUNCTIONS[name]
    return function


def _in_equal_lanes(emit: Callable[..., V], f: Function, *operands: V) -> V:
    """A function of numbers by one of vectors."""
    return f.extract(emit(f, *[f.splat(x, 2) for x in operands]), 0)
