import numpy as np


class Quaternion:
    """w + xi + yj + zk"""

    __slots__ = ("w", "x", "y", "z")

    def __init__(self, w=1.0, x=0.0, y=0.0, z=0.0):
        self.w, self.x, self.y, self.z = w, x, y, z

    @classmethod
    def from_axis_angle(cls, axis, angle):
        axis = np.asarray(axis)
        n = np.linalg.norm(axis)
        if n < 1e-12:
            return cls()
        s = np.sin(angle / 2) / n
        return cls(np.cos(angle / 2), axis[0] * s, axis[1] * s, axis[2] * s)

    @classmethod
    def from_array(cls, q):
        if np.shape(q) != (4,):
            raise ValueError("a quaternion has four components")
        return cls(*q)

    def __mul__(self, other):
        if isinstance(other, Quaternion):
            a, b = self, other
            return Quaternion(
                a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
            )
        return Quaternion(*(other * c for c in self))

    __rmul__ = __mul__

    def __add__(self, other):
        return Quaternion(*(a + b for a, b in zip(self, other)))

    def __neg__(self):
        return Quaternion(-self.w, -self.x, -self.y, -self.z)

    def __iter__(self):
        yield from (self.w, self.x, self.y, self.z)

    def __abs__(self):
        return np.sqrt(self.w**2 + self.x**2 + self.y**2 + self.z**2)

    def dot(self, other):
        return sum(a * b for a, b in zip(self, other))

    def conjugate(self):
        return Quaternion(self.w, -self.x, -self.y, -self.z)

    def normalised(self):
        n = abs(self)
        if n == 0:
            raise ZeroDivisionError("quaternion of length zero")
        return self * (1.0 / n)

    def rotate(self, v):
        p = self * Quaternion(0.0, *v) * self.conjugate()
        return np.array([p.x, p.y, p.z])

    def to_array(self):
        return np.array(list(self))


def slerp(q0, q1, t):
    a, b = Quaternion.from_array(q0).normalised(), Quaternion.from_array(q1).normalised()
    cos = a.dot(b)
    if cos < 0:
        b, cos = -b, -cos
    if cos > 0.9995:
        return (a * (1 - t) + b * t).normalised().to_array()
    theta = np.arccos(cos)
    made = a * (np.sin((1 - t) * theta) / np.sin(theta)) + b * (np.sin(t * theta) / np.sin(theta))
    return made.to_array()
