"""A Kalman filter over measurements of which some are missing (NaN)."""

import numpy as np


def kalman(measurements, transition, observation, process_noise, noise):
    n = transition.shape[0]
    mean, covariance = np.zeros(n), np.eye(n)
    means = []
    likelihood = 0.0
    for z in measurements:
        mean = transition @ mean
        covariance = transition @ covariance @ transition.T + process_noise
        if not np.isnan(z[0]):
            innovation = z - observation @ mean
            s = observation @ covariance @ observation.T + noise
            gain = np.linalg.solve(s, observation @ covariance).T
            mean = mean + gain @ innovation
            covariance = (np.eye(n) - gain @ observation) @ covariance
            likelihood -= 0.5 * (
                innovation @ np.linalg.solve(s, innovation) + np.log(np.linalg.det(2 * np.pi * s))
            )
        means.append(mean)
    return np.array(means), covariance, likelihood
