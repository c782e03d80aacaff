"""Programs that are kept on disk: what is found again, what is not, and what is never kept."""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import os
import random
import subprocess
import sys
import textwrap
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as wf
from weft.__main__ import main
from weft.compiler.artifact import Artifact, Failure, HostCall, Native, Signature, Site
from weft.compiler.ir.attributes import HostFunction
from weft.compiler.ir.dtypes import bf16, f64
from weft.compiler.ir.errors import BoundsError
from weft.compiler.ir.location import Location
from weft.compiler.ir.types import ArrayType
from weft.frontends.driver import machine_code
from weft.frontends.driver.cache import entry as stored
from weft.frontends.driver.cache.stored import (
    StoredProgram,
    Unstorable,
    Untraced,
    decode,
    decode_untraced,
    encode,
    encode_untraced,
)
from weft.frontends.driver.cache.understood import Digest, NotUnderstood, Overlaps
from weft.frontends.tracing import tree
from weft.runtime.cache import Cache

SOURCE = Path(__file__).parent.parent.parent.parent / "src"

# --- in another process -------------------------------------------------------------------------

PROGRAM = """
import sys
import numpy as np
import weft as wf

RATE = {rate}

def helper(x):
    return x {operator} 2.0

def model(x, power=1):
    print("traced")
    return {{"y": helper(x) * RATE, "sum": (np.sum(x ** power), None)}}

f = wf.jit(model, static_argnames=("power",))
out = f(np.arange(4, dtype={dtype!r}), power={power})
print(out["y"].tolist(), float(out["sum"][0]), out["sum"][1], list(out))
print(f.explain_cache())
print("loaded", *[name for name in sys.modules if name.startswith("weft.compiler")])
"""
DEFAULTS = {"rate": 0.5, "operator": "*", "dtype": "f8", "power": 1}


class Runner:
    """Runs programs in new processes, all with one cache."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"

    def __call__(self, source: str) -> list[str]:
        """The lines that the program prints."""
        path = self.folder / "program.py"
        path.write_text(textwrap.dedent(source))
        run = subprocess.run(
            [sys.executable, str(path)],
            env={**os.environ, "WEFT_CACHE_DIR": str(self.cache), "PYTHONPATH": str(SOURCE)},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout.splitlines()

    def model(self, **changes: Any) -> list[str]:
        return self(PROGRAM.format(**(DEFAULTS | changes)))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """With the model's program in its cache."""
    runner = Runner(tmp_path_factory.mktemp("programs"))
    lines = runner.model()
    assert lines[0] == "traced" and "kept" in lines[2]
    return runner


def test_second_process_does_not_run_the_function(run: Runner) -> None:
    result, note, loaded = run.model()
    assert result == "[0.0, 1.0, 2.0, 3.0] 6.0 None ['y', 'sum']"
    assert note.startswith("model(f64[4]): found on disk by its function")
    modules = set(loaded.split()[1:])
    assert not {name for name in modules if name.startswith("weft.compiler.ops")}
    assert not {name for name in modules if name.startswith("weft.compiler.passes")}
    emitters = {name for name in modules if name.startswith("weft.compiler.lower.llvm.")}
    assert emitters == {"weft.compiler.lower.llvm.target"}


RAISING = """
import traceback
import numpy as np
import weft as wf

class Mine(Exception):
    def __init__(self, x, place):
        super().__init__(f"{{x:.1f}} at {{place}}")
        self.x = x

class Local:
    class Inner(Exception): pass

def make():
    class Hidden(Exception): pass
    return Hidden

Hidden = make()

def model(x):
    if x[0] > 1:
        raise Mine(x[0], 0)
    if x[1] > 1:
        raise Local.Inner(x[1])
    {hidden}
    return x + 1

f = wf.jit(model, control_flow=True)
print(f(np.zeros(3)).tolist())
print(f.explain_cache())
for x in ([2.0, 0, 0], [0, 2.0, 0], [0, 0, 2.0]):
    try:
        f(np.array(x))
    except Exception as error:
        print(repr(error), vars(error), traceback.extract_tb(error.__traceback__)[-1].lineno)
"""


