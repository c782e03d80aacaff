"""Ops outside of a trace, gathered until a value is needed and then compiled together.

A `Recording` is a trace that goes on from call to call. Its inputs are arrays that are there
already; ops on them are only recorded. When a value is needed, all results that are still in use
are computed by one native program, which is kept by the structure of what it computes: a loop that
does the same again finds it.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np

from weft.compiler.ir.ambient import sealed
from weft.compiler.ir.errors import WeftError
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.graph import Constant, Graph, Op, Parameter, Region, Value
from weft.compiler.ir.types import type_of
from weft.compiler.ir.walk import live_ops
from weft.frontends.numpy.array import start_trace
from weft.frontends.tracing.trace import Tracer
from weft.runtime.forking import fork_lock

NumPyArray = np.ndarray[Any, Any]
MOST_OPS: Final = 512  # that are gathered before they are computed without being asked for
MOST_PROGRAMS: Final = 256
# What only makes arrays out of numbers is not worth a program.
CREATION: Final = frozenset(("broadcast", "iota", "reshape", "cast", "mul", "add"))
LARGE: Final = 1 << 16  # elements from which on it is


class Pending(Protocol):
    """An array that waits for its value."""

    def settle(self, data: NumPyArray) -> None: ...


class Recording:
    """A trace of ops that are not computed yet, its inputs, and the arrays that wait for values."""

    def __init__(self) -> None:
        self.trace = start_trace()
        self.lock = fork_lock()
        self.is_closed = False
        self._inputs: dict[Parameter, NumPyArray] = {}
        self._parameters: dict[int, Parameter] = {}
        self._waiting: dict[int, tuple[weakref.ref[Any], Value]] = {}

    def input(self, data: NumPyArray, *, weak: bool = False) -> Tracer:
        """An array, which must not change from now on, as a tracer; the same for the same one."""
        parameter = self._parameters.get(id(data))
        if parameter is None:
            parameter = self.trace.parameter(type_of(data))
            self._parameters[id(data)] = parameter
            self._inputs[parameter] = data
        return self.trace.wrap(parameter, weak=weak)

    def wait(self, who: Pending, value: Value) -> None:
        """Hand an array its value once it is computed; the array is not kept alive by that."""
        self._waiting[id(who)] = weakref.ref(who), value

    def forget(self, who: Pending) -> None:
        self._waiting.pop(id(who), None)

    @property
    def is_long(self) -> bool:
        return len(self.trace.ops) >= MOST_OPS

    @sealed
    def compute(self, wanted: Value) -> NumPyArray:
        """The value; all others that are waited for are computed with it. If that fails, they stay
        as they are, and each is computed alone when it is needed.
        """
        with self.lock:
            alone = self.is_closed
            self.is_closed = True
            waiting = [] if alone else self._alive()
            try:
                return self._settle(waiting, wanted)
            except WeftError:
                if not waiting:
                    raise
                return self._settle([], wanted)

    def _alive(self) -> list[tuple[Pending, Value]]:
        waiting = [(reference(), value) for reference, value in self._waiting.values()]
        return [(who, value) for who, value in waiting if who is not None]

    def _settle(self, waiting: Sequence[tuple[Pending, Value]], wanted: Value) -> NumPyArray:
        values = dict.fromkeys([wanted, *[value for _, value in waiting]])
        computed = dict(zip(values, self._computed(list(values)), strict=True))
        for who, value in waiting:
            who.settle(computed[value])
        self._waiting.clear()
        return computed[wanted]

    def _computed(self, values: list[Value]) -> list[NumPyArray]:
        known: dict[Value, NumPyArray] = {}
        for value in values:
            if isinstance(value, Parameter):
                known[value] = self._inputs[value]
            elif isinstance(value, Constant):
                known[value] = value.array
        rest = [value for value in values if value not in known]
        if rest:
            graph = _graph_of(self.trace.parameters, self.trace.ops, rest)
            arguments = [self._inputs[parameter] for parameter in graph.parameters]
            known |= dict(zip(rest, run(graph, arguments), strict=True))
        return [known[value] for value in values]


def _graph_of(parameters: Sequence[Parameter], ops: Sequence[Op], results: list[Value]) -> Graph:
    """What the results need, and no more: the same structure whatever else was recorded."""
    kept = tuple(live_ops(ops, results))
    needed = {*results, *(operand for op in kept for operand in op.operands)}
    inputs = tuple([parameter for parameter in parameters if parameter in needed])
    return Graph("eager", Region(inputs, kept, tuple(results)))


# --- programs -----------------------------------------------------------------------------------

_programs: Final[OrderedDict[str, Callable[[Sequence[Any]], list[Any]]]] = OrderedDict()
_programs_lock: Final = fork_lock()


def run(graph: Graph, arguments: Sequence[NumPyArray]) -> list[NumPyArray]:
    """The results of a graph, by a native program that is kept for the next of its structure."""
    if not arguments and _is_creation(graph):
        return [np.array(result) for result in evaluate(graph, [])]
    key = graph.content_hash()
    with _programs_lock:
        program = _programs.get(key)
        if program is not None:
            _programs.move_to_end(key)
    if program is None:
        program = _compiled(graph)
        with _programs_lock:
            _programs[key] = program
            if len(_programs) > MOST_PROGRAMS:
                _programs.popitem(last=False)
    return program(arguments)


def _is_creation(graph: Graph) -> bool:
    return all(op.name in CREATION and _elements(op) < LARGE for op in graph.ops)


def _elements(op: Op) -> int:
    size = op.results[0].type.size
    return size if isinstance(size, int) else LARGE


def _compiled(graph: Graph) -> Callable[[Sequence[Any]], list[Any]]:
    from weft.frontends.driver.cpu_program import compiled
    from weft.frontends.driver.fallback import Fallback

    return Fallback(lambda: compiled(graph), lambda: graph)


# --- the recording in force ---------------------------------------------------------------------


class _Local(threading.local):
    recording: Recording | None = None


_local: Final = _Local()


def current() -> Recording:
    """This thread's recording: the one that goes on, or a new one if that was computed."""
    recording = _local.recording
    if recording is None or recording.is_closed or recording.is_long:
        recording = _local.recording = Recording()
    return recording
