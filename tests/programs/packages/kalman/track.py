import numpy as np

from .filters import KalmanFilter
from .smoothing import rts_smoother


def track(zs, dt=0.1, r=0.3, q=0.05, alpha=1.02, smooth=True):
    """Positions and velocities in the plane from noisy positions, some of them missing."""
    zs = np.asarray(zs)
    kf = KalmanFilter(dim_x=4, dim_z=2)
    kf.F = np.array([[1, dt, 0, 0], [0, 1, 0, 0], [0, 0, 1, dt], [0, 0, 0, 1.0]])
    kf.H = np.array([[1, 0, 0, 0], [0, 0, 1, 0.0]])
    kf.R *= r
    kf.Q = np.kron(np.eye(2), np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])) * q
    kf.P *= 50.0
    kf.alpha = alpha
    mu, cov, _, _, loglik = kf.batch_filter(zs)
    if smooth:
        mu, cov, _, _ = rts_smoother(mu, cov, kf.F, kf.Q)
    return {"mean": mu[:, :, 0], "cov": cov, "log_likelihood": loglik}
