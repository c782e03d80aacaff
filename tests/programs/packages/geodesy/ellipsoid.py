from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ellipsoid:
    semimajor: float
    flattening: float
    name: str = ""

    @property
    def semiminor(self):
        return self.semimajor * (1 - self.flattening)

    @property
    def eccentricity2(self):
        return self.flattening * (2 - self.flattening)

    def radius_of_curvature(self, lat):
        return self.semimajor / np.sqrt(1 - self.eccentricity2 * np.sin(lat) ** 2)

    @classmethod
    def from_name(cls, name: str) -> Ellipsoid:
        models = {"wgs84": (6378137.0, 1 / 298.257223563), "sphere": (6371000.0, 0.0)}
        if name not in models:
            raise KeyError(f"unknown ellipsoid {name}")
        return cls(*models[name], name=name)


WGS84 = Ellipsoid.from_name("wgs84")


def sanitize(lat, ell, deg):
    if ell is None:
        ell = WGS84
    lat = np.asarray(lat)
    if deg:
        lat = np.radians(lat)
    if np.any(np.abs(lat) > np.pi / 2):
        raise ValueError("-pi/2 <= latitude <= pi/2")
    return lat, ell


def geodetic2ecef(lat, lon, alt, ell=None, deg=True):
    lat, ell = sanitize(lat, ell, deg)
    if deg:
        lon = np.radians(lon)
    N = ell.radius_of_curvature(lat)
    x = (N + alt) * np.cos(lat) * np.cos(lon)
    y = (N + alt) * np.cos(lat) * np.sin(lon)
    z = (N * (ell.semiminor / ell.semimajor) ** 2 + alt) * np.sin(lat)
    return x, y, z


def ecef2geodetic(x, y, z, ell=WGS84, tol=1e-12, maxiter=50):
    lon = np.arctan2(y, x)
    p = np.hypot(x, y)
    lat = np.arctan2(z, p * (1 - ell.eccentricity2))
    for _ in range(maxiter):
        previous = lat
        N = ell.radius_of_curvature(lat)
        alt = p / np.cos(lat) - N
        lat = np.arctan2(z, p * (1 - ell.eccentricity2 * N / (N + alt)))
        if np.allclose(lat, previous, rtol=0, atol=tol):
            break
    return np.degrees(lat), np.degrees(lon), alt
