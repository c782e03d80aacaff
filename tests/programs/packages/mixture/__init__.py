"""Gaussian mixtures by expectation and maximisation."""

from .gaussian import ConvergenceWarning, GaussianMixture, fit_predict, log_likelihood

__all__ = ["ConvergenceWarning", "GaussianMixture", "fit_predict", "log_likelihood"]
