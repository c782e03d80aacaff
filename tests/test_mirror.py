"""The folders of tests are those of the sources that they test."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("part", ["compiler", "runtime", "frontends"])
def test_folders_of_tests_mirror_the_sources(part: str) -> None:
    tests = {path.parent.relative_to(ROOT / "tests") for path in ROOT.glob(f"tests/{part}/**/*.py")}
    without_source = {str(folder) for folder in tests if not (ROOT / folder).is_dir()}
    assert tests and without_source == set()


def test_names_of_test_files_say_what_they_test() -> None:
    numbered = [
        str(path.relative_to(ROOT))
        for path in ROOT.glob("tests/**/test_*.py")
        if path.stem.rpartition("_")[2] in {*"abcdefgh", *"0123456789"}
    ]
    assert numbered == []
