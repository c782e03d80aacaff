"""All entry points of the packages, by name."""

from __future__ import annotations

from tests.programs.entries.applications import APPLICATIONS
from tests.programs.entries.entry import Entry
from tests.programs.entries.estimation import ESTIMATION
from tests.programs.entries.numerics import NUMERICS
from tests.programs.entries.physics import PHYSICS

ENTRIES: dict[str, Entry] = {
    entry.name: entry for entry in (*PHYSICS, *ESTIMATION, *NUMERICS, *APPLICATIONS)
}
