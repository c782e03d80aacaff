import numpy as np

from .quaternion import Quaternion
from .rotation import Rotation, matrix_to_quaternion


def integrate_gyro(q0, rates, dt):
    """Attitude after turning at measured rates, a step at a time."""
    q = Quaternion.from_array(q0)
    path = []
    for w in rates:
        speed = np.linalg.norm(w)
        if speed * dt > 1e-10:
            q = q * Quaternion.from_axis_angle(w, speed * dt)
        q = q.normalised()
        path.append(q.to_array())
    return np.stack(path)


def estimate(vectors, rotvec, noise):
    """Wahba's problem: the rotation from vectors and what was seen of them."""
    seen = Rotation.from_rotvec(rotvec).apply(vectors) + noise
    B = seen.T @ vectors
    U, _, Vt = np.linalg.svd(B)
    d = np.linalg.det(U) * np.linalg.det(Vt)
    found = Rotation(U @ np.diag([1, 1, d]) @ Vt)
    return matrix_to_quaternion(found.as_matrix()), found.magnitude()
