"""Which function stands for which of NumPy's: found by name, so a new function needs no entry
anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any, Final

import numpy as np

from weft.frontends.numpy.functions import (
    bit_packing,
    calculus,
    conditions,
    contraction,
    covariance,
    creation,
    diagonals,
    elementwise,
    fft,
    filtering,
    histograms,
    index_tricks,
    inquiry,
    joining,
    linalg,
    manipulation,
    mapping,
    padding,
    polynomials,
    quantiles,
    ranges,
    reductions,
    resizing,
    selection,
    sets,
    sorting,
    statistics,
    window_functions,
    writing,
)
from weft.frontends.numpy.functions.ufuncs import UFUNCS

Function = Callable[..., Any]

MAIN_MODULES: Final = (
    inquiry,
    creation,
    ranges,
    diagonals,
    manipulation,
    joining,
    resizing,
    padding,
    selection,
    conditions,
    elementwise,
    calculus,
    filtering,
    reductions,
    statistics,
    covariance,
    quantiles,
    histograms,
    sorting,
    sets,
    contraction,
    polynomials,
    mapping,
    writing,
    bit_packing,
    window_functions,
)


def _public(*modules: ModuleType) -> dict[str, Function]:
    return {name: getattr(module, name) for module in modules for name in module.__all__}


MAIN: Final[Mapping[str, Function]] = MappingProxyType(_public(*MAIN_MODULES))
OBJECTS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "vectorize": mapping.vectorize,
        "r_": index_tricks.r_,
        "c_": index_tricks.c_,
        **{name: getattr(np, name) for name in ("mgrid", "ogrid", "s_", "index_exp")},
    }
)
"""What `weft.numpy` has beside functions; what makes grids and slices of numbers is NumPy's."""

LINALG: Final[Mapping[str, Function]] = MappingProxyType(_public(linalg))
FFT: Final[Mapping[str, Function]] = MappingProxyType(_public(fft))


def _dispatch_table() -> dict[Function, Function]:
    table: dict[Function, Function] = {}
    for numpy_module, ours in (
        (np, MAIN),
        (np.lib.stride_tricks, MAIN),
        (np.linalg, LINALG),
        (np.fft, FFT),
    ):
        for name, function in ours.items():
            original = getattr(numpy_module, name, None)
            if original is not None and not isinstance(original, np.ufunc):
                table[original] = function
    return table


BY_NUMPY: Final[Mapping[Function, Function]] = MappingProxyType(_dispatch_table())
"""From NumPy's function object to ours, for `__array_function__`."""

GENERALISED: Final[Mapping[np.ufunc, Function]] = MappingProxyType(
    {
        getattr(np, name): MAIN[name]
        for name in ("matmul", "vecdot", "matvec", "vecmat")
        if hasattr(np, name)
    }
)
"""NumPy's ufuncs over more than single elements, as far as the NumPy that runs has them."""

UFUNC_NAMES: Final[Mapping[str, np.ufunc]] = MappingProxyType(
    {
        name: ufunc
        for name, ufunc in vars(np).items()
        if isinstance(ufunc, np.ufunc) and ufunc in UFUNCS
    }
)
"""From every name NumPy has for a ufunc (`abs`, `absolute`, `acos`, ...) to the ufunc."""
