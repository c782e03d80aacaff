"""Views: traced arrays that share memory with the one they were made of, as NumPy's do.

A view reads its base again after the base was written to, and writes through to it. Where NumPy
decides by strides whether a result is a view, which a trace does not know, both are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import Shape
from weft.compiler.ops.conversion import complex_, imag, real
from weft.frontends.functions import core, manipulation
from weft.frontends.trace import Tracer, View, current_trace, located, user_line

METHODS: Final = frozenset(("reshape", "transpose", "ravel", "squeeze", "swapaxes"))
"""NumPy functions that are methods here."""

_PERMUTATIONS: Final = frozenset(("moveaxis", "rollaxis", "matrix_transpose"))
_RESHAPES: Final = frozenset(("expand_dims", "atleast_1d", "atleast_2d", "atleast_3d"))
_READ_ONLY: Final = frozenset(
    ("broadcast_to", "flip", "fliplr", "flipud", "rot90", "diagonal")
    + ("split", "array_split", "hsplit", "vsplit", "dsplit", "unstack")
)
"""NumPy functions whose results follow writes to the array, but are not written to here."""

FUNCTIONS: Final = _PERMUTATIONS | _RESHAPES | _READ_ONLY | {"real", "imag"}
"""NumPy functions that return views of their first argument."""


class Viewed(Tracer):
    """A tracer with the views that NumPy's arrays have."""

    __slots__ = ()

    @property
    def T(self) -> Any:  # noqa: N802
        return self.transpose()

    @property
    def mT(self) -> Any:  # noqa: N802
        rank = self.type.rank
        if rank < 2:
            raise ShapeError("matrix transpose needs rank 2 or more", location=user_line())
        return self.transpose(*range(rank - 2), rank - 1, rank - 2)

    def transpose(self, *axes: Any) -> Any:
        """As `numpy.ndarray.transpose`."""
        rank = self.type.rank
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        chosen = range(rank)[::-1] if not given else given
        order = located(core.normalize_axes, tuple(chosen), rank)
        if len(order) != rank:
            raise ShapeError(f"axes {tuple(chosen)} do not match rank {rank}", location=user_line())
        inverse = np.argsort(order).tolist()
        return self._view_of(
            lambda value: core.transpose(value, order), lambda _, new: core.transpose(new, inverse)
        )

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """As `numpy.ndarray.swapaxes`."""
        order = list(range(self.type.rank))
        first = located(core.normalize_axis, axis1, len(order))
        second = located(core.normalize_axis, axis2, len(order))
        order[first], order[second] = second, first
        return self.transpose(*order)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """As `numpy.ndarray.reshape`."""
        target = shape[0] if len(shape) == 1 else shape
        return self._reshaped_view(located(manipulation.reshape, self, target, order=order), order)

    def ravel(self, order: str = "C") -> Any:
        """As `numpy.ndarray.ravel`."""
        return self.reshape(-1, order=order)

    def squeeze(self, axis: Any = None) -> Any:
        """As `numpy.ndarray.squeeze`."""
        return self._reshaped_view(located(manipulation.squeeze, self, axis))

    @property
    def flat(self) -> Any:
        return self.ravel()

    @property
    def real(self) -> Any:
        if not self.type.dtype.is_complex:
            return self
        return self._view_of(real, lambda base, new: complex_(new, imag(base)))

    @real.setter
    def real(self, new: Any) -> None:
        self.real[...] = new

    @property
    def imag(self) -> Any:
        if not self.type.dtype.is_complex:
            return current_trace().wrap(core.full(self.type.shape, 0, self.type.dtype))
        return self._view_of(imag, lambda base, new: complex_(real(base), new))

    @imag.setter
    def imag(self, new: Any) -> None:
        self.imag[...] = new

    def view_by(
        self, function: Callable[..., Any], name: str, result: Any, arguments: tuple[Any, Any]
    ) -> Any:
        """What `numpy.name(self, *args, **kwargs)` made, as views of this array; `function` is the
        traced version.
        """
        args, kwargs = arguments
        if name in ("real", "imag"):
            return getattr(self, name)
        if name in _PERMUTATIONS:
            # NumPy permutes sizes that are the numbers of their axes.
            numbered = np.empty(tuple(range(self.type.rank)))
            return self.transpose(*getattr(np, name)(numbered, *args, **kwargs).shape)
        if name in _RESHAPES:
            return self._reshaped_view(result)
        if isinstance(result, Tracer):
            return self._follow(result.value, lambda array: function(array, *args, **kwargs))
        return [
            self._follow(part.value, lambda array, i=i: function(array, *args, **kwargs)[i])  # type: ignore[misc]
            for i, part in enumerate(result)
        ]

    def _follow(self, value: Value, function: Callable[[Any], Any]) -> Any:
        wrap = self.region_trace.wrap
        return self._view_of(lambda base: function(wrap(base)).value, None, value)

    def _reshaped_view(self, reshaped: Tracer, order: str = "C") -> Any:
        """A view for certain if only size-1 axes come or go, or if this array has its own memory,
        in row-major order.
        """
        target, original = reshaped.type.shape, self.type.shape
        if _without_ones(target) != _without_ones(original) and (
            order != "C" or self._view is not None
        ):
            wrap = self.region_trace.wrap
            return self._view_of(
                lambda value: manipulation.reshape(wrap(value), target, order=order).value,
                None,
                reshaped.value,
                certain=False,
            )
        return self._view_of(
            lambda value: core.reshape(value, target),
            lambda _, new: core.reshape(new, original),
            reshaped.value,
        )

    def _view_of(
        self,
        get: Callable[[Value], Value],
        put: Callable[[Value, Value], Value] | None,
        value: Value | None = None,
        certain: bool = True,
    ) -> Any:
        trace = current_trace()
        if value is None:
            value = get(trace.read(self))
        if not self.type.shape:
            put, certain = None, False  # a view of a rank-0 array, a copy of a scalar
        view = View(self, get, put, certain) if self.region_trace is trace else None
        return trace.make_tracer(trace, value, weak=self.weak, view=view, owner=self._owner)


def _without_ones(shape: Shape) -> list[Any]:
    return [size for size in shape if size != 1]
