"""The public functions of NumPy 2.4 that Weft does not trace; with the registry these are all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NUMPY: Final = "2.4"
"""The version of NumPy that this lists."""

NOT_COVERED: Final[Mapping[str, str]] = {
    "numpy": (
        "apply_along_axis apply_over_axes asanyarray asarray_chkfinite asfortranarray asmatrix "
        "bmat common_type copyto frexp gcd histogram2d histogramdd intersect1d isnat lcm ldexp "
        "mask_indices packbits place poly polyadd polyder polydiv polyfit polyint polymul polysub "
        "put putmask real_if_close require roots row_stack setdiff1d setxor1d sort_complex spacing "
        "trim_zeros union1d unpackbits"
    ),
    "numpy.linalg": "eig eigvals",
    "numpy.fft": "",
}

OF_NO_VALUES: Final = (
    "array2string array_repr array_str bartlett base_repr binary_repr blackman busday_count "
    "busday_offset can_cast datetime_as_string datetime_data format_float_positional "
    "format_float_scientific from_dlpack frombuffer fromfile fromiter frompyfunc fromregex "
    "fromstring genfromtxt get_include get_printoptions getbufsize geterr geterrcall hamming "
    "hanning info is_busday isdtype isfortran isscalar issubdtype iterable kaiser load loadtxt "
    "may_share_memory min_scalar_type mintypecode nested_iters printoptions promote_types save "
    "savetxt savez savez_compressed set_printoptions setbufsize seterr seterrcall shares_memory "
    "show_config show_runtime test typename"
)
"""Functions about dtypes, files, printing and settings: a traced function calls NumPy's own."""
