"""Bodies that attract each other."""

from .bodies import Body, Universe, orbit, simulate

__all__ = ["Body", "Universe", "orbit", "simulate"]
