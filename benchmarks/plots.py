"""Plots of a report, by matplotlib: ratios to the best peer, cost against n, and the roofline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.machine import Peaks
from benchmarks.results import Report, Row
from benchmarks.tables import contenders_of

COLOURS = ("#0b6e99", "#d9730d", "#6940a5", "#ad1a72", "#0f7b6c", "#9f6b53", "#787774", "#dfab01")
LINES = {1: "--", 2: "-"}


def plot_library() -> Any:
    """matplotlib without a display; raises with what to do if it is not there."""
    try:
        import matplotlib
    except ImportError:
        message = "plots need matplotlib: pip install .[bench]"
        raise SystemExit(message) from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    return pyplot


def plot_ratios(report: Report, path: Path) -> None:
    """How many times as fast as the best peer Weft is, a bar for each row."""
    pyplot = plot_library()
    rows = [(row, ratio) for row in report.rows if (ratio := row.ratio()) is not None]
    figure, axes = pyplot.subplots(figsize=(9, 1.2 + 0.22 * len(rows)), layout="constrained")
    places = range(len(rows))
    colours = ["#0b6e99" if ratio >= 1 else "#c4554d" for _, ratio in rows]
    axes.barh(places, [ratio - 1 for _, ratio in rows], left=1, color=colours)
    labels = [f"{row.title} ({row.best_peer()})" for row, _ in rows]
    axes.set(yticks=list(places), xscale="log", xlabel="times as fast as the best peer")
    axes.set_yticklabels(labels, fontsize=7)
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    _save(figure, path)


def plot_scaling(report: Report, path: Path) -> None:
    """Time against n, one picture for each workload; one thread dashed, two solid."""
    pyplot = plot_library()
    names = list(dict.fromkeys(row.workload for row in report.rows))
    columns = min(3, max(1, len(names)))
    lines = -(-len(names) // columns)
    figure, grid = pyplot.subplots(
        lines, columns, figsize=(5 * columns, 3.6 * lines), squeeze=False, layout="constrained"
    )
    for axes, name in zip(grid.flat, names, strict=False):
        _scaling_of([row for row in report.rows if row.workload == name], axes, report)
        axes.set(title=name, xscale="log", yscale="log", xlabel="n", ylabel="seconds")
        axes.grid(alpha=0.3)
    for axes in list(grid.flat)[len(names) :]:
        axes.set_visible(False)
    grid[0][0].legend(fontsize=7, handlelength=4)
    _save(figure, path)


def _scaling_of(rows: list[Row], axes: Any, report: Report) -> None:
    for contender, colour in zip(contenders_of(report), COLOURS, strict=False):
        for threads in sorted({row.threads for row in rows}):
            points = [
                (int(row.label[2:]), row.outcomes[contender].median)
                for row in rows
                if row.threads == threads and contender in row.outcomes
            ]
            points = [point for point in points if point[1] is not None]
            if points:
                label = f"{contender}, {threads} thread{'s' * (threads > 1)}"
                style = LINES.get(threads, ":")
                axes.plot(*zip(*points, strict=True), style, color=colour, label=label, marker=".")


def plot_roofline(report: Report, peaks: Peaks, path: Path) -> None:
    """What Weft computes in a second against the flops per byte of a workload, under the roof of
    the measured copy bandwidth and of the fused multiply-adds in registers.
    """
    pyplot = plot_library()
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(12, 5), layout="constrained", width_ratios=(3, 2)
    )
    _roof(left, peaks)
    known = [row for row in report.rows if row.flops and row.bytes and _seconds(row)]
    for row in known:
        assert row.flops and row.bytes
        place = (row.flops / row.bytes, row.flops / _seconds(row))
        left.plot(*place, "o", color="#d9730d", markersize=5)
        left.annotate(row.title, place, fontsize=6, xytext=(4, -2), textcoords="offset points")
    _shares(
        right, [row for row in report.rows if (row.flops or row.bytes) and _seconds(row)], peaks
    )
    _save(figure, path)


def _roof(axes: Any, peaks: Peaks) -> None:
    for top, name in ((peaks.f32_flops, "f32"), (peaks.f64_flops, "f64")):
        intensities = [2.0**-5, top / peaks.copy_bytes, 2.0**12]
        axes.plot(
            intensities,
            [min(top, peaks.copy_bytes * x) for x in intensities],
            label=f"{name}: {top / 1e9:.0f} GFLOP/s, copy {peaks.copy_bytes / 1e9:.1f} GB/s",
        )
    axes.set(xscale="log", yscale="log", xlabel="flops per byte", ylabel="flops per second")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)


def _shares(axes: Any, rows: list[Row], peaks: Peaks) -> None:
    """The share of the nearer roof that each row reaches."""
    shares = [(row.title, share_of_peak(row, peaks)) for row in rows]
    axes.barh(range(len(shares)), [share for _, share in shares], color="#0b6e99")
    axes.set(yticks=list(range(len(shares))), xlabel="share of the peak")
    axes.set_yticklabels([title for title, _ in shares], fontsize=6)
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.invert_yaxis()


def share_of_peak(row: Row, peaks: Peaks) -> float:
    """The larger of the shares of the bandwidth and of the arithmetic."""
    top = peaks.f64_flops if "f64" in row.title + row.about else peaks.f32_flops
    taken = _seconds(row)
    return max((row.bytes or 0) / taken / peaks.copy_bytes, (row.flops or 0) / taken / top)


def _seconds(row: Row) -> float:
    """The best of all calls: what the machine can do does not depend on what else it does."""
    weft = row.outcomes.get("weft")
    return (weft.best if weft else None) or 0.0


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, dpi=130)
    plot_library().close(figure)
