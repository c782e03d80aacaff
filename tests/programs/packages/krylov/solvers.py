import numpy as np

from .operators import aslinearoperator, jacobi


def _prepare(A, b, x0, M, rtol, atol):
    A = aslinearoperator(A)
    b = np.asarray(b)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"expected square matrix, but got shape={A.shape}")
    if b.shape not in {(A.shape[0],), (A.shape[0], 1)}:
        raise ValueError(f"shapes of A {A.shape} and b {b.shape} are incompatible")
    b = b.ravel().astype(float)
    x = np.zeros(len(b)) if x0 is None else np.array(x0, dtype=float)
    psolve = (lambda r: r.copy()) if M is None else M.matvec
    return A, b, x, psolve, max(float(atol), float(rtol) * float(np.linalg.norm(b)))


def cg(A, b, x0=None, *, rtol=1e-8, atol=0.0, maxiter=None, preconditioner=None, callback=None):
    """The solution and 0, or the last iterate and the number of iterations."""
    M = jacobi(A) if preconditioner == "jacobi" else preconditioner
    A, b, x, psolve, tol = _prepare(A, b, x0, M, rtol, atol)
    if maxiter is None:
        maxiter = len(b) * 10
    if np.linalg.norm(b) == 0:
        return b, 0
    r = b - A.matvec(x) if x.any() else b.copy()
    rho_prev, p = None, None
    for iteration in range(maxiter):
        if np.linalg.norm(r) < tol:
            return x, 0
        z = psolve(r)
        rho_cur = np.dot(r, z)
        if iteration > 0:
            beta = rho_cur / rho_prev
            p *= beta
            p += z
        else:
            p = np.empty_like(r)
            p[:] = z[:]
        q = A.matvec(p)
        curvature = np.dot(p, q)
        if curvature <= 0:
            raise np.linalg.LinAlgError("matrix is not positive definite")
        alpha = rho_cur / curvature
        x += alpha * p
        r -= alpha * q
        rho_prev = rho_cur
        if callback:
            callback(x)
    return x, maxiter


def bicgstab(A, b, x0=None, rtol=1e-8, atol=0.0, maxiter=200):
    A, b, x, _, tol = _prepare(A, b, x0, None, rtol, atol)
    r = b - A @ x
    rtilde = r.copy()
    rho_prev = alpha = omega = 1.0
    v = p = np.zeros_like(r)
    for _ in range(maxiter):
        if np.linalg.norm(r) < tol:
            return x, 0
        rho = np.vdot(rtilde, r)
        if abs(rho) < np.finfo(float).eps ** 2:
            return x, -10
        beta = (rho / rho_prev) * (alpha / omega)
        p = r + beta * (p - omega * v)
        v = A @ p
        alpha = rho / np.vdot(rtilde, v)
        s = r - alpha * v
        if np.linalg.norm(s) < tol:
            x += alpha * p
            return x, 0
        t = A @ s
        omega = np.vdot(t, s) / np.vdot(t, t)
        x += alpha * p + omega * s
        r = s - omega * t
        rho_prev = rho
    return x, maxiter


def gmres(A, b, restart=10, rtol=1e-8, maxiter=20):
    A, b, x, _, tol = _prepare(A, b, None, None, rtol, 0.0)
    n = len(b)
    for outer in range(maxiter):
        r = b - A @ x
        beta = np.linalg.norm(r)
        if beta < tol:
            return x, 0
        Q = np.zeros((restart + 1, n))
        H = np.zeros((restart + 1, restart))
        Q[0] = r / beta
        for k in range(restart):
            w = A @ Q[k]
            for j in range(k + 1):
                H[j, k] = Q[j] @ w
                w = w - H[j, k] * Q[j]
            H[k + 1, k] = np.linalg.norm(w)
            if H[k + 1, k] > 1e-14:
                Q[k + 1] = w / H[k + 1, k]
        e1 = np.zeros(restart + 1)
        e1[0] = beta
        y, *_ = np.linalg.lstsq(H, e1, rcond=None)
        x = x + Q[:restart].T @ y
    return x, maxiter
