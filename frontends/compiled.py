"""`jit`: a function that is traced and compiled when it first meets arguments of a kind."""

from __future__ import annotations

import functools
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from types import MethodType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from weft.compiler.artifact import Artifact
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import ArgumentError
from weft.compiler.ir.graph import Graph
from weft.compiler.ir.types import ArrayType
from weft.compiler.lower import reference
from weft.compiler.ops import control
from weft.frontends import tree
from weft.frontends.array import start_trace
from weft.frontends.spec import spec
from weft.frontends.trace import Trace, find_trace
from weft.frontends.tracing import (
    Call,
    Leaf,
    Signature,
    Traced,
    describe_leaf,
    large_constants,
    lift_results,
    run,
    trace_call,
)
from weft.runtime.program import Program

if TYPE_CHECKING:
    from weft.compiler.passes.pipeline import Pass, PassLike, Report

BACKENDS: Final[dict[str, Callable[[Graph], Artifact]]] = {"reference": reference.lower}
CACHE_SIZE: Final = 256
LARGE_CONSTANT_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Specialisation:
    """One compiled version of a function."""

    traced: Traced
    program: Program
    report: Report | None


class CompiledFunction:
    """A function compiled per kind of arguments: structure, dtypes, shapes and static values.

    Calls with NumPy arrays and numbers return NumPy arrays. `trace` gives the graph, `explain` a
    report, `passes` what passes did to it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        backend: str,
        static_argnums: int | Iterable[int],
        static_argnames: str | Iterable[str],
        specs: Sequence[Any] | None,
        passes: Sequence[PassLike] | None = None,
        optimise: bool = False,
    ) -> None:
        if backend not in BACKENDS:
            raise ArgumentError(f"there is no backend {backend!r}; there is {', '.join(BACKENDS)}")
        self.function = function
        self.backend = backend
        self._column = _column(passes, optimise)
        self.signature = Signature(function, static_argnums, static_argnames)
        self._specs = None if specs is None else self._spec_types(specs)
        self._cache: OrderedDict[Any, Specialisation] = OrderedDict()
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = self.signature.take_apart(args, kwargs)
        trace = find_trace()
        if trace is not None:
            return self._call_traced(call, trace)
        specialisation = self._specialise(call)
        parameters = specialisation.traced.graph.parameters
        arrays = [
            np.asarray(value, _passed_dtype(leaf, parameter.type.dtype).numpy)
            for value, leaf, parameter in zip(call.values, call.leaves, parameters, strict=True)
        ]
        results = specialisation.program(arrays)
        return tree.unflatten(specialisation.traced.out_tree, results)

    def trace(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph for these arguments, or for specs in their place."""
        return self._specialise(self.signature.take_apart(args, kwargs)).traced.graph

    def explain(self) -> str:
        """A report on every compiled version: what it takes, which ops it has, what deserves
        attention.
        """
        if not self._cache:
            return (
                f"{self.signature.name} has not been compiled yet: call it, or trace it with specs."
            )
        return "\n".join(_report(item, self.backend) for item in self._cache.values())

    def passes(self) -> str:
        """A report on what passes did to every compiled version."""
        if not self._cache:
            return f"{self.signature.name} has not been compiled yet: call it first."
        return "\n".join(
            str(item.report or f"{self.signature.name}: no passes ran")
            for item in self._cache.values()
        )

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<compiled function {self.signature.name}, {len(self._cache)} versions>"

    def _spec_types(self, specs: Sequence[Any]) -> list[ArrayType | None]:
        leaves, treedef = tree.flatten(tuple(specs))
        self._spec_tree = treedef
        return [None if leaf is Ellipsis else spec(leaf) for leaf in leaves]

    def _specialise(self, call: Call) -> Specialisation:
        call = self._with_specs(call)
        found = self._cache.get(call.key)
        if found is not None:
            self._cache.move_to_end(call.key)
            return found
        traced = trace_call(self.function, self.signature.name, call)
        graph, report = _optimised(traced.graph, self._column)
        made = Specialisation(traced, Program(BACKENDS[self.backend](graph)), report)
        self._cache[call.key] = made
        if len(self._cache) > CACHE_SIZE:
            self._cache.popitem(last=False)
        return made

    def _with_specs(self, call: Call) -> Call:
        """The call with declared types in place of those of the arrays that came."""
        if self._specs is None:
            return call
        if len(self._specs) != len(call.leaves):
            raise ArgumentError(
                f"{self.signature.name} was given {len(self._specs)} specs but is called with "
                f"{len(call.leaves)} arrays"
            )
        leaves = [
            leaf if type is None else _declared(leaf, type)
            for leaf, type in zip(call.leaves, self._specs, strict=True)
        ]
        return replace(call, leaves=tuple(leaves))

    def _call_traced(self, call: Call, trace: Trace) -> Any:
        """Inside another trace: one `call` op, whose region is this function."""
        inner = start_trace(trace)
        with inner.active():
            tracers = [
                inner.argument(
                    leaf.type, leaf.name, weak=leaf.weak, owner=f"the argument {leaf.name}"
                )
                for leaf in call.leaves
            ]
            values, out_tree = lift_results(
                run(self.function, call, tracers), inner, self.signature.name
            )
        region, captured = inner.closed_region(values)
        operands = [*captured, *[trace.lift(value) for value in call.values]]
        results = control.call.emit(*operands, regions=(region,), function=self.signature.name)
        return tree.unflatten(out_tree, [trace.wrap(result) for result in results])


