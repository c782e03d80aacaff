class Moments:
    """Mean and covariance of level and slope."""

    __slots__ = ("level", "slope", "p00", "p01", "p11")

    def __init__(self, level=0.0, slope=0.0, p00=1e6, p01=0.0, p11=1e6):
        self.level, self.slope = level, slope
        self.p00, self.p01, self.p11 = p00, p01, p11

    def copy(self):
        return Moments(self.level, self.slope, self.p00, self.p01, self.p11)

    def predict(self, q_level, q_slope):
        self.level += self.slope
        self.p00 += 2 * self.p01 + self.p11 + q_level
        self.p01 += self.p11
        self.p11 += q_slope

    def update(self, y, noise):
        v = y - self.level
        f = self.p00 + noise
        k0, k1 = self.p00 / f, self.p01 / f
        self.level += k0 * v
        self.slope += k1 * v
        self.p11 -= k1 * self.p01
        self.p01 -= k0 * self.p01
        self.p00 -= k0 * self.p00
        return v, f