def test_exceptions_are_kept(run: Runner) -> None:
    first, second = (run(RAISING.format(hidden="assert x[2] < 1, x[2] * 2")) for _ in range(2))
    assert "kept" in first[1] and "found on disk" in second[1]
    assert first[2:] == second[2:]
    assert [line.split("(")[0] for line in second[2:]] == ["Mine", "Inner", "AssertionError"]
    assert "Mine('2.0 at 0') {'x': np.float64(2.0)}" in second[2]


def test_exceptions_whose_class_has_no_name_are_not_kept(run: Runner) -> None:
    for _ in range(2):
        lines = run(RAISING.format(hidden="if x[2] > 1: raise Hidden"))
        assert "it calls back into Python" in lines[1]


@pytest.mark.parametrize(
    "change",
    [{"rate": 0.25}, {"operator": "+"}, {"dtype": "f4"}, {"power": 2}],
    ids=["global", "helper", "dtype", "static argument"],
)
def test_a_change_is_seen(run: Runner, change: dict[str, Any]) -> None:
    lines = run.model(**change)
    assert lines[0] == "traced"
    assert "not found on disk; kept" in lines[2]


def test_damaged_entries_are_made_again(run: Runner) -> None:
    assert "found on disk" in run.model()[1]
    for path in run.cache.rglob("*.entry"):
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    lines = run.model()
    assert lines[0] == "traced" and lines[1].startswith("[0.0, 1.0, 2.0, 3.0]")
    assert "found on disk" in run.model()[1]


def test_errors_name_the_line_in_another_process(tmp_path: Path) -> None:
    run = Runner(tmp_path)
    source = """
        import numpy as np
        import weft as wf

        @wf.jit
        def pick(x, i):
            return x[i]

        try:
            pick(np.ones(3), np.array(7))
        except wf.WeftError as error:
            print(str(error).replace("\\n", " "))
        else:
            print(pick(np.ones(3), np.array(7)))
        print(pick.explain_cache())
    """
    first, second = run(source), run(source)
    assert first[0] == second[0]
    assert "found on disk" in second[1]


def test_symbolic_sizes_strides_and_later_questions(tmp_path: Path) -> None:
    run = Runner(tmp_path)
    source = """
        import numpy as np
        import weft as wf

        def scaled(x):
            return np.sum(x * 2.0, axis=0)

        f = wf.jit(scaled, specs=(wf.spec("f64[n, m]"),))
        big = np.arange(40000.0).reshape(200, 200)
        print(f(big[:3]).sum(), f(big.T).sum(), f(np.ones((2, 2))).tolist())
        print(f.explain_cache())
        print("mul" in str(f.trace(big)), f.memory(big).peak is not None, "kernel" in f.explain())
        print(f.lower(big).llvm.count("define") > 0, f.why_nan(big))
    """
    first, second = run(source), run(source)
    assert first[0] == second[0] and first[2:] == second[2:]
    assert "kept" in first[1] and "found" in second[1]
    assert second[2] == "True True True"


def test_donated_arguments_are_written_over_in_another_process(tmp_path: Path) -> None:
    run = Runner(tmp_path)
    source = """
        import numpy as np
        import weft as wf

        f = wf.jit(lambda x, y: x + y, donate=0)
        x = np.ones(1000)
        out = f(x, np.ones(1000))
        print(out is x or out.ctypes.data == x.ctypes.data, out[0])
        print(f.explain_cache())
    """
    first, second = run(source), run(source)
    assert first[0] == second[0]
    assert "found on disk" in second[1]


# --- identity -----------------------------------------------------------------------------------


def digest(function: Any) -> str:
    result = Digest()
    result.add(function, "the function")
    return result.hexdigest()


