"""Heterogeneous agents with uninsurable income risk."""

from .markov import rouwenhorst, stationary, tauchen
from .model import Household, NotConverged, equilibrium

__all__ = ["Household", "NotConverged", "equilibrium", "rouwenhorst", "stationary", "tauchen"]
