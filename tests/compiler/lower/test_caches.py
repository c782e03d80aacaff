"""Cache sizes as the system tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.compiler.lower.llvm.caches import Caches, caches, read_caches


def test_sizes_are_read_level_by_level(tmp_path: Path) -> None:
    given = (("1", "Data", "48K"), ("1", "Instruction", "64K"), ("2", "Unified", "2048K"))
    for number, (level, type, size) in enumerate((*given, ("3", "Unified", "30M"))):
        entry = tmp_path / f"index{number}"
        entry.mkdir()
        for name, text in (("level", level), ("type", type), ("size", size)):
            (entry / name).write_text(f"{text}\n")
    assert read_caches(tmp_path) == Caches(48 << 10, 2 << 20, 30 << 20)


@pytest.mark.parametrize("size", ["", "many", None])
def test_usual_sizes_where_the_system_does_not_tell(tmp_path: Path, size: str | None) -> None:
    if size is not None:
        entry = tmp_path / "index0"
        entry.mkdir()
        for name, text in (("level", "1"), ("type", "Data"), ("size", size)):
            (entry / name).write_text(text)
    assert read_caches(tmp_path) == Caches()


def test_this_machine_has_caches() -> None:
    found = caches()
    assert 0 < found.first <= found.second <= found.last
