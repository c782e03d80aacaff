"""Views: traced arrays that share memory with the one they were made of, as NumPy's do.

A view reads its base again after the base was written to, and writes through to it. Where NumPy
decides by strides whether a result is a view, which a trace does not know, both are refused.
"""

from __future__ import annotations

import importlib
import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir.dtypes import dtype as as_dtype
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Result, Value
from weft.compiler.ir.types import Shape
from weft.compiler.ops.conversion import bitcast, complex_, imag, real
from weft.frontends.numpy.flat import Flat
from weft.frontends.numpy.functions import manipulation
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import Tracer, TracerView, current_trace, located, user_line

_PERMUTATIONS: Final = frozenset(
    ("transpose", "swapaxes", "moveaxis", "rollaxis", "matrix_transpose")
)
_RESHAPES: Final = frozenset(
    ("reshape", "squeeze", "expand_dims", "atleast_1d", "atleast_2d", "atleast_3d")
)
_FLIPS: Final = frozenset(("flip", "fliplr", "flipud"))  # which undo themselves
_SPLITS: Final = frozenset(("split", "array_split", "hsplit", "vsplit", "dsplit", "unstack"))
_READ_ONLY: Final = frozenset(("broadcast_to", "diagonal", "diag", "sliding_window_view"))
"""NumPy functions whose results follow writes to the array, but are not written to."""

