import numpy as np


class DiscountCurve:
    def __init__(self, times, factors):
        self.times = np.asarray(times, dtype=float)
        self.factors = np.asarray(factors, dtype=float)
        if (np.diff(self.times) <= 0).any():
            raise ValueError("times must increase")
        if (self.factors <= 0).any():
            raise ValueError("discount factors must be positive")

    def __call__(self, t):
        """Log-linear between the nodes, flat forward rates beyond them."""
        t = np.asarray(t, dtype=float)
        x = np.concatenate([[0.0], self.times])
        y = np.concatenate([[0.0], np.log(self.factors)])
        inside = np.interp(t, x, y)
        slope = (y[-1] - y[-2]) / (x[-1] - x[-2])
        return np.exp(np.where(t > x[-1], y[-1] + slope * (t - x[-1]), inside))

    def forward(self, start, end):
        if end <= start:
            raise ValueError("end must be after start")
        return np.log(self(start) / self(end)) / (end - start)


def bootstrap(par_rates):
    """Discount factors from par rates of swaps of 1, 2, ... years."""
    factors = []
    for rate in par_rates:
        factors.append((1 - rate * sum(factors)) / (1 + rate))
    curve = DiscountCurve(np.arange(1, len(factors) + 1), factors)
    return np.array(factors), curve(np.array([0.5, 1.5, 2.25, 100.0])), curve.forward(1, 2)


def nelson_siegel(t, beta0, beta1, beta2, tau):
    t = np.atleast_1d(np.asarray(t, dtype=float))
    out = np.empty_like(t)
    for i, ti in enumerate(t):
        if ti == 0:
            out[i] = beta0 + beta1
        else:
            x = ti / tau
            load = (1 - np.exp(-x)) / x
            out[i] = beta0 + beta1 * load + beta2 * (load - np.exp(-x))
    return out
