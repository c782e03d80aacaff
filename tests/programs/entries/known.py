"""The list of what does not run as Python yet: entry, cases, and what is said instead.

Tests hold every line to be true, so the list can only shrink; `python -m tests.programs.survey
--write` renews it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

GRADIENT: Final = "gradient"
LIST: Final = Path(__file__).with_name("refusals.txt")
Outcomes = dict[tuple[str, str], str]


def read() -> Outcomes:
    found: Outcomes = {}
    for line in LIST.read_text(encoding="utf-8").splitlines():
        name, cases, text = line.split(" | ", 2)
        found.update({(name, case): text for case in cases.split(", ")})
    return found


def write(found: Mapping[tuple[str, str], str], names: Collection[str]) -> None:
    """Renew the lines of these entries."""
    kept = {key: text for key, text in read().items() if key[0] not in names}
    kept.update({key: text for key, text in found.items() if text != "equal"})
    alike: dict[tuple[str, str], list[str]] = {}
    for (name, case), text in kept.items():
        alike.setdefault((name, text), []).append(case)
    lines = [f"{name} | {', '.join(cases)} | {text}\n" for (name, text), cases in alike.items()]
    LIST.write_text("".join(sorted(lines)), encoding="utf-8")
