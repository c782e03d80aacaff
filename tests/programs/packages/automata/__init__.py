"""Cellular automata."""

from .elementary import Rule, evolve
from .grids import ForestFire, GameOfLife, burn, play

__all__ = ["ForestFire", "GameOfLife", "Rule", "burn", "evolve", "play"]
