"""Routines of orderings, cumulative ops and Fourier transforms as functions of arrays: compiled for
known sizes, or once for sizes that are known at run time and then run on many arrays.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import HealthCheck

from tests.compiler.lower.harness import run_routine, shared_mathematics
from weft.compiler.abi import PARALLEL, RUN_WORDS
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Graph, Op, Result
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import ArrayType, type_of
from weft.compiler.lower.llvm.emit import arrays as native
from weft.compiler.lower.llvm.emit.function import Module
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.machine import compile_text
from weft.compiler.lower.llvm.routines.fourier import api as fourier
from weft.compiler.lower.llvm.routines.reductions import cumulative
from weft.compiler.lower.llvm.routines.sorting import api as ordering
from weft.runtime.native import Library

Array = np.ndarray[Any, Any]

ROUTINES = {**ordering.ROUTINES, **cumulative.ROUTINES, **fourier.ROUTINES}
UNHURRIED: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}


def make_op(definition: OpDef, types: Sequence[ArrayType], attributes: dict[str, Any]) -> Graph:
    builder = Builder()
    operands = [builder.parameter(type, f"x{i}") for i, type in enumerate(types)]
    return builder.graph("op", builder.emit(definition, operands, attributes))


def only_op(graph: Graph) -> Op:
    value = graph.results[0]
    assert isinstance(value, Result)
    return value.op


def reference(
    definition: OpDef, arrays: Sequence[Array], attributes: dict[str, Any]
) -> list[Array]:
    graph = make_op(definition, [type_of(x) for x in arrays], attributes)
    return evaluate(graph, list(arrays))


def run(
    definition: OpDef, arrays: Sequence[Array], attributes: dict[str, Any], dynamic: bool = False
) -> list[Array]:
    graph = make_op(definition, [type_of(x) for x in arrays], attributes)
    return run_routine(ROUTINES[definition.name], only_op(graph), arrays, dynamic=dynamic)


class Native:
    """A routine compiled for arrays of any sizes and strides, of given dtypes and ranks; if `inner`
    is given, it is the length of the operands' last axis, whose elements are side by side.

    Parallel tasks get one step each, the last one first, so nothing may depend on their order.
    """

    def __init__(
        self,
        definition: OpDef,
        kinds: Sequence[tuple[DType, int]],
        attributes: dict[str, Any],
        inner: int | None = None,
    ) -> None:
        self.definition = definition
        self.attributes = attributes
        # Sizes are not read from the op: any that its type rule accepts will do.
        types = [ArrayType(d, [*[64] * (rank - 1), inner or 64]) for d, rank in kinds]
        graph = make_op(definition, types, attributes)
        every = [*types, *[result.type for result in graph.results]]
        module = Module()
        pointers = [(f"p{i}", PTR) for i in range(len(every))]
        f = module.function("routine", VOID, [("run", PTR), ("numbers", PTR), *pointers])
        run, table, *addresses = f.arguments
        env = native.Env(module, run, "routine", [])
        made, place = [], 0
        for pointer, type in zip(addresses, every, strict=True):
            rank = type.rank
            held: list[Any] = [
                f.load(f.element(table, I64, place + i), I64) for i in range(2 * rank)
            ]
            if inner is not None:
                held[rank - 1], held[2 * rank - 1] = int(type.shape[-1]), 1
            place += 2 * rank
            made.append(native.Array(pointer, type.dtype, tuple(held[:rank]), tuple(held[rank:])))
        ROUTINES[definition.name](f, env, only_op(graph), made[: len(kinds)], made[len(kinds) :])
        f.ret()
        step_by_step(module)
        imports = shared_mathematics(module)
        self.library = Library(compile_text(module.text()), ["routine"], imports)
        arguments = [ctypes.c_void_p] * (2 + len(every))
        self.call = ctypes.CFUNCTYPE(None, *arguments)(self.library.address("routine"))

    def __call__(self, *arrays: Array) -> list[Array]:
        graph = make_op(self.definition, [type_of(x) for x in arrays], self.attributes)
        results = [garbage([int(s) for s in r.type.shape], r.type.dtype) for r in graph.results]
        every = [*arrays, *results]
        numbers = [[*x.shape, *[s // x.itemsize for s in x.strides]] for x in every]
        table = np.array([n for of_array in numbers for n in of_array] or [0], np.int64)
        record = np.zeros(RUN_WORDS, np.int64)
        self.call(record.ctypes.data, table.ctypes.data, *[x.ctypes.data for x in every])
        assert not record[1]
        return results


def step_by_step(module: Module) -> None:
    """A `weft_parallel` that runs single steps from the last to the first."""
    parameters = [("run", PTR), ("task", PTR), ("data", PTR), ("count", I64), ("grain", I64)]
    f = module.function(PARALLEL, VOID, parameters)
    run, task, data, count, _ = f.arguments
    with f.range(0, count) as i:
        at = count - 1 - i
        f.call_pointer(task, VOID, [run, data, at, at + 1])
    f.ret()


def garbage(shape: Sequence[int], of: DType) -> Array:
    made = np.empty(shape, of.numpy)
    made.reshape(-1).view(np.uint8)[:] = 0xA5
    return made


@functools.cache
def compiled(definition: OpDef, kinds: tuple[tuple[DType, int], ...], **attributes: Any) -> Native:
    return Native(definition, kinds, attributes)


def bits_of(x: Array) -> Array:
    """The bytes of an array: NaNs and zeros are told apart."""
    return np.ascontiguousarray(x).view(np.uint8)


def assert_same_bits(made: Sequence[Array], expected: Sequence[Array]) -> None:
    assert len(made) == len(expected)
    for x, y in zip(made, expected, strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_array_equal(bits_of(x), bits_of(np.asarray(y)))


def edged(rng: np.random.Generator, shape: Sequence[int], of: DType) -> Any:
    """Random numbers with ties and, where there are any, zeros of both signs, infinities and NaNs
    with different bits.
    """
    if of.is_bool:
        return rng.integers(0, 2, shape) == 1
    if of.is_complex:
        parts = [edged(rng, shape, of.real) for _ in range(2)]
        made = np.empty(shape, of.numpy)
        made.real, made.imag = parts
        return made
    if of.is_integer:
        info = np.iinfo(of.numpy)
        wide = rng.integers(info.min, info.max, shape, of.numpy, endpoint=True)
        return np.where(rng.random(shape) < 0.5, wide, rng.integers(0, 4, shape, of.numpy))
    values = np.where(
        rng.random(shape) < 0.5, rng.standard_normal(shape), rng.integers(-2, 3, shape)
    )
    special = rng.choice([0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan], shape)
    return np.where(rng.random(shape) < 0.2, special, values).astype(of.numpy)
