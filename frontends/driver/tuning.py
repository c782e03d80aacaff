"""`weft tune`: generated matrix products against BLAS on this machine, measured and remembered.

There is a table for each number of threads, in the cache's directory. Compiles with
`products="auto"` read it and measure nothing; one that is damaged, of another release, machine or
BLAS counts as none.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

from weft.compiler.ir.dtypes import named
from weft.compiler.lower.choice import LEAST_GAIN, Point, Products
from weft.compiler.record import record
from weft.frontends.driver import machine_code
from weft.runtime.threads import get_num_threads, threads

VERSION: Final = 1
SIZES: Final = (16, 64, 256, 1024)
DTYPES: Final = ("f32", "f64")
# How operands lie: "n" in rows, "t" in columns. Both in columns is rare, so it is not measured.
LAYOUTS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "nn": lambda x, y: x @ y,
    "nt": lambda x, y: x @ y.T,
    "tn": lambda x, y: x.T @ y,
}
_LEAST_TURNS: Final = 3
_TURN_SECONDS: Final = 5e-4  # that either side computes before it is the other's turn
_MOST_CALLS: Final = 100

Array = np.ndarray[Any, Any]


@record
class Table:
    """What was measured on a number of threads of a machine with a BLAS."""

    machine: str
    blas: str
    threads: int
    points: tuple[Point, ...]


def measured() -> Products:
    """The choice "auto", by the tables for as many threads as calls may use now and for one."""
    count = get_num_threads()
    tables = [_found(number) for number in sorted({1, count})]
    points = [point for table in tables if table is not None for point in table.points]
    return Products("auto", count, tuple(points)) if points else Products()


# --- kept ---------------------------------------------------------------------------------------


def machine() -> str:
    """What tells machines apart."""
    from weft.compiler.lower.llvm.target import host

    return host().key


def blas() -> str:
    """What tells releases of BLAS apart."""
    import scipy

    build = scipy.__config__.show(mode="dicts")["Build Dependencies"]["blas"]
    return f"scipy {scipy.__version__}, {build.get('name', '?')} {build.get('version', '?')}"


def keep(table: Table) -> Path | None:
    """Leave a table for later compiles; where it is, if it could be written."""
    return machine_code.disk().put_table(_name(table.threads), encode(table))


def _found(count: int) -> Table | None:
    content = machine_code.disk().table(_name(count))
    if content is None:
        return None
    table = decode(content)
    known = table is not None and (table.machine, table.threads) == (machine(), count)
    return table if known and table is not None and table.blas == blas() else None


def _name(count: int) -> str:
    digest = hashlib.blake2b(f"{machine()}\n{count}".encode(), digest_size=12)
    return f"products-{digest.hexdigest()}.json"


def encode(table: Table) -> bytes:
    """A table as JSON."""
    points = [[p.dtype, p.layout, p.m, p.n, p.k, p.gain] for p in table.points]
    head = {
        "version": VERSION,
        "machine": table.machine,
        "blas": table.blas,
        "threads": table.threads,
        "columns": ["dtype", "layout", "m", "n", "k", "speed of BLAS over generated code"],
    }
    lines = ",\n".join(f"  {json.dumps(point)}" for point in points)
    text = json.dumps({**head, "digest": _digest(head, points)}, indent=1)
    return f'{text.removesuffix("}").rstrip()},\n "points": [\n{lines}\n ]\n}}\n'.encode()


def decode(content: bytes) -> Table | None:
    """The table of bytes that `encode` made; None for others."""
    try:
        data = json.loads(content)
        head = {name: value for name, value in data.items() if name not in ("digest", "points")}
        if data["version"] != VERSION or data["digest"] != _digest(head, data["points"]):
            return None
        count = int(data["threads"])
        points = tuple(_point(count, *values) for values in data["points"])
        return Table(str(data["machine"]), str(data["blas"]), count, points)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _digest(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _point(count: int, dtype: str, layout: str, m: int, n: int, k: int, gain: float) -> Point:
    if min(m, n, k) < 1 or not 0 < gain < math.inf:
        raise ValueError("no product has such sizes or such a time")
    return Point(count, str(dtype), str(layout), int(m), int(n), int(k), float(gain))


# --- measured -----------------------------------------------------------------------------------


class _Contest:
    """Products of one shape by both ways, and the times that calls of each took."""

    def __init__(
        self, point: Point, sides: Sequence[Callable[..., Any]], operands: tuple[Array, Array]
    ) -> None:
        self.point = point
        self._sides = sides
        self._operands = operands
        self._calls = 0  # of a turn; 0 before the first one, which only tells how many there are
        self._times: tuple[list[float], list[float]] = ([], [])

    def turn(self) -> None:
        """Each side once: a call or, where that takes next to no time, several."""
        with threads(self.point.threads):
            taken = [self._seconds(side) for side in self._sides]
        if self._calls:
            for times, seconds in zip(self._times, taken, strict=True):
                times.append(seconds)
        wanted = int(_TURN_SECONDS / max(min(taken), 1e-9))
        self._calls = max(self._calls, 1, min(wanted, _MOST_CALLS))

    def _seconds(self, side: Callable[..., Any]) -> float:
        """The time of a call, the first of several not counted: it fills the caches."""
        calls = max(self._calls, 1)
        if calls > 1:
            side(*self._operands)
        begin = time.perf_counter()
        for _ in range(calls):
            side(*self._operands)
        return (time.perf_counter() - begin) / calls

    def result(self) -> Point:
        """By the best times or by the medians, whatever BLAS looks worse by: these are noisy, and
        generated code goes on with rows as they are made.
        """
        gains = [own / other for own, other in (map(min, self._times), map(median, self._times))]
        return replace(self.point, gain=max(round(min(gains), 3), 0.001))


def tune(jit: Callable[..., Any], seconds: float, sizes: Sequence[int] = SIZES) -> list[Table]:
    """Measure products compiled by `jit` for about that long, but every shape a few times: tables
    for one thread and for as many as calls may use now.
    """
    deadline = time.monotonic() + seconds
    contests = list(_contests(jit, sizes))
    for number, contest in enumerate(itertools.cycle(contests)):
        if number >= (1 + _LEAST_TURNS) * len(contests) and time.monotonic() >= deadline:
            break
        contest.turn()
    points = [contest.result() for contest in contests]
    return [
        Table(machine(), blas(), count, tuple(p for p in points if p.threads == count))
        for count in _counts()
    ]


def _counts() -> list[int]:
    return sorted({1, get_num_threads()})


def _contests(jit: Callable[..., Any], sizes: Sequence[int]) -> Iterator[_Contest]:
    """Every product that is measured; one program of each way serves all sizes of a layout."""
    from weft.frontends.tracing.spec import spec

    draw = np.random.default_rng(0).standard_normal
    for dtype in DTYPES:
        pairs = itertools.product(sizes, repeat=2)
        held = {pair: draw(pair).astype(named(dtype).numpy) for pair in pairs}
        for layout, function in LAYOUTS.items():
            names = ["mk" if layout[0] == "n" else "km", "kn" if layout[1] == "n" else "nk"]
            specs = [spec(f"{dtype}[{', '.join(axes)}]") for axes in names]
            sides = [jit(function, specs=specs, products=way) for way in ("generated", "blas")]
            for count, m, n, k in itertools.product(_counts(), *[sizes] * 3):
                size = {"m": m, "n": n, "k": k}
                left, right = [held[size[axes[0]], size[axes[1]]] for axes in names]
                yield _Contest(Point(count, dtype, layout, m, n, k, 1.0), sides, (left, right))


# --- shown --------------------------------------------------------------------------------------


def shown(table: Table) -> str:
    """The table for people: a line for each m and n, and a column for each k and layout."""
    gains = {(p.dtype, p.m, p.n, p.k, p.layout): p.gain for p in table.points}
    dtypes, rows, columns, depths, layouts = [
        list(dict.fromkeys(axis)) for axis in zip(*gains, strict=True)
    ]
    plural = "" if table.threads == 1 else "s"
    lines = [
        f"Speed of BLAS over that of generated code on {table.threads} thread{plural}, for "
        f"{', '.join(layouts)} (n: an operand lies in rows, t: in columns); * where BLAS is used. "
        f"{table.blas}."
    ]
    for dtype in dtypes:
        heads = [f"k = {k}".ljust(7 * len(layouts)) for k in depths]
        lines += ["", f"{dtype}  {'m':>5} {'n':>5}   {'  '.join(heads)}".rstrip()]
        for m in rows:
            for n in columns:
                cells = [
                    "".join(_cell(gains[dtype, m, n, k, way]) for way in layouts) for k in depths
                ]
                lines.append(f"     {m:>5} {n:>5}   {'  '.join(cells)}".rstrip())
    return "\n".join(lines)


def _cell(gain: float) -> str:
    return f"{gain:5.2f}{'*' if gain >= LEAST_GAIN else ' '} "
