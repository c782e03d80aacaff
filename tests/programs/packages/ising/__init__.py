"""Spin models by Monte Carlo."""

from .lattice import IsingLattice, anneal, magnetise
from .wolff import wolff_step

__all__ = ["IsingLattice", "anneal", "magnetise", "wolff_step"]
