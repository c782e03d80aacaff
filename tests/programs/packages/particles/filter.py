import logging

import numpy as np

from .resampling import systematic_resample

logger = logging.getLogger(__name__)


class ParticleFilter:
    def __init__(self, n, *, seed=None, threshold=0.5):
        if n <= 0:
            raise ValueError("need at least one particle")
        self.n = n
        self.rng = np.random.RandomState(seed)
        self.threshold = threshold
        self.particles = np.empty((n, 3))
        self.weights = np.full(n, 1.0 / n)
        self.resampled = 0

    def create_uniform(self, x_range, y_range):
        self.particles[:, 0] = self.rng.uniform(*x_range, size=self.n)
        self.particles[:, 1] = self.rng.uniform(*y_range, size=self.n)
        self.particles[:, 2] = self.rng.uniform(0, 2 * np.pi, size=self.n)
        return self

    def predict(self, u, std, dt=1.0):
        self.particles[:, 2] += u[0] + self.rng.randn(self.n) * std[0]
        self.particles[:, 2] %= 2 * np.pi
        dist = (u[1] * dt) + (self.rng.randn(self.n) * std[1])
        self.particles[:, 0] += np.cos(self.particles[:, 2]) * dist
        self.particles[:, 1] += np.sin(self.particles[:, 2]) * dist

    def update(self, z, R, landmarks):
        for i, landmark in enumerate(landmarks):
            distance = np.linalg.norm(self.particles[:, 0:2] - landmark, axis=1)
            self.weights *= np.exp(-0.5 * ((z[i] - distance) / R) ** 2)
        self.weights += 1.0e-300
        self.weights /= sum(self.weights)

    @property
    def neff(self):
        return 1.0 / np.sum(np.square(self.weights))

    def maybe_resample(self):
        if self.neff < self.threshold * self.n:
            indexes = systematic_resample(self.weights, self.rng.rand())
            logger.debug("resampling")
            self.particles[:] = self.particles[indexes]
            self.weights.resize(len(self.particles))
            self.weights.fill(1.0 / len(self.weights))
            self.resampled += 1

    def estimate(self):
        pos = self.particles[:, 0:2]
        mean = np.average(pos, weights=self.weights, axis=0)
        var = np.average((pos - mean) ** 2, weights=self.weights, axis=0)
        return mean, var


def locate(ranges, landmarks, u=(0.1, 1.4), n=40, std=0.5):
    """The path of a robot that sees how far the landmarks are."""
    pf = ParticleFilter(n, seed=11).create_uniform((0, 20), (0, 20))
    xs = []
    for z in ranges:
        pf.predict(u=u, std=(0.02, 0.1))
        pf.update(z, R=std, landmarks=landmarks)
        pf.maybe_resample()
        mu, var = pf.estimate()
        xs.append(np.r_[mu, var])
    return np.array(xs), pf.resampled
