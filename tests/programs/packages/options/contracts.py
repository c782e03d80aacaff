from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Option(ABC):
    strike: float
    maturity: float

    early_exercise = False

    def __post_init__(self):
        if self.strike <= 0:
            raise ValueError("strike must be positive")
        if self.maturity <= 0:
            raise ValueError("maturity must be positive")

    @abstractmethod
    def payoff(self, spot): ...


class EuropeanCall(Option):
    def payoff(self, spot):
        return np.maximum(spot - self.strike, 0.0)


class AmericanPut(Option):
    early_exercise = True

    def payoff(self, spot):
        return np.maximum(self.strike - spot, 0.0)
