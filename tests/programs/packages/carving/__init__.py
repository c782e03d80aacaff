"""Seam carving: narrower images without what does not matter."""

from .carver import SeamCarver, carve
from .energy import dual_gradient

__all__ = ["SeamCarver", "carve", "dual_gradient"]
