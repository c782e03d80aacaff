"""Graphs run natively and by the evaluator, on arguments that lie in memory in any way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any
from unittest import mock

import numpy as np

import weft as wf
from tests.compiler.lower.llvm.program.random_graphs import random_array
from weft.compiler.ir import dims
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Graph
from weft.compiler.lower import cpu
from weft.compiler.ops.regions import inline_here
from weft.compiler.passes.pipeline import optimise
from weft.compiler.passes.running import Pass
from weft.frontends.driver import cpu_program as native
from weft.frontends.tracing import core

Array = np.ndarray[Any, Any]
LAYOUTS = (
    *("plain", "plain", "strided", "reversed", "fortran"),
    *("broadcast", "misaligned", "swapped", "read-only"),
)
SPECIAL = (np.inf, -np.inf, np.nan, -0.0)


def random_arguments(graph: Graph, random: Random, n: int | None, special: bool) -> list[Array]:
    """Whole numbers for a graph's parameters, some of them infinite or NaN where that is wanted."""
    numbers = np.random.default_rng(random.randrange(1 << 30))
    made = []
    for parameter in graph.parameters:
        shape = [dims.evaluate(size, {"n": n or 0}) for size in parameter.type.shape]
        array = random_array(numbers, parameter.type.dtype, shape)
        if special and parameter.type.dtype.is_float:
            edges = numbers.choice(SPECIAL, shape).astype(array.dtype)
            array = np.where(numbers.random(shape) < 0.1, edges, array)
        made.append(laid_out(np.asarray(array), random.choice(LAYOUTS), random))
    return made


def laid_out(array: Array, kind: str, random: Random) -> Array:
    """The same elements (or, for broadcast, some of them) in memory in another way."""
    if not array.ndim or kind == "plain":
        return array
    if kind == "fortran":
        return np.asfortranarray(array)
    if kind == "swapped":
        return array.astype(array.dtype.newbyteorder(">"))
    if kind == "read-only":
        array.flags.writeable = False
        return array
    if kind == "misaligned":
        bytes = np.zeros(array.nbytes + 1, np.uint8)
        made: Array = bytes[1:].view(array.dtype).reshape(array.shape)
        made[...] = array
        return made
    axis = random.randrange(array.ndim)
    if kind == "broadcast":
        return np.broadcast_to(array.take([0], axis), array.shape) if array.size else array
    steps = [slice(None)] * array.ndim
    steps[axis] = slice(None, None, -1 if kind == "reversed" else 2)
    if kind == "reversed":
        return np.ascontiguousarray(array[tuple(steps)])[tuple(steps)]
    wide = np.repeat(array, 2, axis)
    return wide[tuple(steps)]


def run_native(graph: Graph, arguments: Sequence[Array], *, copied: bool = False) -> list[Array]:
    """The graph as native code, whose loop program is verified after every step; arguments are read
    where they lie unless they may be `copied`.
    """
    program = native.CpuProgram(graph)
    with (
        mock.patch.object(native, "COPIED_BYTES", native.COPIED_BYTES if copied else 0),
        mock.patch.object(cpu, "loops", partial(cpu.loops, verify=True)),
    ):
        return program(arguments)


def assert_native_is_right(
    graph: Graph, arguments: Sequence[Array], column: Sequence[Pass], *, copied: bool = False
) -> None:
    """That native code of the graph after passes gives what the evaluator gives for it before."""
    wanted = evaluate(graph, [native_order(array) for array in arguments])
    before = [array.copy() for array in arguments]
    after = optimise(graph, passes=column, verify=True)[0] if column else graph
    try:
        made = run_native(after, arguments, copied=copied)
        for number, (new, old) in enumerate(zip(made, wanted, strict=True)):
            assert_equal(new, np.asarray(old), f"result {number}")
        for number, (now, then) in enumerate(zip(arguments, before, strict=True)):
            assert_equal(now, then, f"argument {number}, after the call")
    except Exception as error:
        names = ", ".join(item.name for item in column) or "no passes"
        raise AssertionError(f"{error}\nafter {names}\n{graph}\n{after}") from error


def native_order(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder("="))


def assert_equal(made: Array, wanted: Array, name: str) -> None:
    """Equal dtypes, shapes and elements; NaN equals NaN, and -0.0 equals 0.0."""
    assert made.dtype == wanted.dtype, f"{name} is {made.dtype}, expected {wanted.dtype}"
    assert made.shape == wanted.shape, f"{name} is {made.shape}, expected {wanted.shape}"
    same = (made == wanted) | ((made != made) & (wanted != wanted))
    if not same.all():
        places = np.argwhere(~same)
        at = tuple(int(index) for index in places[0])
        raise AssertionError(
            f"{name} {made.dtype}{list(made.shape)} differs in {len(places)} elements, first at "
            f"{at}: {made[at]}, expected {wanted[at]}"
        )


# --- the whole way of a call --------------------------------------------------------------------


def as_function(graph: Graph) -> Callable[..., Any]:
    """A Python function that traces to the ops of a graph."""

    def function(*arguments: Any) -> Any:
        made = inline_here(graph.region, [core.lift(argument) for argument in arguments])
        return tuple([core.wrap(value) for value in made])

    return function


def assert_stub_is_right(graph: Graph, arguments: Sequence[Array], others: Sequence[Array]) -> None:
    """That a jitted function gives the right results: at first, again through its call stub, for
    other arguments, and for those that it may write over.
    """
    specs = [parameter.type for parameter in graph.parameters]
    call = wf.jit(as_function(graph), specs=specs)
    try:
        for given in (arguments, arguments, others, arguments):
            _assert_call_is_right(graph, call, given)
        _assert_donation_is_right(graph, others)
    except Exception as error:
        raise AssertionError(f"{error}\n{graph}") from error


def _assert_call_is_right(
    graph: Graph, call: Callable[..., Any], arguments: Sequence[Array]
) -> None:
    before = [array.copy() for array in arguments]
    made = call(*arguments)
    wanted = evaluate(graph, [native_order(array) for array in before])
    for number, (new, old) in enumerate(zip(made, wanted, strict=True)):
        assert_equal(new, np.asarray(old), f"result {number}")
    for number, (now, then) in enumerate(zip(arguments, before, strict=True)):
        assert_equal(now, then, f"argument {number}, after the call")
    for number, result in enumerate(made):
        others = (*arguments, *made[:number])
        assert not any(np.may_share_memory(result, other) for other in others), "results share"


def _assert_donation_is_right(graph: Graph, arguments: Sequence[Array]) -> None:
    wanted = evaluate(graph, [native_order(array) for array in arguments])
    specs = [parameter.type for parameter in graph.parameters]
    call = wf.jit(as_function(graph), specs=specs, donate=range(len(arguments)))
    for _ in range(2):
        made = call(*[np.array(native_order(array)) for array in arguments])
        for number, (new, old) in enumerate(zip(made, wanted, strict=True)):
            assert_equal(new, np.asarray(old), f"result {number}, with donated arguments")
