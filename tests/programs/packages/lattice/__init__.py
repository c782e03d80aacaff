"""Lattice Boltzmann flow (D2Q9) past an obstacle."""

from .flow import LatticeBoltzmann, vorticity_behind_cylinder

__all__ = ["LatticeBoltzmann", "vorticity_behind_cylinder"]