FUNCTIONS: Final = frozenset(
    _PERMUTATIONS
    | _RESHAPES
    | _FLIPS
    | _SPLITS
    | _READ_ONLY
    | {"rot90", "ravel", "real", "imag", "broadcast_arrays"}
)
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
            lambda value: core.transpose(value, order),
            lambda _, new: core.transpose(new, inverse),
            like=lambda array: array.transpose(order),
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
        """As `numpy.ndarray.ravel`, which copies what is not contiguous."""
        raveled = located(manipulation.reshape, self, -1, order=order)
        return self._reshaped_view(raveled, order, contiguous=True)

    def squeeze(self, axis: Any = None) -> Any:
        """As `numpy.ndarray.squeeze`."""
        return self._reshaped_view(located(manipulation.squeeze, self, axis))

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """As `numpy.ndarray.view`, of numbers read as a real dtype of the same width."""
        own = self.type.dtype
        wanted = own if dtype is None or dtype is np.ndarray else located(as_dtype, dtype)
        kinds = ("int", "uint", "float")
        if wanted is own:
            return self._view_of(lambda value: value, lambda _, new: new)
        if own.bits != wanted.bits or own.kind not in kinds or wanted.kind not in kinds:
            raise current_trace().error(
                f".view({wanted}) of {self.type} needs another size or layout of elements; use "
                "x.real and x.imag, np.packbits, or .astype"
            )
        return self._view_of(
            lambda value: bitcast(value, dtype=wanted),
            lambda _, new: bitcast(new, dtype=own),
            like=lambda array: array.view(wanted.numpy),
        )

    @property
    def device(self) -> str:
        return "cpu"

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        """As `numpy.ndarray.to_device`: there is the one device."""
        if device != "cpu":
            raise current_trace().error(f'a traced array is on device "cpu", not {device!r}')
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return importlib.import_module("weft.numpy")  # users of the protocol are few

    @property
    def flat(self) -> Any:
        return Flat(self)

    @flat.setter
    def flat(self, new: Any) -> None:
        Flat(self)[:] = new

    @property
    def real(self) -> Any:
        if not self.type.dtype.is_complex:
            return self
        return self._view_of(
            real,
            lambda base, new: complex_(new, imag(base)),
            like=lambda array: array.real,
            weak=self.weak,  # a part of a Python number is one
        )

    @real.setter
    def real(self, new: Any) -> None:
        self.real[...] = new

    @property
    def imag(self) -> Any:
        if not self.type.dtype.is_complex:
            zeros = core.full(self.type.shape, 0, self.type.dtype)
            return current_trace().wrap(zeros, weak=self.weak)
        return self._view_of(
            imag,
            lambda base, new: complex_(real(base), new),
            like=lambda array: array.imag,
            weak=self.weak,
        )

    @imag.setter
    def imag(self, new: Any) -> None:
        self.imag[...] = new

    def view_by(
        self, function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What `numpy.name(self, *args, **kwargs)` makes, as views of this array; `function` is the
        traced version.
        """
        if name in ("real", "imag"):
            return getattr(self, name)
        if name == "ravel":
            return self.ravel(*args, **kwargs)
        result = located(function, self, *args, **kwargs)
        if name == "diag" and self.type.rank != 2:
            return result
        if name == "broadcast_arrays":
            pairs = zip((self, *args), result, strict=True)
            return tuple([a._stretched(r) if isinstance(a, Viewed) else r for a, r in pairs])
        if name in _PERMUTATIONS:
            return self._permuted_view(result.value)
        if name in _RESHAPES and isinstance(result, tuple):
            pairs = zip((self, *args), result, strict=True)
            return tuple([a._reshaped_view(r) if isinstance(a, Viewed) else r for a, r in pairs])
        if name in _RESHAPES:
            has_order = name == "reshape" and len(args) > 1
            return self._reshaped_view(result, args[1] if has_order else kwargs.get("order", "C"))
        if name in _SPLITS:
            whole: Any = self
            axis = _split_axis(name, self.type.rank, args, kwargs)
            keys = _keys_of_parts(axis, self.type.shape[axis], result, _cuts(name, args, kwargs))
            return type(result)(whole.part(k, p.value) for k, p in zip(keys, result, strict=True))
        undo = _undoing(name, function, args, kwargs)
        return self._view_of(
            lambda base: function(core.wrap(base), *args, **kwargs).value,
            None if undo is None else lambda _, new: undo(core.wrap(new)).value,
            result.value,
            like=lambda array: _numpys(name)(array, *args, **kwargs),
        )

    def _stretched(self, result: Tracer) -> Any:
        """The view that this array broadcast to a shape is."""
        shape: Any = result.type.shape
        return self._view_of(
            lambda base: core.broadcast_value(base, shape),
            None,
            result.value,
            like=lambda array: np.broadcast_to(array, shape),
        )

    def _permuted_view(self, value: Value) -> Any:
        """The view that a transpose of this array is; it is the array itself if no axis moved."""
        order = range(self.type.rank)
        if isinstance(value, Result) and value is not current_trace().read(self):
            order = value.op.attributes["permutation"]
        inverse = np.argsort(order).tolist()
        return self._view_of(
            lambda base: core.transpose(base, order),
            lambda _, new: core.transpose(new, inverse),
            value,
            like=lambda array: array.transpose(order),
        )

    def _reshaped_view(self, reshaped: Tracer, order: str = "C", contiguous: bool = False) -> Any:
        """A view for certain if this array has its own memory, in row-major order, or if only
        size-1 axes come or go and the result need not be `contiguous`.
        """
        target, original = reshaped.type.shape, self.type.shape
        same = _without_ones(target) == _without_ones(original)
        own = self._view is None and (order == "C" or same)

        def like(array: Any) -> Any:
            if contiguous and not array.flags[f"{order}_CONTIGUOUS"]:
                raise ValueError("what does not lie in one piece is copied")
            return _reshaped_in_place(array, target, order)

        if not own and (contiguous or not same):
            return self._view_of(
                lambda value: manipulation.reshape(core.wrap(value), target, order=order).value,
                lambda _, new: manipulation.reshape(core.wrap(new), original, order=order).value,
                reshaped.value,
                certain=False,
                like=like,
            )
        return self._view_of(
            lambda value: core.reshape(value, target),
            lambda _, new: core.reshape(new, original),
            reshaped.value,
            like=like,
        )

    def _view_of(
        self,
        get: Callable[[Value], Value],
        put: Callable[[Value, Value], Value] | None,
        value: Value | None = None,
        certain: bool = True,
        like: Callable[[Any], Any] = lambda array: array.view(),
        weak: bool = False,
    ) -> Any:
        trace = current_trace()
        if value is None:
            value = get(trace.read(self))
        if not self.type.shape:
            put, certain = None, False  # a view of a rank-0 array, a copy of a scalar
        view = _of_this_shape(TracerView(self, get, put, certain, like))
        return trace.make_tracer(trace, value, weak=weak, view=view, owner=self._owner)


def set_shape(array: Any, shape: Any) -> None:
    """`x.shape = shape`: the same array, under all its names, in another shape."""
    spelling = "x = x.reshape(...)"
    array.require_writable(spelling)
    memory = array._family()
    if current_trace().parent is not None and memory.is_written:
        raise core.trace_error(
            "the shape of an array is set in a branch or loop of the program, where it may be one "
            f"from before; write {spelling}"
        )
    if memory.aliases is not None or memory.followers:
        raise core.trace_error(
            f"which array this is depends on values, so its shape stays; write {spelling}"
        )
    target = manipulation.reshape(core.wrap(array.value), shape).type.shape
    before = array.type.shape
    view = array._view
    if view is not None:
        _require_one_piece(array, target)
        array._view = TracerView(
            view.base,
            lambda base: core.reshape(view.get(base), target),
            view.put and (lambda base, new: view.put(base, core.reshape(new, before))),
            view.certain,
            lambda known: _reshaped_in_place(view.like(known), target, "C"),
        )
    array._value = core.reshape(array.value, target)


def _require_one_piece(array: Tracer, target: Shape) -> None:
    """Raise as NumPy does where a view cannot have a shape without a copy."""
    known: Any = np.empty(array.memory.type.shape, np.bool_)
    for view in array.path:
        known = view.like(known)
    try:
        _reshaped_in_place(known, target, "C")
    except ValueError as error:
        raise AttributeError(
            f"incompatible shape for in-place modification: {target} of a view that does not lie "
            "in one piece; use .reshape() to make a copy with the desired shape"
        ) from error


def _of_this_shape(view: TracerView) -> TracerView:
    """A view that stays right when the array that it is made of gets another shape."""
    shape = view.base.type.shape

    def back(base: Value, new: Value) -> Value:
        assert view.put is not None
        return core.reshape(view.put(core.reshape(base, shape), new), base.type.shape)

    return TracerView(
        view.base,
        lambda base: view.get(core.reshape(base, shape)),
        None if view.put is None else back,
        view.certain,
        view.like,
    )


def _numpys(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(np, name, None) or getattr(np.lib.stride_tricks, name)
    return found


def is_of_one(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether arguments of `einsum` are labels and one array, of which no axis is summed over: then
    the result is a view.
    """
    if len(args) != 2 or kwargs or not isinstance(args[0], str) or not isinstance(args[1], Viewed):
        return False
    before, arrow, after = args[0].replace(" ", "").partition("->")
    return bool(arrow) and set(before) <= set(after)


def einsum_by(array: Viewed, function: Callable[..., Any], labels: str) -> Any:
    """`numpy.einsum` of one array, as a view of it; a diagonal is not written to."""
    before, _, after = labels.replace(" ", "").partition("->")
    is_permutation = len(set(before)) == len(before)

    def back(_: Value, new: Value) -> Value:
        undone: Value = function(f"{after}->{before}", core.wrap(new)).value
        return undone

    return array._view_of(
        lambda base: function(labels, core.wrap(base)).value,
        back if is_permutation else None,
        like=lambda known: np.einsum(labels, known),
    )


def keeps_array(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a function was told to write to its argument."""
    return name == "nan_to_num" and not (args[1] if len(args) > 1 else kwargs.get("copy", True))


def _split_axis(name: str, rank: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """The axis along which a function cuts an array."""
    fixed = {"hsplit": min(1, rank - 1), "vsplit": 0, "dsplit": 2}
    if name in fixed:
        return fixed[name]
    given = args[1] if name != "unstack" and len(args) > 1 else kwargs.get("axis", 0)
    return core.normalize_axis(given, rank)


def _cuts(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Where a function cuts an array, or into how many parts; None if it takes every row."""
    if name == "unstack":
        return None
    return args[0] if args else kwargs["indices_or_sections"]


def _keys_of_parts(
    axis: int, size: Any, parts: Sequence[Tracer], cuts: Any
) -> list[tuple[Any, ...]]:
    """Where the parts of an array are that was cut along an axis."""
    before = (slice(None),) * axis
    if cuts is None:
        return [(*before, number) for number in range(len(parts))]
    if np.ndim(cuts):  # in any order, from either end
        ends = [0, *cuts, size]
    else:
        ends = list(itertools.accumulate([part.type.shape[axis] for part in parts], initial=0))
    return [(*before, slice(*pair)) for pair in itertools.pairwise(ends)]


def _undoing(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[Any], Any] | None:
    """What brings the elements of a view back to where they were; None for those that are only
    read.
    """
    if name in _READ_ONLY:
        return None
    if name in _FLIPS:
        return lambda array: function(array, *args, **kwargs)
    turns = args[0] if args else kwargs.get("k", 1)
    axes = args[1] if len(args) > 1 else kwargs.get("axes", (0, 1))
    return lambda array: function(array, -turns, axes)


def _reshaped_in_place(array: Any, target: Shape, order: str) -> Any:
    """A view in another shape; a ValueError where NumPy makes a copy."""
    if order == "A":
        is_by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
        order = "F" if is_by_columns else "C"
    if order == "F":
        return _reshaped_in_place(array.T, target[::-1], "C").T
    made = np.lib.stride_tricks.as_strided(array, array.shape, array.strides)
    try:
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            made.shape = target  # NumPy 2.0 knows no reshape(copy=False)
    except AttributeError as error:
        raise ValueError("what does not lie in one piece is copied") from error
    return made


def _without_ones(shape: Shape) -> list[Any]:
    return [size for size in shape if size != 1]