def _column(passes: Sequence[PassLike] | None, optimise: bool) -> list[Pass]:
    """The passes to run. They are loaded only when some are asked for, as that takes a while."""
    if not passes and not optimise:
        return []
    from weft.frontends.rewriting import column

    return column(passes, optimise=optimise)


def _optimised(graph: Graph, passes: list[Pass]) -> tuple[Graph, Report | None]:
    if not passes:
        return graph, None
    from weft.compiler.passes.pipeline import optimise

    return optimise(graph, passes=passes)


def _passed_dtype(leaf: Leaf, declared: DType) -> DType:
    """The dtype in which an argument is passed: its own, but a Python scalar takes a declared one
    of its kind or a wider kind.
    """
    own = leaf.type.dtype
    fits = declared.is_complex or (declared.is_float and not own.is_complex)
    fits = fits or (declared.is_integer and own.is_integer)
    return declared if leaf.weak and fits else own


def _declared(leaf: Leaf, type: ArrayType) -> Leaf:
    return describe_leaf(leaf.name, type, "")


def jit(
    function: Callable[..., Any] | None = None,
    *,
    backend: str = "reference",
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    specs: Sequence[Any] | None = None,
    passes: Sequence[PassLike] | None = None,
    optimise: bool = False,
) -> Any:
    """Compile a function of arrays; usable as a decorator, with or without options.

    `static_argnums` and `static_argnames` name arguments that are Python values, each value
    compiled for. `specs` declares the types of the array arguments, so that one version serves all
    values of symbolic sizes. `passes` are your own passes over the traced graph: functions from
    graph to graph, and rules made by `rewrite`; `optimise` runs the default ones.

    >>> import numpy as np, weft as wf
    >>> @wf.jit
    ... def norm(x):
    ...     return np.sqrt(np.sum(x * x))
    >>> float(norm(np.array([3.0, 4.0])))
    5.0
    """
    options: dict[str, Any] = {
        "backend": backend,
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "specs": specs,
        "passes": passes,
        "optimise": optimise,
    }
    if function is None:
        return lambda decorated: CompiledFunction(decorated, **options)
    return CompiledFunction(function, **options)


def _report(item: Specialisation, backend: str) -> str:
    graph = item.traced.graph
    parameters = ", ".join(f"{p.name}: {p.type}" for p in graph.parameters)
    results = ", ".join(str(result.type) for result in graph.results)
    counts = Counter(op.name for region in graph.regions() for op in region.ops)
    kinds = ", ".join(f"{count} {name}" for name, count in counts.most_common())
    lines = [
        f"{graph.name}({parameters}) -> {results}",
        f"  backend: {backend}",
        f"  ops: {counts.total()} ({kinds})" if kinds else "  ops: none",
    ]
    for constant in large_constants(graph, LARGE_CONSTANT_BYTES):
        place = f", used {constant.location}" if constant.location is not None else ""
        lines.append(
            f"  note: the function closes over an array {constant.type} of "
            f"{constant.array.nbytes / 2**20:.1f} MiB, "
            f"which was copied into the program as a constant{place}; pass it as an argument to "
            "share memory and "
            "to let it change"
        )
    return "\n".join(lines)
