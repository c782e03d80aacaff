"""Golden numbers G29 to G31: batch, layer and weight normalisation, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as wf
from tests.systems.models import array, check, check_modes, near, run, tiny


def standardise(x: Any, axes: Any, eps: float = 0.0) -> Any:
    """Zero mean and unit biased variance over some axes."""
    mean = np.mean(x, axis=axes, keepdims=True)
    variance = np.var(x, axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps)


def ramp(*shape: int) -> Any:
    return np.arange(float(np.prod(shape))).reshape(shape)


# --- G29: batch norm ------------------------------------------------------------------------------


def test_g29_batch_norm_and_its_jacobian() -> None:
    z = array(1, 2, 3, 4)
    near(run(lambda z: (np.mean(z), np.var(z)), z), (2.5, 1.25))
    made = run(lambda z: standardise(z, 0), z)
    near(made, array(-1.3416407865, -0.4472135955, 0.4472135955, 1.3416407865))
    row = array(0.2683281573, -0.3577708764, -0.0894427191, 0.1788854382)
    for jacobian in (wf.jacfwd, wf.jacrev):
        near(run(jacobian(lambda z: standardise(z, 0)), z)[0], row)
    check(lambda z: standardise(z, 0)[0], [z], -1.3416407865, [row])


def test_g29_batch_norm_of_a_matrix() -> None:
    made = run(lambda x: standardise(x, 0, 1e-5), ramp(2, 5))
    near(made, np.outer([-0.9999992, 0.9999992], np.ones(5)), 7)


def test_g29_batch_norm_of_sequences() -> None:
    x = ramp(2, 5, 3)
    near(run(lambda x: np.var(x, axis=(0, 2)), x), np.full(5, 56.91667), 5)
    made = run(lambda x: standardise(x, (0, 2), 1e-5), x)
    low = array(-1.1266763, -0.99412615, -0.86157599)
    near(made, np.stack([np.tile(low, (5, 1)), np.tile(-low[::-1], (5, 1))]), 7)


def test_g29_batch_norm_of_images() -> None:
    x = ramp(2, 5, 3, 2)
    near(run(lambda x: np.var(x, axis=(0, 2, 3)), x), np.full(5, 227.91667), 5)
    made = run(lambda x: standardise(x, (0, 2, 3), 1e-5), x)
    rows = ([-1.15917764, -1.09293892], [-1.0267002, -0.96046148], [-0.89422275, -0.82798403])
    near(made[0, 0], array(*rows), 8)
    rows = ([0.82798403, 0.89422275], [0.96046148, 1.0267002], [1.09293892, 1.15917764])
    near(made[1, 4], array(*rows), 8)
    weights = np.cos(x)
    check_modes(lambda x: np.sum(weights * standardise(x, (0, 2, 3), 1e-5)), [x])


def test_g29_running_statistics() -> None:
    def update(state: Any, batch: Any, ddof: int) -> Any:
        mean, variance = state
        new = np.mean(batch), np.var(batch, ddof=ddof)
        return 0.9 * mean + 0.1 * new[0], 0.9 * variance + 0.1 * new[1]

    near(run(lambda s, b: update(s, b, 1), (0.0, 1.0), array(1, 3)), (0.2, 1.1))
    near(run(lambda s, b: update(s, b, 0), (0.0, 1.0), array(1, 3)), (0.2, 1.0))


# --- G30: layer norm ------------------------------------------------------------------------------


def test_g30_layer_norm_over_the_last_axis() -> None:
    made = run(lambda x: standardise(x, -1, 1e-5), ramp(2, 5))
    near(made, np.tile(array(-1.41421003, -0.70710501, 0, 0.70710501, 1.41421003), (2, 1)), 8)


def test_g30_layer_norm_over_two_axes() -> None:
    made = run(lambda x: standardise(x, (1, 2), 1e-5), ramp(2, 5, 2))
    half = ([-1.56669795, -1.21854285], [-0.87038775, -0.52223265], [-0.17407755, 0.17407755])
    rows = array(*half, *[[-right, -left] for left, right in half[1::-1]])
    near(made, np.stack([rows, rows]), 8)


def test_g30_layer_norm_pulls_a_cotangent_back() -> None:
    cotangent = np.zeros((2, 5))
    cotangent[0, 0] = cotangent[1, 1] = 1

    def pulled(x: Any, cotangent: Any) -> Any:
        _, pull = wf.vjp(lambda x: standardise(x, -1, 1e-5), x)
        return pull(cotangent)[0]

    made = run(pulled, ramp(2, 5), cotangent)
    first = [0.28284342, -0.282841298, -0.141421003, -7.07101478e-7, 0.141419588]
    second = [-0.282841298, 0.494973863, -0.141421003, -0.070710855, -7.07101478e-7]
    near(made, array(first, second), 8)
    tiny(made[[0, 1], [3, 4]], -7.07101478e-7, 9)


def test_g30_layer_norm_without_eps() -> None:
    x = array([1, 2, 3], [4, 5, 6])
    near(
        run(lambda x: standardise(x, -1), x), np.tile(array(-1.2247448714, 0, 1.2247448714), (2, 1))
    )
    low = [-1.4638501094, -0.8783100657, -0.2927700219]
    near(run(lambda x: standardise(x, (0, 1)), x), array(low, [-y for y in low[::-1]]))


# --- G31: weight norm -----------------------------------------------------------------------------


def test_g31_weight_norm() -> None:
    def weights(v: Any, g: Any) -> Any:
        return g * v / np.linalg.norm(v)

    near(run(weights, array(3, 4), 2.0), array(1.2, 1.6))
    gradients = [array(0.256, -0.192), 0.6]
    check(lambda v, g: weights(v, g)[0], [array(3, 4), 2.0], 1.2, gradients)
