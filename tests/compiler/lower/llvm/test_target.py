"""The record of a machine, and cache sizes as the system tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.compiler.lower.llvm.target import Caches, Target, host, read_caches


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


def test_this_machine_has_caches_and_cores() -> None:
    assert host().cores > 0
    found = host().caches
    assert 0 < found.first <= found.second <= found.last


@pytest.mark.parametrize(
    "triple,vector_bytes,registers",
    [("x86_64-linux", 32, 16), ("x86_64-linux", 64, 32), ("aarch64-linux", 16, 32)],
)
def test_vector_registers_by_their_width(triple: str, vector_bytes: int, registers: int) -> None:
    target = Target(triple, "generic", "", vector_bytes)
    assert target.vector_registers == registers
    assert target.lanes(32) == vector_bytes // 4


@pytest.mark.parametrize(
    "triple,features,converts",
    [
        ("x86_64-linux", "+avx,+f16c", True),
        ("x86_64-linux", "+avx,-f16c", False),
        ("aarch64-linux", "", True),
    ],
)
def test_conversions_of_halves_by_features(triple: str, features: str, converts: bool) -> None:
    assert Target(triple, "generic", features, 16).converts_halves == converts
