"""B-splines over evenly spaced samples, as `scipy.ndimage` has them: the weights between samples,
and the filter that turns samples into coefficients.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

ORDERS: Final = range(6)

_POLES: Final = {2: 0.172, 3: 0.268, 4: 0.362, 5: 0.431}
"""How fast the response of the filter decays from one sample to the next, by order."""


def weights(place: Any, order: int) -> list[tuple[Any, Any]]:
    """The samples that a place is between, with their weights (de Boor's recurrence)."""
    # Splines of even order have their knots half-way between samples.
    moved = place + 0.5 if order % 2 == 0 else place
    below = np.floor(moved)
    rest = moved - below
    parts: list[Any] = [np.ones_like(place)]
    for degree in range(1, order + 1):
        parts = _raised(parts, rest, degree)
    first = below.astype("int64") - order // 2
    return [(first + k, part) for k, part in enumerate(parts)]


def _raised(parts: list[Any], rest: Any, degree: int) -> list[Any]:
    """The weights of splines of a degree from those of one degree less."""
    made: list[Any] = []
    carried: Any = 0.0
    for k, part in enumerate(parts):
        share = part / degree
        made.append(carried + (k + 1 - rest) * share)
        carried = (rest + (degree - k - 1)) * share
    return [*made, carried]


@functools.cache
def inverse_filter(order: int) -> np.ndarray[Any, Any]:
    """What to convolve samples with to have the coefficients of the spline through them: as long as
    it takes for the rest to be below the precision of float64.
    """
    reach = int(np.ceil(np.log(1e-18) / np.log(_POLES[order])))
    size = 8 * reach
    samples = np.zeros(size)
    for at, weight in weights(np.zeros(()), order):
        samples[int(at) % size] = weight
    response = np.fft.ifft(1 / np.fft.fft(samples)).real
    result = np.concatenate([response[-reach:], response[: reach + 1]])
    result.flags.writeable = False
    return result
