"""Adaptive Runge-Kutta methods with events."""

from .api import OdeResult, pendulum_period, solve_ivp
from .rk import RK23, RK45, OdeSolver

__all__ = ["OdeResult", "OdeSolver", "RK23", "RK45", "pendulum_period", "solve_ivp"]
