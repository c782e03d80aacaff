"""Which tests are slow: those of tests/slow.txt are marked so, besides those that are in the code.

The list is made of a run's report, not of what a run takes now: `make slow-list` renews it.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Final

LIST: Final = Path(__file__).with_name("slow.txt")
SECONDS: Final = 0.13  # that a quick test may take, in the run of the list, which had company


def listed() -> frozenset[str]:
    """The tests of the list, each as `module::name`."""
    return frozenset(LIST.read_text(encoding="utf-8").split("\n"))


def name_of(module: str, name: str) -> str:
    return f"{module}::{name}"


def renew(report: Path) -> None:
    """Write the list from a report in JUnit's format."""
    cases = ElementTree.parse(report).getroot().iter("testcase")
    slow = {
        name_of(case.attrib["classname"], case.attrib["name"])
        for case in cases
        if float(case.attrib["time"]) > SECONDS
    }
    LIST.write_text("\n".join(sorted(slow)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    renew(Path(sys.argv[1]))
