"""The sparse array: what a traced function holds where its caller gave one of SciPy's.

It is a pytree node whose leaves are the stored entries and the positions of these; so gradients,
loops and compiled functions take it apart as they do any other. Which entries there are is fixed by
the positions; what is not zero in between makes a dense array, and is asked for by `todense`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn

import numpy as np

from weft.compiler.ir.errors import ArgumentError, ShapeError
from weft.compiler.ir.graph import Constant
from weft.compiler.ops import sparse as ops
from weft.compiler.record import record
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import Tracer, current_trace, located

FORMATS: Final = ("csr", "csc", "coo")
_POSITIONS: Final = {"differentiable": False}
_STATIC: Final = {"static": True}


def _operator(function: str, *, reflected: bool = False) -> Callable[..., Any]:
    def method(self: SparseArray, other: Any) -> Any:
        operands = (other, self) if reflected else (self, other)
        return located(_binary, function, *operands)

    return method


@dataclass(frozen=True, eq=False, repr=False)
class SparseArray:
    """A matrix by its stored entries, in one of the formats csr, csc and coo.

    `indices` are columns (rows in csc). `lines` are rows in coo; else they say where each row
    (column in csc) begins, as SciPy's `indptr`. `unique` tells that no position is there twice.
    """

    data: Any
    indices: Any = field(metadata=_POSITIONS)
    lines: Any = field(metadata=_POSITIONS)
    shape: tuple[int, int] = field(metadata=_STATIC)
    format: str = field(metadata=_STATIC)
    unique: bool = field(default=False, metadata={**_STATIC, "hint": True})

    __array_priority__ = 2000.0
    __hash__ = None  # type: ignore[assignment]

    def __of_children__(self) -> Any:
        """What users see: SciPy's array where entries and positions are known."""
        leaves = (self.data, self.indices, self.lines)
        if any(getattr(leaf, "ndim", 1) != 1 for leaf in leaves):
            raise ShapeError(
                "a sparse array cannot be one of a batch: say None for it in in_axes, and return "
                "its .data or .todense() rather than itself"
            )
        if not all(isinstance(leaf, np.ndarray) for leaf in leaves):
            return self
        return to_scipy(self)

    # --- what is known ---

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.data.dtype
        return dtype

    @property
    def ndim(self) -> int:
        return 2

    @property
    def nnz(self) -> Any:
        """The number of stored entries, zeros among them."""
        return self.data.shape[0]

    size = nnz

    @property
    def indptr(self) -> Any:
        """Where each line begins among the entries, in csr and csc."""
        if self.format == "coo":
            raise AttributeError("an array in coo format has no indptr; see row and col")
        return self.lines

    @property
    def row(self) -> Any:
        """The row of each entry."""
        return self.indices if self.format == "csc" else self._line_of_entries()

    @property
    def col(self) -> Any:
        """The column of each entry."""
        return self._line_of_entries() if self.format == "csc" else self.indices

    def _line_of_entries(self) -> Any:
        if self.format == "coo":
            return self.lines
        known = known_array(self.lines)
        if known is not None:
            return np.repeat(np.arange(len(known) - 1, dtype=known.dtype), np.diff(known))
        return core.wrap(ops.lines(core.lift(self.lines), self.nnz))

    @property
    def T(self) -> SparseArray:
        """The transposed array: the same entries, in the format that reads them as they lie."""
        if self.format == "coo":
            return replace(self, indices=self.lines, lines=self.indices, shape=self.shape[::-1])
        other = "csc" if self.format == "csr" else "csr"
        return replace(self, shape=self.shape[::-1], format=other)

    def transpose(self) -> SparseArray:
        """As `T`."""
        return self.T

    def with_data(self, data: Any) -> SparseArray:
        """Other entries at the same positions."""
        return replace(self, data=data)

    def __repr__(self) -> str:
        rows, columns = self.shape
        unique = "" if self.unique else ", possibly with duplicates"
        entries = f"{self.nnz} entries{unique}"
        return f"SparseArray({self.format}, {self.dtype}[{rows}, {columns}], {entries})"

    # --- conversion ---

    def todense(self) -> Any:
        """The array with its zeros."""
        return located(_operations().todense, self)

    toarray = todense

    def astype(self, dtype: Any, **_: Any) -> SparseArray:
        """Entries of another dtype."""
        converted: SparseArray = located(_operations().astype, self, dtype)
        return converted

    def tocoo(self) -> SparseArray:
        """The same entries with the row and the column of each."""
        return replace(self, indices=self.col, lines=self.row, format="coo")

    def tocsr(self) -> SparseArray:
        """The same entries row by row."""
        return self._compressed("csr")

    def tocsc(self) -> SparseArray:
        """The same entries column by column."""
        return self._compressed("csc")

    def _compressed(self, format: str) -> SparseArray:
        compressed: SparseArray = located(_operations().compressed, self, format)
        return compressed

    def copy(self) -> SparseArray:
        """The array itself, which nothing can change."""
        return self

    def conj(self) -> SparseArray:
        """The entries' complex conjugates."""
        return self.with_data(np.conjugate(traced(self.data)))

    conjugate = conj

    # --- reductions and parts ---

    def sum(self, axis: Any = None, dtype: Any = None) -> Any:
        """The sum of all elements, or of each column (axis 0) or row (axis 1), as a dense array."""
        return located(_operations().total, self, axis, dtype)

    def mean(self, axis: Any = None, dtype: Any = None) -> Any:
        """The mean, zeros between entries included; see `sum`."""
        return located(_operations().mean, self, axis, dtype)

    def max(self, axis: Any = None) -> Any:
        """The largest element, zeros between entries included; see `sum`."""
        return located(_operations().extreme, self, axis, "max")

    def min(self, axis: Any = None) -> Any:
        """The smallest element, zeros between entries included; see `sum`."""
        return located(_operations().extreme, self, axis, "min")

    def diagonal(self, k: int = 0) -> Any:
        """The elements of a diagonal, as a dense array."""
        return located(_operations().diagonal, self, k)

    def trace(self, offset: int = 0) -> Any:
        """The sum of a diagonal."""
        return np.sum(self.diagonal(offset))

    def __getitem__(self, key: Any) -> Any:
        return located(_operations().element, self, key)

    # --- operators ---

    __add__ = _operator("add")
    __radd__ = _operator("add", reflected=True)
    __sub__ = _operator("subtract")
    __rsub__ = _operator("subtract", reflected=True)
    __mul__ = _operator("multiply")
    __rmul__ = _operator("multiply", reflected=True)
    __truediv__ = _operator("divide")
    __rtruediv__ = _operator("divide", reflected=True)
    __matmul__ = _operator("matmul")
    __rmatmul__ = _operator("matmul", reflected=True)
    __pow__ = _operator("power")
    __eq__ = _operator("equal")
    __ne__ = _operator("not_equal")
    __lt__ = _operator("less")
    __le__ = _operator("less_equal")
    __gt__ = _operator("greater")
    __ge__ = _operator("greater_equal")

    def multiply(self, other: Any) -> Any:
        """Element by element, as `*`."""
        return self * other

    def dot(self, other: Any) -> Any:
        """As `@`; for a number, as `*`."""
        return self * other if np.ndim(other) == 0 else self @ other

    def power(self, n: Any) -> Any:
        """Each element to a positive power."""
        return self**n

    def __neg__(self) -> Any:
        return np.negative(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return np.absolute(self)

    # --- NumPy's protocols ---

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            raise refusal(f"numpy.{ufunc.__name__} with these arguments is not supported")
        if len(inputs) == 2:
            return located(_binary, ufunc.__name__, *inputs)
        return located(_operations().unary, ufunc, self)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        name = _METHODS.get(function)
        if name is None or not isinstance(args[0], SparseArray):
            raise refusal(f"numpy.{function.__name__} is not supported on sparse arrays")
        return getattr(args[0], name)(*args[1:], **kwargs)

    # --- what is refused ---

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise refusal("a sparse array is no NumPy array")

    def __iter__(self) -> Iterator[Any]:
        raise refusal("a sparse array has no rows to go through in Python")

    def __bool__(self) -> bool:
        raise refusal("a sparse array is neither true nor false")

    def reshape(self, *shape: Any) -> NoReturn:
        """Refused: entries of another shape lie in other lines."""
        raise refusal("a sparse array cannot be reshaped")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f".{name} is not supported on sparse arrays in traced code; "
            "S.todense() is an ordinary array"
        )


