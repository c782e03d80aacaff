"""Bootstrap particle filters."""

from .filter import ParticleFilter, locate
from .resampling import multinomial_resample, residual_resample, systematic_resample

__all__ = [
    "ParticleFilter",
    "locate",
    "multinomial_resample",
    "residual_resample",
    "systematic_resample",
]
