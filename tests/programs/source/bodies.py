"""N bodies under their gravity, by the leapfrog method."""

import numpy as np


def accelerations(positions, masses, softening):
    difference = positions[None, :, :] - positions[:, None, :]
    distance = np.sqrt(np.sum(difference**2, axis=2) + softening**2)
    return np.sum(masses[None, :, None] * difference / distance[:, :, None] ** 3, axis=1)


def n_body(positions, velocities, masses, dt, steps):
    x, v = positions.copy(), velocities.copy()
    a = accelerations(x, masses, 0.1)
    energies = []
    for _ in range(steps):
        v += 0.5 * dt * a
        x += dt * v
        a = accelerations(x, masses, 0.1)
        v += 0.5 * dt * a
        energies.append(0.5 * np.sum(masses[:, None] * v**2))
    return x, v, np.array(energies)
