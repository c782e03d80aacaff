import numpy as np


def correlate(x, lags, norm="biased"):
    N = len(x)
    r = np.zeros(lags + 1)
    for k in range(lags + 1):
        nk = N - k
        r[k] = np.sum(x[k:] * x[:nk])
        if norm == "unbiased":
            r[k] /= nk
        elif norm == "biased":
            r[k] /= N
        else:
            raise ValueError(norm)
    return r


def levinson(r, order=None, allow_singularity=False):
    """Coefficients, error and reflection coefficients from autocorrelations."""
    T0 = np.real(r[0])
    T = r[1:]
    M = len(T)
    if order is None:
        M = len(T)
    else:
        if order > M:
            raise ValueError("order must be less than size of the input data")
        M = order
    A = np.zeros(M)
    ref = np.zeros(M)
    P = T0
    for k in range(0, M):
        save = T[k]
        if k == 0:
            temp = -save / P
        else:
            for j in range(0, k):
                save = save + A[j] * T[k - j - 1]
            temp = -save / P
        P = P * (1.0 - temp**2.0)
        if P <= 0 and allow_singularity is False:
            raise ValueError("singular matrix")
        A[k] = temp
        ref[k] = temp
        if k == 0:
            continue
        khalf = (k + 1) // 2
        for j in range(0, khalf):
            kj = k - j - 1
            save = A[j]
            A[j] = save + temp * A[kj]
            if j != kj:
                A[kj] += temp * save
    return A, P, ref


def aryule(X, order, norm="biased", allow_singularity=True):
    if norm not in ("biased", "unbiased"):
        raise AssertionError(norm)
    return levinson(correlate(np.asarray(X), order, norm), allow_singularity=allow_singularity)


def arburg(X, order):
    if order <= 0.0:
        raise ValueError("order must be > 0")
    x = np.array(X)
    N = len(x)
    rho = sum(abs(x) ** 2.0) / N
    den = rho * 2.0 * N
    ef = np.array(x)
    eb = np.array(x)
    a = np.zeros(0)
    temp = 1
    for k in range(0, order):
        num = sum([ef[j] * eb[j - 1] for j in range(k + 1, N)])
        den = temp * den - ef[k] ** 2 - eb[N - 1] ** 2
        kp = -2.0 * num / den
        temp = 1.0 - kp**2.0
        rho = temp * rho
        if rho <= 0:
            raise ValueError(f"Found a negative value (expected positive strictly) {rho}")
        a.resize(a.size + 1, refcheck=False)
        a[k] = kp
        if k == 0:
            for j in range(N - 1, k, -1):
                save2 = ef[j]
                ef[j] = save2 + kp * eb[j - 1]
                eb[j] = eb[j - 1] + kp * save2
        else:
            khalf = (k + 1) // 2
            for j in range(0, khalf):
                ap = a[j]
                bp = a[k - j - 1]
                a[j] = ap + kp * bp
                if j != k - j - 1:
                    a[k - j - 1] = a[k - j - 1] + kp * ap
            for j in range(N - 1, k, -1):
                save2 = ef[j]
                ef[j] = save2 + kp * eb[j - 1]
                eb[j] = eb[j - 1] + kp * save2
    return a, rho
