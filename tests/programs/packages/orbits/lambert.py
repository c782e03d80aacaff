import numpy as np


def stumpff(psi):
    if psi > 1e-6:
        s = np.sqrt(psi)
        return (1 - np.cos(s)) / psi, (s - np.sin(s)) / s**3
    if psi < -1e-6:
        s = np.sqrt(-psi)
        return (1 - np.cosh(s)) / psi, (np.sinh(s) - s) / s**3
    return 0.5, 1 / 6


def lambert(mu, r0, r1, tof, short=True, maxiter=60, tol=1e-9):
    """Velocities at both ends of the way from r0 to r1, by bisection."""
    t_m = 1 if short else -1
    n0, n1 = np.linalg.norm(r0), np.linalg.norm(r1)
    cos_nu = np.dot(r0, r1) / (n0 * n1)
    A = t_m * np.sqrt(n0 * n1 * (1 + cos_nu))
    if A == 0.0:
        raise RuntimeError("Cannot compute orbit, phase angle is 180 degrees")
    psi, low, up = 0.0, -4 * np.pi**2, 4 * np.pi**2
    count = 0
    while count < maxiter:
        c2, c3 = stumpff(psi)
        y = n0 + n1 + A * (psi * c3 - 1) / c2**0.5
        if A > 0.0 and y < 0.0:
            low = psi
            psi = 0.5 * (low + up)
            count += 1
            continue
        xi = np.sqrt(y / c2)
        tof_new = (xi**3 * c3 + A * np.sqrt(y)) / np.sqrt(mu)
        if np.abs((tof_new - tof) / tof) < tol:
            break
        condition = tof_new <= tof
        low = low + (psi - low) * condition
        up = up + (psi - up) * (not condition)
        psi = (up + low) / 2
        count += 1
    else:
        raise RuntimeError(f"Maximum number of iterations reached: {maxiter}")
    f, g, gdot = 1 - y / n0, A * np.sqrt(y / mu), 1 - y / n1
    return (r1 - f * r0) / g, (gdot * r1 - r0) / g
