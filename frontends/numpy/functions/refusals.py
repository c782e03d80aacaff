"""Why a function of NumPy has no traced version, and what to use instead: one line each.

Errors say it, and docs/numpy.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_PRINTING: Final = "it makes text of values, which are not known; use wf.debug_print"
_FILES: Final = "files are read and written outside of traced functions; return the array"
_DATES: Final = "dates are no dtype of traced arrays; convert them to numbers outside"
_SETTINGS: Final = "it is a setting or a question about NumPy itself; call it outside"
_MEMORY: Final = "memory has no addresses in a trace; only the memory plan knows what is shared"
_MATRIX: Final = "numpy.matrix has no traced version; use arrays with @"
_DTYPES: Final = "it is about dtypes, known while tracing: give it x.dtype"
_OUTSIDE: Final = "it makes arrays of data outside of NumPy; call it outside"

_BY_REASON: Final = {
    _PRINTING: "array2string array_repr array_str format_float_positional format_float_scientific",
    _FILES: "fromfile fromregex genfromtxt load loadtxt save savetxt savez savez_compressed",
    _DATES: "busday_count busday_offset datetime_as_string datetime_data is_busday isnat",
    _SETTINGS: (
        "get_include get_printoptions getbufsize geterr geterrcall info printoptions "
        "set_printoptions setbufsize seterr seterrcall show_config show_runtime test"
    ),
    _MEMORY: "isfortran may_share_memory nested_iters shares_memory",
    _MATRIX: "asmatrix bmat",
    _DTYPES: "min_scalar_type mintypecode typename",
    _OUTSIDE: "from_dlpack frombuffer fromiter fromstring",
    "it raises where a value is not finite, which is not known; use asarray": "asarray_chkfinite",
    "the dtype of its result depends on values; use np.real(x)": "real_if_close",
    "the size of its result depends on values; slice with known bounds": "trim_zeros",
    "it makes Python objects; use weft.numpy.vectorize": "frompyfunc",
    "it answers how a contraction is ordered, with no traced answer; np.einsum orders it": (
        "einsum_path"
    ),
    "it asks a function for a mask of known size; call it outside": "mask_indices",
}

REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {name: reason for reason, names in _BY_REASON.items() for name in names.split()}
)
"""From a function's name in NumPy to why it is refused."""

HANDED_ON: Final = (
    "base_repr binary_repr can_cast isdtype isscalar issubdtype iterable promote_types"
)
"""Functions of no arrays, which are NumPy's own in `weft.numpy`."""


_ATTRIBUTES: Final = {
    _MEMORY: "base byteswap ctypes data flags setflags strides",
    _FILES: "dump dumps tobytes tofile",
    "structured dtypes have no traced version; use one array per field": "getfield setfield",
    "an array keeps its size; use np.resize(x, shape)": "resize",
}


def attribute_refusal(name: str) -> str:
    """The line that says why an attribute of arrays is not there."""
    where = f".{name} is not supported on traced arrays"
    found = [reason for reason, names in _ATTRIBUTES.items() if name in names.split()]
    return f"{where}: {found[0]}" if found else where


def refusal(name: str, module: str = "numpy") -> str:
    """The line that says why a function is not there."""
    reason = REASONS.get(name)
    where = f"{module}.{name} is not supported on traced arrays"
    return f"{where}: {reason}" if reason else where
