"""`python -m benchmarks.internals.packages [NAMES]`: packages of tests/programs, compiled, against
NumPy, at real sizes: the ratio of processor times of calls that take turns, and the first call.

Programs that do not run yet are left out; tests/programs/entries/refusals.txt says which.
"""

from __future__ import annotations

import copy
import math
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import weft as wf
from tests.programs.entries import known
from tests.programs.entries.cases import PLAIN
from tests.programs.entries.entry import Entry
from tests.programs.entries.outcome import with_keywords
from tests.programs.entries.table import ENTRIES

TURNS = 5


def seconds(function: Callable[..., Any], given: tuple[Any, ...]) -> float:
    """Of one call; programs may change their arguments, so that each has its own."""
    own = copy.deepcopy(given)
    start = time.process_time()
    with_keywords(function, own)
    return time.process_time() - start


def ratio(entry: Entry) -> tuple[float, float, float]:
    """NumPy's seconds, the first call's, and how many times as fast as NumPy later ones are."""
    given = entry.arguments(entry.real)
    compiled = wf.jit(entry.function)
    first = seconds(compiled, given)
    pairs = [(seconds(entry.function, given), seconds(compiled, given)) for _ in range(TURNS)]
    plain, later = (min(times) for times in zip(*pairs, strict=True))
    return plain, first, plain / max(later, 1e-7)


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    refused = known.read()
    found: list[float] = []
    for name, entry in ENTRIES.items():
        if (name, PLAIN) in refused or (names and name not in names):
            continue
        try:
            plain, first, times = ratio(entry)
        except Exception as error:  # at this size
            print(f"{name:36} {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
            continue
        found.append(times)
        print(f"{name:36} NumPy {plain:9.3g} s  first {first:9.3g} s  {times:8.2f} x", flush=True)
    if found:
        mean = math.exp(sum(map(math.log, found)) / len(found))
        print(f"{len(found)} programs, geometric mean {mean:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
