import numpy as np

from .contracts import AmericanPut


def longstaff_schwartz(normals, spot, strike, rate, sigma, maturity, degree=2):
    """American put by regression of what it is worth to wait."""
    normals = np.asarray(normals)
    steps, paths = normals.shape
    option = AmericanPut(strike, maturity)
    dt = maturity / steps
    growth = (rate - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * normals
    prices = spot * np.exp(np.cumsum(growth, axis=0))
    cash = option.payoff(prices[-1])
    discount = np.exp(-rate * dt)
    for t in range(steps - 2, -1, -1):
        cash = cash * discount
        exercise = option.payoff(prices[t])
        itm = exercise > 0
        if itm.sum() <= degree:
            continue
        x = prices[t, itm] / strike
        basis = np.vander(x, degree + 1)
        coefficients, *_ = np.linalg.lstsq(basis, cash[itm], rcond=None)
        waiting = basis @ coefficients
        now = exercise[itm] > waiting
        idx = np.flatnonzero(itm)[now]
        cash[idx] = exercise[idx]
    cash = cash * discount
    return cash.mean(), cash.std(ddof=1) / np.sqrt(paths)
