"""Markov chains for sampling."""

from .diagnostics import autocorrelation_time, gelman_rubin
from .samplers import EnsembleSampler, Metropolis, sample_gaussian, stretch

__all__ = [
    "EnsembleSampler",
    "Metropolis",
    "autocorrelation_time",
    "gelman_rubin",
    "sample_gaussian",
    "stretch",
]
