"""How long tests wait for what must come."""

from __future__ import annotations

from typing import Final

PATIENCE: Final = 600.0  # seconds: ends what hangs, and no machine is so busy that it reaches this
