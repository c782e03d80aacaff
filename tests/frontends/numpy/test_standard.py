"""`weft.numpy` has every name of the Python array API standard 2024.12, extensions included."""

from __future__ import annotations

import pytest

import weft.numpy

# Where arrays come from, and what there is, is the business of weft.Array.
MAIN = """
abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2 atanh
bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bool
broadcast_arrays broadcast_to can_cast ceil clip complex128 complex64 concat conj copysign cos cosh
count_nonzero cumulative_prod cumulative_sum diff divide e empty empty_like equal exp expand_dims
expm1 eye finfo flip float32 float64 floor floor_divide full full_like greater greater_equal hypot
iinfo imag inf int16 int32 int64 int8 isdtype isfinite isinf isnan less less_equal linspace log
log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor matmul matrix_transpose
max maximum mean meshgrid min minimum moveaxis multiply nan negative newaxis nextafter nonzero
not_equal ones ones_like permute_dims pi positive pow prod real reciprocal remainder repeat reshape
result_type roll round searchsorted sign signbit sin sinh sort sqrt square squeeze stack std
subtract sum take take_along_axis tan tanh tensordot tile tril triu trunc uint16 uint32 uint64 uint8
unique_all unique_counts unique_inverse unique_values unstack var vecdot where zeros zeros_like
""".split()
LINALG = """
cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank
matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
""".split()
FFT = """
fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn
""".split()


@pytest.mark.parametrize("name", MAIN)
def test_main_namespace(name: str) -> None:
    assert name in weft.numpy.__all__


@pytest.mark.parametrize("name", LINALG)
def test_linear_algebra(name: str) -> None:
    assert name in weft.numpy.linalg.__all__


@pytest.mark.parametrize("name", FFT)
def test_fourier_transforms(name: str) -> None:
    assert name in weft.numpy.fft.__all__