def reason(function: Any) -> str:
    with pytest.raises(NotUnderstood) as caught:
        digest(function)
    return str(caught.value)


def source_function(source: str, **names: Any) -> Any:
    """A function `f` as another process would define it."""
    exec(compile(textwrap.dedent(source), "module.py", "exec"), names)
    return names["f"]


PAIRS: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "constant": (lambda v: source_function(f"def f(x): return x * {v!r}"), 2.0, 3.0),
    "kind of a constant": (lambda v: source_function(f"def f(x): return x * {v!r}"), 1, 1.0),
    "sign of zero": (lambda v: source_function(f"K = {v!r}\ndef f(x): return x * K"), 0.0, -0.0),
    "global": (lambda v: source_function("def f(x): return x * K", K=v), 1, 2),
    "default": (lambda v: source_function("def f(x, k=K): return x * k", K=v), 1, 2),
    "keyword default": (lambda v: source_function("def f(x, *, k=K): return x * k", K=v), 1, 2),
    "closure": (
        lambda v: source_function(
            "def make(k):\n  def f(x): return x * k\n  return f\nf = make(K)", K=v
        ),
        1,
        2,
    ),
    "helper": (lambda v: source_function(f"def g(x): return x + {v}\ndef f(x): return g(x)"), 1, 2),
    "helper of a helper": (
        lambda v: source_function(
            f"def h(x): return x + {v}\ndef g(x): return h(x)\ndef f(x): return g(x)"
        ),
        1,
        2,
    ),
    "nested code": (lambda v: source_function(f"def f(x): return (lambda y: y * {v})(x)"), 1, 2),
    "array": (lambda v: source_function("def f(x): return x * K", K=v), np.zeros(2), np.ones(2)),
    "array's dtype": (
        lambda v: source_function("def f(x): return x * K", K=v),
        np.zeros(2),
        np.zeros(2, "f4"),
    ),
    "dict": (lambda v: source_function("def f(x): return x * K['a']", K=v), {"a": 1}, {"a": 2}),
    "order of a dict": (
        lambda v: source_function("def f(x): return [x * k for k in K]", K=v),
        {"a": 1, "b": 2},
        {"b": 2, "a": 1},
    ),
    "list": (lambda v: source_function("def f(x): return x * K[0]", K=v), [1], [2]),
    "partial": (lambda v: functools.partial(math.pow, v), 1.0, 2.0),
    "line": (lambda v: source_function("\n" * v + "def f(x): return x"), 0, 1),
    "gradient": (lambda v: wf.grad(source_function(f"def f(x): return x * {v}")), 1, 2),
    "argnums": (lambda v: wf.grad(source_function("def f(x, y): return x * y"), argnums=v), 0, 1),
    "batched": (lambda v: wf.vmap(np.dot, in_axes=v), 0, 1),
    "compiled": (lambda v: wf.jit(source_function(f"def f(x): return x * {v}")), 1, 2),
    "module attribute": (
        lambda v: source_function("def f(x): return m.helper(x)", m=module(v)),
        1,
        2,
    ),
    "dtype": (
        lambda v: source_function("def f(x): return x.astype(K)", K=v),
        np.dtype("f4"),
        np.dtype("f8"),
    ),
    "scipy-like library function": (
        lambda v: source_function("def f(x): return g(x)", g=v),
        np.sin,
        np.cos,
    ),
}


def module(value: int) -> types.ModuleType:
    made = types.ModuleType("users_module")
    made.__dict__["helper"] = source_function(f"def f(x): return x * {value}")
    made.__dict__["unrelated"] = random.Random()
    return made


Pair = collections.namedtuple("Pair", "left right")


@pytest.mark.parametrize("name", PAIRS)
def test_digest_tells_apart(name: str) -> None:
    make, one, other = PAIRS[name]
    assert digest(make(one)) == digest(make(one))
    assert digest(make(one)) != digest(make(other))


