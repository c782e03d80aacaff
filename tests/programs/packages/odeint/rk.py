import numpy as np

SAFETY = 0.9
MIN_FACTOR = 0.2
MAX_FACTOR = 10


def norm(x):
    return np.linalg.norm(x) / x.size**0.5


class OdeSolver:
    TOO_SMALL_STEP = "Required step size is less than spacing between numbers."

    def __init__(self, fun, t0, y0, t_bound, rtol=1e-3, atol=1e-6, first_step=None):
        y0 = np.asarray(y0)
        if not np.issubdtype(y0.dtype, np.number):
            raise ValueError("`y0` must be numeric")
        if y0.ndim != 1:
            raise ValueError("`y0` must be 1-dimensional.")
        self.n = y0.size
        self.t, self.y = t0, y0.astype(float, copy=False)
        self.t_old = None
        self.t_bound = t_bound
        self.nfev = 0
        self.status = "running"

        def counted(t, y):
            self.nfev += 1
            return np.asarray(fun(t, y), dtype=float)

        self.fun = counted
        self.rtol, self.atol = rtol, atol
        self.f = self.fun(self.t, self.y)
        self.direction = np.sign(t_bound - t0) if t_bound != t0 else 1
        if first_step is None:
            self.h_abs = self._initial_step()
        else:
            if first_step <= 0:
                raise ValueError("`first_step` must be positive.")
            self.h_abs = first_step
        self.K = np.empty((self.n_stages + 1, self.n), dtype=self.y.dtype)
        self.error_exponent = -1 / (self.error_estimator_order + 1)

    def _initial_step(self):
        scale = self.atol + np.abs(self.y) * self.rtol
        d0, d1 = norm(self.y / scale), norm(self.f / scale)
        h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
        y1 = self.y + h0 * self.direction * self.f
        d2 = norm((self.fun(self.t + h0 * self.direction, y1) - self.f) / scale) / h0
        if d1 <= 1e-15 and d2 <= 1e-15:
            h1 = max(1e-6, h0 * 1e-3)
        else:
            h1 = (0.01 / max(d1, d2)) ** (1 / (self.error_estimator_order + 1))
        return min(100 * h0, h1)

    def _rk_step(self, h):
        K = self.K
        K[0] = self.f
        for s, (a, c) in enumerate(zip(self.A[1:], self.C[1:]), start=1):
            dy = np.dot(K[:s].T, a[:s]) * h
            K[s] = self.fun(self.t + c * h, self.y + dy)
        y_new = self.y + h * np.dot(K[:-1].T, self.B)
        f_new = self.fun(self.t + h, y_new)
        K[-1] = f_new
        return y_new, f_new

    def step(self):
        if self.status != "running":
            raise RuntimeError("Attempt to step on a failed or finished solver.")
        t = self.t
        min_step = 10 * np.abs(np.nextafter(t, self.direction * np.inf) - t)
        h_abs = max(self.h_abs, min_step)
        step_accepted = False
        step_rejected = False
        while not step_accepted:
            if h_abs < min_step:
                self.status = "failed"
                return False
            h = h_abs * self.direction
            t_new = t + h
            if self.direction * (t_new - self.t_bound) > 0:
                t_new = self.t_bound
            h = t_new - t
            h_abs = np.abs(h)
            y_new, f_new = self._rk_step(h)
            scale = self.atol + np.maximum(np.abs(self.y), np.abs(y_new)) * self.rtol
            error_norm = norm(np.dot(self.K.T, self.E) * h / scale)
            if error_norm < 1:
                if error_norm == 0:
                    factor = MAX_FACTOR
                else:
                    factor = min(MAX_FACTOR, SAFETY * error_norm**self.error_exponent)
                if step_rejected:
                    factor = min(1, factor)
                h_abs *= factor
                step_accepted = True
            else:
                h_abs *= max(MIN_FACTOR, SAFETY * error_norm**self.error_exponent)
                step_rejected = True
        self.t_old, self.y_old, self.f_old = t, self.y, self.f
        self.t, self.y, self.f = t_new, y_new, f_new
        self.h_abs = h_abs
        if self.direction * (self.t - self.t_bound) >= 0:
            self.status = "finished"
        return True

    def dense_output(self):
        """Cubic Hermite interpolation over the last step."""
        t0, h, y0, f0 = self.t_old, self.t - self.t_old, self.y_old, self.f_old
        y1, f1 = self.y, self.f

        def interpolate(t):
            x = (t - t0) / h
            a = (1 + 2 * x) * (1 - x) ** 2
            b = x * (1 - x) ** 2
            return a * y0 + b * h * f0 + x**2 * (3 - 2 * x) * y1 + x**2 * (x - 1) * h * f1

        return interpolate


class RK23(OdeSolver):
    n_stages = 3
    error_estimator_order = 2
    C = np.array([0, 1 / 2, 3 / 4])
    A = np.array([[0, 0, 0], [1 / 2, 0, 0], [0, 3 / 4, 0]])
    B = np.array([2 / 9, 1 / 3, 4 / 9])
    E = np.array([5 / 72, -1 / 12, -1 / 9, 1 / 8])


class RK45(OdeSolver):
    n_stages = 6
    error_estimator_order = 4
    C = np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1])
    A = np.array(
        [
            [0, 0, 0, 0, 0],
            [1 / 5, 0, 0, 0, 0],
            [3 / 40, 9 / 40, 0, 0, 0],
            [44 / 45, -56 / 15, 32 / 9, 0, 0],
            [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0],
            [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        ]
    )
    B = np.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84])
    E = np.array([-71 / 57600, 0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40])
