"""`weft.scipy`: functions of SciPy, traceable. See `weft.frontends.scipy`."""

from weft.scipy import linalg, ndimage, signal, special, stats

__all__ = ["linalg", "ndimage", "signal", "special", "stats"]