def test_understood() -> None:
    @wf.custom_jvp
    def rounded(x: Any) -> Any:
        return np.round(x)

    rounded.defjvp(lambda primals, tangents: (rounded(*primals), tangents[0]))
    table: dict[str, Any] = {"rate": 0.5, "sizes": [3, (4, None)]}

    def factorial(n: int) -> int:
        return 1 if n == 0 else n * factorial(n - 1)

    def f(x: Any, *rest: Any, scale: float = 2.0) -> Any:
        if factorial(3) == 6 and len(table["sizes"]) == 2:
            parts = [rounded(x) + k for k in range(3) if k != 1]
            return sum(parts) + np.linalg.norm(x.T.reshape(-1)) + np.fft.rfft(x).real.sum() + np.pi
        try:
            y = wf.scan(lambda carry, row: (carry + row, None), x[0], x)[0]
        except ValueError as error:
            raise TypeError(f"no {error}") from None
        return y + wf.random.normal(wf.random.key(0), (3,)) + math.sqrt(scale)

    assert digest(f) == digest(f)
    assert digest(wf.jit(wf.value_and_grad(functools.partial(f, scale=1.0))))


def test_functions_put_into_libraries_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return np.linalg.norm(x)

    digests = {digest(f)}
    for power in (1, 2):
        own = source_function(f"def f(x): return x ** {power}")
        monkeypatch.setattr(np.linalg, "norm", own)
        digests.add(digest(f))
    assert len(digests) == 3


class Model:
    def __call__(self, x: Any) -> Any:
        return x


def test_what_is_not_understood_says_why() -> None:
    generator, model, counter = np.random.default_rng(0), Model(), iter(range(3))
    objects, large = np.array([None]), np.zeros(5_000_000)
    pair, memoized = Pair(1, 2), functools.cache(lambda x: x)
    assert "numpy.random._generator.Generator" in reason(lambda x: x + generator.normal())
    assert "Model" in reason(lambda x: model(x))
    assert "Model" in reason(lambda x: Model()(x))
    assert "Pair" in reason(lambda x: x + pair[0])
    assert "lru_cache" in reason(lambda x: memoized(x))
    assert "range_iterator" in reason(lambda x: x + next(counter))
    assert "np.random.normal" in reason(lambda x: x + np.random.normal())
    assert "random.random" in reason(lambda x: x + random.random())
    assert "time.time" in reason(lambda x: x + time.time())
    assert "os.environ" in reason(lambda x: x + int(os.environ["HOME"]))
    assert "np.load" in reason(lambda x: x + np.load("file"))
    assert "np.empty" in reason(lambda x: x + np.empty(3))
    assert "open" in reason(lambda x: open(x))
    assert "eval" in reason(lambda x: eval("x"))
    assert "getattr" in reason(lambda x: getattr(random, "x"))  # noqa: B009
    assert "__globals__" in reason(lambda x: x.__globals__["x"])
    assert "__doc__" in reason(lambda x: x.__doc__)
    assert "module np as a value" in reason(lambda x: [np, x])
    assert "Python objects" in reason(lambda x: objects)
    assert "32 MiB" in reason(lambda x: x + large)
    assert "IMPORT_NAME" in reason(source_function("def f(x):\n import math\n return math.pi"))
    assert "STORE_GLOBAL" in reason(source_function("def f(x):\n global y\n y = x"))
    assert "ufunc" in reason(np.frompyfunc(lambda x: x, 1, 1))
    table, other = {"a": 1.0}, "text"
    assert "IS_OP" in reason(lambda x: x is other)
    assert "IS_OP" in reason(lambda x: x is not (other if x else None))
    assert "view of keys" in reason(lambda x: table.keys() & table)
    assert "view of keys" in reason(lambda x: x - table.keys())
    assert "view of keys" in reason(lambda x: [table.items(), x])
    assert "view of keys" in reason(lambda x: table.items)


