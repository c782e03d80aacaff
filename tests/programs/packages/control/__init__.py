"""Controllers with limits."""

from .mpc import MPC, drive, lqr
from .pid import PID, RateLimiter, heat_room

__all__ = ["MPC", "PID", "RateLimiter", "drive", "heat_room", "lqr"]
