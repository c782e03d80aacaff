"""Faults of the compiler itself, put in at every stage: what is said, written, and answered."""

from __future__ import annotations

import inspect
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.patience import PATIENCE
from weft.__main__ import main
from weft.compiler.ir import reduce
from weft.compiler.ir.errors import CompilerError, CompilerWarning
from weft.compiler.ir.graph import Graph
from weft.compiler.ir.stages import signature
from weft.compiler.ir.walk import walk
from weft.compiler.loops.pipeline import COLUMN
from weft.compiler.lower.llvm import scalar
from weft.compiler.lower.llvm.emit.types import I64
from weft.compiler.ops.cumulative import cummax, cumsum
from weft.compiler.ops.special import sinh
from weft.compiler.passes.pipeline import BEFORE_DERIVATIVES, DEFAULT
from weft.frontends.driver import failures, machine_code
from weft.frontends.eager import recording
from weft.runtime.cache import Cache

pytestmark = pytest.mark.puts_faults_in

X = np.linspace(0.5, 1.5, 12).reshape(3, 4)


def is_faulty(graph: Graph) -> bool:
    return any(op.name == "sinh" for op in walk(graph))


def no_use(*_: object, **__: object) -> Any:
    raise KeyError("of sinh nothing is known")


# --- faults ---------------------------------------------------------------------------------------

Put = Callable[[pytest.MonkeyPatch], None]


def in_pass(monkeypatch: pytest.MonkeyPatch, name: str = "simplify") -> None:
    (item,) = [item for item in DEFAULT if item.name == name]
    run = item.run

    def faulty(graph: Graph, fired: Any) -> Graph:
        return no_use() if is_faulty(graph) else run(graph, fired)

    monkeypatch.setattr(item, "run", faulty)


def in_loop_step(monkeypatch: pytest.MonkeyPatch) -> None:
    (step,) = [step for step in COLUMN if step.name == "plan_memory"]
    run = step.run
    monkeypatch.setattr(step, "run", lambda p: no_use() if is_faulty(p.graph) else run(p))


def in_scalar_rule(monkeypatch: pytest.MonkeyPatch, emit: Callable[..., Any]) -> None:
    rules = {**scalar.RULES, "sinh": scalar.ScalarRule(emit, emit)}
    monkeypatch.setattr(scalar, "RULES", rules)


def in_lowering(monkeypatch: pytest.MonkeyPatch) -> None:
    in_scalar_rule(monkeypatch, no_use)


def in_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    def emit(f: Any, x: Any) -> Any:
        f.line("store double %never.made, ptr null")
        return x

    in_scalar_rule(monkeypatch, emit)


def in_linking(monkeypatch: pytest.MonkeyPatch) -> None:
    def emit(f: Any, x: Any) -> Any:
        f.call("function.that.nobody.has", I64, [])
        return x

    in_scalar_rule(monkeypatch, emit)


STAGES: dict[str, tuple[Put, str, str, type[Exception]]] = {
    "pass": (in_pass, "pass", "simplify", KeyError),
    "loop step": (in_loop_step, "loop step", "plan_memory", KeyError),
    "lowering": (in_lowering, "lowering", "", KeyError),
    "LLVM": (in_llvm, "LLVM", "parser", RuntimeError),
    "linking": (in_linking, "linking", "", RuntimeError),
}


