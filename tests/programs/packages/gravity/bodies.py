from dataclasses import dataclass
from itertools import combinations

import numpy as np

G = 6.674e-11


@dataclass
class Body:
    name: str
    mass: float
    position: np.ndarray
    velocity: np.ndarray

    def momentum(self):
        return self.mass * self.velocity

    def kick(self, acceleration, dt):
        self.velocity = self.velocity + acceleration * dt

    def drift(self, dt):
        self.position = self.position + self.velocity * dt


class Universe:
    def __init__(self, bodies, g=G, softening=0.0):
        names = [body.name for body in bodies]
        if len(set(names)) != len(names):
            raise ValueError("bodies need different names")
        self.bodies = {body.name: body for body in bodies}
        self.g = g
        self.softening = softening
        self.time = 0.0
        self.history = {name: [] for name in self.bodies}

    def accelerations(self):
        total = {name: np.zeros(3) for name in self.bodies}
        for a, b in combinations(self.bodies.values(), 2):
            r = b.position - a.position
            d3 = (r @ r + self.softening**2) ** 1.5
            total[a.name] += self.g * b.mass * r / d3
            total[b.name] -= self.g * a.mass * r / d3
        return total

    def step(self, dt):
        for name, a in self.accelerations().items():
            self.bodies[name].kick(a, dt / 2)
        for body in self.bodies.values():
            body.drift(dt)
        for name, a in self.accelerations().items():
            self.bodies[name].kick(a, dt / 2)
        self.time += dt

    def run(self, until, dt, every=1, callback=None):
        n = 0
        while self.time < until - 1e-12:
            self.step(min(dt, until - self.time))
            n += 1
            if n % every == 0:
                for body in self.bodies.values():
                    self.history[body.name].append(body.position.copy())
            if callback is not None and callback(self):
                break
        return n

    @property
    def energy(self):
        kinetic = sum(0.5 * b.mass * b.velocity @ b.velocity for b in self.bodies.values())
        potential = 0.0
        for a, b in combinations(self.bodies.values(), 2):
            potential -= self.g * a.mass * b.mass / np.linalg.norm(a.position - b.position)
        return kinetic + potential


def simulate(masses, positions, velocities, until=1.0, dt=0.02):
    bodies = [
        Body(f"body{i}", m, np.array(x), np.array(v))
        for i, (m, x, v) in enumerate(zip(masses, positions, velocities))
    ]
    universe = Universe(bodies, g=1.0, softening=0.05)
    before = universe.energy
    universe.run(until, dt, every=5)
    tracks = {name: np.array(track) for name, track in universe.history.items()}
    return tracks, universe.energy - before


def orbit(eccentricity, dt=0.01, until=20.0):
    """Steps until a planet that starts at its perihelion is behind the sun."""
    sun = Body("sun", 1.0, np.zeros(3), np.zeros(3))
    speed = np.sqrt((1 + eccentricity) / (1 - eccentricity))
    planet = Body("planet", 1e-6, np.array([1 - eccentricity, 0, 0]), np.array([0.0, speed, 0.0]))
    universe = Universe([sun, planet], g=1.0)
    n = universe.run(until, dt, every=10_000, callback=lambda u: u.bodies["planet"].position[1] < 0)
    return n, universe.time, universe.bodies["planet"].position