def test_loops_over_dicts_and_tests_for_none_are_understood() -> None:
    table = {"a": 1.0}

    def f(x: Any, y: Any = None) -> Any:
        for key, number in table.items():
            x = x * number if key in table.keys() else x
        return x if y is None else [*sorted(table.items()), *[key for key in table.keys()]]

    assert digest(f)


def test_arrays_that_share_memory_are_told_apart() -> None:
    memory, rng = np.zeros(300), np.random.default_rng(0)
    known, seen = Overlaps(), list[Any]()
    for _ in range(60):
        begin, end = sorted(rng.integers(0, 300, 2))
        array = memory[begin : begin + (end - begin) // 8 : rng.integers(1, 3)]
        array = array[::-1] if rng.random() < 0.5 else array
        shared = known.add(array)
        assert bool(shared) == any(np.may_share_memory(array, other) for other in seen)
        for number, distance in shared:
            first = seen[number - 1]
            gap = lowest(array) - lowest(first)
            assert distance == gap
        seen.append(array)


def lowest(array: Any) -> int:
    """The address of the first element in memory."""
    return int((array if array.strides[0] > 0 else array[::-1]).ctypes.data)


# --- in one process -----------------------------------------------------------------------------


def test_new_functions_find_the_program(disk: Cache) -> None:
    def make(rate: float) -> Any:
        def f(x: Any) -> Any:
            return x * rate

        return wf.jit(f)

    for rate, note in ((2.0, "kept"), (2.0, "found"), (3.0, "kept")):
        f = make(rate)
        assert f(np.ones(3)).tolist() == [rate] * 3
        assert note in f.explain_cache()
    assert "kept" in _note(make(2.0), np.ones(4))
    assert "kept" in _note(make(2.0), np.ones(3, np.float32))
    assert "kept" in _note(make(2.0), 1.0)
    assert "found on disk by its graph" in _note(make(2.0), np.float64(1.0))
    assert "found" in _note(make(2.0), 1.0)


def _note(function: Any, *arguments: Any) -> str:
    function(*arguments)
    return str(function.explain_cache())


def test_what_changes_while_tracing_is_traced_again(disk: Cache) -> None:
    log: list[int] = []

    def f(x: Any) -> Any:
        log.append(1)
        return x + 1

    assert "traced, as tracing it changes a value" in _note(wf.jit(f), np.ones(3))


def test_calls_to_python_and_own_passes_are_not_kept(disk: Cache) -> None:
    def f(x: Any) -> Any:
        return wf.callback(np.sin, wf.spec("f64[3]"), x)

    def unchanged(graph: Any) -> Any:
        return graph

    assert "calls back into Python" in _note(wf.jit(f), np.ones(3))
    assert "passes of its own" in _note(wf.jit(lambda x: x + 1, passes=[unchanged]), np.ones(3))
    assert "keeps nothing" in _note(wf.jit(lambda x: x + 1, backend="reference"), 1.0)
    for note in ("kept", "found on disk by its graph"):
        told = _note(wf.jit(lambda x: Pair(x, x)), np.ones(3))
        assert note in told and "Pair" in told


def test_sources_that_changed_keep_nothing(disk: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "environment", lambda: None)
    assert "sources changed" in _note(wf.jit(lambda x: x + 1), np.ones(3))


def test_objects_that_refuse_to_be_looked_at(disk: Cache) -> None:
    class Shy:
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError("no")

    shy = Shy()
    note = _note(wf.jit(lambda x: x if shy is not None else None), np.ones(3))
    assert "; traced, as" in note


def test_without_a_directory_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "disk", lambda: Cache(None))
    assert "no cache directory" in _note(wf.jit(lambda x: x + 1), np.ones(3))


