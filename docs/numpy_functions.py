"""What docs/numpy.md says of NumPy's functions beyond what the registry knows.

tests/frontends/numpy/test_derivatives.py compares it with what functions do.
"""

from __future__ import annotations

from typing import Final

NUMPY: Final = "2.4"
"""The version of NumPy that the page is about."""

_WHOLE: Final = (
    "argmax argmin argpartition argsort argwhere count_nonzero diag_indices diag_indices_from "
    "digitize flatnonzero indices lexsort mask_indices nanargmax nanargmin nonzero packbits "
    "ravel_multi_index searchsorted tril_indices tril_indices_from triu_indices triu_indices_from "
    "unpackbits unravel_index linalg.matrix_rank bitwise_and bitwise_count bitwise_invert "
    "bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor gcd invert lcm "
    "left_shift right_shift ix_"
)
_TRUTHS: Final = (
    "all allclose any array_equal array_equiv equal greater greater_equal isclose iscomplex "
    "isfinite isin isinf isnan isneginf isposinf isreal less less_equal logical_and logical_not "
    "logical_or logical_xor not_equal signbit"
)
_KNOWN: Final = (
    "broadcast_shapes common_type iscomplexobj isrealobj ndim result_type shape size bartlett "
    "blackman hamming hanning identity eye tri zeros ones empty "
    "zeros_like ones_like empty_like arange"
)
_STEPS: Final = "around ceil fix floor heaviside rint round sign trunc floor_divide spacing"

NOT_DIFFERENTIABLE: Final = {
    **dict.fromkeys(_WHOLE.split(), "whole numbers"),
    **dict.fromkeys(_TRUTHS.split(), "true or false"),
    **dict.fromkeys(_KNOWN.split(), "constant"),
    **dict.fromkeys(_STEPS.split(), "0: steps"),
}
"""From a function to what its results are, of which no derivative is but 0."""
