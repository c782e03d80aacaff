"""What is done about a fault of the compiler: the smallest graph that shows it is looked for and
written to a file, which `python -m weft reproduce` reads.

Nothing here may hide the failure that it is about: what goes wrong while a graph is reduced or
written ends up as a note of it. Interrupts pass.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from weft.compiler.ir.dump import dump_directory
from weft.compiler.ir.errors import CompilerError
from weft.compiler.ir.location import Location
from weft.compiler.ir.stages import (
    BATCHING,
    DERIVATIVE,
    LINKING,
    LLVM,
    LOOP_STEP,
    LOWERING,
    PARSER,
    PASS,
    Signature,
    signature,
    stage,
)
from weft.compiler.lower.choice import Products
from weft.compiler.record import record
from weft.frontends.driver.gc_pause import gc_resumed
from weft.runtime.cache import Cache

if TYPE_CHECKING:
    from weft.compiler.ir.graph import Graph, Op
    from weft.compiler.ir.reduce import ReducedGraph, ReductionLimits
    from weft.compiler.ir.types import ArrayType

P = ParamSpec("P")
R = TypeVar("R")

FEW_OPS: Final = 4  # of a small graph, the last of which is said to be what failed
MOST_SUSPECTS: Final = 3
MOST_EMBEDDED_BYTES: Final = 1 << 20  # of constants that a file holds; larger ones are named only


@functools.cache
def is_strict() -> bool:
    """Whether the environment variable WEFT_STRICT asks for errors in place of slower programs,
    read once.
    """
    return os.environ.get("WEFT_STRICT", "").strip() not in ("", "0")


def place_of(function: Callable[..., Any]) -> Location | None:
    """Where a function is defined, for failures that no op is known of."""
    import inspect

    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else Location(code.co_filename, code.co_firstlineno)


# --- running a stage again ------------------------------------------------------------------------


@record
class Conditions:
    """What a graph was compiled with that the graph does not say: how parameters lie in memory that
    are not row-major, which results may be written over which parameters, and how matrices are
    multiplied.
    """

    strides: Mapping[int, tuple[int | None, ...]] = field(default_factory=dict)
    donated: Mapping[int, int] = field(default_factory=dict)
    products: Products | None = None

    def fitting(self, graph: Graph) -> Conditions:
        """Those for a graph with fewer parameters and results: the same where they fit, else others
        of the kind.
        """
        types = [p.type for p in graph.parameters]
        results = [r.type for r in graph.results]
        strides = {n: kinds for n, kinds in self.strides.items() if _rank(types, n) == len(kinds)}
        if self.strides and not strides:
            by_rank = {len(kinds): kinds for kinds in self.strides.values()}
            strides = {n: by_rank[t.rank] for n, t in enumerate(types) if t.rank in by_rank}
        donated = {
            result: number
            for result, number in self.donated.items()
            if max(result - len(results), number - len(types)) < 0
            and results[result] == types[number]
        }
        if self.donated and not donated:
            found = [(r, n) for r, t in enumerate(results) for n, u in enumerate(types) if t == u]
            donated = dict(found[:1])
        return Conditions(strides, donated, self.products)

    @property
    def written(self) -> dict[str, Any]:
        """What a file says of them, if anything."""
        return {
            name: value
            for name, value in (("strides", dict(self.strides)), ("donated", dict(self.donated)))
            if value
        }


PLAIN: Final = Conditions()


def _rank(types: Sequence[ArrayType], number: int) -> int:
    return types[number].rank if number < len(types) else -1


def run_stage(name: str, step: str, graph: Graph, conditions: Conditions = PLAIN) -> None:
    """Have a stage, and what it needs before it, work on a graph; nothing is kept or dumped.

    Raises CompilerError where it fails.
    """
    if name == PASS.name:
        _run_pass(step, graph)
    elif name in (DERIVATIVE.name, BATCHING.name):
        _run_transforms(graph)
    elif name in (LOOP_STEP.name, LOWERING.name, LLVM.name, LINKING.name):
        _compile(graph, conditions, name, step)


def _run_pass(step: str, graph: Graph) -> None:
    from weft.compiler.passes.pipeline import BEFORE_DERIVATIVES, DEFAULT
    from weft.compiler.passes.running import count_ops, run_pass

    for item in (*DEFAULT, *BEFORE_DERIVATIVES):
        if item.name == step:
            run_pass(item, graph, 0, count_ops(graph))


def _run_transforms(graph: Graph) -> None:
    """Derive all that can be derived, in both directions, and batch everything."""
    from weft.compiler.transforms import derive

    region = graph.region
    inputs = [p.type.dtype.is_inexact for p in region.parameters]
    outputs = [r.type.dtype.is_inexact for r in region.results]
    derive.vjp(region, inputs, outputs)
    derive.jvp(region, inputs)
    derive.TRANSFORMS.batch(region, [True] * len(inputs), 2, [True] * len(outputs))


def _compile(graph: Graph, conditions: Conditions, until: str, step: str) -> None:
    """Compile a graph as far as a stage; text that fails in LLVM's parser is only parsed."""
    from weft.compiler.lower import cpu
    from weft.compiler.lower.llvm import machine
    from weft.frontends.driver.machine_code import caller, compile_text, support
    from weft.runtime.cores import available_cores
    from weft.runtime.program import NativeProgram

    def objects(texts: Sequence[str]) -> list[bytes]:
        if until == LLVM.name and step == PARSER:
            for text in texts:
                with machine.parsed(text):
                    pass
        elif until in (LLVM.name, LINKING.name):
            return [compile_text(text, is_kept=False) for text in texts]
        return []

    products = conditions.products
    program, _ = cpu.loops(
        graph, conditions.strides, conditions.donated, products=products, is_dumped=False
    )
    if until == LOOP_STEP.name:
        return
    artifact, _ = cpu.lower(program, objects, products=products, most_parts=available_cores())
    if until == LINKING.name:
        with stage(LINKING):
            NativeProgram(artifact, caller(), support)


