"""Molecular dynamics of Lennard-Jones particles in a box."""

from .neighbours import NeighbourList
from .simulation import Simulation, run
from .system import System

__all__ = ["NeighbourList", "Simulation", "System", "run"]
