"""The tables of a report as rows of text, and as Markdown: what every reporter shows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.results import Outcome, Report, Row

BEGIN, END = "<!-- begin: python -m benchmarks --markdown -->", "<!-- end -->"


@dataclass
class Table:
    """Lines of cells under a header. `losses` are the lines in which Weft is not the fastest, and
    `wrong` those whose results differ by more than they may.
    """

    title: str
    header: list[str]
    lines: list[list[str]] = field(default_factory=list)
    losses: set[int] = field(default_factory=set)
    wrong: set[int] = field(default_factory=set)


def duration(seconds: float | None) -> str:
    """Seconds in a unit that leaves three digits."""
    if seconds is None:
        return "-"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1.0 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"
    return "-"


def megabytes(count: float | None) -> str:
    return "-" if count is None else f"{count / 1e6:.1f} MB"


def contenders_of(report: Report) -> list[str]:
    """All contenders, Weft first, in the order in which they appear."""
    names = dict.fromkeys(name for row in report.rows for name in row.outcomes)
    return sorted(names, key=lambda name: name != "weft")


def rate(row: Row) -> str:
    """What Weft computes or moves in a second, where the workload says how much that is."""
    weft = row.outcomes.get("weft")
    if weft is None or not weft.median:
        return ""
    if row.flops and is_arithmetic(row):
        return f"{row.flops / weft.median / 1e9:.1f} GFLOP/s"
    return f"{row.bytes / weft.median / 1e9:.1f} GB/s" if row.bytes else ""


def is_arithmetic(row: Row) -> bool:
    """Whether arithmetic and not memory is what a workload waits for."""
    if not row.flops:
        return False
    return not row.bytes or row.flops / row.bytes > 5


def share(row: Row, report: Report) -> str:
    """The part of the machine's fused multiply-adds per second that Weft reaches."""
    kind = "f64_flops" if "f64" in row.title + row.about else "f32_flops"
    peak, weft = report.machine.get(kind), row.outcomes.get("weft")
    if not peak or not row.flops or not is_arithmetic(row) or weft is None or not weft.median:
        return ""
    return f"{row.flops / weft.median / peak:.0%}"


def worst_difference(row: Row) -> float | None:
    """The largest difference of any contender's result from the reference."""
    found = [o.difference for o in row.outcomes.values() if o.difference is not None]
    return max(found) if len(found) > 1 else None


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return "-"
    return "failed" if outcome.failed else duration(outcome.median)


def speed(report: Report) -> Table:
    """Medians of all contenders, and how Weft compares with the best of the others."""
    names = contenders_of(report)
    rates = ["Weft's rate", "of the peak"]
    header = ["workload", *names, "Weft faster by", "than", *rates, "difference"]
    table = Table("Time of a call (median of the turns)", header)
    for row in report.rows:
        ratio, apart = row.ratio(), worst_difference(row)
        if ratio is not None and ratio < 1.0:
            table.losses.add(len(table.lines))
        if apart is not None and row.tolerance is not None and apart > row.tolerance:
            table.wrong.add(len(table.lines))
        table.lines.append(
            [
                row.title,
                *[_cell(row.outcomes.get(name)) for name in names],
                "-" if ratio is None else f"{ratio:.2f}",
                row.best_peer() or "-",
                rate(row),
                share(row, report),
                "-" if apart is None else f"{apart:.0e}",
            ]
        )
    return table


def first_results(report: Report) -> Table:
    """First calls in fresh processes, the time from their start, and the memory of later calls."""
    header = [
        "workload",
        "contender",
        "first call",
        "process to first result",
        "with nothing on disk",
        "second process",
        "peak memory",
    ]
    table = Table("First results in fresh processes", header)
    for row in report.rows:
        for name, outcome in row.outcomes.items():
            if outcome.fresh is None or outcome.second is None:
                continue
            stages = (outcome.fresh, outcome.empty, outcome.second)
            totals = [duration(each.total if each else None) for each in stages]
            cells = [duration(outcome.fresh.first), *totals, megabytes(outcome.peak)]
            table.lines.append([row.title, name, *cells])
    return table


def held_memory(report: Report) -> Table:
    """What stays in memory after an import or a compilation."""
    table = Table("Memory that stays", ["workload", "contender", "memory"])
    for row in report.rows:
        for name, outcome in row.outcomes.items():
            if outcome.held is not None:
                table.lines.append([row.title, name, megabytes(outcome.held)])
    return table


