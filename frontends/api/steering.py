"""What users say about fusion: where kernels end, what is computed where it is read, and which
products are rounded before they are added.

The compiler chooses well without; `explain()` shows what it chose. These are for the cases where
the user knows more, such as which values stay in the cache.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft.compiler.ops import conversion
from weft.frontends.eager.anywhere import eager
from weft.frontends.tracing import core, tree
from weft.frontends.tracing.conversion import prepared


@eager
def fence(tree_of_arrays: Any) -> Any:
    """The same arrays, each stored in memory: no kernel reaches across.

    >>> import numpy as np, weft as wf
    >>> @wf.jit
    ... def f(x):
    ...     y = wf.fence(np.exp(x))
    ...     return y + 1
    >>> float(f(np.zeros(3))[0])
    2.0
    """
    return _marked(tree_of_arrays, fuse=False)


@eager
def fuse(tree_of_arrays: Any) -> Any:
    """The same arrays, computed wherever they are read and not stored in between, as often as that
    may be.
    """
    return _marked(tree_of_arrays, fuse=True)


def no_fuse(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in kernels of its own: with fences around what it takes and what it returns."""

    @functools.wraps(function, updated=())
    def fenced(*args: Any, **kwargs: Any) -> Any:
        inner_args, inner_kwargs = fence((args, kwargs))
        return fence(prepared(function)(*inner_args, **inner_kwargs))

    return fenced


@eager
def rounded(tree_of_arrays: Any) -> Any:
    """The same arrays, rounded to their dtypes: where a product is added to something, it rounds
    first, as in NumPy.

    >>> import numpy as np, weft as wf
    >>> x = np.float64(1 + 2.0**-30)
    >>> f = wf.jit(lambda x: wf.rounded(x * x) - 1.0)
    >>> bool(f(x) == x * x - 1.0)
    True
    """
    return tree.map_tree(_rounded, tree_of_arrays)


def _rounded(x: Any) -> Any:
    value = core.lift(x)
    if not value.type.dtype.is_float:
        return x
    return core.wrap(conversion.rounded(value), weak=core.is_weak(x))


def _marked(tree_of_arrays: Any, *, fuse: bool) -> Any:
    return tree.map_tree(
        lambda x: core.wrap(conversion.fence(core.lift(x), fuse=fuse), weak=core.is_weak(x)),
        tree_of_arrays,
    )
