import numpy as np


def gelman_rubin(chains):
    chains = np.asarray(chains)
    if chains.ndim != 3:
        raise ValueError("chains must have shape (chain, step, parameter)")
    m, n, _ = chains.shape
    if m < 2:
        raise ValueError("Gelman-Rubin diagnostic requires multiple chains")
    B = n * np.var(np.mean(chains, axis=1), axis=0, ddof=1)
    W = np.mean(np.var(chains, axis=1, ddof=1), axis=0)
    return np.sqrt(((n - 1) / n * W + B / n) / W)


def next_pow_two(n):
    i = 1
    while i < n:
        i = i << 1
    return i


def autocorrelation_time(x, c=5.0):
    """Integrated time by a window that grows until it is long enough."""
    x = np.atleast_1d(x)
    n = next_pow_two(len(x))
    f = np.fft.fft(x - np.mean(x), n=2 * n)
    acf = np.fft.ifft(f * np.conjugate(f))[: len(x)].real
    acf /= acf[0]
    taus = 2.0 * np.cumsum(acf) - 1.0
    m = np.arange(len(taus)) < c * taus
    window = np.argmin(m) if np.any(m) else len(taus) - 1
    return taus[window], window