def growth(report: Report) -> Table:
    """How first calls grow with a program: the best times of Weft and a peer, their ratio alone and
    with the start of their processes, and the exponents of n in Weft's processor time, which other
    programs disturb least: from the size before, and fitted to all sizes.
    """
    times = ["weft", "weft cpu", "peer", "peer's", "ratio", "ratio with start"]
    table = Table("Growth of first calls", ["workload", *times, "exponent", "fitted"])
    growing: dict[str, list[Row]] = {}
    for row in report.rows:
        weft = row.outcomes.get("weft")
        if weft is not None and weft.start is not None:
            growing.setdefault(row.workload, []).append(row)
    for rows in growing.values():
        points = [(_number(row), row.outcomes["weft"].cpu or 0.0) for row in rows]
        for place, row in enumerate(rows):
            local = exponent(points[place - 1 : place + 1]) if place else None
            fitted = exponent(points) if place and row is rows[-1] else None
            slopes = ["" if each is None else f"{each:.2f}" for each in (local, fitted)]
            table.lines.append([row.title, *_first_calls(row), *slopes])
    return table


def _number(row: Row) -> int:
    """The n of a row's size."""
    return int(row.label.removeprefix("n="))


def _first_calls(row: Row) -> list[str]:
    """The cells of Weft's first call, and of the best peer's where there is one."""
    weft, name = row.outcomes["weft"], row.best_peer()
    cells = [duration(weft.best), duration(weft.cpu)]
    if name is None:
        return [*cells, "-", "-", "-", "-"]
    peer = row.outcomes[name]
    assert weft.best and weft.start is not None and peer.best and peer.start is not None
    whole = (peer.best + peer.start) / (weft.best + weft.start)
    return [*cells, name, duration(peer.best), f"{peer.best / weft.best:.2f}", f"{whole:.2f}"]


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """The p of c * n**p that is nearest to pairs of n and seconds, by their logarithms."""
    sizes, times = ([math.log(number) for number in column] for column in zip(*points, strict=True))
    return statistics.linear_regression(sizes, times).slope


def tables(report: Report) -> list[Table]:
    """All that have something in them."""
    made = (speed(report), growth(report), first_results(report), held_memory(report))
    return [table for table in made if table.lines]


def notes(report: Report) -> list[str]:
    """Who is missing, who failed and why, and who was left out and why."""
    found = [f"{name} is not installed: left out" for name in report.missing]
    reasons: dict[str, dict[str, None]] = {}
    for row in report.rows:
        for name, outcome in row.outcomes.items():
            if outcome.failed:
                found.append(f"{row.title}: {name} failed: {outcome.failed}")
            elif outcome.note:
                reasons.setdefault(f"{name}: {outcome.note}", {})[row.workload] = None
    return found + [f"{reason}: {', '.join(names)}" for reason, names in reasons.items()]


def summary(report: Report) -> str:
    """The losses and wins in one line."""
    ratios = [ratio for row in report.rows if (ratio := row.ratio()) is not None]
    if not ratios:
        return "no peer to compare with"
    lost = sum(ratio < 1.0 for ratio in ratios)
    return (
        f"Weft is faster than the best peer in {len(ratios) - lost} of {len(ratios)} rows and "
        f"slower in {lost}; the median of the ratios is {statistics.median(ratios):.2f}"
    )


def worst(report: Report, count: int = 5) -> list[str]:
    """The rows in which Weft compares worst."""
    rated = [(ratio, row) for row in report.rows if (ratio := row.ratio()) is not None]
    rated.sort(key=lambda pair: pair[0])
    return [f"{ratio:.2f} {row.title} (best: {row.best_peer()})" for ratio, row in rated[:count]]


def machine_line(report: Report) -> str:
    found = report.machine
    if not found:
        return ""
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    cores = f"{found['threads']} threads on {found['cores']} cores"
    return f"{found['processor']}, {cores}, Python {found['python']}, {versions}"


# --- Markdown -------------------------------------------------------------------------------------


def markdown(report: Report) -> str:
    """The tables, the notes and what they were measured on."""
    parts = [machine_line(report), summary(report) + "."]
    parts += [f"### {table.title}\n\n{_markdown_table(table)}" for table in tables(report)]
    listed = notes(report)
    if listed:
        parts.append("### Left out or failed\n\n" + "\n".join(f"- {note}" for note in listed))
    return "\n\n".join(part for part in parts if part)


def _markdown_table(table: Table) -> str:
    lines = [_line(table.header), _line("---" for _ in table.header)]
    for i, cells in enumerate(table.lines):
        name = f"**{cells[0]}**" if i in table.losses else cells[0]
        lines.append(_line([name, *cells[1:]]))
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def has_marks(path: Path) -> bool:
    """Whether a page has a place for the tables."""
    before, found, rest = path.read_text().partition(BEGIN)
    return bool(found) and END in rest


def write_markdown(report: Report, path: Path) -> None:
    """Replaces what is between the marks in a page; writes a page of its own if there is none."""
    block = f"{BEGIN}\n\n{markdown(report)}\n\n{END}"
    text = path.read_text() if path.exists() else f"{BEGIN}{END}\n"
    before, found, rest = text.partition(BEGIN)
    if not found:
        raise ValueError(f"{path} has no line {BEGIN}")
    path.write_text(before + block + rest.partition(END)[2])
