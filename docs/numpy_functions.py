"""What docs/numpy.md says of NumPy's functions beyond what the registry knows."""

from __future__ import annotations

from typing import Final

NUMPY: Final = "2.4"
"""The version of NumPy that the page is about."""

NOT_DIFFERENTIABLE: Final = frozenset()
