from dataclasses import dataclass, field

import numpy as np


@dataclass
class System:
    positions: np.ndarray
    velocities: np.ndarray
    box: float
    mass: float = 1.0
    forces: np.ndarray = field(init=False)

    def __post_init__(self):
        self.positions = np.array(self.positions, dtype=float)
        self.velocities = np.array(self.velocities, dtype=float)
        if self.positions.shape != self.velocities.shape:
            raise ValueError("positions and velocities differ in shape")
        if self.positions.ndim != 2 or self.positions.shape[1] != 3:
            raise ValueError("positions must have shape (n, 3)")
        self.forces = np.zeros_like(self.positions)

    def __len__(self):
        return len(self.positions)

    @property
    def kinetic_energy(self):
        return 0.5 * self.mass * np.sum(self.velocities**2)

    @property
    def temperature(self):
        return 2.0 * self.kinetic_energy / (3.0 * len(self))

    def wrap(self):
        self.positions -= self.box * np.floor(self.positions / self.box)
