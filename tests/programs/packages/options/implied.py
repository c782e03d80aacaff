import math

import numpy as np


def norm_cdf(x):
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


def bs_price(spot, strike, rate, sigma, maturity):
    d1 = (math.log(spot / strike) + (rate + 0.5 * sigma**2) * maturity) / (
        sigma * math.sqrt(maturity)
    )
    d2 = d1 - sigma * math.sqrt(maturity)
    return spot * norm_cdf(d1) - strike * math.exp(-rate * maturity) * norm_cdf(d2)


def implied_volatility(price, spot, strike, rate, maturity, tol=1e-10, maxiter=100):
    """Newton with bisection as a safeguard."""
    intrinsic = max(spot - strike * math.exp(-rate * maturity), 0.0)
    if price < intrinsic:
        raise ValueError("the price is below the intrinsic value")
    low, high = 1e-6, 5.0
    sigma = 0.3
    for _ in range(maxiter):
        diff = bs_price(spot, strike, rate, sigma, maturity) - price
        if abs(diff) < tol:
            return sigma
        if diff > 0:
            high = sigma
        else:
            low = sigma
        d1 = (math.log(spot / strike) + (rate + 0.5 * sigma**2) * maturity) / (
            sigma * math.sqrt(maturity)
        )
        vega = spot * math.sqrt(maturity) * math.exp(-0.5 * d1**2) / math.sqrt(2 * math.pi)
        if vega > 1e-12:
            new = sigma - diff / vega
        else:
            new = np.nan
        sigma = new if low < new < high else 0.5 * (low + high)
    raise RuntimeError(f"no convergence after {maxiter} iterations")
