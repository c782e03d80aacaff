import numpy as np


def slow(t, y, dy, frequency, fit_mean=True, center_data=True):
    """The generalised periodogram, a frequency at a time."""
    t, y, dy = np.broadcast_arrays(t, y, dy)
    if t.ndim != 1:
        raise ValueError("t, y, dy should be one dimensional")
    w = dy**-2.0
    w = w / w.sum()
    if fit_mean or center_data:
        y = y - np.dot(w, y)
    YY = np.dot(w, y**2)
    P = np.empty(len(frequency))
    for i, f in enumerate(frequency):
        omega = 2 * np.pi * f
        s, c = np.sin(omega * t), np.cos(omega * t)
        tan = 2 * np.dot(w, s * c) - 2 * np.dot(w, s) * np.dot(w, c)
        below = np.dot(w, c * c - s * s) - (np.dot(w, c) ** 2 - np.dot(w, s) ** 2)
        tau = 0.5 * np.arctan2(tan, below) / omega
        s, c = np.sin(omega * (t - tau)), np.cos(omega * (t - tau))
        S, C = np.dot(w, s), np.dot(w, c)
        YS, YC = np.dot(w, y * s), np.dot(w, y * c)
        SS, CC = np.dot(w, s * s), np.dot(w, c * c)
        if fit_mean:
            SS -= S * S
            CC -= C * C
        P[i] = (YC * YC / CC + YS * YS / SS) / YY
    return P


def chi2(t, y, dy, frequency, fit_mean=True, center_data=True, nterms=1):
    """Fits of sines by least squares."""
    w = np.broadcast_to(1.0 / np.asarray(dy), t.shape)
    if center_data or fit_mean:
        y = y - np.dot(w**2, y) / np.dot(w, w)
    yw = y * w
    chi2_ref = np.dot(yw, yw)

    def compute_power(f):
        cols = [np.ones_like(t)] if fit_mean else []
        for i in range(1, nterms + 1):
            cols.append(np.sin(2 * np.pi * i * f * t))
            cols.append(np.cos(2 * np.pi * i * f * t))
        X = np.vstack(cols) * w
        XTy = np.dot(X, yw)
        return np.dot(XTy.T, np.linalg.solve(np.dot(X, X.T), XTy)) / chi2_ref

    return np.array([compute_power(f) for f in frequency])


def trig(t, y, dy, frequency, fit_mean=True, center_data=True):
    """All frequencies at once."""
    w = np.broadcast_to(np.asarray(dy) ** -2.0, t.shape)
    w = w / w.sum()
    if center_data:
        y = y - (w * y).sum()
    angle = 2 * np.pi * np.outer(frequency, t)
    S, C = np.sin(angle), np.cos(angle)
    YS, YC = S @ (w * y), C @ (w * y)
    Sw, Cw = S @ w, C @ w
    SS, CC, CS = S**2 @ w, C**2 @ w, (S * C) @ w
    if fit_mean:
        SS, CC, CS = SS - Sw**2, CC - Cw**2, CS - Cw * Sw
    D = CC * SS - CS**2
    return (SS * YC**2 + CC * YS**2 - 2 * CS * YC * YS) / (D * (w * y**2).sum())


METHODS = {"slow": slow, "chi2": chi2, "trig": trig}
