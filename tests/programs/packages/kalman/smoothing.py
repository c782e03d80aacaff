import numpy as np
from numpy import dot


def rts_smoother(Xs, Ps, F, Q, inv=np.linalg.inv):
    if len(Xs) != len(Ps):
        raise ValueError("length of Xs and Ps must be the same")
    n = Xs.shape[0]
    K = np.zeros((n, Xs.shape[1], Xs.shape[1]))
    x, P, Pp = Xs.copy(), Ps.copy(), Ps.copy()
    for k in range(n - 2, -1, -1):
        Pp[k] = dot(dot(F, P[k]), F.T) + Q
        K[k] = dot(dot(P[k], F.T), inv(Pp[k]))
        x[k] += dot(K[k], x[k + 1] - dot(F, x[k]))
        P[k] += dot(dot(K[k], P[k + 1] - Pp[k]), K[k].T)
    return x, P, K, Pp
