"""ADBench: the Jacobian of bundle adjustment, which is what its solvers ask for.

Sparse, in three matrices of SciPy: by cameras, points and weights. Weft finds the pattern from the
function as it is written for all observations. The peers are written as ADBench writes them:
dense derivatives of one observation, batched over all, at positions that are given beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.peers import compiles_itself
from benchmarks.workload import Function, Workload
from benchmarks.workloads.adbench_bundle import projected, scene

WIDTHS = (11, 3, 1)  # parameters of a camera, a point and a weight


def residuals(xp: Any) -> Function:
    """Two weighted errors of each observation, then what each weight lacks of one."""

    def errors(
        cameras: Any, points: Any, weights: Any, camera: Any, point: Any, features: Any
    ) -> Any:
        apart = projected(xp, cameras[camera], points[point]) - features
        weighted = apart * weights[:, None]
        return xp.concatenate((weighted.reshape(-1), 1.0 - weights * weights))

    return errors


def weft_jacobian(xp: Any, size: Any) -> Function:
    import weft as wf

    jacobian = wf.sparse_jacobian(residuals(xp), (0, 1, 2))
    return compiles_itself(lambda *arguments: jacobian(*arguments))


def of_one(xp: Any) -> Function:
    """The errors of one observation, in vectors without an axis for all of them."""

    def errors(camera: Any, point: Any, weight: Any, feature: Any) -> Any:
        rotation, x = camera[:3], point - camera[3:6]
        angle = xp.sqrt(xp.sum(rotation * rotation))
        a = rotation / angle
        across = (a[1] * x[2] - a[2] * x[1], a[2] * x[0] - a[0] * x[2], a[0] * x[1] - a[1] * x[0])
        along = xp.sum(a * x) * (1.0 - xp.cos(angle))
        seen = x * xp.cos(angle) + xp.stack(across) * xp.sin(angle) + a * along
        flat = seen[:2] / seen[2]
        r2 = xp.sum(flat * flat)
        bent = flat * (1.0 + camera[9] * r2 + camera[10] * r2 * r2)
        return (bent * camera[6] + camera[7:9] - feature) * weight

    return errors


def entries_of(xp: Any, derivatives: Function) -> Function:
    """The entries of the three matrices, from the dense derivatives of all observations."""

    def entries(
        cameras: Any, points: Any, weights: Any, camera: Any, point: Any, features: Any
    ) -> Any:
        made = derivatives(cameras[camera], points[point], weights, features)
        by_camera, by_point, by_weight = (each.reshape(-1) for each in made)
        return by_camera, by_point, xp.concatenate((by_weight, -2.0 * weights))

    return entries


def with_matrices(entries: Function, size: Any) -> Function:
    """Calls compiled code for the entries, and puts them into matrices that are made beforehand."""
    camera, point = scene(size)[3:5]
    empty = patterns(size, camera, point)

    def call(*arguments: Any) -> Any:
        return tuple(
            type(each)((np.asarray(data), each.indices, each.indptr), each.shape)
            for data, each in zip(entries(*arguments), empty, strict=True)
        )

    return compiles_itself(call)


def patterns(size: Any, camera: Any, point: Any) -> Sequence[Any]:
    """The three matrices with all that can differ from zero, and a few entries that cannot."""
    from scipy.sparse import csr_array

    cameras, points, observations = size
    made = []
    owners = (camera, point, np.arange(observations))
    for owner, count, width in zip(owners, (cameras, points, observations), WIDTHS, strict=True):
        columns = np.repeat(owner, 2)[:, None] * width + np.arange(width)
        lengths = np.repeat((width, int(width == 1)), (2 * observations, observations))
        if width == 1:
            columns = np.concatenate((columns, owner[:, None]))
        starts = np.concatenate(([0], np.cumsum(lengths)))
        shape = (3 * observations, count * width)
        made.append(csr_array((np.zeros(columns.size), columns.ravel(), starts), shape=shape))
    return made


def jax_jacobian(xp: Any, size: Any) -> Function:
    import jax

    derivatives = jax.vmap(jax.jacrev(of_one(xp), (0, 1, 2)))
    return with_matrices(jax.jit(entries_of(xp, derivatives)), size)


def torch_jacobian(xp: Any, size: Any) -> Function:
    import torch

    derivatives = torch.func.vmap(torch.func.jacrev(of_one(xp), (0, 1, 2)))
    return with_matrices(entries_of(xp, derivatives), size)


def by_steps(xp: Any, size: Any) -> Function:
    """By imaginary steps, whose rounding errors are those of the function itself."""

    def derivatives(cameras: Any, points: Any, weights: Any, features: Any) -> Any:
        given = np.concatenate((cameras, points, weights[:, None]), 1)
        columns = []
        for step in 1e-30j * np.eye(given.shape[1]):
            camera, point, weight = np.split(given + step, (11, 14), axis=1)
            columns.append(((projected(xp, camera, point) - features) * weight).imag / 1e-30)
        return np.split(np.stack(columns, -1), (11, 14), axis=-1)

    return with_matrices(entries_of(np, derivatives), size)


WORKLOADS = (
    Workload(
        "adbench-bundle-jacobian",
        "adbench",
        "sparse derivatives of bundle adjustment, f64",
        by_steps,
        scene,
        {"49 cameras, 7,776 points, 31,843 seen": (49, 7776, 31843)},
        (3, 5, 11),
        own={"weft": weft_jacobian, "jax": jax_jacobian, "torch": torch_jacobian},
        without={
            "numpy": "its derivatives would be derived by hand",
            "torch.compile": "it ends in SciPy's matrix",
            "pytensor": "not written for it",
        },
        tolerance=1e-9,
    ),
)
