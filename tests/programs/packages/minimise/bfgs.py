import numpy as np

from .result import OptimizeResult, wrap_function


class LineSearchError(RuntimeError):
    pass


def approx_fprime(xk, f, epsilon=1.5e-8):
    f0 = f(xk)
    grad = np.zeros((len(xk),), float)
    ei = np.zeros((len(xk),), float)
    for k in range(len(xk)):
        ei[k] = 1.0
        d = epsilon * ei
        grad[k] = (f(xk + d) - f0) / d[k]
        ei[k] = 0.0
    return grad


def backtrack(f, xk, pk, gfk, old_fval, c1=1e-4, shrink=0.5, amin=1e-12):
    slope = np.dot(gfk, pk)
    alpha = 1.0
    while True:
        fval = f(xk + alpha * pk)
        if fval <= old_fval + c1 * alpha * slope:
            return alpha, fval
        alpha *= shrink
        if alpha < amin:
            raise LineSearchError("no step found")


def bfgs(fun, x0, args=(), jac=None, callback=None, gtol=1e-4, maxiter=None):
    x0 = np.asarray(x0).flatten()
    if x0.dtype.kind in np.typecodes["AllInteger"]:
        x0 = x0.astype(float)
    ncalls, f = wrap_function(fun, args)
    fprime = (lambda x: jac(x, *args)) if callable(jac) else (lambda x: approx_fprime(x, f))
    if maxiter is None:
        maxiter = len(x0) * 200
    old_fval, gfk = f(x0), fprime(x0)
    k = 0
    N = len(x0)
    I = np.eye(N, dtype=int)  # noqa: E741
    Hk = I
    xk = x0
    warnflag = 0
    gnorm = np.max(np.abs(gfk))
    while (gnorm > gtol) and (k < maxiter):
        pk = -np.dot(Hk, gfk)
        try:
            alpha_k, old_fval = backtrack(f, xk, pk, gfk, old_fval)
        except LineSearchError:
            warnflag = 2
            break
        sk = alpha_k * pk
        xkp1 = xk + sk
        xk = xkp1
        gfkp1 = fprime(xkp1)
        yk = gfkp1 - gfk
        gfk = gfkp1
        k += 1
        if callback is not None:
            callback(xk)
        gnorm = np.max(np.abs(gfk))
        rhok_inv = np.dot(yk, sk)
        if rhok_inv == 0.0:
            rhok = 1000.0
        else:
            rhok = 1.0 / rhok_inv
        A1 = I - sk[:, np.newaxis] * yk[np.newaxis, :] * rhok
        A2 = I - yk[:, np.newaxis] * sk[np.newaxis, :] * rhok
        Hk = np.dot(A1, np.dot(Hk, A2)) + (rhok * sk[:, np.newaxis] * sk[np.newaxis, :])
    return OptimizeResult(fun=old_fval, jac=gfk, nfev=ncalls[0], nit=k, success=warnflag == 0, x=xk)
