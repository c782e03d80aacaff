"""Heat in a plate by alternating directions."""

from .plate import Plate, cool
from .tridiagonal import Tridiagonal, thomas

__all__ = ["Plate", "Tridiagonal", "cool", "thomas"]