def fails_like(wanted: Signature, graph: Graph, conditions: Conditions) -> bool:
    """Whether the stage of a failure fails on a graph in the same way."""
    try:
        run_stage(wanted.stage, wanted.step, graph, conditions.fitting(graph))
    except CompilerError as failure:
        return signature(failure) == wanted
    except Exception:  # refused, which is another matter
        return False
    return False


# --- the report -----------------------------------------------------------------------------------


def report(
    failure: CompilerError,
    graph: Callable[[], Graph] | None = None,
    conditions: Conditions = PLAIN,
) -> None:
    """Write the smallest graph that fails so, once, and note on the failure where it is. `graph` is
    that of the stages for which the failure holds none.
    """
    if failure.notes:
        return
    try:
        if failure.graph is None and graph is not None:
            failure.graph = graph()
        failure.notes.append(_written(failure, conditions))
    except Exception as error:
        failure.notes.append(f"No graph was written: {type(error).__name__}: {error}")


def reported(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose failures by faults of the compiler are reported before they go on."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except CompilerError as failure:
            report(failure)
            raise

    return call


def _written(failure: CompilerError, conditions: Conditions) -> str:
    """Reduce and write the graph of a failure; a sentence on where it is."""
    if failure.graph is None:
        return "There is no graph yet that could be shown."
    with gc_resumed():
        found = smallest(failure, conditions)
    if found is None:
        text = _file_text(failure, failure.graph, conditions, "it did not fail again")
        made = "Its graph did not fail again when it was compiled alone"
    else:
        reduced, conditions = found
        _place_by(reduced.graph, failure)
        text = _file_text(failure, reduced.graph, conditions, _effort(failure.graph, reduced))
        count = _count(reduced.graph)
        made = f"The smallest graph that was found to fail so has {count} op{'s'[: count != 1]}"
    path = _keep(f"{failure.graph.name}-{failure.step or failure.stage}", text)
    if path is None:
        return f"{made}; it was not written, as there is no cache folder: WEFT_DUMP can name one."
    return f"{made}: python -m weft reproduce {path}"


def _place_by(reduced: Graph, failure: CompilerError) -> None:
    """Say which op a failure is about, if only the small graph tells."""
    placed = [op for op in reduced.ops if op.location is not None]
    if 0 < len(placed) <= FEW_OPS and failure.location is None:
        failure.at(placed[-1].location, placed[-1].name)


def smallest(
    failure: CompilerError, conditions: Conditions = PLAIN, limits: ReductionLimits | None = None
) -> tuple[ReducedGraph, Conditions] | None:
    """The smallest graph found that fails in the same way, without conditions if it does so too;
    None if even the whole graph does not fail again.
    """
    from weft.compiler.ir import reduce

    graph, wanted = failure.graph, signature(failure)
    assert graph is not None
    plain = Conditions(products=conditions.products)
    if conditions.written and fails_like(wanted, graph, plain):
        conditions = plain
    fails = functools.partial(fails_like, wanted, conditions=conditions)
    suspects = _suspects(graph, failure.op)
    made = reduce.reduce(graph, fails, suspects=suspects, limits=limits or reduce.DEFAULT)
    if made.graph is graph and made.is_finished and not fails(graph):
        return None
    return made, conditions.fitting(made.graph)


def _suspects(graph: Graph, failed: Op | None) -> list[Op]:
    """The ops of a graph that a failure may have been at: it may have known another form of it."""
    if failed is None:
        return []
    like = [op for op in graph.ops if op.name == failed.name and op.location == failed.location]
    return [op for op in like if op is failed] or like[:MOST_SUSPECTS]


def _effort(graph: Graph, reduced: ReducedGraph) -> str:
    end = "" if reduced.is_finished else "; its time was up"
    counts = f"from {_count(graph)} ops to {_count(reduced.graph)}"
    return f"reduced {counts}, by {reduced.attempts} attempts{end}"


def _count(graph: Graph) -> int:
    return sum(len(region.ops) for region in graph.regions())


def _file_text(failure: CompilerError, graph: Graph, conditions: Conditions, effort: str) -> str:
    """The graph as text that reads back, below what it is about."""
    embedded = sum(c.array.nbytes for c in graph.constants) <= MOST_EMBEDDED_BYTES
    head = [
        f"stage: {failure.stage}",
        f"step: {failure.step}",
        *[f"{name}: {value!r}" for name, value in conditions.written.items()],
        f"effort: {effort}",
        "to see it fail: python -m weft reproduce THIS_FILE",
        *failure.message.splitlines(),
    ]
    comments = "".join([f"# {line}\n" for line in head])
    return comments + graph.text(locations=True, embed_constants=embedded)


def _keep(name: str, text: str) -> Path | None:
    """The file of a report: in the folder that WEFT_DUMP names, else beside kept programs."""
    from weft.frontends.driver.machine_code import disk

    dumped = dump_directory()
    cache = disk() if dumped is None else Cache(Path(dumped))
    return cache.put_report(re.sub(r"\W+", "-", name), text.encode())


# --- reading it back ------------------------------------------------------------------------------


def reproduce(path: str | os.PathLike[str]) -> CompilerError | None:
    """How the graph of a report fails here and now; None if it does not."""
    import ast

    from weft.compiler.parsing import parse

    text = Path(path).read_text(encoding="utf-8")
    said = dict(re.findall(r"^# (stage|step|strides|donated): *(.*)$", text, re.MULTILINE))
    options = {name: ast.literal_eval(said.get(name, "{}")) for name in ("strides", "donated")}
    try:
        graph = parse(text)
        stage_name, step = said.get("stage", LINKING.name), said.get("step", "")
        run_stage(stage_name, step, graph, Conditions(**options))
    except CompilerError as failure:
        return failure
    return None
