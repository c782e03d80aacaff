"""Canny's edges."""

from .edges import CannyDetector, canny
from .filters import convolve, gaussian_kernel, sobel

__all__ = ["CannyDetector", "canny", "convolve", "gaussian_kernel", "sobel"]
