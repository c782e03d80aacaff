from collections import OrderedDict

import numpy as np

from . import tables


def _horner(coefficients, x):
    result = 0.0
    for c in reversed(coefficients):
        result = result * x + c
    return result


def _periodic(terms, jme):
    total = 0.0
    for power, table in enumerate(terms):
        table = np.asarray(table)
        total = total + jme**power * np.sum(
            table[:, 0] * np.cos(table[:, 1] + table[:, 2] * jme[..., None]), axis=-1
        )
    return total / 1e8


def julian_day(unixtime):
    return np.asarray(unixtime, dtype=float) / 86400.0 + 2440587.5


def equation_of_time(jd):
    t = (jd - 2451545.0) / 36525.0
    epsilon = np.radians(_horner(tables.OBLIQUITY, t))
    l0 = np.radians(_horner((280.46646, 36000.76983, 0.0003032), t) % 360)
    m = np.radians(_horner((357.52911, 35999.05029, -0.0001537), t) % 360)
    e = _horner((0.016708634, -0.000042037, -0.0000001267), t)
    y = np.tan(epsilon / 2) ** 2
    eot = y * np.sin(2 * l0) - 2 * e * np.sin(m) + 4 * e * y * np.sin(m) * np.cos(2 * l0)
    eot -= 0.5 * y**2 * np.sin(4 * l0) + 1.25 * e**2 * np.sin(2 * m)
    return 4 * np.degrees(eot)


def solar_position(unixtime, latitude, longitude, pressure=1013.25, temperature=12, refract=True):
    """Apparent zenith, elevation and azimuth in degrees."""
    if not -90 <= latitude <= 90:
        raise ValueError("latitude must be within -90 and 90")
    jd = np.atleast_1d(julian_day(unixtime))
    t = (jd - 2451545.0) / 36525.0
    jme = t / 10.0
    lon = np.degrees(_periodic(tables.EARTH_LONGITUDE, jme)) % 360 + 180
    nutation = -17.2 / 3600 * np.sin(np.radians(125.04 - 1934.136 * t))
    apparent = np.radians(lon - 0.00569 + nutation)
    epsilon = np.radians(_horner(tables.OBLIQUITY, t))
    alpha = np.arctan2(np.sin(apparent) * np.cos(epsilon), np.cos(apparent))
    delta = np.arcsin(np.sin(epsilon) * np.sin(apparent))
    gmst = (280.46061837 + 360.98564736629 * (jd - 2451545.0)) % 360
    hour = np.radians((gmst + longitude - np.degrees(alpha) + 180) % 360 - 180)
    phi = np.radians(latitude)
    e0 = np.arcsin(np.sin(phi) * np.sin(delta) + np.cos(phi) * np.cos(delta) * np.cos(hour))
    elevation = np.degrees(e0)
    if refract:
        with np.errstate(divide="ignore", invalid="ignore"):
            de = (pressure / 1010.0) * (283.0 / (273 + temperature)) * 1.02
            de = de / (60 * np.tan(np.radians(elevation + 10.3 / (elevation + 5.11))))
        elevation = elevation + np.where(elevation >= -0.83337, de, 0.0)
    azimuth = np.arctan2(np.sin(hour), np.cos(hour) * np.sin(phi) - np.tan(delta) * np.cos(phi))
    out = OrderedDict()
    out["zenith"] = 90 - elevation
    out["elevation"] = elevation
    out["azimuth"] = (np.degrees(azimuth) + 180) % 360
    out["equation_of_time"] = equation_of_time(jd)
    return out


def sun_rise_set(day_of_year, latitude):
    """Hours of the day; NaN in polar day or night."""
    day_of_year = np.asarray(day_of_year)
    rise = np.empty(day_of_year.shape)
    fall = np.full(day_of_year.shape, np.nan)
    for i, day in enumerate(day_of_year.flat):
        declination = np.radians(23.45) * np.sin(2 * np.pi * (284 + day) / 365)
        x = -np.tan(np.radians(latitude)) * np.tan(declination)
        if abs(x) > 1:
            rise.flat[i] = np.nan
            continue
        w = np.degrees(np.arccos(x)) / 15
        rise.flat[i], fall.flat[i] = 12 - w, 12 + w
    return rise, fall