_METHODS: Final = {
    np.sum: "sum",
    np.mean: "mean",
    np.max: "max",
    np.amax: "max",
    np.min: "min",
    np.amin: "min",
    np.transpose: "transpose",
    np.diagonal: "diagonal",
    np.trace: "trace",
    np.dot: "dot",
}


@record
class Operations:
    """What sparse arrays compute with; `frontends.numpy.sparse` owns them, and the surface of a
    trace has them.
    """

    unary: Callable[[np.ufunc, SparseArray], Any]
    binary: Callable[[str, Any, Any], Any]
    todense: Callable[[SparseArray], Any]
    astype: Callable[[SparseArray, Any], SparseArray]
    compressed: Callable[[SparseArray, str], SparseArray]
    total: Callable[..., Any]
    mean: Callable[..., Any]
    extreme: Callable[..., Any]
    diagonal: Callable[..., Any]
    element: Callable[..., Any]


def _operations() -> Operations:
    operations: Operations = current_trace().surface.sparse()
    return operations


def _binary(function: str, left: Any, right: Any) -> Any:
    return _operations().binary(function, left, right)


# --- what others ask ----------------------------------------------------------------------------


def refusal(what: str) -> Exception:
    """The error for what only a dense array can do."""
    return core.trace_error(f"{what}; use S.todense()")


