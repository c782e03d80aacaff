import numpy as np


def reshape_z(z, dim_z, ndim):
    """Ensure z is a (dim_z, 1) shaped vector."""
    z = np.atleast_2d(z)
    if z.shape[1] == dim_z:
        z = z.T
    if z.shape != (dim_z, 1):
        raise ValueError(f"z (shape {z.shape}) must be convertible to shape ({dim_z}, 1)")
    if ndim == 1:
        z = z[:, 0]
    if ndim == 0:
        z = z[0, 0]
    return z


def logpdf(x, cov):
    """Log density of a centred normal distribution at x."""
    flat = np.asarray(x).flatten()
    sign, logdet = np.linalg.slogdet(cov)
    if sign <= 0:
        raise np.linalg.LinAlgError("covariance is not positive definite")
    return -0.5 * (flat @ np.linalg.solve(cov, flat) + logdet + flat.size * np.log(2 * np.pi))
