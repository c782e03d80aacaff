import numpy as np

from .state import Moments


class LocalLinearTrend:
    def __init__(self, noise=1.0, q_level=0.1, q_slope=0.01, *, burn=2):
        if min(noise, q_level, q_slope) < 0:
            raise ValueError("variances must not be negative")
        self.noise, self.q_level, self.q_slope = noise, q_level, q_slope
        self.burn = burn
        self.loglik = 0.0
        self.missing = 0

    def filter(self, y):
        state = Moments(level=y[0])
        history = []
        for t, value in enumerate(y):
            if t > 0:
                state.predict(self.q_level, self.q_slope)
            predicted = state.copy()
            if np.isnan(value):
                self.missing += 1
            else:
                v, f = state.update(value, self.noise)
                if t >= self.burn:
                    self.loglik -= 0.5 * (np.log(2 * np.pi * f) + v**2 / f)
            history.append((predicted, state.copy()))
        return history

    def smooth(self, history):
        smoothed = history[-1][1].copy()
        levels = [smoothed.level]
        slopes = [smoothed.slope]
        for t in range(len(history) - 2, -1, -1):
            ahead, now = history[t + 1][0], history[t][1]
            P = np.array([[now.p00, now.p01], [now.p01, now.p11]])
            Pp = np.array([[ahead.p00, ahead.p01], [ahead.p01, ahead.p11]])
            G = P @ np.array([[1.0, 0.0], [1.0, 1.0]]) @ np.linalg.inv(Pp)
            diff = np.array([smoothed.level - ahead.level, smoothed.slope - ahead.slope])
            change = G @ diff
            smoothed = Moments(now.level + change[0], now.slope + change[1])
            levels.append(smoothed.level)
            slopes.append(smoothed.slope)
        return np.array(levels[::-1]), np.array(slopes[::-1])


def decompose(y, noise=1.0, q_level=0.1, q_slope=0.01):
    y = np.asarray(y, dtype=float)
    if y.ndim != 1 or len(y) < 2:
        raise ValueError("y must be a series")
    model = LocalLinearTrend(noise, q_level, q_slope)
    history = model.filter(y)
    level, slope = model.smooth(history)
    return level, slope, model.loglik, model.missing


def log_likelihood(log_variances, y):
    noise, q_level, q_slope = np.exp(log_variances)
    model = LocalLinearTrend(noise, q_level, q_slope)
    model.filter(y)
    return model.loglik
