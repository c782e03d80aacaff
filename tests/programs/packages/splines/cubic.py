import numpy as np


def prepare_input(x, y):
    x, y = map(np.asarray, (x, y))
    if np.issubdtype(x.dtype, np.complexfloating):
        raise ValueError("`x` must contain real values.")
    x = x.astype(float)
    y = y.astype(float, copy=False)
    if x.ndim != 1:
        raise ValueError("`x` must be 1-dimensional.")
    if x.shape[0] < 2:
        raise ValueError("`x` must contain at least 2 elements.")
    if x.shape[0] != y.shape[0]:
        raise ValueError("The length of `y` doesn't match the length of `x`")
    if not np.all(np.isfinite(x)):
        raise ValueError("`x` must contain only finite values.")
    dx = np.diff(x)
    if np.any(dx <= 0):
        raise ValueError("`x` must be strictly increasing sequence.")
    return x, dx, y


class PiecewisePolynomial:
    def __init__(self, c, x, extrapolate=True):
        self.c = np.asarray(c)
        self.x = np.asarray(x)
        self.extrapolate = extrapolate

    def _interval(self, xp):
        return np.clip(np.searchsorted(self.x, xp, side="right") - 1, 0, len(self.x) - 2)

    def __call__(self, xp, nu=0):
        xp = np.asarray(xp, dtype=float)
        shape = xp.shape
        xp = xp.ravel()
        i = self._interval(xp)
        s = xp - self.x[i]
        coefficients = self.c
        for _ in range(nu):
            powers = np.arange(len(coefficients) - 1, 0, -1)
            coefficients = coefficients[:-1] * powers[:, None]
        result = np.zeros_like(s)
        for row in coefficients:
            result = result * s + row[i]
        if not self.extrapolate:
            result[(xp < self.x[0]) | (xp > self.x[-1])] = np.nan
        return result.reshape(shape)

    def derivative(self, nu=1):
        c = self.c
        for _ in range(nu):
            c = c[:-1] * np.arange(len(c) - 1, 0, -1)[:, None]
        return PiecewisePolynomial(c, self.x, self.extrapolate)

    def antiderivative(self):
        k = np.arange(len(self.c), 0, -1)
        c = np.vstack([self.c / k[:, None], np.zeros(self.c.shape[1])])
        h = np.diff(self.x)
        for j in range(1, c.shape[1]):
            c[-1, j] = np.polyval(c[:, j - 1], h[j - 1])
        return PiecewisePolynomial(c, self.x, self.extrapolate)

    def integrate(self, a, b):
        F = self.antiderivative()
        return F(b) - F(a)


class CubicSpline(PiecewisePolynomial):
    def __init__(self, x, y, bc_type="not-a-knot", extrapolate=True):
        x, dx, y = prepare_input(x, y)
        n = len(x)
        slope = np.diff(y) / dx
        A = np.zeros((n, n))
        b = np.zeros(n)
        for i in range(1, n - 1):
            A[i, i - 1] = dx[i]
            A[i, i] = 2 * (dx[i] + dx[i - 1])
            A[i, i + 1] = dx[i - 1]
            b[i] = 3 * (dx[i] * slope[i - 1] + dx[i - 1] * slope[i])
        if bc_type == "natural" or n < 4:
            A[0, :2], b[0] = [2, 1], 3 * slope[0]
            A[-1, -2:], b[-1] = [1, 2], 3 * slope[-1]
        elif bc_type == "clamped":
            A[0, 0] = A[-1, -1] = 1
        elif bc_type == "not-a-knot":
            d = x[2] - x[0]
            A[0, 0], A[0, 1] = dx[1], d
            b[0] = ((dx[0] + 2 * d) * dx[1] * slope[0] + dx[0] ** 2 * slope[1]) / d
            d = x[-1] - x[-3]
            A[-1, -1], A[-1, -2] = dx[-2], d
            b[-1] = (dx[-1] ** 2 * slope[-2] + (2 * d + dx[-1]) * dx[-2] * slope[-1]) / d
        else:
            raise ValueError(f"bc_type={bc_type} is not allowed")
        s = np.linalg.solve(A, b)
        super().__init__(hermite(dx, slope, y, s), x, extrapolate)


def hermite(dx, slope, y, s):
    t = (s[:-1] + s[1:] - 2 * slope) / dx
    c = np.empty((4, len(dx)))
    c[0] = t / dx
    c[1] = (slope - s[:-1]) / dx - t
    c[2] = s[:-1]
    c[3] = y[:-1]
    return c


class PchipInterpolator(PiecewisePolynomial):
    def __init__(self, x, y):
        x, h, y = prepare_input(x, y)
        m = np.diff(y) / h
        d = np.zeros_like(y)
        smk = np.sign(m)
        condition = (smk[1:] != smk[:-1]) | (m[1:] == 0) | (m[:-1] == 0)
        w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            whmean = (w1 / m[:-1] + w2 / m[1:]) / (w1 + w2)
        d[1:-1][condition] = 0.0
        d[1:-1][~condition] = 1.0 / whmean[~condition]
        d[0] = self._edge(h[0], h[1], m[0], m[1]) if len(m) > 1 else m[0]
        d[-1] = self._edge(h[-1], h[-2], m[-1], m[-2]) if len(m) > 1 else m[-1]
        super().__init__(hermite(h, m, y, d), x)

    @staticmethod
    def _edge(h0, h1, m0, m1):
        d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
        if np.sign(d) != np.sign(m0):
            return 0.0
        elif (np.sign(m0) != np.sign(m1)) and abs(d) > 3.0 * abs(m0):
            return 3.0 * m0
        return d


def resample(x, y, new, kind="cubic", **kwargs):
    kinds = {"cubic": CubicSpline, "pchip": PchipInterpolator}
    spline = kinds[kind](x, y, **kwargs)
    return spline(new), spline.derivative()(new)


def integrate_samples(x, y, a, b):
    return CubicSpline(x, y, bc_type="natural").integrate(a, b)
