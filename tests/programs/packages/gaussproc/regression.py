import numpy as np

from .kernels import RBF, Constant, White


class NotFittedError(ValueError, AttributeError):
    pass


class GPRegressor:
    def __init__(self, kernel=None, alpha=1e-10, normalize_y=False):
        self.kernel = kernel
        self.alpha = alpha
        self.normalize_y = normalize_y

    def fit(self, X, y):
        X, y = np.asarray(X), np.asarray(y)
        if X.ndim != 2:
            raise ValueError("Expected 2D array")
        if np.iterable(self.alpha) and len(self.alpha) != len(y):
            raise ValueError("alpha must be a scalar or an array with same number of entries as y")
        self.kernel_ = self.kernel if self.kernel is not None else Constant(1.0) * RBF(1.0)
        if self.normalize_y:
            self._mean, self._std = np.mean(y, axis=0), np.std(y, axis=0)
            if self._std == 0:
                self._std = 1.0
            y = (y - self._mean) / self._std
        else:
            self._mean, self._std = 0.0, 1.0
        K = self.kernel_(X)
        K[np.diag_indices_from(K)] += self.alpha
        try:
            self.L_ = np.linalg.cholesky(K)
        except np.linalg.LinAlgError as exc:
            exc.args = ("The kernel is not returning a positive definite matrix.", *exc.args)
            raise
        self.alpha_ = np.linalg.solve(self.L_.T, np.linalg.solve(self.L_, y))
        self.X_, self.y_ = X, y
        return self

    def predict(self, X, return_std=False):
        if not hasattr(self, "X_"):
            raise NotFittedError("fit first")
        K_trans = self.kernel_(X, self.X_)
        mean = self._std * (K_trans @ self.alpha_) + self._mean
        if not return_std:
            return mean
        V = np.linalg.solve(self.L_, K_trans.T)
        var = self.kernel_.diag(X).copy()
        var -= np.einsum("ij,ji->i", V.T, V)
        negative = var < 0
        if np.any(negative):
            var[negative] = 0.0
        return mean, np.sqrt(var) * self._std

    def log_marginal_likelihood(self):
        ll = -0.5 * self.y_ @ self.alpha_ - np.log(np.diag(self.L_)).sum()
        return ll - len(self.y_) / 2 * np.log(2 * np.pi)


def fit_predict(X, y, X_new, length_scale=1.0, noise=0.1, **kwargs):
    kernel = 2.0 * RBF(length_scale) + White(noise)
    gp = GPRegressor(kernel, normalize_y=True, **kwargs).fit(X, y)
    mean, std = gp.predict(X_new, return_std=True)
    return mean, std, gp.log_marginal_likelihood()


def log_marginal_likelihood(theta, X, y):
    amplitude, length, noise = np.exp(theta)
    return GPRegressor(amplitude * RBF(length) + White(noise)).fit(X, y).log_marginal_likelihood()


def next_sample(X, y, candidates, kappa=2.0):
    """Where to look next: the upper confidence bound."""
    gp = GPRegressor(RBF(0.5), alpha=1e-6).fit(X, y)
    mean, std = gp.predict(candidates, return_std=True)
    score = mean + kappa * std
    best = int(np.argmax(score))
    return best, candidates[best], score[best]
