"""The examples in docstrings and pages run, and the generated pages are up to date."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import weft
from docs.generate import GENERATED

ROOT = Path(__file__).parent.parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(weft.__path__, "weft.")
    if not module.name.endswith("__main__")
)
PAGES = sorted(path for path in [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")])


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert results.failed == 0


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_page_examples_run(path: Path) -> None:
    results = doctest.testfile(str(path), module_relative=False, optionflags=FLAGS)
    assert results.failed == 0


@pytest.mark.parametrize("name", GENERATED)
def test_generated_page_is_up_to_date(name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == GENERATED[name](), "run python -m docs.generate"


def test_readme_starts_with_the_two_commands() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    commands = [line.split("#")[0].strip() for line in lines if line.startswith("    make")]
    assert commands[:2] == ["make demo", "make test"]
