"""Lowering to native code for this machine's CPU: a graph as LLVM text and what goes with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.artifact import Artifact, HostCall, Native, signature_of
from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import WeftError
from weft.compiler.ir.graph import Graph, Op, Value
from weft.compiler.ir.walk import Rewriter, rebuild
from weft.compiler.loops.column_sums import share_sums
from weft.compiler.loops.invariants import turn_weights
from weft.compiler.loops.products import narrow_product, spread_product
from weft.compiler.loops.scatters import share_scatter
from weft.compiler.lower.choice import Products
from weft.compiler.ops import control
from weft.compiler.ops.regions import inline_here

Array = np.ndarray[Any, Any]
CALLS: Final = ("call", "checkpoint", "custom_jvp", "custom_vjp")
# Element strides of a parameter that is not row-major: 0 and 1 are known, None is told by the run.
Strides = tuple[int | None, ...]


def flatten(graph: Graph) -> Graph:
    """The graph with called regions in the place of their calls."""

    def rule(op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
        if op.name not in CALLS:
            return None
        return inline_here(op.regions[0], [rewriter.value(v) for v in op.operands])

    while any(op.name in CALLS for region in graph.regions() for op in region.ops):
        graph = rebuild(graph, rule)
    return graph


def _specialised(graph: Graph) -> Graph:
    """The graph with ops in the forms that kernels are good at."""

    shared = share_sums(graph)

    def rule(op: Op, rewriter: Rewriter) -> Sequence[Value] | None:
        return (
            shared(op, rewriter)
            or spread_product(op, rewriter)
            or narrow_product(op, rewriter)
            or share_scatter(op, rewriter)
            or turn_weights(op, rewriter)
        )

    return rebuild(graph, rule)


def lower(
    graph: Graph,
    compile_texts: Callable[[Sequence[str]], Sequence[bytes]],
    strides: Mapping[int, Strides] | None = None,
    donated: Mapping[int, int] | None = None,
    *,
    is_timed: bool = False,
    products: Products | None = None,
    most_parts: int = 1,
) -> tuple[Artifact, Any]:
    """The graph as machine code made by `compile_texts`, and the emitted program for inspection.

    `strides` tells how parameters lie in memory that are not row-major; `donated` which results may
    be written over which parameters; `products` how matrices are to be multiplied;
    `most_parts` how many texts the code may be divided into.
    """
    from weft.compiler.lower.llvm import linkage
    from weft.compiler.lower.llvm.machine import host
    from weft.compiler.lower.llvm.program.module import emit_program

    graph = _specialised(flatten(graph))
    strided: dict[Value, tuple[Size, ...]] = {
        graph.parameters[number]: _symbolic(number, kinds)
        for number, kinds in (strides or {}).items()
    }
    code = emit_program(graph, host(), strided, donated, is_timed=is_timed, products=products)
    native = Native(
        code=tuple(compile_texts(code.module.texts(most_parts))),
        constants=tuple(np.ascontiguousarray(c.array) for c in code.constants),
        symbols=tuple(code.symbols),
        strides=tuple(
            (f"stride.{number}.{axis}", number, axis)
            for number, kinds in (strides or {}).items()
            for axis, kind in enumerate(kinds)
            if kind is None
        ),
        defined=tuple(code.defined),
        late=tuple(code.is_late(result) for result in graph.results),
        imports=tuple(linkage.imports(code.module)),
        sites=tuple(code.sites),
        hosts=tuple(_host_call(site.op) for site in code.hosts),
        in_place={number: (donated or {})[number] for number in code.plan.in_place},
        is_parallel=code.has_parallel_code,
        is_long=code.has_parallel_code or _has_loops(graph) or bool(code.routines),
    )
    return Artifact(graph.name, "cpu", signature_of(graph), None, native), code


def _has_loops(graph: Graph) -> bool:
    return any(op.regions for op in graph.ops) or any(op.name == "host_call" for op in graph.ops)


def _symbolic(number: int, kinds: Strides) -> tuple[Size, ...]:
    return tuple(
        dims.symbol(f"stride.{number}.{axis}", lower=-(1 << 60)) if kind is None else kind
        for axis, kind in enumerate(kinds)
    )


def _host_call(op: Op) -> HostCall:
    def run(*operands: Array) -> Sequence[Array]:
        types = [
            result.type.with_shape(array.shape)
            for result, array in zip(op.results, operands[len(op.operands) :], strict=True)
        ]
        attributes = {**op.attributes, "results": tuple(types)}
        try:
            made: Sequence[Array] = control.host_call.reference(
                *operands[: len(op.operands)], **attributes
            )
        except WeftError as error:
            raise error.at(op.location, op.name) from error.__cause__
        return made

    return HostCall(
        tuple(operand.type for operand in op.operands),
        tuple(result.type for result in op.results),
        run,
    )
