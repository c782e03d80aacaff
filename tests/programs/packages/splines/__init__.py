"""Cubic splines and piecewise polynomials."""

from .cubic import CubicSpline, PchipInterpolator, PiecewisePolynomial, integrate_samples, resample

__all__ = [
    "CubicSpline",
    "PchipInterpolator",
    "PiecewisePolynomial",
    "integrate_samples",
    "resample",
]
