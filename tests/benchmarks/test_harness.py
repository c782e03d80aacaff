"""The harness around the workloads: turns, failures, reports, and what the command line says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import asked_threads, machine, pages, peers, registry, runner, tables, worker
from benchmarks.measure import Times, difference, measure, turn
from benchmarks.results import First, Outcome, Report, Row
from benchmarks.runner import Crash, Options, Task, Worker
from benchmarks.workload import Unsupported, Workload


def toy() -> Workload:
    return Workload(
        "toy",
        "toys",
        "twice the numbers",
        lambda xp, size: lambda x: x * 2.0,
        lambda size: (np.arange(float(size)),),
        {"3": 3},
        2,
        without={"jax": "it is a toy"},
        flops=lambda size: size,
    )


def broken(workload: Workload, size: Any, inputs: Any) -> Any:
    raise RuntimeError("no such device\nand more lines")


def unable(workload: Workload, size: Any, inputs: Any) -> Any:
    raise Unsupported("no loops")


def wrong(workload: Workload, size: Any, inputs: Any) -> Any:
    return lambda: inputs[0] * 2.5


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.registry.WORKLOADS", {"toy": toy()})
    monkeypatch.setattr(runner, "WORKLOADS", {"toy": toy()})
    known = dict(peers.PEERS)
    for name, prepare in (("broken", broken), ("unable", unable), ("wrong", wrong)):
        known[name] = peers.Peer(name, "numpy", prepare)
    monkeypatch.setattr(peers, "PEERS", known)


def heard(text: str) -> list[dict[str, Any]]:
    lines = [line for line in text.splitlines() if line.startswith(worker.MARK)]
    return [json.loads(line.removeprefix(worker.MARK)) for line in lines]


def test_a_failure_is_told_and_the_others_go_on(
    toys: None, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["weft", "numpy", "broken", "unable", "jax", "wrong"]
    times = {"rounds": 2, "length": 0.001, "plan": True, "brief": False}
    worker.take_turns({"tasks": [["toy", "3"]], "contenders": names, "excluded": [], **times})
    *steps, found = heard(capsys.readouterr().out)
    assert steps[0] == {"trying": ["toy", "3", "weft"]}
    outcomes = found["outcomes"]
    assert outcomes["weft"]["best"] <= outcomes["weft"]["median"]
    assert outcomes["weft"]["difference"] == 0 and outcomes["weft"]["reference"] == "numpy"
    assert outcomes["broken"] == {"failed": "RuntimeError: no such device"}
    assert outcomes["unable"] == {"note": "no loops"}
    assert outcomes["jax"] == {"note": "it is a toy"}
    assert outcomes["wrong"]["difference"] == pytest.approx(0.25)
    assert found["flops"] == 3 and "arena" in found["plan"]


def test_a_contender_that_ends_its_process_is_left_out_of_the_next(
    toys: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Any] = []

    def batch(tasks: list[Task], excluded: Any, options: Options, folder: Path) -> Iterator[Row]:
        asked.append(list(excluded))
        if not excluded:
            raise Crash(["toy", "3", "jax"], "ended by signal 11")
        yield Row("toy", "3", "toys", "", 1, {"weft": Outcome(median=1.0)})

    monkeypatch.setattr(runner, "_batch", batch)
    options = Options(("weft", "jax"), threads=1, cold=False)
    (row,) = runner.run([("toy", "3")], options)
    assert asked == [[], [["toy", "3", "jax"]]]
    assert row.outcomes["jax"].failed == "ended by signal 11"
    assert row.outcomes["weft"].median == 1.0


def test_an_interrupted_run_reports_on_what_is_there(
    toys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def turns(tasks: list[Task], options: Options, folder: Path) -> Iterator[Row]:
        yield Row("toy", "3", "toys", "", 1)
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "_turns", turns)
    (row,) = runner.run([("toy", "3"), ("toy", "4")], Options(("weft",), threads=1))
    assert row.label == "3"


def test_slow_compilers_take_less_part_in_a_run_of_everything() -> None:
    slow, workload = peers.PEERS["torch.compile"], replace(toy(), sizes={"3": 3, "4": 4})
    assert slow.reason_against(workload, "4") is slow.reason_against(workload, "3", True) is None
    assert "one size of each" in str(slow.reason_against(workload, "4", True))
    assert slow.starts_with(workload, False) and not slow.starts_with(workload, True)
    assert peers.PEERS["torch"].reason_against(workload, "4", True) is None
    assert set(slow.first_calls) <= set(registry.WORKLOADS)


def test_a_process_that_ends_early_says_why() -> None:
    task = {"mode": "probe", "workload": "none", "module": "benchmarks.no_such_module"}
    with pytest.raises(Crash) as caught:
        list(Worker(task, Options(("weft",), threads=1)).lines())
    assert "ModuleNotFoundError" in caught.value.message


@pytest.mark.slow
def test_a_whole_run_in_processes_of_their_own() -> None:
    steps: list[int] = []
    options = Options(
        ("weft", "numpy"), 1, 1, 0.01, progress=lambda text, count: steps.append(count)
    )
    tasks = [("tiny-call", ""), ("import", "alone")]
    call, load = runner.run(tasks, options)
    weft = call.outcomes["weft"]
    assert weft.empty and weft.fresh and weft.second and weft.median
    assert weft.peak is not None and call.ratio() is not None
    assert load.outcomes["weft"].median and "numpy" not in load.outcomes
    assert sum(steps) == runner.steps_of(tasks, options)


@pytest.mark.slow
def test_the_second_process_finds_what_the_first_kept(tmp_path: Path) -> None:
    options, kept = Options(("weft",), threads=1), []
    for _ in range(2):
        runner._first("weft", "tiny-call", "", options, tmp_path)
        kept.append({path for path in tmp_path.rglob("*") if path.is_file()})
    assert kept[0] and kept[1] == kept[0]


@dataclass
class Clock:
    """A clock that only moves when something takes time."""

    now: float = 0.0

    def perf_counter(self) -> float:
        return self.now

    def call(self, *durations: float) -> Callable[[], None]:
        """A function whose calls take so long, the last of these from then on."""
        left = list(durations)

        def function() -> None:
            self.now += left.pop(0) if len(left) > 1 else left[0]

        return function


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("benchmarks.measure.time", clock)
    return clock


def test_turns_warm_up_and_take_the_best(clock: Clock) -> None:
    assert turn(clock.call(5.0, 6.0), 2.0) == 5.0  # a call that is longer than a turn counts
    assert clock.now == 11.0
    assert turn(clock.call(0.25, 0.125, 0.5, 0.25, 0.5), 2.0) == 0.25  # 0.125 was to warm up
    begin = clock.now
    assert turn(clock.call(2.0**-20), 2.0**-8) == 2.0**-20
    assert 2.0**-8 <= (clock.now - begin) / 1.25 <= 2.0**-8 + 2.0**-14


def test_measure_takes_turns_until_a_contender_took_too_long(clock: Clock) -> None:
    calls: list[str] = []

    def contender(name: str, *durations: float) -> Callable[[], None]:
        function = clock.call(*durations)

        def call() -> None:
            calls.append(name)
            function()

        return call

    times = measure({"a": contender("a", 1.0, 2.0, 3.0), "b": contender("b", 16.0)}, 3, 1.0)
    assert calls == ["a", "a", "b", "b", "a", "a", "a", "a"]
    assert times == {"a": Times(2.0, 3.0), "b": Times(16.0, 16.0)}


def test_difference_sees_shapes_and_nan() -> None:
    one = [np.ones(3)]
    assert difference(one, one) == 0
    assert difference([np.ones(2)], one) == float("inf")
    assert difference([np.array([1.0, np.nan, 1.0])], one) == float("inf")
    assert difference([np.array([1.0, 1.5, 1.0])], one) == 0.5


# --- reports --------------------------------------------------------------------------------------


@pytest.fixture
def report() -> Report:
    first = First(0.2, 0.5, 3e6)
    weft = Outcome(2e-3, 1.9e-3, 0.2, 0.0, "numpy", 2e6, empty=first, fresh=first, second=first)
    rows = [
        Row(
            "one",
            "small",
            "family",
            "about",
            2,
            {
                "weft": weft,
                "numpy": Outcome(1e-3, 1e-3, 0.1, 0.0),
                "torch": Outcome(failed="RuntimeError: <no>"),
            },
            tolerance=1e-5,
            flops=1e6,
        ),
        Row(
            "two",
            "",
            "family",
            "about",
            2,
            {
                "weft": Outcome(1e-6, 1e-6, 0.1, 0.5),
                "numpy": Outcome(5e-6, 5e-6, 0.1, 0.0),
                "jax": Outcome(note="no loops"),
            },
            tolerance=1e-5,
        ),
    ]
    machine = {"processor": "x", "cores": 2, "threads": 2, "python": "3", "versions": {"a": "1"}}
    return Report(rows, machine, ["pytensor"])


def test_table_has_ratios_losses_and_errors(report: Report) -> None:
    table = tables.speed(report)
    assert table.lines[0][:5] == ["one, small", "2 ms", "1 ms", "failed", "-"]
    assert "0.50" in table.lines[0] and "5.00" in table.lines[1]
    assert table.losses == {0} and table.wrong == {1}
    assert "0.5 GFLOP/s" in table.lines[0]
    assert tables.summary(report).startswith("Weft is faster than the best peer in 1 of 2 rows")
    assert tables.worst(report)[0] == "0.50 one, small (best: numpy)"
    assert "one, small: torch failed: RuntimeError: <no>" in tables.notes(report)
    assert "jax: no loops: two" in tables.notes(report)
    assert "pytensor is not installed: left out" in tables.notes(report)


def test_table_has_the_share_of_the_peak_where_it_is_known(report: Report) -> None:
    place = tables.speed(report).header.index("of the peak")
    assert [line[place] for line in tables.speed(report).lines] == ["", ""]
    report.machine["f32_flops"] = 2e9
    assert [line[place] for line in tables.speed(report).lines] == ["25%", ""]


def growing(seconds: dict[int, float], jax: bool = True) -> Report:
    """A report on first calls of programs of these sizes; JAX takes four times as long."""
    rows = []
    for n, taken in seconds.items():
        outcomes = {"weft": Outcome(taken, taken, cpu=taken, start=1.0)}
        if jax:
            outcomes["jax"] = Outcome(4 * taken, 4 * taken, cpu=taken, start=0.0)
        rows.append(Row("deep", f"n={n}", "growth", "about", 1, outcomes))
    return Report(rows)


def test_growth_is_told_by_exponents_and_ratios() -> None:
    table = tables.growth(growing({10: 0.5, 20: 1.0, 40: 4.0}))
    assert [line[:5] for line in table.lines[:1]] == [
        ["deep, n=10", "500 ms", "500 ms", "jax", "2 s"]
    ]
    places = [table.header.index(name) for name in ("ratio", "ratio with start")]
    assert [[line[p] for p in places] for line in table.lines] == [
        ["4.00", "1.33"],
        ["4.00", "2.00"],
        ["4.00", "3.20"],
    ]
    assert [line[-2:] for line in table.lines] == [["", ""], ["1.00", ""], ["2.00", "1.50"]]
    alone = tables.growth(growing({10: 0.5, 20: 1.0}, jax=False))
    assert [line[3:7] for line in alone.lines] == [["-"] * 4] * 2
    assert table in tables.tables(growing({10: 0.5, 20: 1.0, 40: 4.0}))


def test_rows_without_a_start_are_not_in_the_table_of_growth(report: Report) -> None:
    assert tables.growth(report).lines == []


def test_what_takes_minutes_runs_on_request() -> None:
    growth = {name for name, each in registry.WORKLOADS.items() if each.family == "growth"}
    assert growth and not growth & {each.name for each in command._chosen([])}
    assert {each.name for each in command._chosen(["growth"])} == growth
    assert [each.name for each in command._chosen(["growth-layers"])] == ["growth-layers"]


def test_the_first_call_of_a_process_is_told_apart_from_its_start() -> None:
    outcome = runner._probe_outcome(
        [
            {"seconds": 3.0, "cpu": 2.0, "start": 0.5},
            {"seconds": 1.0, "cpu": 1.5, "start": 0.25},
        ]
    )
    assert outcome == Outcome(median=2.0, best=1.0, cpu=1.5, start=0.25)


def test_report_goes_to_json_and_back(report: Report, tmp_path: Path) -> None:
    report.write(tmp_path / "report.json")
    assert Report.read(tmp_path / "report.json") == report


def test_page_shows_losses_and_escapes(report: Report, tmp_path: Path) -> None:
    pages.write_html(report, tmp_path / "page.html", [])
    text = (tmp_path / "page.html").read_text()
    assert 'class="loss"' in text and "&lt;no&gt;" in text and "<no>" not in text


def test_markdown_has_first_calls_second_processes_and_memory(
    report: Report, tmp_path: Path
) -> None:
    tables.write_markdown(report, tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert "| first call | process to first result | with nothing on disk | second process" in text
    assert "| one, small | weft | 200 ms | 500 ms | 500 ms | 500 ms | 2.0 MB |" in text


def test_markdown_replaces_only_its_own_part(report: Report, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{tables.BEGIN}\nold\n{tables.END}\nafter\n")
    for _ in range(2):
        tables.write_markdown(report, page)
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    assert text.count("| **one, small** |") == 1
    page.write_text("no marks")
    with pytest.raises(ValueError, match="has no line"):
        tables.write_markdown(report, page)


@pytest.mark.slow
def test_plots_are_drawn(report: Report, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from benchmarks import plots
    from benchmarks.machine import Peaks

    plots.plot_ratios(report, tmp_path / "ratios.svg")
    plots.plot_roofline(report, Peaks(1e10, 1e11, 5e10, 2), tmp_path / "roof.png")
    for row in report.rows:
        row.label = "n=10"
    plots.plot_scaling(report, tmp_path / "scaling.svg")
    assert all(path.stat().st_size > 1000 for path in tmp_path.iterdir())


def test_peaks_of_the_machine_count_what_is_moved_and_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a stopwatch that calls what it is given and says that it took half a second."""
    results: list[Any] = []

    def half_a_second(function: Callable[[], Any]) -> float:
        results.append(function())
        return 0.5

    monkeypatch.setattr(machine, "_best", half_a_second)
    with ThreadPoolExecutor(2) as pool:
        assert machine.copy_bandwidth(pool, 2, 1000) == 2 * (2 * 8 * 1000)
        for kind, size in (("float", 4), ("double", 8)):
            lanes = machine._fma_program(kind)[1]
            assert lanes in (32 // size, 64 // size)
            rate = machine.fma_rate(pool, 2, kind, rounds=10)
            assert rate == 2 * (2 * lanes * machine.ACCUMULATORS * 10 * 2)
    assert results == [[None, None], *[[12 * (1 - 2.0**-11)] * 2] * 2]  # x = x / 2 + 1 / 2


def test_every_peak_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {"float": 2.0, "double": 1.0}
    monkeypatch.setattr(machine, "copy_bandwidth", lambda pool, threads: 3.0)
    monkeypatch.setattr(machine, "fma_rate", lambda pool, threads, kind: kinds[kind])
    assert machine.peaks(2) == machine.Peaks(3.0, 2.0, 1.0, 2)


# --- the command line -----------------------------------------------------------------------------


def test_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], report: Report
) -> None:
    absent = peers.Peer("torch", "no_such_package", broken)
    monkeypatch.setitem(peers.PEERS, "torch", absent)
    monkeypatch.setattr(command, "run", lambda tasks, options: report.rows)
    assert command.main(["tiny-call", "--peers", "numpy, torch,"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "torch is not installed: left out" in shown
    assert "pip install torch==2.13.0, then pip install .[bench]" in shown


def test_it_lists_workloads_and_refuses_unknown_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list", "gemm"]) == 0
    shown = capsys.readouterr().out
    assert "gemm-gelu" not in shown.splitlines()[0] and "black-scholes" not in shown
    with pytest.raises(ValueError, match="no peer nonsense"):
        peers.installed(("nonsense",))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gemm", "nonsense"], "no workload is named nonsense; see --list"),
        (["tiny-call", "--peers", "nonsense"], "no peer nonsense; there are weft, numpy"),
        (["--read", "none.json"], "there is no file none.json"),
        (["--read", "page.md"], "page.md was not written by --json"),
        (["--markdown", "page.md"], "page.md has no place for the tables"),
        (["--html", "nowhere/page.html"], "nowhere for page.html"),
        (["--plot", "ratios.pdx"], "ratios.pdx is to end in .png or .svg"),
        (["tiny-call", "--scaling", "n.png"], "none of these has sizes that grow; there are"),
        (["--read", "report.json", "--scaling", "n.png"], "is of a run without --scaling"),
    ],
)
def test_it_refuses_before_it_runs(
    arguments: list[str],
    message: str,
    report: Report,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "find_spec", lambda name: object())
    (tmp_path / "page.md").write_text("no marks")
    report.write(tmp_path / "report.json")
    assert command.main(arguments) == 2
    assert message in " ".join(capsys.readouterr().out.split())


