"""What tests of kept programs share."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.frontends.driver import machine_code
from weft.frontends.driver.cache import entry, sources
from weft.runtime.cache import Cache


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """A cache of its own, for programs of one fixed environment."""
    cache = Cache(tmp_path / "cache")
    monkeypatch.setattr(machine_code, "disk", lambda: cache)
    monkeypatch.setattr(entry, "environment", lambda: ("fixed",))
    monkeypatch.setattr(sources, "are_unchanged", lambda: True)
    return cache
