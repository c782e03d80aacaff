"""The files and folders that pages name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]
NAMED = re.compile(r"`((?:compiler|runtime|frontends|tests|benchmarks|docs|src)/[\w/.]+)`")
LINKED = re.compile(r"\]\(([\w/.]+\.md)(?:#[\w-]+)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_paths_exist(page: Path) -> None:
    text = page.read_text()
    missing = [name for name in NAMED.findall(text) if not (ROOT / name).exists()]
    missing += [name for name in LINKED.findall(text) if not (page.parent / name).exists()]
    assert missing == []
