import numpy as np

ELEMENTARY = {"x": 0, "y": 1, "z": 2}


def elementary(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    if axis == "x":
        return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    elif axis == "y":
        return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def euler_to_matrix(seq, angles, degrees=False):
    if not set(seq) <= set(ELEMENTARY):
        raise ValueError(f"Expected axes from ['x', 'y', 'z'], got {seq!r}")
    angles = np.deg2rad(angles) if degrees else np.asarray(angles)
    if len(seq) != len(angles):
        raise ValueError("one angle for each axis")
    m = np.eye(3)
    for axis, angle in zip(seq, angles):
        m = m @ elementary(axis, angle)
    return m


def matrix_to_quaternion(m):
    """Shepperd's method: by the largest of the trace and the diagonal."""
    t = np.trace(m)
    if t > 0:
        s = 0.5 / np.sqrt(t + 1.0)
        q = [0.25 / s, (m[2, 1] - m[1, 2]) * s, (m[0, 2] - m[2, 0]) * s, (m[1, 0] - m[0, 1]) * s]
    elif m[0, 0] > m[1, 1] and m[0, 0] > m[2, 2]:
        s = 2.0 * np.sqrt(1.0 + m[0, 0] - m[1, 1] - m[2, 2])
        q = [(m[2, 1] - m[1, 2]) / s, 0.25 * s, (m[0, 1] + m[1, 0]) / s, (m[0, 2] + m[2, 0]) / s]
    elif m[1, 1] > m[2, 2]:
        s = 2.0 * np.sqrt(1.0 + m[1, 1] - m[0, 0] - m[2, 2])
        q = [(m[0, 2] - m[2, 0]) / s, (m[0, 1] + m[1, 0]) / s, 0.25 * s, (m[1, 2] + m[2, 1]) / s]
    else:
        s = 2.0 * np.sqrt(1.0 + m[2, 2] - m[0, 0] - m[1, 1])
        q = [(m[1, 0] - m[0, 1]) / s, (m[0, 2] + m[2, 0]) / s, (m[1, 2] + m[2, 1]) / s, 0.25 * s]
    return np.array(q)


class Rotation:
    def __init__(self, matrix):
        matrix = np.asarray(matrix)
        if matrix.shape[-2:] != (3, 3):
            raise ValueError(f"Expected `matrix` to have shape (3, 3), got {matrix.shape}")
        self._m = matrix

    @classmethod
    def from_rotvec(cls, rotvec):
        rotvec = np.asarray(rotvec, dtype=float)
        angle = np.linalg.norm(rotvec)
        if angle < 1e-8:
            a, b = 1 - angle**2 / 6, 0.5 - angle**2 / 24
        else:
            a, b = np.sin(angle) / angle, (1 - np.cos(angle)) / angle**2
        x, y, z = rotvec
        K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        return cls(np.eye(3) + a * K + b * K @ K)

    def as_matrix(self):
        return self._m.copy()

    def apply(self, vectors, inverse=False):
        return np.asarray(vectors) @ (self._m if inverse else self._m.T)

    def inv(self):
        return Rotation(np.swapaxes(self._m, -1, -2))

    def __mul__(self, other):
        return Rotation(self._m @ other._m)

    def __pow__(self, n):
        if n == 0:
            return Rotation(np.eye(3))
        if n < 0:
            return self.inv() ** -n
        made = self
        for _ in range(n - 1):
            made = made * self
        return made

    def magnitude(self):
        return np.arccos(np.clip((np.trace(self._m) - 1) / 2, -1, 1))
