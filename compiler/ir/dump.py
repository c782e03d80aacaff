"""Where programs are written to as text, stage by stage, if that is asked for."""

from __future__ import annotations

import functools
import os


@functools.cache
def dump_directory() -> str | None:
    """The directory that the environment variable WEFT_DUMP names, read once."""
    return os.environ.get("WEFT_DUMP") or None
