"""What functions may use whose trace is skipped: builtins, functions of `math` and NumPy that give
the same for the same arguments, attributes that show nothing but values, and byte codes.

These lists decide what is understood. A name that is missing costs a trace; a name too many could
cost a wrong result.
"""

from __future__ import annotations

import builtins
import functools
import os
import sys
import types
from typing import Any, Final

import numpy as np

BUILTINS: Final = frozenset(
    "abs all any bool complex dict divmod enumerate filter float int isinstance issubclass len "
    "list map max min pow print range reversed round slice sorted str sum tuple zip".split()
)

# Without those that read files, draw, remember, or give memory as it was (`empty`).
NUMPY: Final = {
    "numpy": frozenset(
        "all allclose amax amin angle any append apply_along_axis apply_over_axes arange argmax "
        "argmin argpartition argsort argwhere around array array_equal array_equiv array_split "
        "asanyarray asarray ascontiguousarray asfortranarray astype atleast_1d atleast_2d "
        "atleast_3d average bartlett bincount blackman block broadcast_arrays broadcast_shapes "
        "broadcast_to can_cast choose clip column_stack common_type compress concatenate convolve "
        "copy copyto corrcoef correlate count_nonzero cov cross cumprod cumsum cumulative_prod "
        "cumulative_sum delete diag diag_indices diag_indices_from diagflat diagonal diff digitize "
        "dot dsplit dstack ediff1d einsum expand_dims extract eye fill_diagonal finfo fix "
        "flatnonzero flip fliplr flipud fromfunction full full_like geomspace gradient hamming "
        "hanning histogram histogram2d histogram_bin_edges histogramdd hsplit hstack i0 identity "
        "iinfo imag indices inner insert interp intersect1d isclose iscomplex iscomplexobj isdtype "
        "isin isneginf isposinf isreal isrealobj isscalar issubdtype iterable ix_ kaiser kron "
        "lexsort linspace logspace matrix_transpose max mean median meshgrid min moveaxis "
        "nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin "
        "nanpercentile nanprod nanquantile nanstd nansum nanvar ndarray ndim nonzero ones "
        "ones_like outer packbits pad partition percentile piecewise place poly polyadd polyder "
        "polydiv polyfit polyint polymul polysub polyval prod promote_types ptp put put_along_axis "
        "putmask quantile ravel ravel_multi_index real repeat require reshape resize result_type "
        "roll rollaxis roots rot90 round row_stack searchsorted select setdiff1d setxor1d shape "
        "sinc size sort sort_complex split squeeze stack std sum swapaxes take take_along_axis "
        "tensordot tile trace transpose trapezoid tri tril tril_indices tril_indices_from triu "
        "triu_indices triu_indices_from union1d unique unique_all unique_counts unique_inverse "
        "unique_values unpackbits unravel_index unstack unwrap vander var vdot vsplit vstack where "
        "zeros zeros_like".split()
    ),
    "numpy.linalg": frozenset(
        "cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm "
        "matrix_power matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve svd "
        "svdvals tensordot tensorinv tensorsolve trace vecdot vector_norm".split()
    ),
    "numpy.fft": frozenset(
        "fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn "
        "rfft rfft2 rfftfreq rfftn".split()
    ),
}

# Of the package itself, what depends on more than arguments.
WEFT_STATE: Final = frozenset(
    "callback debug_print demo get_num_threads probe runtime set_num_threads threads".split()
)

_HIDDEN: Final = frozenset(
    # What shows where an array lies, changes how it may be used, or writes to files;
    "base ctypes data device dump dumps flags getfield newbyteorder setfield setflags to_device "
    # what reads attributes by name;
    "tofile format format_map".split()
)
_OF_RESULTS: Final = frozenset(
    "Q R S U Vh accumulate at bits counts eigenvalues eigenvectors eps indices inverse_indices "
    "inverse logabsdet outer reduce reduceat resolution sign smallest_normal tiny values".split()
)


@functools.cache
def attributes() -> frozenset[str]:
    """Attributes that an understood function may read of whatever it holds: arrays, numbers,
    strings and containers, none of which has another under these names later.
    """
    kinds = (np.ndarray, list, dict, tuple, str, int, float, complex, slice, range)
    public = {name for kind in kinds for name in dir(kind) if not name.startswith("_")}
    return frozenset((public - _HIDDEN) | _OF_RESULTS)


