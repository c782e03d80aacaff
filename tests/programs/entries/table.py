"""All entry points of the packages, by name."""

from __future__ import annotations

from tests.programs.entries.applications import APPLICATIONS
from tests.programs.entries.entry import Entry
from tests.programs.entries.numerics import NUMERICS
from tests.programs.entries.physics import PHYSICS
from tests.programs.entries.statistics import STATISTICS

ENTRIES: dict[str, Entry] = {
    entry.name: entry for entry in (*PHYSICS, *STATISTICS, *NUMERICS, *APPLICATIONS)
}
