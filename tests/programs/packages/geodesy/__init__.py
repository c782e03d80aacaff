"""Distances and positions on the ellipsoid."""

from .ellipsoid import WGS84, Ellipsoid, ecef2geodetic, geodetic2ecef
from .vincenty import ConvergenceError, distances, inverse, track_length

__all__ = [
    "WGS84",
    "ConvergenceError",
    "Ellipsoid",
    "distances",
    "ecef2geodetic",
    "geodetic2ecef",
    "inverse",
    "track_length",
]
