"""Fourier transforms by hand."""

from .spectral import power_spectrum, stft
from .transforms import bluestein, dct2, fft, fft_in_place, fft_recursive, ifft, rfft

__all__ = [
    "bluestein",
    "dct2",
    "fft",
    "fft_in_place",
    "fft_recursive",
    "ifft",
    "power_spectrum",
    "rfft",
    "stft",
]