def require_unique(array: SparseArray, what: str) -> None:
    """Where a position is stored twice, its element is the sum, which is not known entry by
    entry.
    """
    if not array.unique:
        raise core.trace_error(
            f"{what} needs each position stored once, and this array may have duplicates: call "
            "S.sum_duplicates() before it is passed, or use S.todense()"
        )


def traced(leaf: Any) -> Any:
    """A leaf as a traced array."""
    return leaf if isinstance(leaf, Tracer) else core.wrap(core.lift(leaf))


def known_array(leaf: Any) -> np.ndarray[Any, Any] | None:
    """The values of a leaf if they are known while tracing."""
    if isinstance(leaf, Tracer):
        value = leaf.value
        return value.array if isinstance(value, Constant) else None
    return leaf if isinstance(leaf, np.ndarray) else None


def same_positions(left: SparseArray, right: SparseArray) -> bool:
    """Whether entries of two arrays plainly have the same positions."""
    if (left.shape, left.format) != (right.shape, right.format):
        return False
    pairs = ((left.indices, right.indices), (left.lines, right.lines))
    return all(_is_same(x, y) for x, y in pairs)


def _is_same(x: Any, y: Any) -> bool:
    if x is y or isinstance(x, Tracer) and isinstance(y, Tracer) and x.value is y.value:
        return True
    first, second = known_array(x), known_array(y)
    return first is not None and second is not None and np.array_equal(first, second)


# --- SciPy --------------------------------------------------------------------------------------


def of_scipy(array: Any) -> SparseArray:
    """One of SciPy's arrays, without a copy of its entries."""
    if array.format not in FORMATS or array.ndim != 2:
        raise ArgumentError(
            f"a sparse array of {array.ndim} axes in format {array.format} is not supported; csr, "
            "csc and coo are, of two axes: use .tocsr()"
        )
    unique, shape = bool(array.has_canonical_format), (int(array.shape[0]), int(array.shape[1]))
    if array.format == "coo":
        return SparseArray(array.data, array.col, array.row, shape, "coo", unique)
    # SciPy lets arrays be longer than the entries in use.
    used = int(array.indptr[-1])
    data, indices = array.data[:used], array.indices[:used]
    return SparseArray(data, indices, array.indptr, shape, array.format, unique)


def to_scipy(array: SparseArray) -> Any:
    """SciPy's array of the same format, with the same entries."""
    import scipy.sparse

    if array.format == "coo":
        sparse = scipy.sparse.coo_array(
            (array.data, (array.lines, array.indices)), shape=array.shape, copy=False
        )
        sparse.has_canonical_format = array.unique
        return sparse
    kind = {"csr": scipy.sparse.csr_array, "csc": scipy.sparse.csc_array}[array.format]
    sparse = kind((array.data, array.indices, array.lines), shape=array.shape, copy=False)
    if not array.unique:
        sparse.has_canonical_format = False  # so that it has the same structure when passed again
    return sparse
