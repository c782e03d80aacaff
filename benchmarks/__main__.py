"""`python -m benchmarks`: runs workloads for Weft and the peers that are installed, and reports."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.peers import DEFAULT, HINT, QUICK, installed
from benchmarks.registry import WORKLOADS
from benchmarks.results import Report, Row, machine
from benchmarks.runner import Options, Task, run, steps_of
from benchmarks.workload import AnyWorkload, Workload


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, epilog=HINT)
    add = made.add_argument
    add("names", nargs="*", help="workloads or families, or words in their names; all if none")
    add("--peers", help=f"comma-separated; {','.join(DEFAULT)} unless --quick")
    add("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of every contender")
    add("--rounds", type=int, help="turns of every contender")
    add("--seconds", type=float, help="of one turn")
    add("--quick", action="store_true", help="one size of each workload, fewer turns and peers")
    add("--cold", action=argparse.BooleanOptionalAction, help="first calls in fresh processes")
    add("--list", action="store_true", help="list the workloads and end")
    add("--json", type=Path, metavar="FILE", help="write all that was found")
    add("--read", type=Path, metavar="FILE", help="report on such a file instead of running")
    add("--html", type=Path, metavar="FILE", help="write a page")
    add("--markdown", type=Path, metavar="FILE", help="renew the tables in a page")
    add("--plot", type=Path, metavar="FILE", help="plot the ratios (.png or .svg)")
    add(
        "--scaling",
        type=Path,
        metavar="FILE",
        help="instead: plot time against n, on 1 and 2 threads",
    )
    add("--roofline", type=Path, metavar="FILE", help="plot rates against the machine's peaks")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 160)
    chosen = [workload for workload in WORKLOADS.values() if _is_wanted(workload, given.names)]
    if not chosen:
        console.print(f"no workload is named {' or '.join(given.names)}; see --list")
        return 2
    if given.list:
        for workload in chosen:
            console.print(f"{workload.name:28} {workload.family:15} {workload.about}")
        return 0
    if given.scaling:
        return _scale(chosen, given, console)
    report = Report.read(given.read) if given.read else _run(chosen, given, console)
    return _write(report, given, console)


def _is_wanted(workload: AnyWorkload, names: Sequence[str]) -> bool:
    exact = {name for name in names if name in WORKLOADS}
    if workload.name in exact or workload.family in names:
        return True
    words = [name for name in names if name not in exact]
    return not names or any(word in workload.name for word in words)


# --- running --------------------------------------------------------------------------------------


def _options(given: argparse.Namespace, contenders: list[str]) -> Options:
    return Options(
        contenders=tuple(contenders),
        threads=given.threads,
        rounds=given.rounds or (3 if given.quick else 5),
        length=given.seconds or 0.1,
        cold=(not given.quick) if given.cold is None else given.cold,
    )


def _tasks(chosen: Sequence[AnyWorkload], quick: bool) -> list[Task]:
    """All sizes, or in quick mode the first of each."""
    tasks = []
    for workload in chosen:
        if quick and not workload.quick:
            continue
        labels = list(workload.sizes)[:1] if quick else list(workload.sizes)
        tasks += [(workload.name, label) for label in labels]
    return tasks


def _contenders(given: argparse.Namespace, console: Console) -> tuple[list[str], list[str]]:
    usual = QUICK if given.quick or given.scaling else DEFAULT
    names = given.peers.split(",") if given.peers else usual
    there, missing = installed(tuple(names))
    for name in missing:
        console.print(f"{name} is not installed: left out")
    if missing:
        console.print(HINT, markup=False)
    return there, missing


def _run(chosen: Sequence[AnyWorkload], given: argparse.Namespace, console: Console) -> Report:
    contenders, missing = _contenders(given, console)
    options = _options(given, contenders)
    rows = _with_progress(_tasks(chosen, given.quick), options)
    found = machine(contenders, given.threads)
    if any(row.flops for row in rows):
        from benchmarks.machine import peaks

        top = peaks(given.threads)
        found |= {"f32_flops": top.f32_flops, "f64_flops": top.f64_flops}
    return Report(rows, found, missing)


def _with_progress(tasks: list[Task], options: Options) -> list[Row]:
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    text = TextColumn("{task.description}")
    with Progress(*columns, text, console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task("", total=steps_of(tasks, options))

        def progress(description: str, steps: int) -> None:
            bar.update(shown, description=description[:60], advance=steps)

        return run(tasks, replace(options, progress=progress))


# --- reporting ------------------------------------------------------------------------------------


def _write(report: Report, given: argparse.Namespace, console: Console) -> int:
    from benchmarks import pages, tables

    pages.show(report, console)
    if given.json:
        report.write(given.json)
    if given.markdown:
        tables.write_markdown(report, given.markdown)
    plots = _plots(report, given)
    if given.html:
        with tempfile.TemporaryDirectory() as folder:
            pages.write_html(report, given.html, plots or _page_plots(report, Path(folder)))
    return int(any(row.outcomes.get("weft") and row.outcomes["weft"].failed for row in report.rows))


def _page_plots(report: Report, folder: Path) -> list[Path]:
    """The plot of ratios for a page, where matplotlib is there."""
    import importlib.util

    from benchmarks.plots import plot_ratios

    if importlib.util.find_spec("matplotlib") is None or not any(r.ratio() for r in report.rows):
        return []
    plot_ratios(report, folder / "ratios.svg")
    return [folder / "ratios.svg"]


def _plots(report: Report, given: argparse.Namespace) -> list[Path]:
    from benchmarks import plots

    made = []
    if given.plot:
        plots.plot_ratios(report, given.plot)
        made.append(given.plot)
    if given.roofline:
        from benchmarks.machine import peaks

        plots.plot_roofline(report, peaks(given.threads), given.roofline)
        made.append(given.roofline)
    return made


def _scale(chosen: Sequence[AnyWorkload], given: argparse.Namespace, console: Console) -> int:
    """Times against n of the workloads that have sizes for it, on one thread and on two."""
    from benchmarks.plots import plot_library, plot_scaling

    plot_library()
    if given.read:
        plot_scaling(Report.read(given.read), given.scaling)
        return 0
    contenders, missing = _contenders(given, console)
    growing = [each for each in chosen if isinstance(each, Workload) and each.growth]
    tasks = [(workload.name, f"n={n}") for workload in growing for n in workload.growth]
    report = Report(machine=machine(contenders, given.threads), missing=missing)
    for threads in sorted({1, min(2, given.threads)}):
        options = replace(_options(given, contenders), threads=threads, cold=False)
        report.rows += _with_progress(tasks, options)
    if given.json:
        report.write(given.json)
    plot_scaling(report, given.scaling)
    return 0


if __name__ == "__main__":
    sys.exit(main())
