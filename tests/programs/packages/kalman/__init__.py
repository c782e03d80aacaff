"""Linear Kalman filters and Rauch-Tung-Striebel smoothing."""

from .filters import KalmanFilter
from .smoothing import rts_smoother
from .track import track

__all__ = ["KalmanFilter", "rts_smoother", "track"]
