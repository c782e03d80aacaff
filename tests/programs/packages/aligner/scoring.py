from dataclasses import dataclass

import numpy as np

ALPHABET = "ACGT"


def encode(text):
    try:
        return np.array([ALPHABET.index(letter) for letter in text.upper()])
    except ValueError:
        raise ValueError(f"letters must be from {ALPHABET}") from None


@dataclass
class Scoring:
    match: float = 2.0
    mismatch: float = -1.0
    gap_open: float = -2.0
    gap_extend: float = -0.5

    def __post_init__(self):
        if self.gap_open > 0 or self.gap_extend > 0:
            raise ValueError("gaps must not be rewarded")

    def substitution(self, a, b):
        return self.match if a == b else self.mismatch
