"""Hidden Markov models with discrete and Gaussian emissions."""

from .algorithms import backward, forward, viterbi
from .models import CategoricalHMM, GaussianHMM, decode, fit_gaussian, score

__all__ = [
    "CategoricalHMM",
    "GaussianHMM",
    "backward",
    "decode",
    "fit_gaussian",
    "forward",
    "score",
    "viterbi",
]
