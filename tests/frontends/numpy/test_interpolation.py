"""`np.interp` of values that are not finite, and its slopes at the points themselves."""

from __future__ import annotations

import numpy as np
import pytest

import weft as wf

POINTS = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
AT = np.array([-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, np.nan])
NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    "values",
    [
        [0, 1, NAN, 3, 4.0],
        [NAN, 1, 2, 3, 4],
        [0, 1, 2, 3, NAN],
        [INF, 1, 2, INF, INF],
        [0, 1, -INF, INF, 4],
        [-INF, -INF, 0, 0, NAN],
    ],
)
def test_lines_that_give_nan_are_numpys(values: list[float]) -> None:
    given = np.array(values)
    with np.errstate(invalid="ignore"):
        wanted = np.interp(AT, POINTS, given)
    np.testing.assert_array_equal(wf.jit(np.interp)(AT, POINTS, given), wanted)


def test_slopes_at_points_are_those_to_the_right() -> None:
    values = POINTS**2
    slope = wf.grad(lambda x: np.interp(x, POINTS, values))
    assert [float(slope(x)) for x in (0.5, 1.0, 2.0)] == [1.0, 3.0, 5.0]
