import warnings

import numpy as np

COVARIANCES = ("full", "diag", "spherical")


class ConvergenceWarning(UserWarning):
    pass


def logsumexp(a, axis):
    a_max = np.max(a, axis=axis, keepdims=True)
    return np.log(np.sum(np.exp(a - a_max), axis=axis)) + np.squeeze(a_max, axis)


def precision_cholesky(covariances, covariance_type):
    message = "Fitting failed because some components have ill-defined covariance"
    if covariance_type == "full":
        n_components, n_features, _ = covariances.shape
        chol = np.empty((n_components, n_features, n_features))
        for k, covariance in enumerate(covariances):
            try:
                cov_chol = np.linalg.cholesky(covariance)
            except np.linalg.LinAlgError:
                raise ValueError(message) from None
            chol[k] = np.linalg.solve(cov_chol, np.eye(n_features)).T
        return chol
    if np.any(np.less_equal(covariances, 0.0)):
        raise ValueError(message)
    return 1.0 / np.sqrt(covariances)


class GaussianMixture:
    def __init__(
        self, n_components=1, covariance_type="full", tol=1e-3, reg_covar=1e-6, max_iter=100
    ):
        if covariance_type not in COVARIANCES:
            raise ValueError(f"covariance_type must be one of {COVARIANCES}")
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.converged_ = False

    def _covariances(self, resp, X, nk, means):
        n_components, n_features = means.shape
        if self.covariance_type == "full":
            covariances = np.empty((n_components, n_features, n_features))
            for k in range(n_components):
                diff = X - means[k]
                covariances[k] = np.dot(resp[:, k] * diff.T, diff) / nk[k]
                covariances[k].flat[:: n_features + 1] += self.reg_covar
            return covariances
        avg_X2 = np.dot(resp.T, X * X) / nk[:, np.newaxis]
        avg_means2 = means**2
        diag = avg_X2 - 2 * means * np.dot(resp.T, X) / nk[:, np.newaxis] + avg_means2
        diag += self.reg_covar
        return diag.mean(1) if self.covariance_type == "spherical" else diag

    def _m_step(self, X, log_resp):
        resp = np.exp(log_resp)
        nk = resp.sum(axis=0) + 10 * np.finfo(resp.dtype).eps
        self.means_ = np.dot(resp.T, X) / nk[:, np.newaxis]
        self.covariances_ = self._covariances(resp, X, nk, self.means_)
        self.weights_ = nk / X.shape[0]
        self.precisions_cholesky_ = precision_cholesky(self.covariances_, self.covariance_type)

    def _log_prob(self, X):
        n_samples, n_features = X.shape
        chol = self.precisions_cholesky_
        log_prob = np.empty((n_samples, self.n_components))
        if self.covariance_type == "full":
            log_det = np.log(chol.reshape(self.n_components, -1)[:, :: n_features + 1]).sum(axis=1)
            for k, (mu, prec_chol) in enumerate(zip(self.means_, chol)):
                y = np.dot(X, prec_chol) - np.dot(mu, prec_chol)
                log_prob[:, k] = np.sum(np.square(y), axis=1)
        else:
            wide = chol[:, None] if self.covariance_type == "spherical" else chol
            log_det = np.sum(np.log(wide * np.ones(n_features)), axis=1)
            for k in range(self.n_components):
                log_prob[:, k] = (((X - self.means_[k]) * wide[k]) ** 2).sum(axis=1)
        return -0.5 * (n_features * np.log(2 * np.pi) + log_prob) + log_det

    def _e_step(self, X):
        weighted = self._log_prob(X) + np.log(self.weights_)
        log_prob_norm = logsumexp(weighted, axis=1)
        with np.errstate(under="ignore"):
            log_resp = weighted - log_prob_norm[:, np.newaxis]
        return np.mean(log_prob_norm), log_resp

    def fit(self, X, resp):
        if not np.allclose(resp.sum(axis=1), 1):
            raise ValueError("responsibilities must sum to one")
        with np.errstate(divide="ignore"):
            self._m_step(X, np.log(resp))
        lower_bound = -np.inf
        for n_iter in range(1, self.max_iter + 1):
            prev_lower_bound = lower_bound
            lower_bound, log_resp = self._e_step(X)
            self._m_step(X, log_resp)
            change = lower_bound - prev_lower_bound
            if abs(change) < self.tol:
                self.converged_ = True
                break
        if not self.converged_:
            warnings.warn("EM did not converge", ConvergenceWarning, stacklevel=2)
        self.n_iter_, self.lower_bound_ = n_iter, lower_bound
        return self

    def predict(self, X):
        return self._e_step(X)[1].argmax(axis=1)


def fit_predict(X, resp, **params):
    X = np.asarray(X, dtype=np.float64)
    model = GaussianMixture(resp.shape[1], **params).fit(X, resp)
    return model.means_, model.covariances_, model.predict(X), model.lower_bound_, model.n_iter_


def log_likelihood(X, means, variances, weights):
    model = GaussianMixture(len(weights), covariance_type="diag")
    model.means_, model.weights_ = means, weights
    model.precisions_cholesky_ = precision_cholesky(variances, "diag")
    return model._e_step(X)[0]
