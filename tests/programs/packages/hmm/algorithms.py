import numpy as np


def logsumexp(a, axis=None):
    a_max = np.amax(a, axis=axis, keepdims=True)
    a_max[~np.isfinite(a_max)] = 0
    s = np.sum(np.exp(a - a_max), axis=axis)
    with np.errstate(divide="ignore"):
        return np.log(s) + np.squeeze(a_max, axis=axis)


def forward(log_start, log_trans, log_emission):
    n_samples, n_components = log_emission.shape
    fwd = np.zeros((n_samples, n_components))
    for i in range(n_components):
        fwd[0, i] = log_start[i] + log_emission[0, i]
    for t in range(1, n_samples):
        for j in range(n_components):
            fwd[t, j] = logsumexp(fwd[t - 1] + log_trans[:, j]) + log_emission[t, j]
    return fwd


def backward(log_trans, log_emission):
    n_samples, n_components = log_emission.shape
    bwd = np.zeros((n_samples, n_components))
    for t in range(n_samples - 2, -1, -1):
        bwd[t] = logsumexp(log_trans + log_emission[t + 1] + bwd[t + 1], axis=1)
    return bwd


def viterbi(log_start, log_trans, log_emission):
    n_samples, n_components = log_emission.shape
    lattice = np.zeros((n_samples, n_components))
    state_sequence = np.empty(n_samples, dtype=np.int32)
    lattice[0] = log_start + log_emission[0]
    for t in range(1, n_samples):
        for i in range(n_components):
            lattice[t, i] = np.max(lattice[t - 1] + log_trans[:, i]) + log_emission[t, i]
    state_sequence[n_samples - 1] = where_from = np.argmax(lattice[n_samples - 1])
    log_prob = lattice[n_samples - 1, where_from]
    for t in range(n_samples - 2, -1, -1):
        work = [lattice[t, i] + log_trans[i, where_from] for i in range(n_components)]
        state_sequence[t] = where_from = np.argmax(work)
    return state_sequence, log_prob
