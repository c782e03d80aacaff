"""A few contenders in turns, printed: for scripts that compare Weft with itself or with NumPy and
are no workloads of the table.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

from benchmarks.measure import Times, measure
from benchmarks.peers import Run


def options(description: str) -> argparse.Namespace:
    """Which parts to run, for how long, and on how many threads; to be called before NumPy
    computes anything, which reads its number of threads once.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("only", nargs="*", help="run the parts whose title has one of these words")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of one turn of a contender")
    given = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.threads])
    import weft as wf

    wf.set_num_threads(given.threads)
    print(f"# {description.splitlines()[0]} ({given.threads} threads)")
    return given


def is_wanted(title: str, given: argparse.Namespace) -> bool:
    """Whether the user asked for this part, or for all."""
    return not given.only or any(word in title for word in given.only)


def compare(title: str, runs: Mapping[str, Run], given: argparse.Namespace) -> dict[str, Times]:
    """The times of contenders, of which one is `weft`, printed with multiples of its own."""
    for run in runs.values():
        run()
    times = measure(runs, given.rounds, given.seconds)
    print(title)
    for name, taken in times.items():
        ratio = f"{taken.best / times['weft'].best:6.2f} x weft"
        print(f"  {name:12} best {taken.best * 1e3:9.3f} ms  {ratio}", flush=True)
    return times
