"""Lowering to native code for this machine's CPU: a graph as a loop program, its LLVM text, machine
code, and what goes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from weft.compiler.artifact import Artifact, Failure, HostCall, Native, signature_of
from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import LoweringError, WeftError
from weft.compiler.ir.graph import Graph, Op
from weft.compiler.ir.stages import LOWERING, stage
from weft.compiler.loops.pipeline import LoopReport, lower_to_loops
from weft.compiler.loops.program import LoopProgram
from weft.compiler.loops.workspace import RoutineBytes, call_key, measured
from weft.compiler.lower.backends import explained
from weft.compiler.lower.choice import Products
from weft.compiler.ops import control

if TYPE_CHECKING:
    from weft.compiler.lower.llvm.program.module import ProgramCode
    from weft.compiler.lower.llvm.target import Target

Array = np.ndarray[Any, Any]
# Element strides of a parameter that is not row-major: 0 and 1 are known, None at run time only.
Strides: TypeAlias = "tuple[int | None, ...]"


def loops(
    graph: Graph,
    strides: Mapping[int, Strides] | None = None,
    donated: Mapping[int, int] | None = None,
    *,
    products: Products | None = None,
    verify: bool = False,
    is_dumped: bool = True,
) -> tuple[LoopProgram, LoopReport]:
    """The graph as a loop program for this machine. `strides` tells how parameters lie in memory
    that are not row-major; `donated` which results may be written over which parameters; `products`
    how matrices are to be multiplied. `is_dumped` says whether WEFT_DUMP gets to see it.
    """
    from weft.compiler.lower.llvm.target import host

    target = host()
    symbolic = {number: _symbolic(number, kinds) for number, kinds in (strides or {}).items()}
    return lower_to_loops(
        graph,
        target.vector_bytes,
        symbolic,
        donated,
        routine_bytes=routine_bytes(target, products),
        verify=verify,
        is_dumped=is_dumped,
    )


def routine_bytes(target: Target, products: Products | None = None) -> RoutineBytes:
    """What routines work in on a machine."""
    from weft.compiler.lower.llvm import routines

    known: dict[object, Size] = {}

    def bytes_of(op: Op, strides: Sequence[tuple[Size, ...]], threads: Size) -> Size:
        if not routines.has_routine(op.name):
            return 0
        key = call_key(op, strides), threads
        if key not in known:
            own = measured(f"{op.name}.{len(known)}")
            call = routines.Planned(op, strides, target, threads, products or Products(), own)
            known[key] = routines.scratch_bytes(call)
        return known[key]

    return bytes_of


def lower(
    program: LoopProgram,
    compile_texts: Callable[[Sequence[str]], Sequence[bytes]],
    target: Target | None = None,
    *,
    is_timed: bool = False,
    products: Products | None = None,
    most_parts: int = 1,
) -> tuple[Artifact, ProgramCode]:
    """The program as machine code made by `compile_texts` for a machine, this one unless told, and
    what was emitted, for inspection.

    `products` tells how matrices are to be multiplied; `most_parts` how many texts the code may be
    divided into; a timed program counts the time of each node.
    """
    from weft.compiler.lower.llvm.program.module import emit_program

    try:
        with stage(LOWERING):
            code = emit_program(program, target, is_timed=is_timed, products=products)
            texts = code.module.texts(most_parts)
    except LoweringError as error:
        raise explained(error, "cpu") from None
    objects = compile_texts(texts)
    with stage(LOWERING):
        native = _native(program, code, objects)
        return Artifact(program.graph.name, "cpu", signature_of(program.graph), None, native), code


def _native(program: LoopProgram, code: ProgramCode, objects: Sequence[bytes]) -> Native:
    """What the runtime is told of a program's code."""
    from weft.compiler.lower.llvm import linkage

    graph = program.graph
    return Native(
        code=tuple(objects),
        constants=tuple(np.ascontiguousarray(c.array) for c in code.constants),
        symbols=tuple(code.symbols),
        strides=tuple(
            (f"stride.{number}.{axis}", number, axis)
            for number, strides in program.strides.items()
            for axis, stride in enumerate(strides)
            if not isinstance(stride, int)
        ),
        defined=tuple(code.defined),
        late=tuple(code.is_late(result) for result in graph.results),
        imports=tuple(linkage.imports(code.module)),
        sites=tuple(code.sites),
        hosts=tuple(_host_call(site.op) for site in code.hosts),
        in_place={number: program.donated[number] for number in program.plan.in_place},
        is_parallel=code.has_parallel_code,
        is_long=code.has_parallel_code or _has_loops(graph) or bool(code.routines),
        measured=tuple(code.measured),
    )


def _has_loops(graph: Graph) -> bool:
    return any(op.regions or op.definition.is_host for op in graph.ops)


def _symbolic(number: int, kinds: Strides) -> tuple[Size, ...]:
    return tuple(
        dims.symbol(f"stride.{number}.{axis}", lower=-(1 << 60)) if kind is None else kind
        for axis, kind in enumerate(kinds)
    )


def _host_call(op: Op) -> HostCall:
    if op.definition is control.fail:
        return _failure(op)

    def run(*operands: Array) -> Sequence[Array]:
        types = [
            result.type.with_shape(array.shape)
            for result, array in zip(op.results, operands[len(op.operands) :], strict=True)
        ]
        attributes = {**op.attributes, "results": tuple(types)}
        try:
            built: Sequence[Array] = control.host_call.reference(
                *operands[: len(op.operands)], **attributes
            )
        except WeftError as error:
            raise error.at(op.location, op.name) from error.__cause__
        return built

    return HostCall(
        tuple(operand.type for operand in op.operands),
        tuple(result.type for result in op.results),
        run,
    )


def _failure(op: Op) -> HostCall:
    """A call that raises the exception of a `fail`."""
    values = tuple([operand.type for operand in op.operands[1:]])
    return HostCall(values, (), Failure(**op.attributes, location=op.location))
