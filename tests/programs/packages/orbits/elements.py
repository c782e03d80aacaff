from dataclasses import astuple, dataclass

import numpy as np

from .kepler import solve_kepler

MU_EARTH = 398600.4418


@dataclass
class Orbit:
    a: float
    e: float
    i: float
    raan: float
    argp: float
    nu: float
    mu: float = MU_EARTH

    @property
    def p(self):
        return self.a * (1 - self.e**2)

    @property
    def period(self):
        return 2 * np.pi * np.sqrt(self.a**3 / self.mu)

    @classmethod
    def from_vectors(cls, r, v, mu=MU_EARTH):
        r, v = np.asarray(r, dtype=float), np.asarray(v, dtype=float)
        h = np.cross(r, v)
        n = np.cross([0, 0, 1], h)
        rn, nn = np.linalg.norm(r), np.linalg.norm(n)
        e_vec = ((v @ v - mu / rn) * r - (r @ v) * v) / mu
        e = np.linalg.norm(e_vec)
        energy = v @ v / 2 - mu / rn
        i = np.arccos(h[2] / np.linalg.norm(h))
        raan = np.arccos(n[0] / nn)
        if n[1] < 0:
            raan = 2 * np.pi - raan
        argp = np.arccos(np.clip(n @ e_vec / (nn * e), -1, 1))
        if e_vec[2] < 0:
            argp = 2 * np.pi - argp
        nu = np.arccos(np.clip(e_vec @ r / (e * rn), -1, 1))
        if r @ v < 0:
            nu = 2 * np.pi - nu
        return cls(-mu / (2 * energy), e, i, raan, argp, nu, mu)

    def to_vectors(self):
        a, e, i, raan, argp, nu, mu = astuple(self)
        p = self.p
        r = p / (1 + e * np.cos(nu)) * np.array([np.cos(nu), np.sin(nu), 0])
        v = np.sqrt(mu / p) * np.array([-np.sin(nu), e + np.cos(nu), 0])
        R = _rz(raan) @ _rx(i) @ _rz(argp)
        return R @ r, R @ v

    def propagate(self, dt):
        if self.e >= 1:
            raise NotImplementedError("only closed orbits")
        E = 2 * np.arctan(np.sqrt((1 - self.e) / (1 + self.e)) * np.tan(self.nu / 2))
        M = E - self.e * np.sin(E) + np.sqrt(self.mu / self.a**3) * dt
        E = solve_kepler(M, self.e)
        nu = 2 * np.arctan2(
            np.sqrt(1 + self.e) * np.sin(E / 2), np.sqrt(1 - self.e) * np.cos(E / 2)
        )
        return Orbit(self.a, self.e, self.i, self.raan, self.argp, nu, self.mu)


def _rz(x):
    c, s = np.cos(x), np.sin(x)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def _rx(x):
    c, s = np.cos(x), np.sin(x)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def propagate(r, v, dt, mu=MU_EARTH):
    return Orbit.from_vectors(r, v, mu).propagate(dt).to_vectors()


def ephemeris(r, v, times):
    orbit = Orbit.from_vectors(r, v)
    states = np.empty((len(times), 6))
    for k, t in enumerate(times):
        states[k, :3], states[k, 3:] = orbit.propagate(t).to_vectors()
    return states, orbit.period
