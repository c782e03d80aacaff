from collections import deque

import numpy as np

from .algorithms import backward, forward, logsumexp, viterbi


def check_transitions(matrix, name):
    if np.any(matrix < 0):
        raise ValueError(f"{name} must not be negative")
    if not np.allclose(matrix.sum(axis=-1), 1.0):
        raise ValueError(f"{name} rows must sum to 1")
    return matrix


class ConvergenceMonitor:
    def __init__(self, tol, n_iter):
        self.tol = tol
        self.n_iter = n_iter
        self.history = deque(maxlen=2)
        self.iter = 0

    def report(self, log_prob):
        self.history.append(log_prob)
        self.iter += 1

    @property
    def converged(self):
        return self.iter == self.n_iter or (
            len(self.history) >= 2 and self.history[-1] - self.history[-2] < self.tol
        )


class BaseHMM:
    def __init__(self, startprob, transmat, n_iter=10, tol=1e-2):
        self.startprob_ = check_transitions(np.asarray(startprob, dtype=float), "startprob_")
        self.transmat_ = check_transitions(np.asarray(transmat, dtype=float), "transmat_")
        self.n_components = len(self.startprob_)
        self.n_iter = n_iter
        self.tol = tol

    def _compute_log_likelihood(self, X):
        raise NotImplementedError

    def _logs(self, X):
        with np.errstate(divide="ignore"):
            return np.log(self.startprob_), np.log(self.transmat_), self._compute_log_likelihood(X)

    def score(self, X):
        return logsumexp(forward(*self._logs(X))[-1])

    def decode(self, X):
        return viterbi(*self._logs(X))

    def posteriors(self, X):
        start, trans, emission = self._logs(X)
        fwd, bwd = forward(start, trans, emission), backward(trans, emission)
        log_gamma = fwd + bwd
        log_gamma -= logsumexp(log_gamma, axis=1)[:, None]
        return fwd, bwd, np.exp(log_gamma)


class CategoricalHMM(BaseHMM):
    def __init__(self, startprob, transmat, emissionprob, **kwargs):
        super().__init__(startprob, transmat, **kwargs)
        self.emissionprob_ = check_transitions(np.asarray(emissionprob), "emissionprob_")

    def _compute_log_likelihood(self, X):
        return np.log(self.emissionprob_)[:, X].T


class GaussianHMM(BaseHMM):
    def __init__(self, startprob, transmat, means, variances, **kwargs):
        super().__init__(startprob, transmat, **kwargs)
        self.means_ = np.array(means, dtype=float)
        self.covars_ = np.array(variances, dtype=float)

    def _compute_log_likelihood(self, X):
        d = X[:, None] - self.means_[None, :]
        return -0.5 * (np.log(2 * np.pi * self.covars_) + d**2 / self.covars_)

    def fit(self, X):
        self.monitor_ = ConvergenceMonitor(self.tol, self.n_iter)
        for _ in range(self.n_iter):
            fwd, bwd, gamma = self.posteriors(X)
            log_prob = logsumexp(fwd[-1])
            _, trans, emission = self._logs(X)
            xi = fwd[:-1, :, None] + trans[None] + (emission[1:] + bwd[1:])[:, None, :] - log_prob
            counts = np.exp(xi).sum(axis=0)
            self.startprob_ = gamma[0] / gamma[0].sum()
            self.transmat_ = counts / counts.sum(axis=1, keepdims=True)
            denom = gamma.sum(axis=0)
            self.means_ = (gamma * X[:, None]).sum(axis=0) / denom
            self.covars_ = (gamma * (X[:, None] - self.means_) ** 2).sum(axis=0) / denom + 1e-3
            self.monitor_.report(log_prob)
            if self.monitor_.converged:
                break
        return self


def score(X, startprob, transmat, emissionprob):
    return CategoricalHMM(startprob, transmat, emissionprob).score(X)


def decode(X, startprob, transmat, emissionprob):
    return CategoricalHMM(startprob, transmat, emissionprob).decode(X)


def fit_gaussian(X, means, n_iter=8, tol=1e-2):
    k = len(means)
    transmat = np.full((k, k), 0.1 / (k - 1)) + np.eye(k) * (0.9 - 0.1 / (k - 1))
    model = GaussianHMM(np.full(k, 1 / k), transmat, means, np.ones(k), n_iter=n_iter, tol=tol)
    model.fit(X)
    return model.means_, model.covars_, model.transmat_, model.monitor_.iter