def test_what_could_not_be_written_is_told(
    disk: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setattr(machine_code, "disk", lambda: Cache(blocked))
    assert f"and not kept: File exists: {blocked}" in _note(wf.jit(lambda x: x + 1), np.ones(3))
    monkeypatch.setattr(machine_code, "disk", lambda: Cache(tmp_path / "small", 0))
    assert "not kept: it is larger" in _note(wf.jit(lambda x: x + 1), np.ones(3))


def test_before_the_first_call(disk: Cache) -> None:
    assert wf.jit(lambda x: x).explain_cache() == "lambda has not been compiled yet"


# --- bytes --------------------------------------------------------------------------------------


FAILURE = Failure(
    "ValueError",
    '[["tuple", ["text", "at ", ["shown", ["value", 0, true], ":.1f"]]], {}, false]',
    HostFunction("nothing"),
    "f",
    Location("a.py", 4, "raise"),
)


def example(**changes: Any) -> StoredProgram:
    n = wf.spec("f64[n, 2*n + 1]").shape
    native_part = Native(
        code=(b"code",),
        constants=(np.arange(3, dtype=bf16.numpy), np.array(1.5), np.zeros((0, 2), np.int8)),
        symbols=("n",),
        strides=(("stride.0.1", 0, 1),),
        defined=("m",),
        late=(False, True),
        imports=("scipy_blas_dgemm",),
        sites=(
            Site("BoundsError", "index {0}", "gather", Location("a.py", 3, "x[i]")),
            Site("WeftError", "no", "op", None),
        ),
        hosts=(HostCall((ArrayType(f64, ()),), (), FAILURE),),
        in_place={0: 1},
        is_parallel=True,
        is_long=False,
    )
    signature = Signature(
        ("x", "y"),
        (ArrayType(f64, n), ArrayType(bf16, (n[0] // 3, 4))),
        (ArrayType(f64, ()), ArrayType(f64, (n[0] * n[0],))),
    )
    made = Artifact("f", "cpu", signature, None, dataclasses.replace(native_part, **changes))
    return StoredProgram(made, {0: 1})


def test_program_reads_back() -> None:
    before = example()
    after = decode(encode(before))
    assert after.artifact.signature == before.artifact.signature
    assert after.donated == before.donated
    one, other = before.artifact.native, after.artifact.native
    assert one is not None and other is not None
    for field in dataclasses.fields(Native):
        if field.name != "constants":
            assert getattr(one, field.name) == getattr(other, field.name), field.name
    for left, right in zip(one.constants, other.constants, strict=True):
        assert left.dtype == right.dtype and np.array_equal(left, right)
    assert isinstance(other.sites[0].exception((3, 0, 0)), BoundsError)
    with pytest.raises(ValueError, match=r"at 2\.5"):
        other.hosts[0].function(np.array(2.5))


def test_structure_of_results_reads_back() -> None:
    _, out_tree = tree.flatten({"b": 0, "a": [1, (None,)]})
    after = decode_untraced(encode_untraced(Untraced("00ff", out_tree)))
    assert after.graph == "00ff" and after.out_tree == out_tree
    assert list(tree.unflatten(after.out_tree, [0, 1])) == ["b", "a"]
    with pytest.raises(Unstorable, match="Pair"):
        encode_untraced(Untraced("00ff", tree.flatten(Pair(1, 2))[1]))


def test_bytes_that_are_no_program() -> None:
    with pytest.raises(ValueError, match="another release"):
        decode(b"weft-program-0\n")
    with pytest.raises(Unstorable, match="Python"):
        encode(example(hosts=(HostCall((), (), lambda: ()),)))


# --- the command --------------------------------------------------------------------------------


def test_cache_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    Cache(tmp_path).put("00ff00ff", b"x" * 2048)
    assert main(["cache", "info"]) == 0
    shown = capsys.readouterr().out
    assert str(tmp_path) in shown and "1 entry" in shown and "2.0 KiB" in shown
    assert main(["cache", "clear"]) == 0
    assert "removed 1 entry" in capsys.readouterr().out
    assert main(["cache"]) == 0
    assert "0 entries" in capsys.readouterr().out
    monkeypatch.setenv("WEFT_CACHE_DIR", "")
    assert main(["cache", "info"]) == 0
    assert "no cache" in capsys.readouterr().out
