import sys
from copy import deepcopy

import numpy as np
from numpy import dot, eye, isscalar, zeros

from .helpers import logpdf, reshape_z


class KalmanFilter:
    """A Kalman filter; the user fills in x, P, F, H, Q and R after construction."""

    def __init__(self, dim_x, dim_z, dim_u=0, compute_log_likelihood=True):
        if dim_x < 1:
            raise ValueError("dim_x must be 1 or greater")
        if dim_z < 1:
            raise ValueError("dim_z must be 1 or greater")
        if dim_u < 0:
            raise ValueError("dim_u must be 0 or greater")
        self.dim_x = dim_x
        self.dim_z = dim_z
        self.dim_u = dim_u
        self.x = zeros((dim_x, 1))
        self.P = eye(dim_x)
        self.Q = eye(dim_x)
        self.B = None
        self.F = eye(dim_x)
        self.H = zeros((dim_z, dim_x))
        self.R = eye(dim_z)
        self._alpha_sq = 1.0
        self.z = np.array([[None] * self.dim_z]).T
        self.K = np.zeros((dim_x, dim_z))
        self.y = zeros((dim_z, 1))
        self.S = np.zeros((dim_z, dim_z))
        self._I = np.eye(dim_x)
        self.x_prior = self.x.copy()
        self.P_prior = self.P.copy()
        self.x_post = self.x.copy()
        self.P_post = self.P.copy()
        self._log_likelihood = np.log(sys.float_info.min)
        self.compute_log_likelihood = compute_log_likelihood
        self.inv = np.linalg.inv

    def predict(self, u=None, B=None, F=None, Q=None):
        if B is None:
            B = self.B
        if F is None:
            F = self.F
        if Q is None:
            Q = self.Q
        elif isscalar(Q):
            Q = eye(self.dim_x) * Q
        if B is not None and u is not None:
            self.x = dot(F, self.x) + dot(B, u)
        else:
            self.x = dot(F, self.x)
        self.P = self._alpha_sq * dot(dot(F, self.P), F.T) + Q
        self.x_prior = self.x.copy()
        self.P_prior = self.P.copy()

    def update(self, z, R=None, H=None):
        if z is None or np.any(np.isnan(z)):
            self.z = np.array([[None] * self.dim_z]).T
            self.x_post = self.x.copy()
            self.P_post = self.P.copy()
            self.y = zeros((self.dim_z, 1))
            return
        if R is None:
            R = self.R
        elif isscalar(R):
            R = eye(self.dim_z) * R
        if H is None:
            z = reshape_z(z, self.dim_z, self.x.ndim)
            H = self.H
        self.y = z - dot(H, self.x)
        PHT = dot(self.P, H.T)
        self.S = dot(H, PHT) + R
        self.K = dot(PHT, self.inv(self.S))
        self.x = self.x + dot(self.K, self.y)
        I_KH = self._I - dot(self.K, H)
        self.P = dot(dot(I_KH, self.P), I_KH.T) + dot(dot(self.K, R), self.K.T)
        self.z = deepcopy(z)
        self.x_post = self.x.copy()
        self.P_post = self.P.copy()
        if self.compute_log_likelihood:
            self._log_likelihood = logpdf(x=self.y, cov=self.S)

    def batch_filter(self, zs, us=None, update_first=False):
        n = np.size(zs, 0)
        if us is None:
            us = [None] * n
        means = zeros((n, self.dim_x, 1))
        means_p = zeros((n, self.dim_x, 1))
        covariances = zeros((n, self.dim_x, self.dim_x))
        covariances_p = zeros((n, self.dim_x, self.dim_x))
        total = 0.0
        for i, (z, u) in enumerate(zip(zs, us)):
            if update_first:
                self.update(z)
                self.predict(u)
            else:
                self.predict(u)
                self.update(z)
            means[i, :] = self.x_post
            covariances[i, :, :] = self.P_post
            means_p[i, :] = self.x_prior
            covariances_p[i, :, :] = self.P_prior
            total += self.log_likelihood
        return means, covariances, means_p, covariances_p, total

    @property
    def log_likelihood(self):
        return self._log_likelihood

    @property
    def alpha(self):
        """Fading memory setting."""
        return self._alpha_sq**0.5

    @alpha.setter
    def alpha(self, value):
        if not np.isscalar(value) or value < 1:
            raise ValueError("alpha must be a float greater than 1")
        self._alpha_sq = value**2
