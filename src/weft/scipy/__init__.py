"""`weft.scipy`: functions of SciPy, traceable. See `weft.frontends.scipy`."""

from weft.scipy import integrate, interpolate, linalg, ndimage, signal, special, stats

__all__ = ["integrate", "interpolate", "linalg", "ndimage", "signal", "special", "stats"]
