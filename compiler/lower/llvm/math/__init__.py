"""Vector mathematics: transcendental functions of f32 and f64 values, written as LLVM code.

Every function works on any number of lanes (0: a scalar) and gives the same bits for each number.
Special values are NumPy's; docs/accuracy.md has the measured errors. Polynomials are minimax fits
made by docs/decisions/minimax.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from weft.compiler.lower.llvm.emit import Function, V
from weft.compiler.lower.llvm.math import (
    bessel,
    circular,
    erf,
    exponential,
    gamma,
    hyperbolic,
    inverse,
    logarithm,
    power,
    roots,
)
from weft.compiler.lower.llvm.math.polynomial import define_once

FUNCTIONS: Final[Mapping[str, Callable[..., V]]] = MappingProxyType(
    {
        **exponential.FUNCTIONS,
        **logarithm.FUNCTIONS,
        **power.FUNCTIONS,
        **circular.FUNCTIONS,
        **hyperbolic.FUNCTIONS,
        **inverse.FUNCTIONS,
        **roots.FUNCTIONS,
        **erf.FUNCTIONS,
        **gamma.FUNCTIONS,
        **bessel.FUNCTIONS,
    }
)


def call(f: Function, name: str, *operands: V, **attributes: int) -> V:
    """The named function of F32 or F64 values, which all have the same type; the attributes are
    numbers that its code depends on, such as the order of polygamma.
    """
    emit = functools.partial(FUNCTIONS[name], **attributes)
    symbol = ".".join([name, *(f"{key}{value}" for key, value in attributes.items())])
    return define_once(f, symbol, emit, *operands)
