"""What native code and the runtime agree on: the run record, and the names of what is linked in.

Every native function that may fail, start parallel work or be interrupted gets a pointer to the run
record of the call it belongs to: 64-bit words at the positions below.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Run(IntEnum):
    """Positions of the words of a run record."""

    THREADS = 0  # how many threads this call may use
    ERROR = 1  # 0, or 1 + the number of the failure site that failed first
    DETAIL0 = 2  # what the site says of the failure, such as the index and the size
    DETAIL1 = 3
    DETAIL2 = 4
    STOP = 5  # not 0 once loops should end early: an error or an interrupt
    POLL = 6  # address of poll(run): called now and then by long loops, may set STOP
    HOST = 7  # address of host(run, site, operands, results): calls back into Python
    PROGRAM = 8  # the runtime's own mark of the program
    CLOCK = 9  # cycle count at the last poll


RUN_WORDS: Final = 16

# weft_parallel(run, task, data, count, grain): runs task(run, data, begin, end) on disjoint ranges
# that cover 0 to count, each a multiple of grain long but the last, on several threads at once;
# returns when all are done. Tasks may not depend on how the ranges fall.
PARALLEL: Final = "weft_parallel"
