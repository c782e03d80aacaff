"""ADBench: hand tracking, the distances of measured points from a posed model of a hand.

26 angles and offsets pose a skeleton of 22 bones, whose transforms move the vertices by linear
blend skinning. The model's data are random here; the maths is the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Function, Workload, gradient

BONES, PARAMETERS = 22, 26
PARENTS = (-1, 0, *(0 if i % 4 == 0 else 1 + i for i in range(20)))


def bone_angles(xp: Any, theta: Any) -> list[Any]:
    """Three angles for each bone: the first joint of a finger has two, the next two have one."""
    zero, place = 0.0 * theta[0], 6
    angles = [(zero, zero, zero)] * 2
    for _ in range(5):
        angles.append((zero, zero, zero))
        angles.append((theta[place], theta[place + 1], zero))
        angles += [(theta[place + 2], zero, zero), (theta[place + 3], zero, zero)]
        place += 4
    return angles


def matrix(xp: Any, rows: Any) -> Any:
    return xp.stack([xp.stack(row) for row in rows])


def from_euler(xp: Any, angles: Any) -> Any:
    """Turns around x, then y, then z, as a matrix of 4x4."""
    x, y, z = angles
    zero, one = 0.0 * x, 0.0 * x + 1.0
    cx, sx, cy, sy, cz, sz = (f(a) for a in (x, y, z) for f in (xp.cos, xp.sin))
    return matrix(
        xp,
        (
            (cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, zero),
            (sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, zero),
            (-sy, cy * sx, cy * cx, zero),
            (zero, zero, zero, one),
        ),
    )


def from_axis(xp: Any, v: Any) -> Any:
    """The rotation by an axis whose length is the angle."""
    angle = xp.sqrt(xp.sum(v * v) + 1e-12)
    x, y, z = (v[i] / angle for i in range(3))
    c, s = xp.cos(angle), xp.sin(angle)
    k = 1.0 - c
    return matrix(
        xp,
        (
            (c + x * x * k, x * y * k - z * s, x * z * k + y * s),
            (y * x * k + z * s, c + y * y * k, y * z * k - x * s),
            (z * x * k - y * s, z * y * k + x * s, c + z * z * k),
        ),
    )


def differences(xp: Any, size: Any) -> Function:
    """The measured points less the vertices that they belong to."""

    def apart(theta: Any, model: Any, nearest: Any, measured: Any) -> Any:
        absolute: list[Any] = []
        for i, angles in enumerate(bone_angles(xp, theta)):
            relative = model["relative"][i] @ from_euler(xp, angles)
            above = PARENTS[i]
            absolute.append(relative if above < 0 else absolute[above] @ relative)
        transforms = xp.stack(absolute) @ model["inverse"]
        moved = model["places"] @ transforms[:, :3, :].swapaxes(1, 2)
        skin = xp.sum(moved * model["weights"][:, :, None], axis=0)
        posed = skin @ from_axis(xp, theta[:3]).swapaxes(0, 1) + theta[3:6]
        return measured - posed[nearest]

    return apart


def loss(xp: Any, size: Any) -> Function:
    """Half the sum of the squared distances."""
    apart = differences(xp, size)

    def total(*arguments: Any) -> Any:
        errors = apart(*arguments)
        return 0.5 * xp.sum(errors * errors)

    return total


def by_steps(xp: Any, size: Any) -> Function:
    """The Jacobian by imaginary steps, whose rounding errors are those of the function itself."""
    apart = differences(xp, size)

    def jacobian(theta: Any, *rest: Any) -> Any:
        steps = 1e-30j * np.eye(PARAMETERS)
        return np.stack([apart(theta + step, *rest).imag for step in steps], -1) / 1e-30

    return jacobian


def weft_jacobian(xp: Any, size: Any) -> Function:
    import weft as wf

    return wf.jacfwd(differences(xp, size))


def jax_jacobian(xp: Any, size: Any) -> Function:
    import jax

    jacobian: Function = jax.jacfwd(differences(xp, size))
    return jacobian


def torch_jacobian(xp: Any, size: Any) -> Function:
    import torch

    jacobian: Function = torch.func.jacfwd(differences(xp, size))
    return jacobian


def hand(size: Any) -> tuple[Any, ...]:
    vertices, points = size
    r = np.random.default_rng(0)
    relative = np.broadcast_to(np.eye(4), (BONES, 4, 4)).copy()
    relative[:, :3, 3] = r.normal(size=(BONES, 3)) * 0.3
    weights = r.uniform(size=(BONES, vertices)) ** 8
    model = {
        "relative": relative,
        "inverse": np.linalg.inv(relative),
        "places": np.concatenate([r.normal(size=(vertices, 3)), np.ones((vertices, 1))], 1),
        "weights": weights / weights.sum(0),
    }
    theta = r.normal(size=PARAMETERS) * 0.3
    return theta, model, r.integers(0, vertices, points), r.normal(size=(points, 3))


WORKLOADS = (
    Workload(
        "adbench-hand",
        "adbench",
        "gradient of hand tracking, f64",
        loss,
        hand,
        {"544 vertices, 100 points": (544, 100)},
        (12, 5),
        form=gradient(0),
        without={"torch.compile": "it compiles for minutes"},
        tolerance=1e-9,
    ),
    Workload(
        "adbench-hand-jacobian",
        "adbench",
        "all derivatives of hand tracking by forward mode, f64",
        by_steps,
        hand,
        {"544 vertices, 100 points": (544, 100)},
        (12, 5),
        own={"weft": weft_jacobian, "jax": jax_jacobian, "torch": torch_jacobian},
        without={
            "numpy": "no derivatives",
            "torch.compile": "it compiles for minutes",
            "pytensor": "not written for it",
        },
        tolerance=1e-9,
        cold=False,
    ),
)