@pytest.fixture(params=STAGES)
def fault(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The stage that fails on each graph with a hyperbolic sine."""
    put, *rest = STAGES[request.param]
    put(monkeypatch)
    return rest


# --- functions, and where reports go --------------------------------------------------------------


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where reports go."""
    cache = Cache(tmp_path / "cache")
    monkeypatch.setattr(machine_code, "disk", lambda: cache)
    return tmp_path / "cache" / "failures"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take any time for an attempt."""
    monkeypatch.setattr(reduce, "DEFAULT", reduce.ReductionLimits(seconds=10 * PATIENCE))


@pytest.fixture
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As users have it: calls are answered, with a warning."""
    monkeypatch.setattr(failures, "is_strict", lambda: False)


def small(x: Any, y: Any) -> Any:
    return np.sinh(x) * y, x + y


def long(x: Any, y: Any) -> Any:
    """A graph of 200 ops, one of which does harm."""
    for n in range(33):
        x = np.sin(x) * y + n
    x = np.sinh(x)
    for n in range(33):
        x = np.cos(x) - y * n
    return np.sum(x), y


def line_of(text: str) -> str:
    """The place of a line of this file, as messages name it."""
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    (number,) = [n for n, line in enumerate(source, 1) if line.strip() == text]
    return f"{__file__}:{number}"


def report_of(folder: Path) -> Path:
    (path,) = folder.glob("*.weft")
    return path


# --- strict ---------------------------------------------------------------------------------------


def test_a_failure_names_stage_op_and_line(fault: Any) -> None:
    stage, step, cause = fault
    with pytest.raises(CompilerError) as caught:
        wf.jit(small)(X, X)
    error = caught.value
    assert (error.stage, error.step) == (stage, step)
    assert isinstance(error.__cause__, cause)
    assert type(error.__cause__).__name__ in str(error)
    assert "fault in Weft" in str(error)
    assert f"at {line_of('return np.sinh(x) * y, x + y')}: np.sinh(x)" in str(error)


@pytest.mark.parametrize("name", ["pass", "loop step", "lowering", "LLVM"])
def test_the_file_has_a_small_graph_that_fails_in_the_same_way(
    name: str, monkeypatch: pytest.MonkeyPatch, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    STAGES[name][0](monkeypatch)
    with pytest.raises(CompilerError) as caught:
        wf.jit(long)(X, X)
    path = report_of(folder)
    assert str(path) in str(caught.value)
    graph = wf.parse(path.read_text(encoding="utf-8"))
    assert [op.name for op in graph.ops] == ["sinh"]
    assert str(line_of("x = np.sinh(x)")) in str(graph.ops[0].location)
    again = failures.reproduce(path)
    assert again is not None
    assert signature(again) == signature(caught.value)
    assert main(["reproduce", str(path)]) == 1
    assert type(caught.value.__cause__).__name__ in capsys.readouterr().err
    monkeypatch.undo()
    assert failures.reproduce(path) is None


def test_a_failure_is_raised_again_without_compiling_again(
    fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced: list[int] = []

    def counted(x: Any) -> Any:
        traced.append(1)
        return np.sinh(x)

    function = wf.jit(counted)
    with pytest.raises(CompilerError) as first:
        function(X)
    monkeypatch.setattr(reduce, "reduce", no_use)  # nothing is reduced, so nothing was compiled
    with pytest.raises(CompilerError) as second:
        function(X)
    assert len(traced) == 1
    assert str(first.value) == str(second.value)


# --- lenient --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("lenient")
def test_the_reference_answers_with_one_warning_at_the_line_of_the_call(fault: Any) -> None:
    function = wf.jit(small)
    with pytest.warns(CompilerWarning) as caught:
        made = function(X, 2 * X)
        again = function(X, 3 * X)
    (warning,) = caught
    assert warning.filename == __file__
    assert f"{warning.filename}:{warning.lineno}" == line_of("made = function(X, 2 * X)")
    assert "reference evaluator" in str(warning.message)
    for results, factor in ((made, 2), (again, 3)):
        np.testing.assert_allclose(results[0], np.sinh(X) * (factor * X))
        np.testing.assert_allclose(results[1], X + factor * X)


@pytest.mark.usefixtures("lenient")
def test_a_kind_of_arguments_that_failed_is_not_compiled_again(
    fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = wf.jit(small)
    with pytest.warns(CompilerWarning):
        function(X, X)
    monkeypatch.setattr(failures, "report", no_use)
    for item in (*DEFAULT, *COLUMN):
        monkeypatch.setattr(item, "run", no_use)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.shape(function(X, X)[0]) == X.shape
    assert function.why_retraced().count("\n") == 0


@pytest.mark.usefixtures("lenient")
def test_gradients_are_answered_too(fault: Any) -> None:
    function = wf.jit(wf.value_and_grad(lambda x: np.sum(np.sinh(x) * x)))
    with pytest.warns(CompilerWarning):
        value, gradient = function(X)
    np.testing.assert_allclose(value, np.sum(np.sinh(X) * X))
    np.testing.assert_allclose(gradient, np.cosh(X) * X + np.sinh(X))


@pytest.mark.usefixtures("lenient")
def test_donated_and_strided_arguments_of_symbolic_sizes_are_answered(fault: Any) -> None:
    function = wf.jit(small, donate=0, specs=(wf.spec("f64[n, m]"), wf.spec("f64[n, m]")))
    x, y = np.asfortranarray(np.tile(X, (100, 100))), np.tile(X, (100, 200))[:, ::2]
    wanted = np.sinh(x) * y, x + y
    with pytest.warns(CompilerWarning):
        made = function(x, y)
    for result, right in zip(made, wanted, strict=True):
        np.testing.assert_allclose(result, right)


@pytest.mark.usefixtures("lenient")
def test_reports_on_a_function_say_what_happened(fault: Any) -> None:
    stage, _, cause = fault
    function = wf.jit(small)
    with pytest.warns(CompilerWarning):
        function(X, X)
    for text in (function.explain(), function.passes()):
        assert "run on the reference evaluator" in text
        assert cause.__name__ in text or "LinkError" in text
    assert "failed to compile" in function.explain_cache()
    for look in (function.lower, function.memory, function.profile):
        with pytest.raises(CompilerError) as caught:
            look(X, X)
        assert caught.value.stage == stage
    assert len(function.trace(X, X).ops) == 3
    assert "no op made a NaN" in function.why_nan(X, X)


@pytest.mark.usefixtures("lenient")
def test_a_tiered_function_stays_on_the_reference(fault: Any) -> None:
    function = wf.jit(small, tiered=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompilerWarning)
        function(X, X)
    (version,) = function._cache.values()
    version.program.wait()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = [function(X, X)[0] for _ in range(2)]
    np.testing.assert_allclose(made[0], np.sinh(X) * X)
    np.testing.assert_array_equal(made[0], made[1])
    assert len(caught) <= 1
    assert not version.program.is_native
    assert "run on the reference evaluator" in function.explain()


@pytest.mark.usefixtures("lenient")
def test_eager_arrays_are_answered(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_programs", type(recording._programs)())
    array = wf.numpy.asarray(X)
    with pytest.warns(CompilerWarning) as caught:
        made = np.asarray(wf.numpy.sinh(array) + 1)
    assert len(caught) == 1
    np.testing.assert_allclose(made, np.sinh(X) + 1)


@pytest.mark.usefixtures("lenient")
def test_threads_that_call_at_once_make_one_report(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    in_lowering(monkeypatch)
    counted: list[int] = []
    report = failures.report

    def counting(*args: Any) -> None:
        counted.append(1)
        report(*args)

    monkeypatch.setattr(failures, "report", counting)
    function = wf.jit(small)
    function.explain()
    start = threading.Barrier(4)
    made: list[Any] = []

    def call() -> None:
        start.wait()
        made.append(function(X, X)[0])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompilerWarning)
        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(counted) == 1
    assert len(made) == 4
    for result in made:
        np.testing.assert_allclose(result, np.sinh(X) * X)


@pytest.mark.usefixtures("lenient")
def test_the_reference_backend_answers_where_a_pass_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    in_pass(monkeypatch)
    function = wf.jit(small, backend="reference", optimise=True)
    with pytest.warns(CompilerWarning):
        np.testing.assert_allclose(function(X, X)[0], np.sinh(X) * X)


@pytest.mark.usefixtures("lenient")
def test_calls_go_through_python_where_the_stub_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.frontends.driver.call_signature.output_of", no_use)
    function = wf.jit(small)
    with pytest.warns(CompilerWarning, match="its call stub failed with KeyError") as caught:
        first = function(X, X)
        second = function(X, X)
    assert len(caught) == 1
    np.testing.assert_array_equal(first[0], second[0])
    assert function.lower(X, X).kernels  # the code is there


# --- what is kept ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("lenient")
@pytest.mark.parametrize("name", ["lowering", "linking"])
def test_nothing_that_failed_is_kept_on_disk(
    name: str, monkeypatch: pytest.MonkeyPatch, disk: Cache
) -> None:
    with monkeypatch.context() as patch:
        STAGES[name][0](patch)
        with pytest.warns(CompilerWarning):
            wf.jit(small)(X, X)
    function = wf.jit(small)
    np.testing.assert_allclose(function(X, X)[0], np.sinh(X) * X)
    assert "not found on disk; kept" in function.explain_cache()
    assert function.lower(X, X).kernels


@pytest.mark.usefixtures("lenient")
def test_a_kept_program_that_cannot_be_linked_is_answered_by_the_reference(
    monkeypatch: pytest.MonkeyPatch, disk: Cache
) -> None:
    wf.jit(small)(X, X)
    monkeypatch.setattr("weft.frontends.driver.cpu_program.NativeProgram", no_use)
    function = wf.jit(small)
    with pytest.warns(CompilerWarning, match="linking"):
        np.testing.assert_allclose(function(X, X)[0], np.sinh(X) * X)


# --- what is nobody's fault -----------------------------------------------------------------------


class Refused(Exception):
    """Of a user."""


@pytest.mark.parametrize("error", [MemoryError, OSError, ImportError, KeyboardInterrupt])
def test_circumstances_pass_as_they_are(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    (item,) = [item for item in DEFAULT if item.name == "simplify"]

    def stop(*_: object) -> Any:
        raise error("now")

    function = wf.jit(small)
    with monkeypatch.context() as patch:
        patch.setattr(item, "run", stop)
        with pytest.raises(error, match="now"):
            function(X, X)
    np.testing.assert_allclose(function(X, X)[0], np.sinh(X) * X)


def test_what_users_raise_stays_theirs() -> None:
    def function(x: Any) -> Any:
        raise Refused("while tracing")

    def own_pass(graph: Graph) -> Graph:
        raise Refused("in a pass")

    with pytest.raises(Refused, match="while tracing"):
        wf.jit(function)(X)
    with pytest.raises(Refused, match="in a pass"):
        wf.jit(small, passes=[own_pass])(X, X)
    with pytest.raises(wf.LoweringError):
        raise wf.LoweringError("no code", wf.trace(small)(X, X).ops[0])


def test_refusals_of_a_backend_stay_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(f: Any, x: Any) -> Any:
        raise wf.LoweringError("there is no code for it", wf.trace(np.sinh)(X).ops[0])

    in_scalar_rule(monkeypatch, refuse)
    with pytest.raises(wf.LoweringError, match="there is no code for it"):
        wf.jit(small)(X, X)


# --- reducing and writing -------------------------------------------------------------------------


@pytest.mark.usefixtures("lenient")
def test_a_reducer_that_fails_does_not_hide_the_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    in_pass(monkeypatch)
    monkeypatch.setattr(reduce, "reduce", no_use)
    with pytest.warns(CompilerWarning) as caught:
        made = wf.jit(small)(X, X)
    np.testing.assert_allclose(made[0], np.sinh(X) * X)
    assert "simplify failed with KeyError" in str(caught[0].message)
    assert "No graph was written: KeyError" in str(caught[0].message)


@pytest.mark.usefixtures("lenient")
def test_an_interrupt_ends_the_search_and_the_next_call_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_lowering(monkeypatch)

    def interrupt(*_: object, **__: object) -> Any:
        raise KeyboardInterrupt

    function = wf.jit(small)
    with monkeypatch.context() as patch:
        patch.setattr(failures, "fails_like", interrupt)
        with pytest.raises(KeyboardInterrupt):
            function(X, X)
    with pytest.warns(CompilerWarning, match="lowering of sinh"):
        np.testing.assert_allclose(function(X, X)[0], np.sinh(X) * X)


def test_a_failure_that_does_not_come_again_leaves_the_whole_graph(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    (item,) = [item for item in DEFAULT if item.name == "simplify"]
    run = item.run
    calls: list[int] = []

    def once(graph: Graph, fired: Any) -> Graph:
        calls.append(1)
        return no_use() if len(calls) == 1 else run(graph, fired)

    monkeypatch.setattr(item, "run", once)
    with pytest.raises(CompilerError, match="did not fail again"):
        wf.jit(small)(X, X)
    graph = wf.parse(report_of(folder).read_text(encoding="utf-8"))
    assert [op.name for op in graph.ops] == ["sinh", "mul", "add"]


def test_reports_go_to_the_folder_for_dumps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_pass(monkeypatch)
    monkeypatch.setattr(failures, "dump_directory", lambda: str(tmp_path / "dumps"))
    with pytest.raises(CompilerError) as caught:
        wf.jit(small)(X, X)
    assert str(report_of(tmp_path / "dumps" / "failures")) in str(caught.value)


def test_without_any_folder_the_failure_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    in_pass(monkeypatch)
    monkeypatch.setattr(machine_code, "disk", lambda: Cache(None))
    with pytest.raises(CompilerError, match="no cache folder"):
        wf.jit(small)(X, X)


def test_conditions_that_a_failure_needs_are_written(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    (step,) = [step for step in COLUMN if step.name == "plan_memory"]
    run = step.run
    monkeypatch.setattr(step, "run", lambda p: no_use() if p.donated or p.strides else run(p))
    with pytest.raises(CompilerError):
        wf.jit(long, donate=1)(X.copy(), X.copy())
    path = report_of(folder)
    text = path.read_text(encoding="utf-8")
    assert re.search(r"^# donated: \{\d+: \d+\}$", text, re.MULTILINE)
    assert len(wf.parse(text).ops) < 10
    assert failures.reproduce(path) is not None


@pytest.mark.parametrize(("said", "is_strict"), [("1", True), ("", False), ("0", False)])
def test_the_environment_asks_for_errors(
    said: str, is_strict: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_STRICT", said)
    assert failures.is_strict.__wrapped__() is is_strict


# --- what nothing can answer: tracing -------------------------------------------------------------


@pytest.fixture(params=["jvp", "batch", "transpose"])
def rule(request: pytest.FixtureRequest) -> Iterator[str]:
    """A rule of an op that fails."""
    name = str(request.param)
    definition = cumsum if name == "transpose" else cummax if name == "batch" else sinh
    old = getattr(definition, name)
    object.__setattr__(definition, name, no_use)
    yield name
    object.__setattr__(definition, name, old)


TRANSFORMED: dict[str, Callable[[], Any]] = {
    "jvp": lambda: wf.grad(lambda x: np.sum(np.sinh(np.sin(x)) * x)),
    "transpose": lambda: wf.grad(lambda x: np.sum(np.cumsum(np.sin(x)) ** 2)),
    "batch": lambda: wf.vmap(lambda x: np.maximum.accumulate(np.sin(x)) + x),
}


@pytest.mark.usefixtures("lenient")
@pytest.mark.parametrize("under_jit", [False, True])
def test_a_transform_that_fails_raises(rule: str, under_jit: bool, folder: Path) -> None:
    function = TRANSFORMED[rule]()
    function = wf.jit(function) if under_jit else function
    for _ in range(2):
        with pytest.raises(CompilerError) as caught:
            function(X)
        assert caught.value.stage == ("batching" if rule == "batch" else "derivative")
        assert f"{__file__}:" in str(caught.value)
    path = report_of(folder)
    assert len(wf.parse(path.read_text(encoding="utf-8")).ops) == 1
    assert failures.reproduce(path) is not None


@pytest.mark.usefixtures("lenient")
def test_a_type_rule_that_fails_raises_at_the_line() -> None:
    old = sinh.infer
    object.__setattr__(sinh, "infer", no_use)
    try:
        with pytest.raises(CompilerError) as caught:
            wf.jit(lambda x: np.sinh(x[:, :3]))(X + 0j)
    finally:
        object.__setattr__(sinh, "infer", old)
    assert caught.value.stage == "type rule"
    assert "the type rule of sinh failed with KeyError" in str(caught.value)
    assert "np.sinh(x[:, :3])" in str(caught.value)


@pytest.mark.usefixtures("lenient")
def test_a_pass_before_derivatives_that_fails_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BEFORE_DERIVATIVES[0], "run", no_use)
    with pytest.raises(CompilerError, match="the pass stabilise failed"):
        wf.jit(wf.grad(lambda x: np.sum(np.sinh(x))))(X)


# --- stacks that are nearly used up ---------------------------------------------------------------


def at_depth(depth: int, run: Callable[[], Any]) -> Any:
    """What this returns when it is called from so many frames further in."""
    return run() if depth == 0 else at_depth(depth - 1, run)


@pytest.mark.counts_ops  # the text of a graph would need more of the stack
def test_functions_compile_however_deep_the_call_is() -> None:
    limit, here = sys.getrecursionlimit(), len(inspect.stack(0))
    ended = []
    for room in range(30, 330, 20):
        function = wf.jit(small)
        try:
            made = at_depth(limit - here - room, lambda: function(X, X))  # noqa: B023
        except RecursionError:  # of tracing, which is on the caller's stack
            ended.append(False)
            np.testing.assert_allclose(function(X, X)[0], np.sinh(X) * X)
        else:
            ended.append(True)
            np.testing.assert_allclose(made[0], np.sinh(X) * X)
        assert function.lower(X, X).kernels
    assert ended == sorted(ended)
    assert ended[0] is False and ended[-1] is True


def test_recursion_that_has_no_end_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    (step,) = [step for step in COLUMN if step.name == "order"]

    def endless(program: Any) -> Any:
        return endless(program)

    monkeypatch.setattr(step, "run", endless)
    with pytest.raises(CompilerError, match="RecursionError"):
        wf.jit(small)(X, X)


def test_tracing_that_had_too_little_stack_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_deep(*_: object) -> Any:
        raise RecursionError

    function = wf.jit(wf.grad(lambda x: np.sum(np.sinh(x))))
    with monkeypatch.context() as patch:
        patch.setattr(BEFORE_DERIVATIVES[0], "run", too_deep)
        with pytest.raises(CompilerError, match="RecursionError"):
            function(X)
    np.testing.assert_allclose(function(X), np.cosh(X))
