import numpy as np

from .position import solar_position


def extra_radiation(day):
    b = (2.0 * np.pi / 365.0) * (day - 1)
    return 1366.1 * (
        1.00011
        + 0.034221 * np.cos(b)
        + 0.00128 * np.sin(b)
        + 0.000719 * np.cos(2 * b)
        + 7.7e-05 * np.sin(2 * b)
    )


def clearsky_haurwitz(apparent_zenith):
    cos_zenith = np.cos(np.radians(apparent_zenith))
    clearsky_ghi = np.zeros_like(apparent_zenith)
    up = cos_zenith > 0
    clearsky_ghi[up] = 1098.0 * cos_zenith[up] * np.exp(-0.059 / cos_zenith[up])
    return clearsky_ghi


def erbs(ghi, zenith, day, min_cos_zenith=0.065, max_zenith=87):
    dni_extra = extra_radiation(day)
    cos_zenith = np.maximum(np.cos(np.radians(zenith)), min_cos_zenith)
    kt = np.clip(ghi / (dni_extra * cos_zenith), 0, 2.0)
    df = 1 - 0.09 * kt
    df = np.where(
        (kt > 0.22) & (kt <= 0.8),
        0.9511 - 0.1604 * kt + 4.388 * kt**2 - 16.638 * kt**3 + 12.336 * kt**4,
        df,
    )
    df = np.where(kt > 0.8, 0.165, df)
    dhi = df * ghi
    dni = (ghi - dhi) / np.cos(np.radians(zenith))
    bad_values = (zenith > max_zenith) | (ghi < 0) | (dni < 0)
    dni = np.where(bad_values, 0, dni)
    dhi = np.where(bad_values, ghi, dhi)
    return {"dni": dni, "dhi": dhi, "kt": kt}


def aoi(surface_tilt, surface_azimuth, zenith, azimuth):
    projection = np.cos(np.radians(surface_tilt)) * np.cos(np.radians(zenith)) + np.sin(
        np.radians(surface_tilt)
    ) * np.sin(np.radians(zenith)) * np.cos(np.radians(azimuth - surface_azimuth))
    projection = np.clip(projection, -1, 1)
    return np.degrees(np.arccos(projection))


def total(unixtime, latitude, longitude, surface_tilt=30.0, surface_azimuth=180.0, **kwargs):
    """Irradiance on a tilted plane under a clear sky."""
    pos = solar_position(unixtime, latitude, longitude, **kwargs)
    day = (np.asarray(unixtime) // 86400) % 365 + 1
    ghi = clearsky_haurwitz(pos["zenith"])
    parts = erbs(ghi, pos["zenith"], day)
    incidence = aoi(surface_tilt, surface_azimuth, pos["zenith"], pos["azimuth"])
    beam = np.maximum(parts["dni"] * np.cos(np.radians(incidence)), 0)
    sky = parts["dhi"] * (1 + np.cos(np.radians(surface_tilt))) * 0.5
    parts.update(poa=beam + sky, beam=beam, sky=sky, **pos)
    return parts
