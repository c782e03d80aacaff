import numpy as np

from .contracts import AmericanPut, EuropeanCall

KINDS = {"call": EuropeanCall, "put": AmericanPut}


def binomial(spot, strike, rate, sigma, maturity, steps=50, kind="put"):
    """Cox, Ross and Rubinstein; price, delta and gamma."""
    option = KINDS[kind](strike, maturity)
    if steps < 2:
        raise ValueError("need at least two steps")
    dt = maturity / steps
    u = np.exp(sigma * np.sqrt(dt))
    d = 1.0 / u
    p = (np.exp(rate * dt) - d) / (u - d)
    if not 0 < p < 1:
        raise ValueError("arbitrage: choose more steps")
    disc = np.exp(-rate * dt)
    prices = spot * d ** np.arange(steps, -1, -1) * u ** np.arange(0, steps + 1, 1)
    values = option.payoff(prices)
    greeks = {}
    for i in range(steps, 0, -1):
        values = disc * (p * values[1 : i + 1] + (1 - p) * values[0:i])
        prices = prices[1 : i + 1] * d
        if option.early_exercise:
            values = np.maximum(values, option.payoff(prices))
        if i == 3:
            h = 0.5 * (prices[2] - prices[0])
            up = (values[2] - values[1]) / (prices[2] - prices[1])
            down = (values[1] - values[0]) / (prices[1] - prices[0])
            greeks["gamma"] = (up - down) / h
        if i == 2:
            greeks["delta"] = (values[1] - values[0]) / (prices[1] - prices[0])
    return values[0], greeks
