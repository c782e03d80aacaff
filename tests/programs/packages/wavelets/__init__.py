"""Discrete wavelet transforms."""

from .denoise import denoise, threshold
from .transform import Wavelet, wavedec, waverec

__all__ = ["Wavelet", "denoise", "threshold", "wavedec", "waverec"]
