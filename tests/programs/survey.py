"""`python -m tests.programs.survey [NAMES]`: what becomes of the packages when they are compiled.

Every entry runs in a process of its own, with a time limit for each case, so that crashes and
programs that never end are outcomes like others. `--write` renews the list of what does not run.
Cases other than the plain one follow where that one is equal, or with `--all`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import FrameType
from typing import Any, Final

from tests.programs.entries.cases import PLAIN, cases
from tests.programs.entries.entry import Entry
from tests.programs.entries.known import GRADIENT, write
from tests.programs.entries.outcome import EQUAL, called, compared, gradient_outcome, outcome
from tests.programs.entries.table import ENTRIES

SLOW: Final = "slow: no result after"
SIZES: Final = {"real": 1, "ten times": 10}


class OutOfTime(BaseException):
    pass


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.programs.survey", description=__doc__)
    parser.add_argument("names", nargs="*", help="entries or packages; all if none")
    parser.add_argument("--all", action="store_true", help="all cases of programs that fail, too")
    parser.add_argument(
        "--write", action="store_true", help="renew tests/programs/entries/refusals.txt"
    )
    parser.add_argument("--sizes", action="store_true", help="larger arguments, and what they take")
    parser.add_argument("--seconds", type=int, default=60, help="of a processor for a case")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--in-process", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_process:
        report(ENTRIES[options.in_process], options)
        return
    names = [n for n in ENTRIES if not options.names or chosen(n, options.names)]
    found: dict[tuple[str, str], str] = {}
    with ThreadPoolExecutor(options.processes) as pool:
        for name, lines in zip(
            names, pool.map(lambda n: list(run(n, options)), names), strict=True
        ):
            for case, text in lines:
                found[name, case] = text
                print(f"{name} | {case} | {text}", flush=True)
    print(f"{sum(text.startswith(EQUAL) for text in found.values())} of {len(found)} equal")
    if options.write:
        write(found, names)


def chosen(name: str, wanted: list[str]) -> bool:
    return name in wanted or name.split(".")[0] in wanted


def run(name: str, options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """The outcomes of one entry; the last one is a crash if the process ended in it."""
    command = [sys.executable, "-m", "tests.programs.survey", "--in-process", name]
    command += ["--seconds", str(options.seconds)] + ["--sizes"] * options.sizes
    command += ["--all"] * options.all
    environment = {**os.environ, "WEFT_STRICT": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    at = None
    for line in process.stdout:
        if not line.startswith("{"):
            continue
        said = json.loads(line)
        at = said["case"] if "text" not in said else None
        if at is None:
            yield said["case"], said["text"]
    if process.wait() != 0:
        yield at or PLAIN, f"crash: the process ended with {process.returncode}"


def report(entry: Entry, options: argparse.Namespace) -> None:
    signal.signal(signal.SIGPROF, out_of_time)
    steps: dict[str, Callable[[], str]] = {}
    if options.sizes:
        for label, factor in SIZES.items():
            steps[label] = partial(timed, entry, factor * entry.real)
    else:
        for case in cases(entry):
            steps[case] = partial(outcome, entry, case)
        if entry.numbers is not None:
            steps[GRADIENT] = partial(gradient_outcome, entry)
    for case, step in steps.items():
        print(json.dumps({"case": case}), flush=True)
        signal.setitimer(signal.ITIMER_PROF, options.seconds)
        try:
            text = step()
        except OutOfTime:
            text = f"{SLOW} {options.seconds} s"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps({"case": case, "text": text}), flush=True)
        if case in (PLAIN, *SIZES) and not text.startswith(EQUAL) and not options.all:
            return


def out_of_time(signum: int, frame: FrameType | None) -> None:
    signal.setitimer(signal.ITIMER_PROF, 2)  # again, where someone caught the exception
    raise OutOfTime


def timed(entry: Entry, size: int) -> str:
    """The outcome, and the times of NumPy's call, the first one and a later one."""
    import weft as wf

    given = entry.arguments(size)
    compiled = wf.jit(entry.function)
    plain, wanted = seconds(lambda: called(entry.function, given))
    first, made = seconds(lambda: called(compiled, given))
    text = compared(made, wanted, max(entry.rtol, 1e-6))
    later, _ = seconds(lambda: called(compiled, given)) if text == EQUAL else (float("nan"), None)
    return f"{text} | NumPy {plain:.3g} s, first {first:.3g} s, later {later:.3g} s"


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


if __name__ == "__main__":
    main()
