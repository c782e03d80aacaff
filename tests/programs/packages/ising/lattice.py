import numpy as np


class IsingLattice:
    def __init__(self, spins, coupling=1.0, field=0.0, rng=None):
        self.spins = np.array(spins)
        if not np.isin(self.spins, (-1, 1)).all():
            raise ValueError("spins must be -1 or 1")
        self.J, self.h = coupling, field
        self.rng = rng if rng is not None else np.random.RandomState(0)
        self.accepted = 0

    @property
    def size(self):
        return self.spins.shape[0]

    @property
    def magnetisation(self):
        return self.spins.mean()

    def energy(self):
        s = self.spins
        bonds = s * (np.roll(s, 1, 0) + np.roll(s, 1, 1))
        return -self.J * bonds.sum() - self.h * s.sum()

    def delta(self, i, j):
        n = self.size
        s = self.spins
        around = s[(i + 1) % n, j] + s[i - 1, j] + s[i, (j + 1) % n] + s[i, j - 1]
        return 2 * s[i, j] * (self.J * around + self.h)

    def sweep(self, temperature):
        for _ in range(self.size**2):
            i, j = self.rng.randint(0, self.size, 2)
            dE = self.delta(i, j)
            if dE <= 0 or self.rng.rand() < np.exp(-dE / temperature):
                self.spins[i, j] *= -1
                self.accepted += 1

    def checkerboard(self, beta, uniforms):
        """One sweep, red and then black sites at once."""
        rows, cols = np.indices(self.spins.shape)
        for colour in (0, 1):
            s = self.spins
            around = np.roll(s, 1, 0) + np.roll(s, -1, 0) + np.roll(s, 1, 1) + np.roll(s, -1, 1)
            dE = 2 * s * (self.J * around + self.h)
            flip = ((rows + cols) % 2 == colour) & (uniforms[colour] < np.exp(-beta * dE))
            self.spins[flip] *= -1
            self.accepted += np.count_nonzero(flip)


def anneal(spins, temperatures, seed=5):
    """Energies while it cools."""
    model = IsingLattice(spins, rng=np.random.RandomState(seed))
    energies = []
    for T in temperatures:
        model.sweep(T)
        energies.append(model.energy())
    return model.spins, np.array(energies), model.accepted


def magnetise(spins, uniforms, beta=0.5, field=0.1):
    model = IsingLattice(spins, field=field)
    track = np.empty(len(uniforms))
    for t, u in enumerate(uniforms):
        model.checkerboard(beta, u)
        track[t] = model.magnetisation
    return model.spins, track, model.accepted
