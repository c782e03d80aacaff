from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass
class Bond:
    face: float
    coupon: float
    maturity: float
    frequency: int = 2

    def __post_init__(self):
        if self.frequency not in (1, 2, 4, 12):
            raise ValueError("frequency must be 1, 2, 4 or 12")
        if self.face <= 0:
            raise ValueError(f"face value must be positive, not {self.face}")

    @cached_property
    def times(self):
        n = int(round(self.maturity * self.frequency))
        return self.maturity - np.arange(n)[::-1] / self.frequency

    @cached_property
    def cashflows(self):
        flows = np.full(len(self.times), self.face * self.coupon / self.frequency)
        flows[-1] += self.face
        return flows

    def price(self, y):
        return np.sum(self.cashflows * (1 + y / self.frequency) ** (-self.frequency * self.times))

    def derivative(self, y):
        base = 1 + y / self.frequency
        return -np.sum(self.cashflows * self.times * base ** (-self.frequency * self.times - 1))

    def duration(self, y):
        return -self.derivative(y) / self.price(y)

    def ytm(self, price, guess=0.05, tol=1e-12, maxiter=50):
        if price <= 0:
            raise ValueError("price must be positive")
        y = guess
        for i in range(maxiter):
            step = (self.price(y) - price) / self.derivative(y)
            y -= step
            if abs(step) < tol:
                return y
            if y <= -self.frequency:
                return self._bisect(price, tol)
        raise RuntimeError("Failed to converge after %d iterations, value is %s" % (maxiter, y))

    def _bisect(self, price, tol, low=-0.99, high=10.0):
        while high - low > tol:
            mid = (low + high) / 2
            if self.price(mid) > price:
                low = mid
            else:
                high = mid
        return (low + high) / 2


def yield_to_maturity(price, coupon, maturity=10, face=100.0, **kwargs):
    bond = Bond(face, coupon, maturity, **kwargs)
    y = bond.ytm(price)
    return y, bond.duration(y)


def portfolio(prices, coupons, maturities):
    """Yields and durations of many bonds, and the sum of what they are worth."""
    bonds = [Bond(100.0, c, m) for c, m in zip(coupons, maturities)]
    yields = np.array([bond.ytm(p) for bond, p in zip(bonds, prices)])
    durations = [bond.duration(y) for bond, y in zip(bonds, yields)]
    weights = prices / np.sum(prices)
    return {"yields": yields, "duration": np.dot(weights, durations), "best": np.argmax(yields)}
