import numpy as np


class ARModel:
    def __init__(self, lags=2, trend="c"):
        if trend not in ("n", "c", "ct"):
            raise ValueError(f"trend {trend!r} is not understood")
        self.lags = lags if isinstance(lags, (list, tuple)) else list(range(1, lags + 1))
        self.trend = trend

    def design(self, y):
        p = max(self.lags)
        n = len(y) - p
        columns = []
        if "c" in self.trend:
            columns.append(np.ones(n))
        if "t" in self.trend:
            columns.append(np.arange(1, n + 1))
        columns += [y[p - lag : len(y) - lag] for lag in self.lags]
        return np.column_stack(columns), y[p:]

    def fit(self, y):
        y = np.asarray(y, dtype=float)
        if len(y) <= 2 * max(self.lags):
            raise ValueError("the series is too short for so many lags")
        X, target = self.design(y)
        self.params, *_ = np.linalg.lstsq(X, target, rcond=None)
        self.resid = target - X @ self.params
        self.sigma2 = self.resid @ self.resid / len(target)
        self.aic = len(target) * np.log(self.sigma2) + 2 * (len(self.params) + 1)
        self._y = y
        return self

    def forecast(self, steps):
        known = list(self._y)
        k = len(self.trend) if self.trend != "n" else 0
        for h in range(steps):
            value = 0.0
            if "c" in self.trend:
                value += self.params[0]
            if "t" in self.trend:
                value += self.params[1] * (len(self._y) - max(self.lags) + h + 1)
            for i, lag in enumerate(self.lags):
                value += self.params[k + i] * known[-lag]
            known.append(value)
        return np.array(known[len(self._y) :])


def fit_forecast(y, max_lag=4, steps=5):
    """The order with the least AIC, and what it expects."""
    best = None
    for lag in range(1, max_lag + 1):
        model = ARModel(lag).fit(y)
        if best is None or model.aic < best.aic:
            best, order = model, lag
    return order, best.aic, best.forecast(steps)


def garch_filter(params, returns, init=None):
    omega, alpha, beta = params
    if omega <= 0 or alpha < 0 or beta < 0:
        return np.inf
    T = len(returns)
    sigma2 = np.empty(T)
    sigma2[0] = np.var(returns) if init is None else init
    for t in range(1, T):
        sigma2[t] = omega + alpha * returns[t - 1] ** 2 + beta * sigma2[t - 1]
    return 0.5 * np.sum(np.log(2 * np.pi * sigma2) + returns**2 / sigma2)
