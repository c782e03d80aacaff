"""Prices of options: the formula of Black and Scholes, and a barrier option by simulation."""

import numpy as np
from scipy.special import ndtr


def black_scholes(spot, strike, time, rate, volatility):
    spread = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / spread
    d2 = d1 - spread
    discount = np.exp(-rate * time)
    call = spot * ndtr(d1) - strike * discount * ndtr(d2)
    put = strike * discount * ndtr(-d2) - spot * ndtr(-d1)
    return call, put


def barrier_option(normals, spot, strike, barrier, rate, volatility, years):
    steps, paths = normals.shape
    dt = years / steps
    price = np.full(paths, spot)
    alive = np.ones(paths, dtype=bool)
    for step in range(steps):
        growth = (rate - 0.5 * volatility**2) * dt + volatility * np.sqrt(dt) * normals[step]
        price *= np.exp(growth)
        alive &= price < barrier
    payoff = np.where(alive, np.maximum(price - strike, 0.0), 0.0)
    value = np.exp(-rate * years) * payoff.mean()
    return value, payoff.std() / np.sqrt(paths)
