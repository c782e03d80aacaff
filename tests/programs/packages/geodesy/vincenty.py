from math import atan, atan2, cos, radians, sin, sqrt, tan

import numpy as np

from .ellipsoid import WGS84

MAX_ITERATIONS = 200
CONVERGENCE_THRESHOLD = 1e-12


class ConvergenceError(ValueError):
    pass


def inverse(lat1, lon1, lat2, lon2, ell=WGS84, strict=False):
    """Distance in metres, None-free: NaN (or an exception) for points that are nearly opposite."""
    if lat1 == lat2 and lon1 == lon2:
        return 0.0
    a, b, f = ell.semimajor, ell.semiminor, ell.flattening
    U1 = atan((1 - f) * tan(radians(lat1)))
    U2 = atan((1 - f) * tan(radians(lat2)))
    L = radians(lon2 - lon1)
    Lambda = L
    sinU1, cosU1 = sin(U1), cos(U1)
    sinU2, cosU2 = sin(U2), cos(U2)
    for _ in range(MAX_ITERATIONS):
        sinLambda, cosLambda = sin(Lambda), cos(Lambda)
        sinSigma = sqrt((cosU2 * sinLambda) ** 2 + (cosU1 * sinU2 - sinU1 * cosU2 * cosLambda) ** 2)
        if sinSigma == 0:
            return 0.0
        cosSigma = sinU1 * sinU2 + cosU1 * cosU2 * cosLambda
        sigma = atan2(sinSigma, cosSigma)
        sinAlpha = cosU1 * cosU2 * sinLambda / sinSigma
        cosSqAlpha = 1 - sinAlpha**2
        try:
            cos2SigmaM = cosSigma - 2 * sinU1 * sinU2 / cosSqAlpha
        except ZeroDivisionError:
            cos2SigmaM = 0
        C = f / 16 * cosSqAlpha * (4 + f * (4 - 3 * cosSqAlpha))
        LambdaPrev = Lambda
        Lambda = L + (1 - C) * f * sinAlpha * (
            sigma + C * sinSigma * (cos2SigmaM + C * cosSigma * (-1 + 2 * cos2SigmaM**2))
        )
        if abs(Lambda - LambdaPrev) < CONVERGENCE_THRESHOLD:
            break
    else:
        if strict:
            raise ConvergenceError("failed to converge")
        return np.nan
    uSq = cosSqAlpha * (a**2 - b**2) / (b**2)
    A = 1 + uSq / 16384 * (4096 + uSq * (-768 + uSq * (320 - 175 * uSq)))
    B = uSq / 1024 * (256 + uSq * (-128 + uSq * (74 - 47 * uSq)))
    deltaSigma = (
        B
        * sinSigma
        * (
            cos2SigmaM
            + B
            / 4
            * (
                cosSigma * (-1 + 2 * cos2SigmaM**2)
                - B / 6 * cos2SigmaM * (-3 + 4 * sinSigma**2) * (-3 + 4 * cos2SigmaM**2)
            )
        )
    )
    return round(b * A * (sigma - deltaSigma), 6)


def distances(points, others):
    return np.array([[inverse(*p, *q) for q in others] for p in points])


def track_length(lats, lons, **kwargs):
    total = 0.0
    for i in range(1, len(lats)):
        total += inverse(lats[i - 1], lons[i - 1], lats[i], lons[i], **kwargs)
    return total