def test_plots_are_refused_without_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    assert command.main(["--plot", str(tmp_path / "ratios.svg")]) == 2
    assert "pip install .[bench]" in capsys.readouterr().out


def test_threads_are_read_in_both_spellings_and_left_to_the_parser_if_wrong() -> None:
    assert asked_threads(["gemm", "--threads", "1"]) == asked_threads(["--threads=1"]) == 1
    assert asked_threads(["--threads"]) is asked_threads(["--threads", "0"]) is None
    assert asked_threads(["--threads=x"]) is asked_threads(["gemm"]) is None
    for wrong in ("0", "x", "-1"):
        with pytest.raises(SystemExit):
            command.main(["--threads", wrong, "--list"])


def test_files_are_written_before_tables_are_shown(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(report: Report, console: Any) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(command, "run", lambda tasks, options: report.rows)
    monkeypatch.setattr(pages, "show", closed)
    with pytest.raises(BrokenPipeError):
        command.main(["tiny-call", "--peers", "numpy", "--json", str(tmp_path / "run.json")])
    assert Report.read(tmp_path / "run.json").rows == report.rows


def test_it_reports_on_a_file(
    report: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report.write(tmp_path / "report.json")
    page = tmp_path / "page.md"
    assert command.main(["--read", str(tmp_path / "report.json"), "--markdown", str(page)]) == 0
    assert (
        "one, small" in page.read_text() and "the median of the ratios" in capsys.readouterr().out
    )
