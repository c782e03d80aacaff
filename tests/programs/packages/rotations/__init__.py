"""Quaternions and rotations."""

from .attitude import estimate, integrate_gyro
from .quaternion import Quaternion, slerp
from .rotation import Rotation, euler_to_matrix, matrix_to_quaternion

__all__ = [
    "Quaternion",
    "Rotation",
    "estimate",
    "euler_to_matrix",
    "integrate_gyro",
    "matrix_to_quaternion",
    "slerp",
]