# By name, as numbers differ between releases of Python.
OPERATIONS: Final = frozenset(
    "BINARY_OP BINARY_SLICE BINARY_SUBSCR BUILD_CONST_KEY_MAP BUILD_LIST BUILD_MAP BUILD_SLICE "
    "BUILD_STRING BUILD_TUPLE CACHE CALL CALL_FUNCTION_EX CALL_INTRINSIC_1 CALL_KW CHECK_EXC_MATCH "
    "COMPARE_OP CONTAINS_OP CONVERT_VALUE COPY COPY_FREE_VARS DELETE_DEREF DELETE_FAST "
    "DELETE_SUBSCR DICT_MERGE DICT_UPDATE END_FOR EXTENDED_ARG FORMAT_SIMPLE FORMAT_VALUE "
    "FORMAT_WITH_SPEC FOR_ITER GET_ITER GET_LEN GET_YIELD_FROM_ITER IS_OP JUMP_BACKWARD "
    "JUMP_BACKWARD_NO_INTERRUPT JUMP_FORWARD JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP KW_NAMES "
    "LIST_APPEND LIST_EXTEND LIST_TO_TUPLE LOAD_ASSERTION_ERROR LOAD_ATTR LOAD_CLOSURE LOAD_CONST "
    "LOAD_DEREF LOAD_FAST LOAD_FAST_AND_CLEAR LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST LOAD_GLOBAL "
    "LOAD_METHOD MAKE_CELL MAKE_FUNCTION MAP_ADD NOP POP_EXCEPT POP_JUMP_BACKWARD_IF_FALSE "
    "POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_TRUE "
    "POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE "
    "POP_JUMP_FORWARD_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE "
    "POP_JUMP_IF_TRUE POP_TOP PRECALL PUSH_EXC_INFO PUSH_NULL RAISE_VARARGS RERAISE RESUME "
    "RETURN_CONST RETURN_GENERATOR RETURN_VALUE SET_FUNCTION_ATTRIBUTE STORE_DEREF STORE_FAST "
    "STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST STORE_SLICE STORE_SUBSCR SWAP TO_BOOL "
    "UNARY_INVERT UNARY_NEGATIVE UNARY_NOT UNARY_POSITIVE UNPACK_EX UNPACK_SEQUENCE "
    "YIELD_VALUE".split()
)
LOADS_OF_ATTRIBUTES: Final = ("LOAD_ATTR", "LOAD_METHOD")

_HEAP_TYPE: Final = 1 << 9
_NUMPY_FOLDER: Final = os.path.dirname(os.path.abspath(np.__file__)) + os.sep


def is_numpy(file: str) -> bool:
    """Whether it is a source file of NumPy."""
    return file.startswith(_NUMPY_FOLDER)


def library_name(value: Any) -> str | None:
    """The name of a function that is NumPy's, `math`'s or a builtin, is on the lists, and is what
    that library made: not something else that was put in its place.

    >>> library_name(np.tanh), library_name(np.linalg.norm), library_name(len)
    ('numpy.tanh', 'numpy.linalg.norm', 'builtins.len')
    >>> library_name(np.load), library_name(np.frompyfunc(abs, 1, 1)), library_name(eval)
    (None, None, None)
    """
    kind = type(value)
    if isinstance(value, type):
        return _class_name(value)
    if has_own_attributes(value):
        return None
    if kind is np.ufunc:
        is_own = vars(_numpy_core("_multiarray_umath")).get(value.__name__) is value
        return f"numpy.{value.__name__}" if is_own else None
    if kind is types.BuiltinFunctionType:
        return _builtin_name(value)
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", "")
    if module not in NUMPY or name not in NUMPY[module]:
        return None
    return f"{module}.{name}" if _is_original(value, name) else None


def has_own_attributes(value: Any) -> bool:
    """Whether somebody gave a function or an object of a library an attribute that understood
    functions may read.
    """
    return not attributes().isdisjoint(getattr(value, "__dict__", ()))


def _class_name(value: type) -> str | None:
    if value.__module__ == "builtins":
        is_known = value.__name__ in BUILTINS or issubclass(value, BaseException)
        is_known &= vars(builtins).get(value.__name__) is value
        return f"builtins.{value.__name__}" if is_known else None
    if type(value) is type and value.__module__ == "numpy":
        # A class that Python code defines can give itself any name.
        is_native = issubclass(value, np.generic | np.ndarray) and not value.__flags__ & _HEAP_TYPE
        if is_native or vars(_numpy_core("getlimits")).get(value.__name__) is value:
            return f"numpy.{value.__name__}"
    return None


def _builtin_name(value: types.BuiltinFunctionType) -> str | None:
    """Of a native function, which nobody can make in Python."""
    home, name = value.__module__, value.__name__
    owner = value.__self__
    if home == "builtins" and name in BUILTINS and isinstance(owner, types.ModuleType):
        return f"builtins.{name}"
    if home == "math" and isinstance(owner, types.ModuleType):
        return f"math.{name}"
    if home == "numpy" and name in NUMPY["numpy"]:
        return f"numpy.{name}"
    return None


def _is_original(value: Any, name: str) -> bool:
    """Whether one of NumPy's own modules defines a function, in a file of NumPy."""
    is_dispatcher = type(value) is _numpy_core("_multiarray_umath")._ArrayFunctionDispatcher
    function = value._implementation if is_dispatcher else value
    if isinstance(function, types.BuiltinFunctionType):
        return vars(_numpy_core("multiarray")).get(name) is value
    if not isinstance(function, types.FunctionType):
        return False
    home = function.__globals__.get("__name__", "")
    is_own = is_numpy(function.__code__.co_filename)
    return is_own and vars(sys.modules.get(home, types)).get(name) is value


def _numpy_core(name: str) -> types.ModuleType:
    return sys.modules[f"numpy._core.{name}"]
