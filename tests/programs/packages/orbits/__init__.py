"""Orbits of two bodies."""

from .elements import Orbit, ephemeris, propagate
from .kepler import ConvergenceFailure, solve_kepler
from .lambert import lambert

__all__ = ["ConvergenceFailure", "Orbit", "ephemeris", "lambert", "propagate", "solve_kepler"]
