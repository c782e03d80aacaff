"""Alignment of sequences with affine gaps and traceback."""

from .pairwise import Aligner, align_global, align_local
from .scoring import Scoring, encode

__all__ = ["Aligner", "Scoring", "align_global", "align_local", "encode"]
