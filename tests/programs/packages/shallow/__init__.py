"""Shallow water on a staggered grid."""

from .model import Parameters, ShallowWater, integrate, step_in_place

__all__ = ["Parameters", "ShallowWater", "integrate", "step_in_place"]
