"""ADBench: bundle adjustment, the errors of points of a scene seen by cameras.

A camera has eleven parameters: a rotation by axis and angle, its centre, the focal length, the
principal point and two of radial distortion. Here the gradient of half the sum of the squares.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Function, Workload, gradient


def cross(xp: Any, a: Any, b: Any) -> Any:
    return xp.stack(
        (
            a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1],
            a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2],
            a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0],
        ),
        axis=1,
    )


def rotated(xp: Any, rotation: Any, x: Any) -> Any:
    """The formula of Rodrigues."""
    angle = xp.sqrt(xp.sum(rotation * rotation, axis=1, keepdims=True))
    axis = rotation / angle
    along = xp.sum(axis * x, axis=1, keepdims=True) * (1.0 - xp.cos(angle))
    return x * xp.cos(angle) + cross(xp, axis, x) * xp.sin(angle) + axis * along


def projected(xp: Any, camera: Any, x: Any) -> Any:
    seen = rotated(xp, camera[:, 0:3], x - camera[:, 3:6])
    flat = seen[:, :2] / seen[:, 2:]
    r2 = xp.sum(flat * flat, axis=1, keepdims=True)
    bent = flat * (1.0 + camera[:, 9:10] * r2 + camera[:, 10:11] * r2 * r2)
    return bent * camera[:, 6:7] + camera[:, 7:9]


def loss(xp: Any, size: Any) -> Function:
    def total(
        cameras: Any, points: Any, weights: Any, camera: Any, point: Any, features: Any
    ) -> Any:
        errors = projected(xp, cameras[camera], points[point]) - features
        weighted = errors * weights[:, None]
        surplus = 1.0 - weights * weights
        return 0.5 * (xp.sum(weighted * weighted) + xp.sum(surplus * surplus))

    return total


def scene(size: Any) -> tuple[Any, ...]:
    cameras, points, observations = size
    r = np.random.default_rng(0)
    parameters = r.normal(size=(cameras, 11)) * 0.1
    parameters[:, 5] -= 10.0
    parameters[:, 6] += 1.0
    return (
        parameters,
        r.normal(size=(points, 3)),
        r.uniform(0.5, 1.0, observations),
        r.integers(0, cameras, observations),
        r.integers(0, points, observations),
        r.normal(size=(observations, 2)),
    )


WORKLOADS = (
    Workload(
        "adbench-bundle",
        "adbench",
        "gradient of bundle adjustment, f64",
        loss,
        scene,
        {"49 cameras, 7,776 points, 31,843 seen": (49, 7776, 31843)},
        (3, 5, 11),
        form=gradient(0, 1, 2),
        tolerance=1e-9,
    ),
)
