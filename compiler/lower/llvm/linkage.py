"""The names of functions that programs are linked to: the one place that knows how they begin.

Generated code that serves all programs is compiled once per machine: matrix products and their
tiles, convolutions, and what mathematical functions seldom call. BLAS and LAPACK are those of
SciPy, which the runtime finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from weft.compiler.abi import BLAS_THREADS, LIBRARIES, PARALLEL, SCIPY

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.emit.function import Module

PRODUCTS: Final = "products "
CONVOLUTIONS: Final = "convolutions "
MATH: Final = "mathematics"

_OWN: Final = "weft_"
_GEMM: Final = f"{_OWN}gemm_"
_TILE: Final = f"{_OWN}tile_"
_CONVOLUTION: Final = f"{_OWN}conv_"
_MATH: Final = f"{_OWN}math_"

_IMPORTED: Final = (SCIPY, _GEMM, _TILE, _CONVOLUTION, _MATH)
_PARALLEL: Final = (PARALLEL, _GEMM, _CONVOLUTION, BLAS_THREADS)


def gemm(dtypes: str) -> str:
    """The product of matrices of a kind."""
    return f"{_GEMM}{dtypes}"


def tile(dtype: str, kind: str, height: int, width: int) -> str:
    """A tile of a product: so many rows times so many vectors."""
    return f"{_TILE}{dtype}_{kind}_{height}x{width}"


def convolution(dtype: str) -> str:
    """The convolution of a dtype."""
    return f"{_CONVOLUTION}{dtype}"


def fortran(library: str, name: str) -> str:
    """A routine of "blas" or "lapack"."""
    return f"{LIBRARIES[library]}{name}"


def math(name: str) -> str:
    """A part of mathematical functions that is too long, and too seldom run, for each program."""
    return f"{_MATH}{name}"


# The shared code that has the functions whose names begin so; but for the last, one of each dtype.
_SHARED: Final = {_GEMM: PRODUCTS, _TILE: PRODUCTS, _CONVOLUTION: CONVOLUTIONS, _MATH: MATH}


def shared(name: str) -> str | None:
    """The name of the shared code that has a function; None if it is one of SciPy's."""
    for prefix, code in _SHARED.items():
        if name.startswith(prefix):
            dtypes = name.removeprefix(prefix).split("_")[0]
            return code if code == MATH else f"{code}{dtypes}"
    return None


def imports(module: Module) -> list[str]:
    """What a module needs to be linked to."""
    return [
        name
        for prefix in _IMPORTED
        for name in module.outside(prefix)
        if name not in module.functions
    ]


def has_parallel_code(module: Module) -> bool:
    """Whether a module may use several threads, in what it is linked to included."""
    return any(module.outside(prefix) for prefix in _PARALLEL)
