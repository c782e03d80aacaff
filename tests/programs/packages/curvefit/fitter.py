import numpy as np

from .parameters import Parameters


class LevenbergMarquardt:
    def __init__(self, model, params, max_nfev=100, ftol=1e-10, lam=1e-2):
        self.model = model
        self.params = params
        self.max_nfev = max_nfev
        self.ftol = ftol
        self.lam = lam

    def residual(self, x, y, sigma):
        return (y - self.model(x, **self.params.valuesdict())) / sigma

    def jacobian(self, x, y, sigma, r0):
        vector = self.params.vector()
        J = np.empty((r0.size, vector.size))
        for i in range(vector.size):
            h = 1e-6 * max(abs(vector[i]), 1e-3)
            moved = vector.copy()
            moved[i] += h
            self.params.assign(moved)
            J[:, i] = (self.residual(x, y, sigma) - r0) / h
        self.params.assign(vector)
        return J

    def fit(self, x, y, sigma=None):
        x, y = np.asarray(x), np.asarray(y)
        if x.shape != y.shape:
            raise ValueError(f"x and y differ in shape: {x.shape}, {y.shape}")
        if y.size < len(self.params.free):
            raise ValueError("more parameters than points")
        sigma = 1.0 if sigma is None else np.asarray(sigma)
        lam = self.lam
        r = self.residual(x, y, sigma)
        cost = r @ r
        nfev = 1
        while nfev < self.max_nfev:
            J = self.jacobian(x, y, sigma, r)
            JTJ, g = J.T @ J, J.T @ r
            before = self.params.vector()
            step = np.linalg.solve(JTJ + lam * np.diag(np.diag(JTJ)), -g)
            self.params.assign(before + step)
            new = self.residual(x, y, sigma)
            new_cost = new @ new
            nfev += 1
            if new_cost < cost:
                lam = max(lam / 10, 1e-12)
                done = cost - new_cost < self.ftol * cost
                r, cost = new, new_cost
                if done:
                    break
            else:
                self.params.assign(before)
                lam *= 10
                if lam > 1e12:
                    break
        dof = max(1, y.size - len(self.params.free))
        self.covariance_ = np.linalg.inv(JTJ) * cost / dof
        for p, variance in zip(self.params.free, np.diag(self.covariance_)):
            p.stderr = np.sqrt(variance)
        self.chisqr_, self.nfev_ = cost, nfev
        return self


def decay(t, amplitude, rate, offset):
    return amplitude * np.exp(-rate * t) + offset


def peak(x, height, center, width, slope):
    return height / (1 + ((x - center) / width) ** 2) + slope * x


def fit_decay(t, y, rate=1.0, **kwargs):
    params = Parameters().add("amplitude", 1.0).add("rate", rate, min=0.0).add("offset", 0.0)
    fitter = LevenbergMarquardt(decay, params, **kwargs).fit(t, y)
    return {p.name: (p.value, p.stderr) for p in params.values()}, fitter.chisqr_, fitter.nfev_


def fit_peak(x, y, sigma, center):
    params = Parameters().add("height", y.max()).add("center", center)
    params.add("width", 1.0, min=1e-3, max=10.0).add("slope", 0.0, vary=False)
    fitter = LevenbergMarquardt(peak, params).fit(x, y, sigma)
    return params.vector(), fitter.covariance_, fitter.chisqr_
