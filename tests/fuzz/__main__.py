"""`python -m tests.fuzz --minutes N --seed S [--mode programs|faults]`: see docs/fuzzing.md."""

from __future__ import annotations

import argparse
import os
import signal
import time
from pathlib import Path

from tests.fuzz.pool import Pool

CORPUS = Path(__file__).parent / "corpus"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=None, help="by default another one every time")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--programs", type=int, default=None, help="stop after so many")
    parser.add_argument("--mode", choices=("values", "programs", "faults"), default="values")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="where new cases are written")
    options = parser.parse_args()
    os.environ["WEFT_STRICT"] = "1"  # a fault of the compiler must not be answered otherwise
    for number in (signal.SIGINT, signal.SIGTERM):  # ends with a report, in the background too
        signal.signal(number, signal.default_int_handler)
    seed = int(time.time()) if options.seed is None else options.seed
    if options.mode == "faults":
        from tests.fuzz.faults import run_faults

        return run_faults(60 * options.minutes, seed)
    pool = Pool(seed, options.workers, options.corpus, options.mode)
    report = pool.run(60 * options.minutes, options.programs)
    print(report)
    return 1 if report.written else 0


if __name__ == "__main__":
    raise SystemExit(main())
