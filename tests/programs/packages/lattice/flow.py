import numpy as np

idxs = np.arange(9)
cxs = np.array([0, 0, 1, 1, 1, 0, -1, -1, -1])
cys = np.array([0, 1, 1, 0, -1, -1, -1, 0, 1])
weights = np.array([4 / 9, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36])
opposite = [0, 5, 6, 7, 8, 1, 2, 3, 4]


class LatticeBoltzmann:
    def __init__(self, shape, obstacle, tau=0.6, rho0=100.0, perturbation=None):
        self.Ny, self.Nx = shape
        obstacle = np.asarray(obstacle)
        if obstacle.shape != (self.Ny, self.Nx):
            raise ValueError(f"obstacle must have shape {shape}, not {obstacle.shape}")
        if tau <= 0.5:
            raise ValueError("tau must be above 0.5")
        self.cylinder = obstacle.astype(bool)
        self.tau = tau
        self.F = np.ones((self.Ny, self.Nx, 9))
        if perturbation is not None:
            self.F += 0.01 * perturbation
        X, _ = np.meshgrid(range(self.Nx), range(self.Ny))
        self.F[:, :, 3] += 2 * (1 + 0.2 * np.cos(2 * np.pi * X / self.Nx * 4))
        rho = np.sum(self.F, 2)
        for i in idxs:
            self.F[:, :, i] *= rho0 / rho

    def stream(self):
        for i, cx, cy in zip(idxs, cxs, cys):
            self.F[:, :, i] = np.roll(self.F[:, :, i], cx, axis=1)
            self.F[:, :, i] = np.roll(self.F[:, :, i], cy, axis=0)

    def collide(self):
        boundary = self.F[self.cylinder, :]
        boundary = boundary[:, opposite]
        self.rho = np.sum(self.F, 2)
        self.ux = np.sum(self.F * cxs, 2) / self.rho
        self.uy = np.sum(self.F * cys, 2) / self.rho
        Feq = np.zeros(self.F.shape)
        for i, cx, cy, w in zip(idxs, cxs, cys, weights):
            cu = cx * self.ux + cy * self.uy
            Feq[:, :, i] = (
                self.rho * w * (1 + 3 * cu + 9 * cu**2 / 2 - 3 * (self.ux**2 + self.uy**2) / 2)
            )
        self.F += -(1.0 / self.tau) * (self.F - Feq)
        self.F[self.cylinder, :] = boundary

    def run(self, n, monitor=None):
        for it in range(n):
            self.stream()
            self.collide()
            if not np.all(np.isfinite(self.rho)):
                raise FloatingPointError(f"unstable at step {it}")
            if monitor is not None:
                monitor(it, self)

    @property
    def vorticity(self):
        ux, uy = self.ux.copy(), self.uy.copy()
        ux[self.cylinder] = 0
        uy[self.cylinder] = 0
        return (np.roll(ux, -1, axis=0) - np.roll(ux, 1, axis=0)) - (
            np.roll(uy, -1, axis=1) - np.roll(uy, 1, axis=1)
        )


def vorticity_behind_cylinder(obstacle, noise, steps=10, tau=0.6):
    sim = LatticeBoltzmann(obstacle.shape, obstacle, tau, perturbation=noise)
    drag = []
    sim.run(steps, monitor=lambda it, s: drag.append(s.ux.mean()))
    return sim.vorticity, np.array(drag)
