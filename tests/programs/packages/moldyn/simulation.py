import numpy as np

from .neighbours import NeighbourList
from .system import System


class LennardJones:
    def __init__(self, epsilon=1.0, sigma=1.0, cutoff=2.5):
        self.epsilon, self.sigma, self.cutoff = epsilon, sigma, cutoff
        s6 = (sigma / cutoff) ** 6
        self.shift = 4 * epsilon * (s6**2 - s6)

    def compute(self, system, neighbours):
        system.forces[:] = 0.0
        energy = 0.0
        virial = 0.0
        for i in range(len(system)):
            for k in range(neighbours.count[i]):
                j = neighbours.neighbours[i, k]
                d = system.positions[i] - system.positions[j]
                d -= system.box * np.round(d / system.box)
                r2 = d @ d
                if r2 >= self.cutoff**2:
                    continue
                s6 = (self.sigma**2 / r2) ** 3
                force = 24 * self.epsilon * (2 * s6**2 - s6) / r2 * d
                system.forces[i] += force
                system.forces[j] -= force
                energy += 4 * self.epsilon * (s6**2 - s6) - self.shift
                virial += force @ d
        return energy, virial


class Simulation:
    def __init__(self, system, dt=0.002, potential=None, reporters=()):
        self.system = system
        self.dt = dt
        self.potential = potential or LennardJones()
        self.neighbours = NeighbourList(self.potential.cutoff)
        self.reporters = list(reporters)
        self.neighbours.update(system)
        self.energy, self.virial = self.potential.compute(system, self.neighbours)

    def step(self, n):
        s, half = self.system, 0.5 * self.dt / self.system.mass
        for i in range(n):
            s.velocities += half * s.forces
            s.positions += self.dt * s.velocities
            s.wrap()
            self.neighbours.update(s)
            self.energy, self.virial = self.potential.compute(s, self.neighbours)
            s.velocities += half * s.forces
            for report in self.reporters:
                report(i, self)

    @property
    def pressure(self):
        volume = self.system.box**3
        return (len(self.system) * self.system.temperature + self.virial / 3) / volume


def run(positions, velocities, box, n_steps=5, dt=0.002):
    energies = []
    system = System(positions, velocities, box)
    record = lambda i, sim: energies.append(sim.energy + sim.system.kinetic_energy)  # noqa: E731
    sim = Simulation(system, dt, reporters=[record])
    sim.step(n_steps)
    return system.positions, system.velocities, np.array(energies), sim.pressure
