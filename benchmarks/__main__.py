"""`python -m benchmarks`: runs workloads for Weft and the peers that are installed, and reports."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.peers import DEFAULT, HINT, QUICK, installed
from benchmarks.registry import WORKLOADS
from benchmarks.results import Report, Row, machine
from benchmarks.runner import Options, Task, run, steps_of
from benchmarks.tables import BEGIN, END, has_marks
from benchmarks.workload import AnyWorkload, Workload


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, epilog=HINT)
    add = made.add_argument
    add("names", nargs="*", help="workloads or families, or words in their names; all if none")
    add("--peers", help=f"comma-separated; {','.join(DEFAULT)} unless --quick")
    cores = len(os.sched_getaffinity(0))
    add("--threads", type=_positive, default=cores, help="of every contender")
    add("--rounds", type=_positive, help="turns of every contender")
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


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 160)
    try:
        chosen = _chosen(given.names)
        _check_files(given)
        if given.list:
            for workload in chosen:
                console.print(f"{workload.name:28} {workload.family:15} {workload.about}")
            return 0
        if given.scaling:
            return _scale(chosen, given, console)
        report = _read(given.read) if given.read else _run(chosen, given, console)
    except Refusal as reason:
        console.print(str(reason), markup=False, highlight=False)
        return 2
    return _write(report, given, console)


class Refusal(Exception):
    """What was asked for cannot be done, for a reason that one line tells."""


def _chosen(names: Sequence[str]) -> list[AnyWorkload]:
    """The workloads that are named; each name has to name some."""
    unknown = [name for name in names if not any(_is_wanted(w, [name]) for w in WORKLOADS.values())]
    if unknown:
        raise Refusal(f"no workload is named {' or '.join(unknown)}; see --list")
    return [workload for workload in WORKLOADS.values() if _is_wanted(workload, names)]


def _is_wanted(workload: AnyWorkload, names: Sequence[str]) -> bool:
    exact = {name for name in names if name in WORKLOADS}
    if workload.name in exact or workload.family in names:
        return True
    if not names:
        return not getattr(workload, "on_request", False)
    words = [name for name in names if name not in exact]
    return any(word in workload.name for word in words)


def _check_files(given: argparse.Namespace) -> None:
    """Refuses before a long run what could not be written after it."""
    written = [given.json, given.html, given.markdown, given.plot, given.scaling, given.roofline]
    for path in written:
        if path is not None and not path.absolute().parent.is_dir():
            raise Refusal(f"there is no folder {path.absolute().parent} for {path.name}")
    if given.markdown and given.markdown.exists() and not has_marks(given.markdown):
        raise Refusal(f"{given.markdown} has no place for the tables: lines {BEGIN} and {END}")
    drawn = [path for path in (given.plot, given.scaling, given.roofline) if path is not None]
    for path in drawn:
        if path.suffix not in (".png", ".svg"):
            raise Refusal(f"{path} is to end in .png or .svg")
    if drawn and find_spec("matplotlib") is None:
        raise Refusal("plots need matplotlib: pip install .[bench]")


def _read(path: Path) -> Report:
    try:
        return Report.read(path)
    except FileNotFoundError:
        raise Refusal(f"there is no file {path}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise Refusal(f"{path} was not written by --json: {error}") from None


# --- running --------------------------------------------------------------------------------------


def _options(given: argparse.Namespace, contenders: list[str]) -> Options:
    return Options(
        contenders=tuple(contenders),
        threads=given.threads,
        rounds=given.rounds or (3 if given.quick else 5),
        length=given.seconds or 0.1,
        cold=(not given.quick) if given.cold is None else given.cold,
        brief=not given.names,
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
    asked = [name.strip() for name in (given.peers or "").split(",")]
    names = [name for name in asked if name] or usual
    try:
        there, missing = installed(tuple(names))
    except ValueError as error:
        raise Refusal(str(error)) from None
    for name in missing:
        console.print(f"{name} is not installed: left out")
    if missing:
        console.print(HINT, markup=False)
    return there, missing


def _run(chosen: Sequence[AnyWorkload], given: argparse.Namespace, console: Console) -> Report:
    contenders, missing = _contenders(given, console)
    options = _options(given, contenders)
    tasks = _tasks(chosen, given.quick)
    rows = _with_progress(tasks, options)
    if len(rows) < len(tasks):
        console.print(f"interrupted after {len(rows)} of {len(tasks)} rows")
    found = machine(contenders, given.threads)
    if any(row.flops for row in rows):
        from benchmarks.machine import peaks

        top = peaks(given.threads)
        found |= {"f32_flops": top.f32_flops, "f64_flops": top.f64_flops}
    return Report(rows, found, missing)


def _with_progress(tasks: list[Task], options: Options) -> list[Row]:
    """A bar on a terminal; in a file a line for each step."""
    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    text = TextColumn("{task.description}")
    total, done, begin = steps_of(tasks, options), 0, time.monotonic()
    with Progress(
        *columns, text, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        shown = bar.add_task("", total=total)

        def progress(description: str, steps: int) -> None:
            nonlocal done
            done += steps
            bar.update(shown, description=description[:60], advance=steps)
            if steps and not console.is_terminal:
                taken = time.monotonic() - begin
                print(f"{done}/{total} {taken:5.0f} s  {description}", file=sys.stderr, flush=True)

        with _ending_with_a_report():
            return run(tasks, replace(options, progress=progress))


@contextmanager
def _ending_with_a_report() -> Iterator[None]:
    """What ends the process from outside is taken as Ctrl-C, after which there is a report."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# --- reporting ------------------------------------------------------------------------------------


def _write(report: Report, given: argparse.Namespace, console: Console) -> int:
    from benchmarks import pages, tables

    if given.json:  # files first: what is shown may go into a pipe that is closed early
        report.write(given.json)
    if given.markdown:
        tables.write_markdown(report, given.markdown)
    plots = _plots(report, given)
    if given.html:
        with tempfile.TemporaryDirectory() as folder:
            pages.write_html(report, given.html, plots or _page_plots(report, Path(folder)))
    pages.show(report, console)
    _say_written((given.json, given.markdown, given.html, *plots), console)
    return int(any(row.outcomes.get("weft") and row.outcomes["weft"].failed for row in report.rows))


def _say_written(paths: Sequence[Path | None], console: Console) -> None:
    written = [str(path) for path in paths if path is not None]
    if written:
        console.print(f"written: {', '.join(written)}", markup=False, highlight=False)


def _page_plots(report: Report, folder: Path) -> list[Path]:
    """The plot of ratios for a page, where matplotlib is there."""
    from benchmarks.plots import plot_ratios

    if find_spec("matplotlib") is None or not any(row.ratio() for row in report.rows):
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
    from benchmarks.plots import plot_scaling

    if given.read:
        report = _read(given.read)
        if not all(row.label.startswith("n=") for row in report.rows):
            raise Refusal(f"{given.read} is of a run without --scaling")
    else:
        report = _scaled(chosen, given, console)
    if given.json:
        report.write(given.json)
    plot_scaling(report, given.scaling)
    _say_written((given.json, given.scaling), console)
    return 0


def _scaled(chosen: Sequence[AnyWorkload], given: argparse.Namespace, console: Console) -> Report:
    growing = [each for each in chosen if isinstance(each, Workload) and each.growth]
    if not growing:
        every = [w.name for w in WORKLOADS.values() if isinstance(w, Workload) and w.growth]
        raise Refusal(f"none of these has sizes that grow; there are {', '.join(every)}")
    contenders, missing = _contenders(given, console)
    tasks = [(workload.name, f"n={n}") for workload in growing for n in workload.growth]
    report = Report(machine=machine(contenders, given.threads), missing=missing)
    for threads in sorted({1, min(2, given.threads)}):
        options = replace(_options(given, contenders), threads=threads, cold=False)
        report.rows += _with_progress(tasks, options)
    return report


if __name__ == "__main__":
    sys.exit(main())
